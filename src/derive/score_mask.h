//===- score_mask.h - The constant mask of a softmax's scores ---------------===//
//
// What hides scores is added to them, or chooses between them and a low number; beside it stand
// masks that are known only in a run, before it, behind it, or joined with it in one condition. All
// of that is found here, so that rules about masks know one form: a number added to each score.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_SCORE_MASK_H
#define KINTSUGI_DERIVE_SCORE_MASK_H

#include "te/program.h"

#include <optional>
#include <vector>

namespace kintsugi::derive {

struct ScoreMask {
  /// In the body of `node`, the scores with the mask and without; not where it `isWithin`.
  std::optional<te::Expr> whole, scores;
  uint32_t node;
  te::Expr mask;   ///< What it adds; of a choice 0 or the low number.
  unsigned column; ///< The iterator along which the softmax goes.
  /// The mask's iterators, ascending; the column is the last.
  llvm::SmallVector<unsigned> used = {};
  /// Masks of a run that stand around it hide none of the columns before this one.
  int64_t shownColumns;
  uint32_t outermost; ///< The node of what the softmax reads.
  /// It is joined with masks of a run in what others read too, or in one condition: that it hides
  /// is known, but it can't be taken out.
  bool isWithin = false;
};

class ScoreMasks {
public:
  /// `constant`: by node, see te/constant_nodes.h.
  ScoreMasks(const te::Program &program, const std::vector<bool> &constant);

  /// The mask of what a node takes the maximum and sum of; nullopt where it is none of a softmax,
  /// where something else reads the scores, or where no mask is constant.
  std::optional<ScoreMask> of(const te::Definition &stats) const;

private:
  struct Path;

  std::optional<ScoreMask> outer(te::ValueId scores, unsigned column) const;
  std::optional<ScoreMask> within(te::ValueId scores, unsigned column) const;
  std::optional<ScoreMask> at(const Path &path) const;
  std::optional<ScoreMask> made(ScoreMask mask) const;

  void addTerms(const te::Expr &expr, unsigned column, std::vector<te::Expr> &terms) const;
  void addConditions(const te::Expr &condition, unsigned column,
                     std::vector<te::Expr> &terms) const;
  te::Expr opened(te::Expr expr) const;

  bool isMask(const te::Expr &expr, unsigned column) const;
  int64_t shownBefore(const te::Expr &condition, unsigned column) const;
  const te::Definition *onlyReadBy(const te::Expr &expr, const te::Definition &reader) const;
  bool isOutput(te::ValueId id) const;
  bool servesSoftmax(te::ValueId scores, const te::Definition &stats) const;

  const te::Program &program;
  const std::vector<bool> &constant;
  std::vector<llvm::SmallVector<uint32_t>> readers; ///< Nodes, by value.
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SCORE_MASK_H
