#include "space/whole_operators.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <map>

namespace kintsugi::space {

using namespace te;

namespace {

/// The nodes of a program by operators that don't wait for each other.
class ByOrigin {
public:
  ByOrigin(const Program &program, llvm::ArrayRef<uint32_t> nodes)
      : program(program), operatorOf(program.nodes.size()) {
    llvm::IntEqClasses classes(program.nodes.size());
    std::map<std::string, uint32_t> first; ///< By origin.
    for (uint32_t node : nodes)
      for (const std::string &origin : program.origins[node])
        classes.join(first.try_emplace(origin, node).first->second, node);
    classes.compress();
    operators.resize(classes.getNumClasses());
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      put(node, classes[node]);
    for (size_t each : thatWaitForEachOther())
      takeApart(each);
  }

  std::vector<Nodes> of(llvm::ArrayRef<uint32_t> nodes) const {
    std::vector<Nodes> result;
    for (uint32_t node : nodes)
      if (const Nodes &its = operators[operatorOf[node]]; its.back() == node)
        result.push_back(its);
    return result;
  }

private:
  void put(uint32_t node, size_t where) {
    operatorOf[node] = where;
    operators[where].push_back(node);
  }

  void takeApart(size_t each) {
    Nodes nodes = std::move(operators[each]);
    operators[each].clear();
    put(nodes.front(), each);
    for (uint32_t node : llvm::drop_begin(nodes)) {
      operators.emplace_back();
      put(node, operators.size() - 1);
    }
  }

  /// Operators that have to run before one.
  std::vector<size_t> awaitedBy(size_t each) const {
    std::vector<size_t> awaited;
    for (uint32_t node : operators[each])
      for (ValueId operand : program.operandsOf(node)) {
        const Value &value = program.value(operand);
        if (value.kind == ValueKind::Result && operatorOf[value.node] != each)
          awaited.push_back(operatorOf[value.node]);
      }
    return awaited;
  }

  /// Members of strongly connected components of more than one operator (Tarjan, without recursion:
  /// chains may be long).
  std::vector<size_t> thatWaitForEachOther() const {
    constexpr size_t unseen = ~size_t(0);
    struct Visit {
      size_t each;
      std::vector<size_t> left;
    };
    std::vector<size_t> index(operators.size(), unseen), low(index), found, open;
    std::vector<bool> isOpen(operators.size(), false);
    std::vector<Visit> path;
    size_t next = 0;
    auto enter = [&](size_t each) {
      index[each] = low[each] = next++;
      open.push_back(each);
      isOpen[each] = true;
      path.push_back({each, awaitedBy(each)});
    };
    auto leave = [&](size_t each) {
      path.pop_back();
      if (!path.empty())
        low[path.back().each] = std::min(low[path.back().each], low[each]);
      if (low[each] != index[each])
        return;
      auto first = std::prev(llvm::find(llvm::reverse(open), each).base());
      if (open.end() - first > 1)
        found.insert(found.end(), first, open.end());
      for (size_t member : llvm::make_range(first, open.end()))
        isOpen[member] = false;
      open.erase(first, open.end());
    };
    for (size_t each = 0; each < operators.size(); ++each) {
      if (index[each] == unseen)
        enter(each);
      while (!path.empty()) {
        Visit &visit = path.back();
        if (visit.left.empty()) {
          leave(visit.each);
          continue;
        }
        size_t before = visit.left.back();
        visit.left.pop_back();
        if (index[before] == unseen)
          enter(before);
        else if (isOpen[before])
          low[visit.each] = std::min(low[visit.each], index[before]);
      }
    }
    llvm::sort(found);
    return found;
  }

  const Program &program;
  std::vector<Nodes> operators;
  std::vector<size_t> operatorOf; ///< By node.
};

/// What can be a kernel of an operator's definitions.
class Kernels {
public:
  Kernels(const Program &program, const SpaceOptions &options, const Growth &growth,
          ScheduleTable &table)
      : program(program), options(options), growth(growth), table(table) {}

  /// The longest runs of an operator's definitions, from the last one back, that are.
  std::vector<Nodes> of(llvm::ArrayRef<uint32_t> nodes) {
    std::vector<Nodes> runs;
    for (llvm::ArrayRef<uint32_t> left = nodes; !left.empty();) {
      size_t start = 0;
      while (start + 1 < left.size() && !isOne(left.drop_front(start)))
        ++start;
      runs.emplace_back(left.drop_front(start));
      left = left.take_front(start);
    }
    if (runs.size() > 1)
      note(nodes, runs.size());
    return runs;
  }

private:
  bool isOne(llvm::ArrayRef<uint32_t> nodes) {
    if (nodes.size() > options.caps.nodes)
      return false;
    loops::Group group = growth.groupOf(nodes);
    if (!growth.withinCaps(group))
      return false;
    std::optional<double> together = table.priceOf(group, true).seconds;
    double apart = 0;
    for (uint32_t node : nodes)
      apart += table.priceOf(growth.groupOf({node}), true)
                   .seconds.value_or(std::numeric_limits<double>::infinity());
    return together && *together <= options.caps.detour * apart;
  }

  void note(llvm::ArrayRef<uint32_t> nodes, size_t runs) const {
    if (!options.log)
      return;
    std::string names;
    for (uint32_t node : nodes)
      for (const std::string &origin : program.origins[node])
        if (names.find("'" + origin + "'") == std::string::npos)
          names += (names.empty() ? "'" : ", '") + origin + "'";
    options.log->add(
        {"space",
         "operator " + names,
         "kept as several",
         {"no kernel computes all of it, or a kernel for each definition is clearly quicker"},
         {{"definitions", static_cast<double>(nodes.size()), ""},
          {"parts", static_cast<double>(runs), ""}}});
  }

  const Program &program;
  const SpaceOptions &options;
  const Growth &growth;
  ScheduleTable &table;
};

} // namespace

std::vector<Nodes> wholeOperators(const Program &program, llvm::ArrayRef<uint32_t> nodes,
                                  const SpaceOptions &options, const Growth &growth,
                                  ScheduleTable &table) {
  Kernels kernels(program, options, growth, table);
  std::vector<Nodes> result;
  for (const Nodes &each : ByOrigin(program, nodes).of(nodes))
    llvm::append_range(result, kernels.of(each));
  llvm::sort(result, [](const Nodes &a, const Nodes &b) { return a.back() < b.back(); });
  return result;
}

} // namespace kintsugi::space
