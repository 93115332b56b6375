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
/// types): what the reference target runs. Values of the type `kept` are computed in f64, too, but
/// stored as they are: what then differs is the rounding of what lies in memory, and nothing else.
te::Program promoteToDouble(const te::Program &program,
                            std::optional<ElementType> kept = std::nullopt);

/// Whether every index of a read is affine.
bool isAffineRead(const te::Expr &read);

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_SIMPLIFY_H
