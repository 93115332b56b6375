#include "explain/step.h"

#include <algorithm>
#include <map>
#include <set>

namespace kintsugi::explain {

std::vector<std::vector<size_t>> chainsOf(std::span<const Step> steps) {
  std::vector<size_t> chainOf(steps.size());
  std::map<std::string, size_t> lastOf; ///< The step that defined a name last.
  for (size_t i = 0; i < steps.size(); ++i) {
    chainOf[i] = i;
    if (!steps[i].refusal.empty())
      continue;
    for (const std::string &name : steps[i].replaced)
      if (auto found = lastOf.find(name); found != lastOf.end()) {
        size_t joined = chainOf[found->second];
        std::replace(chainOf.begin(), chainOf.begin() + i, joined, i);
      }
    for (const std::string &name : steps[i].defined)
      lastOf[name] = i;
  }
  std::map<size_t, std::vector<size_t>> chains;
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].refusal.empty())
      chains[chainOf[i]].push_back(i);
  std::vector<std::vector<size_t>> result;
  for (auto &[last, chain] : chains)
    result.push_back(std::move(chain));
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<size_t> stepsTo(std::span<const Step> steps, const std::vector<std::string> &names) {
  std::set<std::string> wanted(names.begin(), names.end());
  std::vector<size_t> found;
  for (size_t i = steps.size(); i-- > 0;) {
    const std::vector<std::string> &defined = steps[i].defined;
    bool leads = std::any_of(defined.begin(), defined.end(),
                             [&](const std::string &name) { return wanted.contains(name); });
    if (!leads || !steps[i].refusal.empty())
      continue;
    found.push_back(i);
    wanted.insert(steps[i].replaced.begin(), steps[i].replaced.end());
  }
  std::reverse(found.begin(), found.end());
  return found;
}

} // namespace kintsugi::explain
