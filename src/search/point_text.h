//===- point_text.h - Points as text ----------------------------------------===//
//
// A point (loops/point.h) is a line of text where it is shown and where it is kept.
//
//   "stage-operand#1 16,64 -,2x16x2+0x6"
//   "- 128,64 u128x64x32x4x2x1x1x4,3x8x4+0x2|1x4@32 256"
//
// The transforms whose offers were taken ("-": none), by name, a later offer with its number from 0
// on; the sizes of the tiles; and for each nest its registers, where they are not those of the
// least estimate ("-"): vectors along iterator 2, 16 lanes in 2 vectors, and 6 rows of iterator 0;
// or "scalar". Iterators are numbered as they are before loops are put in order. In blocks of
// threads, whose number comes last, lanes may be 32 threads apart, beside rows there may be columns
// (4 of iterator 1), and a product may be on matrix units ("U" where four warps multiply together):
// rows, columns and depth of what is staged, warps down, across and along the terms, blocks, and
// stages.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_POINT_TEXT_H
#define KINTSUGI_SEARCH_POINT_TEXT_H

#include "loops/point.h"

#include <string_view>

namespace kintsugi::search {

std::string pointText(const loops::Point &point);

/// The inverse; nullopt for anything else. Whether a group has such a point is another question.
std::optional<loops::Point> parsePoint(std::string_view text);

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_POINT_TEXT_H
