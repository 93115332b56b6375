//===- growth.h - Which groups of definitions to try ------------------------===//
//
// Groups grow from a root, their last definition, one definition at a time and then once more one
// operator at a time: along the edges to producers, then through shared inputs, to definitions of
// the root's shape that read what a member reads (three sums of one value are one pass over it;
// contractions, whose time is arithmetic, are left out). So every group is connected and each is
// offered once. A group must be convex (no path leaves it and comes back), and its members' other
// readers make it store more than the root's results.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_GROWTH_H
#define KINTSUGI_SPACE_GROWTH_H

#include "space/space.h"

#include <map>
#include <set>

namespace kintsugi::space {

using Nodes = llvm::SmallVector<uint32_t, 8>; ///< In program order.

class Growth {
public:
  Growth(const te::Program &program, llvm::ArrayRef<uint32_t> nodes, const SpaceOptions &options);

  /// From now on a group has all nodes of such an operator or none.
  void keepWhole(llvm::ArrayRef<Nodes> operators);

  /// The group of some nodes (in program order) with what it has to store.
  loops::Group groupOf(llvm::ArrayRef<uint32_t> nodes) const;

  bool withinCaps(const loops::Group &group) const;

  /// Whether some nodes (in program order) are all of an operator's or none, of each that growth
  /// was told of.
  bool keepsOperators(llvm::ArrayRef<uint32_t> nodes) const;

  /// Groups grow by whole operators as well, which reach farther in as many steps. Each of them can
  /// be a kernel, which takes so many rough seconds.
  void alsoByOperators(llvm::ArrayRef<Nodes> operators, llvm::ArrayRef<double> seconds);

  /// Offers each group of two and more nodes, or operators, that ends in `root`, which is the last
  /// node of an operator that is kept whole. `price` gives its rough seconds,
  /// nullopt if it can't be scheduled. Groups that cost clearly more than their parts grow no
  /// further: what is added later would have to win back their loss. Looks at no more than `fuel`
  /// groups, and takes those off.
  void from(uint32_t root, unsigned &fuel,
            llvm::function_ref<std::optional<double>(loops::Group)> price) const;

  /// The rough seconds of a definition alone, or of the operator that it is the last of; said
  /// before growth starts.
  void setAlone(uint32_t node, double seconds) { alone[node] = seconds; }

private:
  class Search;

  /// One definition more or less of attention costs more than none of it: the group from scores to
  /// root is looked at as a whole.
  std::vector<Nodes> attentionBefore(uint32_t root) const;
  /// Groups of the options' names that end in a node.
  std::vector<Nodes> likelyBefore(uint32_t root) const;
  struct Behind {
    uint32_t node;
    unsigned stepsLeft; ///< What a group of the shortest way to it may still reach.
  };
  std::vector<Behind> reductionsBehind(uint32_t node, unsigned steps) const;
  Nodes between(const Nodes &first, uint32_t last) const;
  bool isConvex(const Nodes &nodes) const;
  /// With the rest of operators that are kept whole, or of all.
  Nodes completed(llvm::ArrayRef<uint32_t> nodes, bool byOperators) const;
  /// What a group grows by, or a group.
  struct Step {
    Nodes nodes;
    double seconds = 0; ///< Rough ones, as a kernel of its own.
  };
  /// What a group grows by at a node that it borders on: an operator or the node.
  Step stepAt(uint32_t node, bool byOperators) const;
  bool isConstant(te::ValueId id) const;
  llvm::SmallVector<loops::OpenRows, 2> openRowsOf(te::ValueId id) const;
  bool hasShapeOf(uint32_t node, uint32_t other) const;
  Nodes producersOf(const Nodes &nodes) const;
  /// What stands before the last one, has its shape and reads a value that one of them reads.
  Nodes siblingsOf(const Nodes &nodes) const;

  const te::Program &program;
  const SpaceOptions &options;
  std::vector<bool> eligible;  ///< By node.
  std::vector<double> alone;   ///< By node.
  std::vector<Nodes> whole;    ///< By node: all of an operator that is kept whole; may be empty.
  std::vector<Step> operators; ///< By node: that of the operator that it is of; may be empty.
  std::vector<Nodes> producers, consumers; ///< By node; among all nodes of the program.
  std::vector<llvm::SmallVector<te::ValueId, 4>> operands; ///< By node.
  std::vector<Nodes> readers; ///< By value that is no constant: eligible ones, no contractions.
  std::vector<bool> isProgramOutput;     ///< By value.
  std::map<std::string, uint32_t> named; ///< Nodes, where groups are known by names.
};

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_GROWTH_H
