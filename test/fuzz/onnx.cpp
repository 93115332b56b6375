// ONNX files: a model that is imported is a program that passes its own checks, and its text is
// that of one program.

#include "fuzz.h"
#include "import/import.h"
#include "te/parser.h"
#include "te/printer.h"

using namespace kintsugi;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Diagnostics diagnostics;
  import::ImportOptions options;
  options.randomWeights = true;
  import::Bytes bytes{nullptr, fuzz::bytesOf(data, size)};
  auto program = import::importOnnx(bytes, "model.onnx", "/nonexistent", options, diagnostics);
  if (!program.ok()) {
    fuzz::requireUserError(program.error());
    return 0;
  }
  Status valid = program->verify();
  fuzz::require(valid.ok(), "an imported program does not pass verify()");
  std::string text = te::printProgram(*program);
  auto again = te::parseProgram(text, "printed");
  fuzz::require(again.ok(), "the text of an imported program can't be read");
  return 0;
}
