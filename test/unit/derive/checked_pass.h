//===- checked_pass.h - What a pass makes of a text, when it computes the same -===//
#ifndef KINTSUGI_TEST_UNIT_DERIVE_CHECKED_PASS_H
#define KINTSUGI_TEST_UNIT_DERIVE_CHECKED_PASS_H

#include "../te/random_program.h"
#include "../te/testing.h"
#include "simplify/simplify.h"
#include "te/printer.h"

namespace kintsugi::derive {

/// The program as the pipeline has it after a pass, with views composed away; "as before" where the
/// pass finds nothing to do. What is computed has to be the same.
inline std::string
textAfter(llvm::function_ref<std::optional<te::Program>(const te::Program &)> pass,
          const std::string &text) {
  te::Program before = te::parsed(text);
  std::optional<te::Program> after = pass(before);
  if (!after)
    return "as before";
  for (const te::Program &program : {*after, simplify::simplify(*after)}) {
    Status status = program.verify();
    EXPECT_TRUE(status.ok()) << status.error().message << te::printProgram(program);
    std::vector<te::ExactTensor> inputs = te::randomInputs(before, 7);
    te::expectSame(te::evaluated(program, inputs), te::evaluated(before, inputs));
  }
  return te::printProgram(simplify::simplify(*after));
}

} // namespace kintsugi::derive

#endif // KINTSUGI_TEST_UNIT_DERIVE_CHECKED_PASS_H
