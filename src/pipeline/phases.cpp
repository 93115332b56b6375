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

std::optional<size_t> Phases::begin(const char *name) {
  std::lock_guard<std::mutex> lock(mutex);
  size_t number = numberOf(name);
  if (options.progress && !options.progress(name, report.phases.size(), total()))
    return std::nullopt;
  return number;
}

void Phases::end(size_t number, double seconds) {
  std::lock_guard<std::mutex> lock(mutex);
  report.phases[number].seconds += seconds / double(atATime.load());
}

bool Phases::tell(std::string_view phase, uint64_t step, uint64_t steps) {
  std::lock_guard<std::mutex> lock(mutex);
  return !options.progress || options.progress(phase, step, steps);
}

size_t Phases::total() const {
  return std::max<size_t>(options.tuneSeconds > 0 ? 8 : 7, report.phases.size());
}

Expected<te::Program> checked(te::Program program) {
  KINTSUGI_RETURN_IF_ERROR(program.verify());
  return program;
}

} // namespace kintsugi::pipeline
