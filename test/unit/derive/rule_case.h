//===- rule_case.h - What a rule is to do, as a file ---------------------------===//
//
// The cases of test/rules: a program before and after a rule, which may have variables that other
// programs give other values (test/rules/README.md).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_UNIT_DERIVE_RULE_CASE_H
#define KINTSUGI_TEST_UNIT_DERIVE_RULE_CASE_H

#include "../te/random_program.h"
#include "derive/rule.h"

#include <map>
#include <string>
#include <vector>

namespace kintsugi::derive {

struct RuleCase {
  std::string machine;
  std::map<std::string, std::vector<int64_t>> variables; ///< By name: the values.
  std::string before, after;                             ///< Without comments.
  std::string head;                                      ///< All that stands above "--- becomes".

  /// Of the text of a file.
  static RuleCase of(const std::string &text);

  /// Each variable has its first value.
  std::string plain() const;
  /// Variables have values by chance, some inputs are computed from others, and something is
  /// computed from some outputs.
  std::string varied(te::Chance &chance) const;
};

/// What a rule makes of a program on the case's machine, whatever it costs.
te::Program applied(const Rule &rule, const RuleCase &known, const te::Program &before);

/// Each value says that it is itself.
void nameOriginals(te::Program &program);

/// But for the rounding of another order, and of what is stored in 16 bits.
void expectNear(const te::ExactTensor &one, const te::ExactTensor &other, bool isNarrow);

} // namespace kintsugi::derive

#endif // KINTSUGI_TEST_UNIT_DERIVE_RULE_CASE_H
