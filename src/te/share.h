//===- share.h - One expression for all that are equal ------------------------===//
//
// Where definitions are composed, what several of them read is there several times over: equal, but
// not the same expression, and in a chain twice as often with each link. Whoever composes shares
// what is equal again, so that an expression's size is that of its distinct parts.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_SHARE_H
#define KINTSUGI_TE_SHARE_H

#include "te/expr.h"

namespace kintsugi::te {

/// An equal expression of which no two parts are equal, those inside of indices apart.
Expr withSharing(const Expr &expr);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_SHARE_H
