//===- compiled_engine.h - Cases through the whole compiler -----------------===//
//
// Compiles the model for a target into an artifact in memory, loads that and runs it, as the
// command line does.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_CONFORMANCE_COMPILED_ENGINE_H
#define KINTSUGI_TEST_CONFORMANCE_COMPILED_ENGINE_H

#include "engine.h"
#include "machine/machine.h"

namespace kintsugi::conformance {

class CompiledEngine final : public Engine {
public:
  /// `target` is one that the pipeline knows: "cpu", "reference", "cuda". The machine is the
  /// level's fixed description, so that what is compiled does not depend on where.
  CompiledEngine(std::string target, const std::string &level)
      : target(std::move(target)), machine(*machine::Machine::forLevel(level)) {}

  Expected<Outcome> run(const Case &which, std::map<std::string, Tensor> inputs) override;
  std::string_view level() const override { return machine.level; }

private:
  std::string target;
  machine::Machine machine;
};

} // namespace kintsugi::conformance

#endif // KINTSUGI_TEST_CONFORMANCE_COMPILED_ENGINE_H
