#include "space/group_names.h"

namespace kintsugi::space {

const std::string &nameOf(const te::Program &program, uint32_t node) {
  return program.value(program.resultsOf(node)[0]).name;
}

void GroupNames::add(const te::Program &program, llvm::ArrayRef<uint32_t> nodes) {
  Names names;
  for (uint32_t node : nodes)
    names.push_back(nameOf(program, node));
  std::lock_guard<std::mutex> lock(mutex);
  std::set<Names> &its = groups[names.back()];
  its.insert(std::move(names));
}

void GroupNames::addForm(const std::string &name) {
  std::lock_guard<std::mutex> lock(mutex);
  forms.insert(name);
}

void GroupNames::join(const GroupNames &other) {
  std::scoped_lock lock(mutex, other.mutex);
  for (const auto &[name, its] : other.groups)
    groups[name].insert(its.begin(), its.end());
  forms.insert(other.forms.begin(), other.forms.end());
}

const std::set<GroupNames::Names> &GroupNames::endingIn(const std::string &name) const {
  static const std::set<Names> none;
  auto found = groups.find(name);
  return found == groups.end() ? none : found->second;
}

} // namespace kintsugi::space
