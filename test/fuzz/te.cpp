// The text form of programs: what is read prints as a text that reads as the same.

#include "fuzz.h"
#include "te/parser.h"
#include "te/printer.h"

using namespace kintsugi;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto program = te::parseProgram(llvm::StringRef(fuzz::textOf(data, size)), "fuzzed.te");
  if (!program.ok()) {
    fuzz::requireUserError(program.error());
    return 0;
  }
  std::string text = te::printProgram(*program);
  auto again = te::parseProgram(text, "printed.te");
  fuzz::require(again.ok(), "a printed program can't be read");
  fuzz::require(te::printProgram(*again) == text, "a program prints otherwise once it was read");
  return 0;
}
