//===- transforms.h - Other members that compute the same -------------------===//
//
// The members of a group, its definitions as loops, may be replaced before they are tiled: operands
// and results are copied into scratch in another order, padded or packed; what is reduced is kept
// beside its sum; what blocks would share is computed again. Each such transform is an entry of one
// table. It offers members one after the other, by what the members are then; the search takes
// those that are predicted to be quicker, and a point names the offers that were taken
// ("keep-reduced", "stage-operand#1").
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_TRANSFORMS_H
#define KINTSUGI_SEARCH_TRANSFORMS_H

#include "loops/group_values.h"
#include "search/scheduler.h"

#include <functional>

namespace kintsugi::search {

/// What transforms look at, and what they tell of what they made.
struct TransformSite {
  const te::Program &program;
  const loops::Group &group;
  const ScheduleOptions &options;
  loops::GroupValues &values;
  const std::vector<loops::Member> &members;                  ///< As they are now.
  const std::optional<std::vector<loops::Member>> &unbounded; ///< Whose loops end at their extents.
  llvm::SmallVector<te::ValueId> &packable;                   ///< Copies that may be packed.
  llvm::SmallVector<te::ValueId> &transposed; ///< Copies that are read across their rows.

  double resultBytes() const;
};

/// The next members on offer; nullopt where there are no more.
using Offers = std::function<std::optional<std::vector<loops::Member>>(const TransformSite &)>;

struct Transform {
  const char *name;
  bool (*appliesTo)(const ScheduleOptions &options);
  Offers (*offers)();
  /// Tiles are cut along the result's iterators in either order.
  bool changesOrder = false;
};

/// In the order in which they are tried.
llvm::ArrayRef<Transform> transforms();

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_TRANSFORMS_H
