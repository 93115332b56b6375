//===- reshape_map.h - Where an element of a reshaped tensor stands ----------===//
#ifndef KINTSUGI_IMPORT_RESHAPE_MAP_H
#define KINTSUGI_IMPORT_RESHAPE_MAP_H

#include "te/program.h"

namespace kintsugi::import {

/// The coordinates in a tensor of shape `from` of the element that has the coordinates `indices`
/// after a reshape to `to` (both of as many elements). Runs of dimensions whose products agree are
/// mapped apart, so that a dimension that only moved, split or merged keeps a short index.
llvm::SmallVector<te::Index> reshapeMap(llvm::ArrayRef<te::Index> indices,
                                        llvm::ArrayRef<te::Extent> to,
                                        llvm::ArrayRef<te::Extent> from);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_RESHAPE_MAP_H
