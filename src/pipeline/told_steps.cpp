#include "pipeline/told_steps.h"

#include "derive/steps.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace kintsugi::pipeline {

void tellChanges(explain::Log &log, const te::Program &before, const te::Program &after,
                 const char *rule, const char *equation) {
  for (const derive::PartsOfStep &parts : derive::partsBetween(before, after))
    log.addStep(derive::describe(parts, rule, equation));
}

void tellSteps(llvm::ArrayRef<const explain::Log *> logs,
               const std::map<std::string, llvm::ArrayRef<size_t>> &sources, explain::Log &log) {
  std::vector<std::vector<std::string>> names(logs.size()); ///< By form.
  for (const auto &[name, its] : sources)
    if (!llvm::is_contained(its, 0u))
      for (size_t number : its)
        names[number].push_back(name);
  std::set<std::string> told, texts;
  auto isTold = [&](const std::string &name) { return told.contains(name); };
  while (true) {
    for (std::vector<std::string> &its : names)
      llvm::erase_if(its, isTold);
    size_t most =
        llvm::max_element(names, [](const auto &a, const auto &b) { return a.size() < b.size(); }) -
        names.begin();
    if (names[most].empty())
      return;
    std::vector<explain::Step> steps = logs[most]->steps();
    for (size_t step : explain::stepsTo(steps, names[most]))
      if (texts.insert(steps[step].before + steps[step].after).second)
        log.addStep(std::move(steps[step]));
    told.insert(names[most].begin(), names[most].end());
  }
}

void tellRefused(const explain::Log &ofForm, llvm::ArrayRef<const explain::Log *> others,
                 explain::Log &log) {
  std::set<std::string> told;
  for (const explain::Step &step : ofForm.steps())
    told.insert(step.before + step.after);
  for (const explain::Log *other : others)
    for (explain::Step &step : other->steps()) {
      if (step.rule == formatsName || !told.insert(step.before + step.after).second)
        continue;
      if (step.refusal.empty())
        step.refusal = "the plan is quicker without it";
      log.addStep(std::move(step));
    }
}

} // namespace kintsugi::pipeline
