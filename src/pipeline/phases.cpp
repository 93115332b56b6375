#include "pipeline/phases.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::pipeline {

size_t Phases::numberOf(const char *name) {
  auto isThis = [&](const PhaseTime &time) { return time.phase == name; };
  size_t number = llvm::find_if(report.phases, isThis) - report.phases.begin();
  if (number == report.phases.size())
    report.phases.push_back({name});
  return number;
}

size_t Phases::total() const {
  return std::max<size_t>(options.tuneSeconds > 0 ? 8 : 7, report.phases.size());
}

Expected<te::Program> checked(te::Program program) {
  KINTSUGI_RETURN_IF_ERROR(program.verify());
  return program;
}

} // namespace kintsugi::pipeline
