// Plans as text: what is read prints as a text that reads and prints as the same.

#include "fuzz.h"
#include "orchestrate/plan_text.h"

using namespace kintsugi;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto plan = orchestrate::parsePlan(llvm::StringRef(fuzz::textOf(data, size)), "fuzzed");
  if (!plan.ok()) {
    fuzz::requireUserError(plan.error());
    return 0;
  }
  std::string text = plan->print();
  auto again = orchestrate::parsePlan(text, "printed");
  fuzz::require(again.ok(), "a printed plan can't be read");
  fuzz::require(again->print() == text, "a plan prints otherwise once it was read");
  return 0;
}
