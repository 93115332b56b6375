#include "explain/render.h"

#include <algorithm>

namespace kintsugi::explain {

static Json describe(const Step &step) {
  return {{"rule", step.rule},
          {"equation", step.equation},
          {"values", step.values},
          {"before", step.before},
          {"after", step.after}};
}

static Json describe(std::span<const Step> steps, const std::vector<size_t> &chain) {
  std::vector<std::string> rules, values;
  auto note = [](std::vector<std::string> &all, const std::string &name) {
    if (std::find(all.begin(), all.end(), name) == all.end())
      all.push_back(name);
  };
  Json list = Json::array();
  for (size_t number : chain) {
    const Step &step = steps[number];
    rules.push_back(step.rule);
    for (const std::string &value : step.values)
      note(values, value);
    list.push_back(describe(step));
  }
  return {{"rules", rules}, {"values", values}, {"steps", std::move(list)}};
}

Json renderJson(std::span<const Step> steps) {
  Json chains = Json::array(), refused = Json::array();
  for (const std::vector<size_t> &chain : chainsOf(steps))
    chains.push_back(describe(steps, chain));
  for (const Step &step : steps)
    if (!step.refusal.empty()) {
      refused.push_back(describe(step));
      refused.back()["reason"] = step.refusal;
    }
  return {{"derivations", std::move(chains)}, {"refused", std::move(refused)}};
}

} // namespace kintsugi::explain
