//===- group_names.h - Groups that plans of other sizes are made of ----------===//
//
// A model is planned for several sizes of an open dimension. From one to the next most kernels are
// of the same definitions, so the space of a size need not grow again: it has those groups that
// plans of other sizes chose, of the forms that they chose them of, each scheduled for its own
// size. Definitions go by the names of what they make, which imports at all sizes have in common,
// and forms by the rules that make them.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_GROUP_NAMES_H
#define KINTSUGI_SPACE_GROUP_NAMES_H

#include "te/program.h"

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace kintsugi::space {

class GroupNames {
public:
  using Names = std::vector<std::string>; ///< Of definitions, in program order.

  /// Adds a group of some nodes, in program order. Any thread.
  void add(const te::Program &program, llvm::ArrayRef<uint32_t> nodes);

  /// Adds a form of the program.
  void addForm(const std::string &name);

  /// Adds those of another.
  void join(const GroupNames &other);

  /// Of which the last definition has a name.
  const std::set<Names> &endingIn(const std::string &name) const;

  bool empty() const { return groups.empty(); }
  bool hasForms() const { return !forms.empty(); }
  bool hasForm(const std::string &name) const { return forms.contains(name); }

private:
  mutable std::mutex mutex;                      ///< Of those who add.
  std::map<std::string, std::set<Names>> groups; ///< By the name of the last definition.
  std::set<std::string> forms;
};

/// The name of a node: of the first value that it makes.
const std::string &nameOf(const te::Program &program, uint32_t node);

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_GROUP_NAMES_H
