#include "engine.h"

#include "compiled_engine.h"
#include "interpreter_engine.h"

namespace kintsugi::conformance {

const char *nameOf(Means means) {
  switch (means) {
  case Means::Generated:
    return "generated";
  case Means::Call:
    return "call";
  case Means::Folded:
    return "folded";
  }
  return "";
}

Expected<import::ImportOptions> importOptions(const Case &which,
                                              std::map<std::string, Tensor> &inputs) {
  import::ImportOptions options;
  options.dims = which.dims;
  for (const std::string &name : which.bound) {
    auto input = inputs.find(name);
    if (input == inputs.end())
      return internalError("the case binds '" + name + "', which is not among its inputs");
    options.bound[name] = std::make_shared<const Tensor>(std::move(input->second));
    inputs.erase(input);
  }
  return options;
}

std::vector<std::unique_ptr<Engine>> makeEngines(std::string_view name) {
  std::vector<std::unique_ptr<Engine>> engines;
  if (name == "interpreter")
    engines.push_back(std::make_unique<InterpreterEngine>());
  if (name == "cpu" || name == "reference")
    for (const machine::Machine &found : machine::Machine::detectLevels())
      engines.push_back(std::make_unique<CompiledEngine>(std::string(name), found.level));
  if (name == "cuda")
    engines.push_back(std::make_unique<CompiledEngine>("cuda", "sm_90a"));
  if (name == "reference") // Its code is the same at each level: scalars in f64.
    engines.resize(std::min<size_t>(engines.size(), 1));
  return engines;
}

} // namespace kintsugi::conformance
