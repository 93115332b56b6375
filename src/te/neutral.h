//===- neutral.h - What a reduction takes in without a change ----------------===//
#ifndef KINTSUGI_TE_NEUTRAL_H
#define KINTSUGI_TE_NEUTRAL_H

#include "te/program.h"

namespace kintsugi::te {

/// A literal that changes no running value that there is; of arg forms a key, to later elements.
Expr neutralOf(Combiner combiner, ElementType type);

/// Whether an expression is that literal, or a zero of the other sign.
bool isNeutral(const Expr &expr, Combiner combiner);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_NEUTRAL_H
