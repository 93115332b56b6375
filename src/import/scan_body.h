//===- scan_body.h - What an operator adds as the body of a scan --------------===//
//
// A loop's graph is imported once, in the scope of its node like any other graph: what it adds to
// the program is cut out again as the body of a scan. So constants and shapes are known inside as
// they are outside, and what no step changes stays outside. Where a graph can't be a body (it asks
// for a number of the step that must be known, or counts elements), what was added is taken back,
// and the operator may import it in another way.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_SCAN_BODY_H
#define KINTSUGI_IMPORT_SCAN_BODY_H

#include "import/op_context.h"

#include <set>

namespace kintsugi::import {

class ScanBody {
public:
  /// From here on, what is added to the program is the body's.
  explicit ScanBody(OpContext &c);
  /// Takes back what no scan was made of, save what depends on constants alone.
  ~ScanBody();
  ScanBody(const ScanBody &) = delete;
  ScanBody &operator=(const ScanBody &) = delete;

  /// The number of the step inside, a scalar i64.
  ValueId step() const { return number; }
  /// What a carried tensor is inside.
  ValueId carry(ValueId initial);
  /// Of these values, which are made by a step, if data may leave that out.
  std::vector<bool> areOfStep(llvm::ArrayRef<ValueId> ids) const;
  /// Whether the next states have the types and shapes of what is carried.
  bool carries(llvm::ArrayRef<ValueId> next) const;
  /// Whether anything but constants and the number of the step decides a value, where states become
  /// `next` in each step.
  bool dependsOnData(ValueId id, llvm::ArrayRef<ValueId> next) const;
  /// How many nodes were added so far.
  size_t numNodes() const { return c.program.nodes.size() - firstNode; }

  /// Data end the scan: see te::Scan.
  struct Condition {
    ValueId initial; ///< One boolean, as `next`.
    ValueId next;    ///< Inside.
    bool goesOnWhile = true;
  };

  struct Results {
    llvm::SmallVector<ValueId> carried; ///< What they are in the end.
    llvm::SmallVector<ValueId> stacks;
    std::vector<CheckedTensor> checks; ///< To be asked of the program around.
  };

  /// Makes the scan: `next` is what each carried tensor is after a step, of its type and shape;
  /// `stacked` what each step leaves behind. Nothing where what was added can't be a body.
  std::optional<Results> finish(int64_t trip, llvm::ArrayRef<ValueId> next,
                                llvm::ArrayRef<ValueId> stacked,
                                std::optional<Condition> condition);

private:
  struct Carried {
    ValueId initial, inside;
  };

  ValueId addInside(const char *suffix, ElementType type, Dims shape);
  std::vector<bool> findInside(bool mayBeLeftOut) const;
  bool dependsOn(ValueId id, const std::set<uint32_t> &states) const;
  bool isMadeInside(ValueId id, const std::vector<bool> &isInside) const;
  void carryCheck(const CheckedTensor &asked, bool isOnce, std::vector<ValueId> &next);
  te::Scan scanOf(int64_t trip, llvm::ArrayRef<ValueId> made,
                  const std::optional<Condition> &condition);
  std::vector<bool> findNeeded(llvm::ArrayRef<ValueId> made,
                               const std::vector<bool> &isInside) const;
  void cut(const std::vector<bool> &isInside);

  OpContext &c;
  size_t firstNode;
  std::set<uint32_t> standIns; ///< Of the program's values: the body's own inputs.
  ValueId number;
  std::vector<Carried> carried;
  bool isOpen = true;
};

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_SCAN_BODY_H
