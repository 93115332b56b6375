#include "tune/agreement.h"

#include "base/tensor.h"
#include "loops/scratch.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>

namespace kintsugi::tune {

std::vector<std::byte> packed(const loops::Packing &packing, ElementType type,
                              const std::vector<std::byte> &value) {
  int64_t size = loops::bytesOfElement(type), elements = packing.elements();
  std::vector<std::byte> bytes(elements * size);
  std::vector<int64_t> at(packing.dimensions.size(), 0);
  for (int64_t element = 0; element < elements; ++element) {
    int64_t source = packing.offset;
    for (auto [index, dimension] : llvm::zip_equal(at, packing.dimensions))
      source += index * dimension.stride;
    bool isPadding = at[packing.panels] * packing.lanes() + at.back() >= packing.columns;
    if (!isPadding && (source + 1) * size <= int64_t(value.size()))
      std::memcpy(bytes.data() + element * size, value.data() + source * size, size);
    for (size_t d = at.size(); d-- > 0 && ++at[d] == packing.dimensions[d].extent;)
      at[d] = 0;
  }
  return bytes;
}

/// Of the greatest magnitude. Made-up values are all of a size, so that errors stay at a few units
/// in the last place; what is left out or taken twice is off by far more.
static double mostApart(ElementType coarsest) {
  switch (coarsest) {
  case ElementType::F64:
    return 1e-12;
  case ElementType::F32:
    return 5e-5;
  case ElementType::F16:
    return 4e-3;
  default:
    return 3e-2;
  }
}

ElementType coarserOf(ElementType one, ElementType other) {
  return mostApart(other) > mostApart(one) ? other : one;
}

ElementType coarsestOf(llvm::ArrayRef<const loops::Schedule *> schedules) {
  ElementType coarsest = ElementType::F64;
  auto consider = [&](ElementType type) {
    if (isFloat(type))
      coarsest = coarserOf(coarsest, type);
  };
  for (const loops::Schedule *schedule : schedules) {
    for (const loops::Buffer &buffer : schedule->buffers)
      consider(buffer.type);
    for (const loops::LoopNest &nest : schedule->nests)
      if (nest.matrix)
        consider(nest.matrix->element);
  }
  return coarsest;
}

static bool agree(const Result &result, const Result &other, ElementType coarsest) {
  if (!isFloat(result.type) || result.bytes.size() != other.bytes.size())
    return result.bytes == other.bytes;
  int64_t elements = int64_t(result.bytes.size()) / loops::bytesOfElement(result.type);
  std::vector<int64_t> shape{elements};
  TensorView a{result.type, shape, result.bytes}, b{other.type, shape, other.bytes};
  double greatest = 0, difference = 0;
  for (int64_t i = 0; i < elements; ++i) {
    double one = loadDouble(a, i), two = loadDouble(b, i);
    bool areFinite = std::isfinite(one) && std::isfinite(two);
    if (!areFinite && !(std::isnan(one) && std::isnan(two)) && one != two)
      return false;
    if (!areFinite)
      continue;
    greatest = std::max(greatest, std::abs(one));
    difference = std::max(difference, std::abs(one - two));
  }
  return difference <= mostApart(coarsest) * greatest;
}

bool agree(const Results &results, const Results &others, ElementType coarsest) {
  return results.size() == others.size() && llvm::all_of(results, [&](const auto &entry) {
           auto other = others.find(entry.first);
           return other != others.end() && other->second.type == entry.second.type &&
                  agree(entry.second, other->second, coarsest);
         });
}

} // namespace kintsugi::tune
