//===- fuse.h - From a group of definitions to the nests of one kernel ------===//
//
// The first half of scheduling: which members of a group are computed where they are read
// (inlined), which are finished while their sum is still in registers (epilogues), and which are
// nests of their own. It knows nothing of tiles or machines.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_FUSE_H
#define KINTSUGI_LOOPS_FUSE_H

#include "loops/schedule.h"

namespace kintsugi::loops {

/// Rows of what a kernel stores last that runs of a size ask for: `each` for a step, of so many.
struct OpenRows {
  unsigned dimension = 0;
  int64_t each = 1, low = 1, high = 1;
};

/// Definitions of a program that become one kernel.
struct Group {
  llvm::SmallVector<uint32_t> nodes;      ///< Definitions, in program order.
  llvm::SmallVector<te::ValueId> outputs; ///< What the kernel must store, of the nodes' results.
  /// What it reads that is known when the model is compiled, and so may lie as the kernel likes.
  llvm::SmallVector<te::ValueId> constants;
  llvm::SmallVector<OpenRows, 2> open = {}; ///< Of different dimensions.
};

/// An iterator of a member that need not run to the end of its extent.
struct Bound {
  unsigned iterator;
  te::Expr end; ///< An integer read at indices over other iterators.
};

/// A value that a member stores beside its results, at each point of all its iterators: a part of
/// what it reduces. See keep.h.
struct KeptValue {
  te::ValueId value;
  te::Expr expr;
  llvm::SmallVector<unsigned, 4> iterators; ///< By dimension of the value; each is there once.
};

/// A definition that keeps a loop nest: as in the program, with others inlined into it. Its indices
/// still speak of whole tensors.
struct Member {
  uint32_t node; ///< Of the program: the definition that stores.
  llvm::SmallVector<te::Iterator, 4> parallel;
  std::optional<te::Reduction> reduction;
  llvm::SmallVector<te::Expr, 1> bodies;
  llvm::SmallVector<te::Expr, 1> epilogue; ///< As in LoopNest.
  llvm::SmallVector<te::ValueId, 1> results;
  /// Where a point of the parallel iterators is stored in each result.
  llvm::SmallVector<te::Index, 4> resultIndices;
  std::optional<ElementType> factors; ///< As in LoopNest.
  llvm::SmallVector<KeptValue, 0> kept;
  llvm::SmallVector<Bound, 1> bounds; ///< See bounds.h.
  bool isOutput = false;

  unsigned numIterators() const {
    return parallel.size() + (reduction ? reduction->iterators.size() : 0);
  }
  llvm::SmallVector<te::Interval> ranges() const;
  /// Whether a value is one of its results, or kept.
  bool stores(te::ValueId value) const;
  const KeptValue *keptValue(te::ValueId value) const;
  /// Bodies, epilogue, what is kept and the ends of bounds.
  llvm::SmallVector<te::Expr> expressions() const;
};

struct FuseOptions {
  /// A product takes what lies outside of a factor as zero at no cost, so that a border needs no
  /// nest of its own.
  bool fillsAreFree = false;
  /// What computing an element anew for all further readers may cost at most, in operations.
  double mostAgain = 4;
};

/// The nests of a group in the order in which they run.
std::vector<Member> fuse(const te::Program &program, const Group &group,
                         const FuseOptions &options);

/// Scalar operations that one evaluation takes, in units of one addition; reads are free, and what
/// is shared counts once.
double operationsOf(const te::Expr &expr);
/// Of the expression itself, without those of what it is made of.
double ownOperations(const te::Expr &expr);

/// Whether a body only moves data in a way that costs nothing where it is read: one read with
/// affine indices and no fill.
bool isCleanMap(const te::Expr &body);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_FUSE_H
