//===- interpreter_engine.h - Cases on the interpreter ----------------------===//
//
// Imports the model and evaluates the program as it is: what fails here is wrong in import (or in
// the interpreter), whatever the phases behind it do.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_CONFORMANCE_INTERPRETER_ENGINE_H
#define KINTSUGI_TEST_CONFORMANCE_INTERPRETER_ENGINE_H

#include "engine.h"
#include "te/program.h"

namespace kintsugi::conformance {

class InterpreterEngine final : public Engine {
public:
  Expected<Outcome> run(const Case &which, std::map<std::string, Tensor> inputs) override;
};

/// Folded where no output depends on an input, Call where an output depends on a named operation.
Means meansOf(const te::Program &program);

} // namespace kintsugi::conformance

#endif // KINTSUGI_TEST_CONFORMANCE_INTERPRETER_ENGINE_H
