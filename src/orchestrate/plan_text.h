//===- plan_text.h - Plans as text ------------------------------------------===//
//
// The text form of a plan: what --emit plan writes, and tests read. Numbers refer to the tables
// above the tree; names are quoted.
//
//   plan "model" arena 128 objective 2.5e-06 gap 0 candidates 3
//   buffer 0 "x" f32 [4, 8] input 0
//   buffer 1 "w" f32 [8] source "bytes:..."        # derived: a result of the constant program
//   buffer 2 "y" f32 [4, 8] temporary at 0
//   kernel k0 key "0123..." seconds 2.5e-06
//   stage 0 kernel k0 operands [0, 1, 2] results 1 definitions 2 seconds 2.5e-06 moves 288 serves
//     ["conv1" 64, "relu1" 32] { "y[i:4, j:8] f32 = max(x[i, j] * w[j], 0)" }
//   stage 1 call TopK {"axis":0} operands [...] ...
//   output "y" 2                     # "dimension 1 extent 5": so far it reaches, data decide
//   constants sequence { }
//   root sequence {
//     stage 0
//     copy [2 > 3]
//     repeat 5 step 7 carry [4 > 3] stack [4 > 6] { sequence { ... } }
//     repeat 100 step 7 while 8 carry [4 > 3, 9 > 8] { sequence { ... } }   # as long as data say
//     branch 8 { sequence { ... } sequence { ... } }
//     lanes { sequence { ... } sequence { ... } }     # side by side, a worker each
//     joined seconds 3e-06 { sequence { stage 4 stage 6 } stage 5 }   # one launch
//   }
//
// A stage serves nodes of the model, each with the operations that a launch does for it. A copy
// "a > b" is from buffer a to buffer b. What a plan was made from is not in its text: a plan
// that was read has kernels without schedules and constants without bytes, each under its identity.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_PLAN_TEXT_H
#define KINTSUGI_ORCHESTRATE_PLAN_TEXT_H

#include "orchestrate/plan.h"

namespace kintsugi::orchestrate {

/// Reads what Plan::print gives; printing the result gives the same text. Nothing in the text is
/// trusted: every number refers to something that is there, buffers have room for what is copied
/// into them, only derived and temporary ones are written, temporaries lie in the arena, and each
/// stage stands in the trees once. An input error is one line, "file:line:column: reason".
Expected<Plan> parsePlan(llvm::StringRef text, llvm::StringRef file);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_PLAN_TEXT_H
