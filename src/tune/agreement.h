//===- agreement.h - Whether two schedules compute the same -----------------===//
//
// A schedule that is quicker because it is wrong must not win. Before one does, it and the default
// compute the same values once; sums in another order differ by their rounding, mistakes by more.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_AGREEMENT_H
#define KINTSUGI_TUNE_AGREEMENT_H

#include "loops/schedule.h"

#include <cstddef>
#include <map>
#include <vector>

namespace kintsugi::tune {

/// A value as a kernel has it packed.
std::vector<std::byte> packed(const loops::Packing &packing, ElementType type,
                              const std::vector<std::byte> &value);

struct Result {
  ElementType type;
  std::vector<std::byte> bytes;
};
/// By value of the group.
using Results = std::map<uint32_t, Result>;

/// Whether floats differ by no more of the greatest than sums in another order do where values are
/// rounded to `coarsest`, and all else is the same.
bool agree(const Results &results, const Results &others, ElementType coarsest);

/// The float type of fewest bits that schedules read, store or multiply, and f64 where they do
/// nothing of the kind.
ElementType coarsestOf(llvm::ArrayRef<const loops::Schedule *> schedules);
/// Of two float types the one whose rounding parts results more.
ElementType coarserOf(ElementType one, ElementType other);

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_AGREEMENT_H
