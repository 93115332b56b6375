//===- rules.h - Scalar identities as data ----------------------------------===//
//
// Each rule is one entry: a name, and a function from an expression to what it may be replaced by.
// Laws for rules: the right side is never slower; it is equal for every input, NaN, infinities and
// wraparound included, unless the rule's facts say otherwise; it does not grow. Every entry is
// checked by evaluating both sides on random values (test/unit/simplify).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_RULES_H
#define KINTSUGI_SIMPLIFY_RULES_H

#include "te/program.h"

namespace kintsugi::simplify {

/// What a rule may know of an expression besides its structure.
using FactsOf = llvm::function_ref<te::Facts(const te::Expr &)>;

struct Rule {
  const char *name;
  /// What `expr` equals, or nullopt where the rule does not apply.
  std::optional<te::Expr> (*apply)(const te::Expr &expr, FactsOf factsOf);
};

llvm::ArrayRef<Rule> scalarRules();

/// Told of each rule as it replaces an expression, by its place in scalarRules().
using RuleApplied = llvm::function_ref<void(size_t rule)>;

/// Applies the rules bottom up until none applies.
te::Expr applyRules(const te::Expr &expr, FactsOf factsOf, RuleApplied applied = {});

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_RULES_H
