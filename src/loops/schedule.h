//===- schedule.h - How one kernel runs -------------------------------------===//
//
// A Schedule is everything that cost, legality and the tile program of a kernel come from; it holds
// no MLIR. A kernel computes some values of a program over a *tile space*: each tile runs a
// sequence of loop nests, whose intermediate results live in scratch memory private to a worker.
//
// All buffers are flat here: a read has one index, the row-major position. Reads that may leave a
// tensor became selects on their bounds; only the chosen side of a select is evaluated.
//
// A tile dimension cuts `extent` into tiles of `size`. The last tile starts at extent - size, so
// every tile is full and all loop extents are constants; the overlap is computed twice with equal
// results.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_SCHEDULE_H
#define KINTSUGI_LOOPS_SCHEDULE_H

#include "loops/packing.h"
#include "te/program.h"

#include <numeric>

namespace kintsugi::loops {

enum class Home : uint8_t { Memory, Scratch };

struct Buffer {
  te::ValueId value; ///< In the program.
  ElementType type;  ///< Booleans take a byte.
  int64_t elements;
  Home home;
  bool written = false;      ///< Memory: an output of the kernel.
  int64_t scratchOffset = 0; ///< Scratch: bytes from the worker's base, a multiple of 64.
  /// Read in one way, and free to lie as that wants it: a constant, or a copy in scratch.
  bool packable = false;
  /// Scratch: needed only by what works in place of threads; they have it in registers.
  bool standsIn = false;
  std::optional<Packing> packing; ///< How it lies, if not row-major.
};

struct TileDimension {
  int64_t extent;
  int64_t size; ///< 1 to extent.
  int64_t count() const { return (extent + size - 1) / size; }
  /// What divides all places where tiles start: of two the second starts at the last place.
  int64_t startMultiple() const {
    return count() == 2 ? extent - size : std::gcd(size, extent - size);
  }
};

/// How a nest's innermost loops use registers.
struct RegisterTile {
  int vectorIterator = -1; ///< Which iterator's consecutive points share a vector; -1: scalar code.
  /// A power of two; an iterator with fewer points is masked. In a block of threads the lanes of a
  /// reduction are threads, and other iterators have one.
  unsigned lanes = 1;
  /// Vectors side by side along it. In a block of threads: points of one thread that are side by
  /// side; of a sum that lanes share, how many terms in a row each lane has in turn.
  unsigned vectors = 1;
  int rowIterator = -1; ///< A parallel iterator that is unrolled besides; -1: none.
  unsigned rows = 1;
  unsigned unrolledReductions = 0; ///< How many of the innermost reduction loops are unrolled.
  unsigned apart = 1; ///< In a block of threads: from a lane to the next, a power of two.
  /// Likewise, where lanes share a sum: a parallel iterator that is unrolled besides the rows'.
  int columnIterator = -1;
  unsigned columns = 1;

  /// Points of an iterator, by its number, that one block covers.
  int64_t stepOf(unsigned iterator) const;

  bool operator==(const RegisterTile &) const = default;
};

/// Steps of a sum that a thread takes at a time, so that what they read is on its way together:
/// each is `run` terms of so many results.
int64_t stepsTogether(int64_t run, int64_t results);
/// Likewise blocks of so many points, where there is no sum.
int64_t blocksTogether(int64_t blocks, int64_t threads, int64_t points);

/// How a block of threads computes a nest that sums products of two factors on matrix units: those
/// of a warp multiply 16 x 16 by 16 x 8 elements, those of four warps 64 x 16 by 16 x up to 256
/// that lie in scratch. Parallel iterators that change one factor only number the rows, those of
/// the other the columns, in their order; both: a product for each.
struct MatrixTile {
  ElementType element = ElementType::F16; ///< That the factors are rounded to.
  unsigned columnsFactor = 1;             ///< Which factor the columns' iterators change: 0 or 1.
  unsigned rows = 0, columns = 0;         ///< Of results that the block has at once.
  unsigned depth = 0;                     ///< Terms of the sums that are staged at once.
  unsigned down = 1, across = 1;          ///< Warps, each with its share of rows and columns,
  unsigned warpsK = 1;                    ///< and so many for each share's terms.
  bool inFours = false; ///< Four warps down multiply together: of 64 rows each has 16,
  bool inBulk = false;  ///< and factors that are boxes come in bulk.
  /// Of a cluster, where the machine has those: so many share each sum's steps, and then, as the
  /// warps of warpsK do, its results. 2 to the power of something.
  unsigned blocks = 1;
  unsigned stages = 2; ///< Of the ring of operands, in scratch.
  int64_t ring = 0;    ///< Where that starts, in bytes.

  /// Bytes of a stage for an operand with so many rows, whichever way it lies.
  int64_t operandBytes(int64_t rows) const;
  int64_t ringBytes() const;
  /// Steps that are brought while one is multiplied. Four warps don't wait for what they multiply,
  /// where there are stages enough: nothing is brought to the stage before, either.
  unsigned ahead() const { return inFours && stages > 2 ? stages - 2 : stages - 1; }

  bool operator==(const MatrixTile &) const = default;
};

/// An iterator that runs over a part of its extent only: from `begin` to `end` - 1, numbers that a
/// tile looks up where its origin says. What lies outside adds nothing to a sum, or is never read.
struct Span {
  te::Index iterator;            ///< Exactly one of the nest's, neither in vectors nor unrolled.
  std::optional<te::Expr> begin; ///< An integer read from memory; none: 0.
  std::optional<te::Expr> end;   ///< None: the extent. Outside of the extent: cut to it.
  double share = 1;              ///< Of the extent, on the average of the tiles.
};

/// Reads of a buffer that ask memory for what lies `elements` further, too.
struct Ahead {
  unsigned buffer;
  int64_t elements;
  bool isNextTile; ///< For which the nearest cache has room until its turn comes.
  /// Elements from row to row, where a sum goes along them: each of its steps asks for the line of
  /// another row, so that a line's steps ask for those of all rows. 0: vectors ask for their lines.
  int64_t rowsApart = 0;
  /// Blocks of the parallel iterators from this one on that a read does not use come back to what
  /// it read. Ahead of its sum each asks for a share of what comes next, all together once for
  /// every line: a line that was asked for is looked up again, at the cost of a load. None: each
  /// read asks.
  std::optional<unsigned> sharedFrom;

  bool operator==(const Ahead &) const = default;
};

/// A part of what a reduction joins that is stored as well, at each of the nest's points: who needs
/// both computes it once.
struct Kept {
  te::Expr value;  ///< Over all of the nest's iterators.
  unsigned buffer; ///< In scratch.
  te::Index index;
};

/// destinations[destinationIndex] = epilogue(reduce bodies) over all parallel iterators.
///
/// Iterators are numbered: parallel ones (outermost loop first), then the reduction's, then one for
/// each dimension of the tile space, which stands for the tile's origin in it. A Read's ValueId is
/// a buffer's number in the schedule, and has exactly one (flat) index.
struct LoopNest {
  llvm::SmallVector<te::Iterator, 4> parallel;
  std::optional<te::Reduction> reduction;
  llvm::SmallVector<te::Expr, 1> bodies;
  /// With a reduction: what is stored for each result, in terms of reads of `accumulator(k)` (no
  /// index) and of other buffers; over the parallel iterators and origins only. Without: empty.
  llvm::SmallVector<te::Expr, 1> epilogue;
  llvm::SmallVector<unsigned, 1> destinations; ///< Buffer numbers; all share one index.
  te::Index destinationIndex;
  llvm::SmallVector<Kept, 0> kept;  ///< Of a worker's reduction with one running value.
  llvm::SmallVector<Span, 1> spans; ///< At most one for an iterator.
  RegisterTile registers;
  std::optional<MatrixTile> matrix; ///< In its place.
  /// With the three that follow, on matrix units: see streamed_softmax.h.
  bool streamed = false;
  /// The loop leaves out blocks of columns for which the condition of the scores' epilogue, a
  /// select of minus infinity, does not hold: it is the same for all of a block and a tile's rows.
  bool skipsBlocks = false;
  /// How many of the last tile dimensions this does not depend on. What it leaves in scratch serves
  /// all tiles that differ in those alone; a worker computes it when it comes to the first of them.
  unsigned sharedDimensions = 0;
  /// The outermost reduction iterator stands outside of the parallel loops, and what is summed so
  /// far waits in the destination: each of its passes works on operands that stay near.
  bool inPasses = false;
  llvm::SmallVector<Ahead, 1> ahead; ///< At most one for a buffer.
  bool pastCaches = false;           ///< What is stored is too much to stay in any cache.
  uint32_t node = ~0u;               ///< The program's node that it stems from.
  /// The type of 16 bits that both factors of a sum of products had before what makes them was
  /// computed in their place. They may be rounded to it, and to no other: what is f32 in the
  /// program may leave its range, or be kept since rounding it moves the outputs too far.
  std::optional<ElementType> factors;

  static te::ValueId accumulator(unsigned result) { return {0xFFFFFF00u + result}; }
  static bool isAccumulator(te::ValueId id) { return id.number >= 0xFFFFFF00u; }
  /// Whether a buffer is a destination, or has what is kept.
  bool writes(unsigned buffer) const;
  unsigned numReductions() const { return reduction ? reduction->iterators.size() : 0; }
  /// Of a parallel iterator or one of the reduction, by number.
  int64_t extentOf(unsigned iterator) const;
  const Span *spanOf(unsigned iterator) const;
  /// Which share of its points a nest runs over, on average.
  double share() const;
  /// The number of tile dimension `d`'s origin.
  unsigned originIterator(unsigned d) const { return parallel.size() + numReductions() + d; }
  /// Ranges of all iterators, origins included.
  llvm::SmallVector<te::Interval> ranges(llvm::ArrayRef<TileDimension> space) const;
};

struct Schedule {
  llvm::SmallVector<Buffer> buffers; ///< Memory buffers first: the kernel's arguments in order.
  llvm::SmallVector<TileDimension> space;
  std::vector<LoopNest> nests;
  int64_t scratchBytes = 0;
  int64_t standInBytes = 0; ///< Behind them, of buffers that stand in for registers.
  int threads = 0;          ///< Of the block that works on a tile; 0: a worker of its own.

  int registers = 0; ///< That a thread of a block is thought to need.

  /// What the cost model needs; per run of the whole kernel.
  double operations = 0;  ///< Scalar arithmetic, overlaps and recomputation included.
  double vectorShare = 1; ///< Which share of `operations` runs in full vectors.
  double bytesRead = 0;   ///< From memory buffers, each element once a tile that needs it,
  double bytesCold = 0;   ///< and of those, of constants that no cache keeps from run to run.
  double bytesWritten = 0;
  double bytesExchanged = 0; ///< Of both, of values of which a worker's tile has no run of memory.

  int64_t tiles() const;
  /// Of threads: one for a tile, or a cluster of them.
  int64_t blocks() const;
  /// How often a nest runs, about: workers take tiles in several runs of neighbours.
  double runsOf(const LoopNest &nest, int cores) const;
  /// So many tiles in a row share the longest of what tiles share; 1: they share nothing.
  int64_t tilesTogether() const;
  unsigned memoryBuffers() const;
  /// The text form shown by explain.
  std::string print() const;
};

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_SCHEDULE_H
