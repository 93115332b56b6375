//===- space_text.h - Spaces as text ----------------------------------------===//
//
// The text form of a space: what --emit space writes, and tests read. Kernels come first, numbered
// in the order in which candidates meet them, so that equal groups are seen to share one:
//
//   space scheduled 5 fuel left
//   kernel 0 key "0123..." tiles [4 of 16, 8 of 8] scratch 256 operations 512 vectorized 1
//     reads 1024 writes 64 compute 2.5e-06
//   kernel 1 ... compute 2.5e-06 tuned 0.8 of reads 1024 writes 64 compute 3e-06
//   kernel 2 ... compute 2.5e-06 measured 4e-06
//   candidate 0 kernel 0 covers [3, 4] stores ["y"] operands ["x", "w", "y"]
//
// Definitions are numbers of the program's nodes; "scheduled" counts distinct groups, those without
// a schedule included. Seconds and bytes are of one run; a tuned kernel takes the given share of
// what the schedule would that the machine description prefers. "measured" seconds stand for what
// is predicted, and "biased" says what kernels were measured to take of what was predicted. A space
// that was read has its schedules' tile spaces and figures; the loop nests are not in the text.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_SPACE_TEXT_H
#define KINTSUGI_SPACE_SPACE_TEXT_H

#include "space/space.h"
#include "llvm/ADT/StringRef.h"

namespace kintsugi::space {

/// Reads what Space::print gives for a space of `program`, which must outlive the result; printing
/// the result gives the same text. Nothing in the text is trusted: definitions and values are
/// looked up in the program, and a kernel's key must be that of the candidate's group. An input
/// error is one line, "file:line:column: reason".
Expected<Space> parseSpace(llvm::StringRef text, llvm::StringRef file, const te::Program &program);

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_SPACE_TEXT_H
