//===- rounding_switches.h - Which roundings move the outputs ---------------===//
//
// How far storing f32 in fewer bits moves a model's outputs is told by nothing but runs, and a
// network may amplify what is rounded in a few of its layers a hundred times. So that one compiled
// program tells of each part of the model, whether its values are rounded is an input.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_ROUNDING_SWITCHES_H
#define KINTSUGI_SIMPLIFY_ROUNDING_SWITCHES_H

#include "simplify/store_narrow.h"

namespace kintsugi::simplify {

/// The program in f32 with one input more, bool[parts], behind its own: where the element of a
/// node's part is true, what the node makes and reads is rounded where storeNarrow() would store or
/// copy it, powers of two included. `partOf`: by node. What is rounded inside a scan's body is not
/// seen. `tried`: its `kept` is not looked at.
te::Program withRoundingSwitches(const te::Program &program, ElementType narrow, const Tried &tried,
                                 llvm::ArrayRef<unsigned> partOf, unsigned parts);

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_ROUNDING_SWITCHES_H
