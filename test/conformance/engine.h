//===- engine.h - What executes a case --------------------------------------===//
//
// The runner compares several ways to compute the same: the interpreter over the imported program
// (a check of import alone) and compiled artifacts.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_CONFORMANCE_ENGINE_H
#define KINTSUGI_TEST_CONFORMANCE_ENGINE_H

#include "case.h"
#include "import/import.h"

#include <memory>
#include <string_view>

namespace kintsugi::conformance {

/// How the outputs come to be.
enum class Means : uint8_t {
  Generated, ///< By expressions that a target compiles.
  Call,      ///< At least one step is a named operation, see src/calls.
  Folded,    ///< Every output is known when the program is.
};

const char *nameOf(Means means);

struct Outcome {
  std::map<std::string, Tensor> outputs;
  Means means = Means::Generated;
};

class Engine {
public:
  virtual ~Engine() = default;
  /// `inputs` holds all of the case's inputs, those that are bound included.
  virtual Expected<Outcome> run(const Case &which, std::map<std::string, Tensor> inputs) = 0;
  /// The level of the instruction set that it makes code for; "" where there is no such.
  virtual std::string_view level() const { return ""; }
};

/// How to import the case's model; the values of bound inputs are moved out of `inputs`.
Expected<import::ImportOptions> importOptions(const Case &which,
                                              std::map<std::string, Tensor> &inputs);

/// All that go by a name, one for each level of the instruction set that this machine runs: a case
/// has to come out right of each. None for a name that is no engine's.
std::vector<std::unique_ptr<Engine>> makeEngines(std::string_view name);

} // namespace kintsugi::conformance

#endif // KINTSUGI_TEST_CONFORMANCE_ENGINE_H
