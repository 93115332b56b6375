//===- reshape_map.cpp - Where an element of a reshaped tensor stands --------===//

#include "import/reshape_map.h"

namespace kintsugi::import {

llvm::SmallVector<te::Index> reshapeMap(llvm::ArrayRef<te::Index> indices,
                                        llvm::ArrayRef<te::Extent> to,
                                        llvm::ArrayRef<te::Extent> from) {
  llvm::SmallVector<te::Index> result;
  // An empty tensor has no elements to place.
  for (te::Extent extent : from)
    if (extent.constant() == 0)
      return llvm::SmallVector<te::Index>(from.size(), te::Index(0));
  size_t target = 0, source = 0;
  while (source < from.size() || target < to.size()) {
    // The shortest runs from here on with equal products.
    size_t targetEnd = target, sourceEnd = source;
    int64_t targetSize = 1, sourceSize = 1;
    do {
      bool growSource =
          targetEnd == to.size() || (sourceEnd < from.size() && sourceSize <= targetSize);
      if (growSource)
        sourceSize *= from[sourceEnd++].constant();
      else
        targetSize *= to[targetEnd++].constant();
    } while (targetSize != sourceSize);
    te::Index position = te::linearize(indices.slice(target, targetEnd - target),
                                       to.slice(target, targetEnd - target));
    auto coordinates = te::delinearize(position, from.slice(source, sourceEnd - source));
    result.append(coordinates.begin(), coordinates.end());
    target = targetEnd;
    source = sourceEnd;
  }
  return result;
}

} // namespace kintsugi::import
