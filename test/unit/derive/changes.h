// Whether a rule changes a program, whatever that is predicted to bring.
#ifndef KINTSUGI_TEST_DERIVE_CHANGES_H
#define KINTSUGI_TEST_DERIVE_CHANGES_H

#include "../te/testing.h"
#include "derive/rule.h"
#include "te/printer.h"

namespace kintsugi::derive {

class Changes : public testing::Test {
protected:
  using Apply = Expected<te::Program> (*)(const te::Program &, const RuleContext &);

  explicit Changes(const Rule &rule) : rule(rule) {
    context.margins = cost::Margins::none();
    context.space.schedule.machine = *machine::Machine::forLevel("x86-64-v3");
    context.assumed = &assumed;
  }

  /// By what `apply` points to.
  bool changes(const std::string &text, Apply apply) {
    te::Program before = te::parsed(text);
    Expected<te::Program> after = apply(before, context);
    EXPECT_TRUE(after.ok());
    return after.ok() && te::printProgram(*after) != te::printProgram(before);
  }
  bool changes(const std::string &text) { return changes(text, rule.apply); }
  bool changesAlways(const std::string &text) { return changes(text, rule.applyDominant); }

  const Rule &rule;
  RuleContext context;
  Assumptions assumed;
};

} // namespace kintsugi::derive

#endif // KINTSUGI_TEST_DERIVE_CHANGES_H
