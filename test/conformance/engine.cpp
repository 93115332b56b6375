#include "engine.h"

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

std::unique_ptr<Engine> makeEngine(std::string_view name) {
  if (name == "interpreter")
    return std::make_unique<InterpreterEngine>();
  return nullptr;
}

} // namespace kintsugi::conformance
