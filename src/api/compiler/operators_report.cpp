#include "api/compiler/reports.h"
#include "import/registry.h"

#include <map>
#include <set>

namespace kintsugi::api {

Json describeOperators() {
  std::map<std::pair<std::string, std::string>, std::set<int>> versions;
  for (const import::Operator *entry : import::allOperators())
    versions[{entry->domain, entry->name}].insert(entry->since);
  Json all = Json::array();
  for (const auto &[key, since] : versions)
    all.push_back({{"domain", key.first}, {"name", key.second}, {"since", since}});
  return {{"oldest", import::oldestOpset}, {"newest", import::newestOpset}, {"operators", all}};
}

} // namespace kintsugi::api
