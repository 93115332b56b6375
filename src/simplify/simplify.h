//===- simplify.h - The same program with less in it ------------------------===//
//
// What needs no search because it never hurts: transposes, reshapes and slices are composed into
// their readers where the map stays affine, equal definitions become one, scalar identities are
// applied, and what no output needs is dropped. It stands before the space so that the search sees
// each computation once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_SIMPLIFY_H
#define KINTSUGI_SIMPLIFY_SIMPLIFY_H

#include "explain/log.h"
#include "te/program.h"

namespace kintsugi::simplify {

/// An equal program: same inputs and outputs by name, type and shape. `log` is told which views
/// were composed, which definitions were merged or dropped, and why, and how often each scalar rule
/// was applied.
te::Program simplify(const te::Program &program, explain::Log *log = nullptr);

/// The program with every real-valued intermediate in f64 (inputs, constants and outputs keep their
/// types): what the reference target runs. With `rounding`, one of f32, f16 and bf16, every f32
/// value of the program is computed so and then rounded to that type's digits, inputs and constants
/// included: what that type costs the program as it is written, save for the ends of its range.
te::Program promoteToDouble(const te::Program &program,
                            std::optional<ElementType> rounding = std::nullopt);

/// Whether every index of a read is affine.
bool isAffineRead(const te::Expr &read);

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_SIMPLIFY_H
