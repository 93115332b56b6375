//===- nest_emitter.h - One vectorizing unroll-and-jam for every nest -------===//
//
// Turns a tile.compute into loops (scf) around straight-line code for its register tile: `rows`
// points of one iterator by `vectors` vectors of another. Every operation of the body is emitted
// once for each row and vector that it depends on, at the loop it depends on: a value that no lane
// changes stays a scalar and is broadcast where it meets a vector. Accumulators are carried by the
// loops, so that they live in registers; a product that is summed becomes a fused multiply-add.
//
// Where a block of threads works on a tile, they share the blocks of points among them instead of
// looping over all, in scalar code; the lanes of a reduction are threads (nest_threads.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NEST_EMITTER_H
#define KINTSUGI_TARGETS_NEST_EMITTER_H

#include "loops/schedule.h"
#include "targets/levels.h"
#include "targets/position.h"
#include "targets/reduction.h"
#include "targets/threads.h"
#include "tile/dialect.h"

namespace kintsugi::targets {

/// What a kernel's nests share.
struct KernelScope {
  KernelScope(mlir::OpBuilder &builder, mlir::Value imports, bool hasAllMasks)
      : builder(builder), imports(imports), hasAllMasks(hasAllMasks) {}

  const SpecialUnits *units() const { return threads ? threads->units() : nullptr; }

  mlir::OpBuilder &builder;
  mlir::Value imports;
  bool hasAllMasks;           ///< See LoweringOptions.
  bool pastCaches = false;    ///< Destinations are aligned, and stores to them bypass the caches.
  Threads *threads = nullptr; ///< Those that work together; null: one.
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;   ///< Of buffers.
  llvm::DenseMap<mlir::Value, DimensionValue> origins; ///< Of tile.origin's results.
};

inline constexpr unsigned lineBytes = 64; ///< Of a processor's caches.

/// In bytes.
inline unsigned alignmentOf(mlir::Type element) { return element.getIntOrFloatBitWidth() / 8; }

class NestEmitter {
public:
  /// Emits at the end of `block`.
  NestEmitter(KernelScope &scope, tile::ComputeOp nest, mlir::Block *block);
  void emit();

private:
  /// A place in the register tile.
  struct Point {
    unsigned row = 0;
    unsigned vector = 0;
  };
  struct IteratorState {
    int64_t extent = 0;
    unsigned level = 0; ///< Of the innermost loop that fixes it.
    DimensionValue start;
  };
  using Accumulators = llvm::SmallVector<Tuple>; ///< By row and vector.

  void chooseShape();
  void setColumns(int64_t columns);
  bool vectorIsParallel() const {
    return vectorIterator >= 0 && vectorIterator < static_cast<int>(numParallel);
  }
  void findDependences(mlir::Region &region);
  uint64_t dependencesOf(mlir::Value value) const;
  bool dependsOn(mlir::Value value, int iterator) const;
  bool isVector(mlir::Value value) const;
  unsigned levelOf(mlir::Value value) const;

  void emitOverThreads();
  void readBlock();
  void emitOwnBlocks(unsigned level);
  void emitSharedBlocks(unsigned level);
  void emitSharedBlock(unsigned level, mlir::Value round);
  void setSharedBlock(unsigned level, mlir::Value round);
  void forEachThread(unsigned level, llvm::function_ref<void(unsigned)> emit);
  int64_t blocksOfAll();
  mlir::Type countType();
  mlir::Value groupNumber();
  mlir::Value laneNumber();
  void setBlock(mlir::Value number, unsigned level);
  int64_t blocksAlong(unsigned iterator) const;
  int64_t stepAlong(unsigned iterator) const;
  Accumulators reduceAt(unsigned level);
  void joinThreads(Accumulators &accumulators);
  void joinThroughMemory(Accumulators &accumulators, unsigned half);
  void joinInMemory(unsigned half);
  void joinNeighbours(Accumulators &accumulators, unsigned half);
  bool joinsInRows() const;
  void joinRows(Accumulators &accumulators);
  void leave(const Accumulators &accumulators, mlir::Value place);
  Accumulators fetch(mlir::Value place);
  mlir::Value exchangePlace(unsigned slot, mlir::Value place);
  void emitPasses();
  void emitParallel(unsigned iterator, unsigned level);
  void emitBlocks(unsigned iterator, unsigned level, int64_t extent, int64_t step);
  void emitPoint(unsigned level);
  void emitResults(const Accumulators &accumulators);
  void emitStores(mlir::Block &region);
  Accumulators startValues(unsigned level);
  Accumulators firstElements(unsigned level);
  Tuple neutral();
  Accumulators partialValues(unsigned level);
  void storePartials(const Accumulators &accumulators);
  void emitReduction(unsigned iterator, unsigned level, Accumulators &accumulators);
  /// The numbers from which and up to which an iterator runs, in steps of one block.
  struct Run {
    mlir::Value begin, end;
  };
  Run constantRun(int64_t end);
  std::optional<Run> boundedRun(unsigned iterator);
  mlir::Value clampedBound(mlir::Value bound, int64_t extent);
  /// Each trip has the iterator at `offsets` from the loop's own number, which is a multiple of
  /// `multiple`; 0: of the step.
  void emitReductionLoop(unsigned iterator, unsigned level, Run run, int64_t step,
                         Accumulators &accumulators, llvm::ArrayRef<int64_t> offsets,
                         int64_t multiple = 0);
  void emitThreadReduction(unsigned iterator, unsigned level, Accumulators &accumulators);
  void emitSharedReduction(unsigned iterator, unsigned level, Accumulators &accumulators);
  void emitSharedRest(unsigned iterator, unsigned level, mlir::Value lane, int64_t done,
                      Accumulators &accumulators);
  int64_t stepsTogether(int64_t run) const;
  void emitReductionAt(unsigned iterator, unsigned level, int64_t index,
                       Accumulators &accumulators);
  void emitVectorReduction(unsigned iterator, unsigned level, Accumulators &accumulators);
  void accumulate(unsigned level, Accumulators &accumulators);
  Tuple accumulateOne(unsigned level, const Tuple &before, Point point);
  void joinVectors(Accumulators &accumulators);
  void setStart(unsigned iterator, unsigned level, mlir::Value value, int64_t constant,
                int64_t multiple);

  mlir::Value evaluate(mlir::Value value, Point point);
  mlir::Value evaluateNew(mlir::Operation *op, Point point, unsigned level);
  bool sharesDivisor(mlir::arith::DivFOp division, unsigned level) const;
  mlir::Value divideByShared(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands, Point point,
                             unsigned level);
  mlir::Value asVector(mlir::Value value, Point point);
  mlir::Value read(tile::ReadOp op, Point point, unsigned level);
  mlir::Value readVector(mlir::Value pointer, const Position &position, mlir::Type element,
                         mlir::Value mask, mlir::Value wanted, unsigned level);
  void askAhead(tile::ReadOp op, const Position &where, Point point, unsigned level,
                int64_t further = 0);
  void askForRowAhead(tile::ReadOp op, const Position &where, unsigned level);
  static bool asksByShares(tile::ReadOp op);
  std::pair<mlir::Value, int64_t> shareOf(tile::ReadOp op, unsigned level);
  void askForShares(unsigned iterator, unsigned level);
  void askForStep(tile::ReadOp op, unsigned iterator, unsigned level);
  bool isWholeVector(const Position &where, mlir::Type element) const;
  mlir::Value uniformPart(mlir::Value condition, Point point, unsigned level);
  void findChoices();
  bool isChoice(mlir::Value value, bool isRoot,
                llvm::SmallVectorImpl<std::pair<mlir::Value, bool>> &path,
                llvm::SmallVectorImpl<mlir::Operation *> &parts) const;
  bool choosesAlike(mlir::Value root, Point point);
  mlir::Value chosenPlace(mlir::Value value, Point point, unsigned level);
  mlir::Value readChosen(mlir::Value root, Point point, unsigned level);
  bool isTransposed(tile::ReadOp op, const Position &position, Point point);
  mlir::Value readTransposed(tile::ReadOp op, Point point, unsigned level);
  mlir::Value readUniform(mlir::Value pointer, const Position &position, mlir::Type element,
                          mlir::Value mask, unsigned level);
  mlir::Value readPattern(mlir::Value pointer, const Position &position, mlir::Type element,
                          unsigned level);
  bool hasMaskedMoves(mlir::Type element) const;
  mlir::Value readFirst(mlir::Value pointer, const Position &position, mlir::Type element,
                        int64_t offset, unsigned count, unsigned level);
  mlir::Value readStrided(mlir::Value pointer, const Position &position, mlir::Type element,
                          unsigned count, unsigned level);
  mlir::Value indexNumber(tile::IndexOp op, Point point, unsigned level);
  void store(mlir::Value value, unsigned destination, Point point);
  void storeAt(mlir::Value stored, unsigned destination, Point point);
  void keep(unsigned level, Point point, const Tuple &running);
  void storeTo(mlir::Value pointer, const Position &where, mlir::Value stored, unsigned level,
               Point point, bool pastCaches);
  mlir::Value loadPartial(Point point, unsigned level);
  Position destinationAt(Point point);
  Position position(mlir::AffineMap map, mlir::ValueRange operands, Point point);
  DimensionValue dimension(mlir::Value operand, Point point);
  DimensionValue iteratorValue(unsigned iterator, Point point);
  mlir::Value address(mlir::Value pointer, const Position &position, mlir::Type element,
                      int64_t further = 0);
  /// Bytes that a place is known to be a multiple of. Only threads are promised more of operands
  /// than their elements' own.
  unsigned alignmentAt(const Position &position, mlir::Type element) const;
  mlir::Value laneAddresses(mlir::Value pointer, const Position &position, mlir::Type element,
                            unsigned level);
  /// The lanes that take part at this vector; null: all.
  mlir::Value activeLanes(Point point, unsigned level);
  bool allActive(Point point) const { return active[point.vector] == lanes; }
  Levels::Key keyOf(mlir::Value value, Point point) const;
  Point canonical(mlir::Value value, Point point) const;

  /// Each has a level of its own.
  static constexpr int64_t mostBlocksTogether = 4;

  KernelScope &scope;
  tile::ComputeOp nest;
  Emit make;
  Levels levels;
  unsigned lanes, vectors, rows, numParallel;
  int vectorIterator, rowIterator;
  PositionBuilder positions;
  Combiner combiner;
  llvm::DenseMap<mlir::Value, uint64_t> dependences;
  llvm::SmallVector<IteratorState> iterators;
  llvm::SmallVector<unsigned> active; ///< For each vector, how many lanes take part.
  Accumulators results;               ///< While the epilogue is emitted.
  /// Of the passes being emitted: the number of this one; null: the last, which finishes.
  mlir::Value pass;
  /// Among threads: the reduction's iterator that several share, -1: none; how many, how far apart.
  int splitIterator = -1;
  unsigned splitLanes = 1, splitApart = 1;
  unsigned splitRun = 1;   ///< Of the terms that follow each other, how many each has in turn.
  unsigned pointLevel = 0; ///< Among threads: of the loop in which points are computed.
  /// Among threads: choices that are read as one, and all operations that are parts of such.
  llvm::DenseSet<mlir::Operation *> choices, partsOfChoices;
  mlir::Value storesHere; ///< Among threads: whether this one stores the results; null: each does.
};

/// An element, or zero where the mask (null: none) is off: such a read goes to the buffer's first
/// element instead, without a branch.
mlir::Value readScalar(Emit &make, mlir::Value pointer, mlir::Value address, mlir::Type element,
                       mlir::Value mask, unsigned alignment);

/// Bytes of memory that threads exchange running values through in a nest. `neighbours`: whether
/// those hand them on without.
int64_t exchangeBytes(tile::ComputeOp nest, int64_t threads, bool neighbours);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NEST_EMITTER_H
