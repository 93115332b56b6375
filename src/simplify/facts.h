//===- facts.h - What is true of every element ------------------------------===//
//
// Bounds, finiteness and freedom from NaN, from the expressions alone and whatever the inputs are.
// Rules use them where an identity holds only for tame values.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_FACTS_H
#define KINTSUGI_SIMPLIFY_FACTS_H

#include "te/program.h"

namespace kintsugi::simplify {

/// Facts of an expression whose reads have the facts recorded in the program.
te::Facts factsOf(const te::Expr &expr, const te::Program &program);

/// Facts of the first result of a definition of the program.
te::Facts factsOf(const te::Definition &definition, const te::Program &program);

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_FACTS_H
