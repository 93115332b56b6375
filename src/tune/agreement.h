//===- agreement.h - Whether two schedules compute the same -----------------===//
//
// A schedule that is quicker because it is wrong must not win. Before one does, it and the default
// compute the same values once; sums in another order differ by their rounding, mistakes by more.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_AGREEMENT_H
#define KINTSUGI_TUNE_AGREEMENT_H

#include "schedule/packing.h"

#include <cstddef>
#include <map>
#include <vector>

namespace kintsugi::tune {

/// A value as a kernel has it packed.
std::vector<std::byte> packed(const schedule::Packing &packing, ElementType type,
                              const std::vector<std::byte> &value);

struct Result {
  ElementType type;
  std::vector<std::byte> bytes;
};
/// By value of the group.
using Results = std::map<uint32_t, Result>;

bool agree(const Results &results, const Results &others);

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_AGREEMENT_H
