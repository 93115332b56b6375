//===- split_dimensions.h - Values that are read in equal parts -------------===//
//
// Where every read of an intermediate value lies within one of equal parts of a dimension (the four
// gates of an LSTM are quarters of one product's rows), the dimension becomes two, the part and the
// place in it:
//
//     s[i:1024] = sum[k] h[k] * w[i, k]         s[g:4, i:256] = sum[k] h[k] * w[256*g + i, k]
//     y[i:256] = s[i] * s[i+256]           =>   y[i:256] = s[0, i] * s[1, i]
//
// The bytes lie as before. What a tile of the readers needs of the value is then a box, so that one
// kernel can compute both.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_SPLIT_DIMENSIONS_H
#define KINTSUGI_DERIVE_SPLIT_DIMENSIONS_H

#include "explain/log.h"
#include "te/program.h"

namespace kintsugi::derive {

/// An equal program; the bodies of scans are looked at as well. `log` is told of each split.
te::Program splitDimensions(const te::Program &program, explain::Log *log = nullptr);

/// The same in the bodies of scans alone.
te::Program splitInScans(const te::Program &program, explain::Log *log = nullptr);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SPLIT_DIMENSIONS_H
