#include "derive/steps.h"

#include "te/constant_nodes.h"
#include "te/printer.h"
#include "te/subprogram.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace kintsugi::derive {

using namespace te;

namespace {

/// What a node defines and how, without the model's nodes that it serves.
std::string textOf(const Program &program, uint32_t node) {
  std::string text = printNode(program, node);
  return program.origins[node].empty() ? text : text.substr(0, text.rfind("  @"));
}

/// One of two programs, by names.
class Side {
public:
  explicit Side(const Program &program) : program(program), constant(constantNodes(program)) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      for (ValueId result : program.resultsOf(node))
        nodes[program.value(result).name] = node;
    for (const Program::Output &output : program.outputs)
      kept.insert(program.value(output.value).name);
  }

  std::optional<uint32_t> nodeOf(llvm::StringRef name) const {
    auto found = nodes.find(name);
    return found == nodes.end() ? std::nullopt : std::optional(found->second);
  }

  /// Finds the nodes that the other side has not, and what others read of them.
  void compareWith(const Side &other) {
    isChanged.assign(program.nodes.size(), false);
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      std::optional<uint32_t> same = other.nodeOf(nameOf(node));
      isChanged[node] = !same || textOf(program, node) != textOf(other.program, *same);
    }
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (!isChanged[node])
        for (ValueId operand : program.operandsOf(node))
          kept.insert(program.value(operand).name);
  }

  const std::string &nameOf(uint32_t node) const {
    return program.value(program.resultsOf(node)[0]).name;
  }

  /// Names of what some nodes read that none of them defines and that is no constant.
  std::set<std::string> leavesOf(const std::set<uint32_t> &some) const {
    std::set<std::string> names;
    for (uint32_t node : some)
      for (ValueId operand : program.operandsOf(node))
        if (const Value &value = program.value(operand);
            value.kind == ValueKind::Input || (value.kind == ValueKind::Result &&
                                               !constant[value.node] && !some.contains(value.node)))
          names.insert(value.name);
    return names;
  }

  /// Adds what lies between leaves of which one depends on another and one of both is in `told`.
  void addBetween(const std::set<std::string> &leaves, const std::set<std::string> &told,
                  std::set<uint32_t> &some) const {
    std::set<std::string> ends = leavesOf(some);
    std::set<uint32_t> between;
    for (bool isTold : {false, true}) {
      std::vector<bool> depends = dependOn(leaves, told, isTold, some);
      llvm::SmallVector<uint32_t> open;
      for (const std::string &name : ends)
        if (std::optional<uint32_t> node = nodeOf(name); node && told.contains(name) == isTold)
          open.push_back(*node);
      std::set<uint32_t> seen;
      while (!open.empty()) {
        uint32_t node = open.pop_back_val();
        if (!depends[node] || !seen.insert(node).second)
          continue;
        for (ValueId operand : program.operandsOf(node))
          if (const Value &value = program.value(operand);
              value.kind == ValueKind::Result && !some.contains(value.node))
            open.push_back(value.node);
      }
      between.insert(seen.begin(), seen.end());
    }
    some.insert(between.begin(), between.end());
  }

  /// Some nodes, and what is constant that they read, without outputs yet.
  Subprogram part(const std::set<uint32_t> &some) const {
    std::set<uint32_t> needed;
    for (uint32_t node : some)
      addWithConstants(node, needed);
    Subprogram result(program,
                      [&](ValueId id) { return program.value(id).kind == ValueKind::Constant; });
    for (uint32_t node : needed)
      result.copy(node);
    return result;
  }

  const Program &program;
  std::vector<bool> constant; ///< By node.
  llvm::StringMap<uint32_t> nodes;
  llvm::StringSet<> kept; ///< Names of outputs, and of what nodes read that both sides have.
  std::vector<bool> isChanged;

private:
  /// By node, whether it depends on a leaf, or on one of some nodes, and that or who asks is told.
  std::vector<bool> dependOn(const std::set<std::string> &leaves, const std::set<std::string> &told,
                             bool isTold, const std::set<uint32_t> &some) const {
    std::vector<bool> depends(program.nodes.size(), false);
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (!constant[node])
        depends[node] = llvm::any_of(program.operandsOf(node), [&](ValueId operand) {
          const Value &value = program.value(operand);
          bool isLeaf = leaves.contains(value.name) && (isTold || told.contains(value.name));
          return isLeaf || (value.kind == ValueKind::Result &&
                            (some.contains(value.node) ? isTold : depends[value.node]));
        });
    return depends;
  }

  /// With what is constant, and with numbers that tell where to read: not any would do.
  void addWithConstants(uint32_t node, std::set<uint32_t> &needed) const {
    if (!needed.insert(node).second)
      return;
    for (ValueId operand : program.operandsOf(node))
      if (const Value &value = program.value(operand);
          value.kind == ValueKind::Result && (constant[value.node] || isInteger(value.type)))
        addWithConstants(value.node, needed);
  }
};

class PartFinder {
public:
  PartFinder(const Program &before, const Program &after) : old(before), fresh(after) {
    old.compareWith(fresh);
    fresh.compareWith(old);
  }

  std::vector<PartsOfStep> find() {
    join(old, 0);
    join(fresh, numOld());
    for (uint32_t node = 0; node < fresh.program.nodes.size(); ++node)
      if (fresh.isChanged[node])
        for (ValueId result : fresh.program.resultsOf(node))
          if (std::optional<uint32_t> same = old.nodeOf(fresh.program.value(result).name))
            classes.unionSets(*same, numOld() + node);
    std::map<uint32_t, std::set<uint32_t>> parts; ///< By leader.
    for (uint32_t number = 0; number < numOld() + fresh.program.nodes.size(); ++number)
      if (number < numOld() ? old.isChanged[number] : fresh.isChanged[number - numOld()])
        parts[classes.getOrInsertLeaderValue(number)].insert(number);
    std::map<uint32_t, PartsOfStep> ordered; ///< By the first node of the later program.
    for (const auto &[leader, numbers] : parts)
      if (std::optional<PartsOfStep> found = partsOf(numbers))
        ordered.emplace(*numbers.lower_bound(numOld()), std::move(*found));
    std::vector<PartsOfStep> result;
    for (auto &[first, found] : ordered)
      result.push_back(std::move(found));
    return result;
  }

private:
  uint32_t numOld() const { return old.program.nodes.size(); }

  void join(const Side &side, uint32_t first) {
    for (uint32_t node = 0; node < side.program.nodes.size(); ++node) {
      if (!side.isChanged[node])
        continue;
      classes.insert(first + node);
      for (ValueId operand : side.program.operandsOf(node))
        if (const Value &value = side.program.value(operand);
            value.kind == ValueKind::Result && side.isChanged[value.node])
          classes.unionSets(first + value.node, first + node);
    }
  }

  /// What one part reads and the other doesn't may be made of what the other reads: that has to be
  /// seen.
  void addWhatRelatesLeaves(std::set<uint32_t> &ofOld, std::set<uint32_t> &ofFresh) const {
    for (size_t before = 0; before != ofOld.size() + ofFresh.size();) {
      before = ofOld.size() + ofFresh.size();
      std::set<std::string> a = old.leavesOf(ofOld), b = fresh.leavesOf(ofFresh), all = a, told;
      all.insert(b.begin(), b.end());
      std::ranges::set_symmetric_difference(a, b, std::inserter(told, told.end()));
      old.addBetween(all, told, ofOld);
      fresh.addBetween(all, told, ofFresh);
    }
  }

  /// nullopt where nothing that is left reads what the part defines.
  std::optional<PartsOfStep> partsOf(const std::set<uint32_t> &numbers) const {
    std::set<uint32_t> ofOld(numbers.begin(), numbers.lower_bound(numOld())), ofFresh;
    for (auto number = numbers.lower_bound(numOld()); number != numbers.end(); ++number)
      ofFresh.insert(*number - numOld());
    addWhatRelatesLeaves(ofOld, ofFresh);
    Subprogram before = old.part(ofOld), after = fresh.part(ofFresh);
    llvm::SmallVector<ValueId> outputs, same;
    for (uint32_t node : ofFresh)
      for (ValueId id : fresh.program.resultsOf(node)) {
        const Value &value = fresh.program.value(id);
        std::optional<uint32_t> its = old.nodeOf(value.name);
        if (!its || !fresh.kept.contains(value.name) || !ofOld.contains(*its))
          continue;
        ValueId other = *llvm::find_if(old.program.resultsOf(*its), [&](ValueId each) {
          return old.program.value(each).name == value.name;
        });
        if (old.program.value(other).type != value.type ||
            !llvm::equal(old.program.shape(other), value.shape))
          continue;
        outputs.push_back(after[id]);
        same.push_back(before[other]);
      }
    if (outputs.empty())
      return std::nullopt;
    before.addOutputs(same);
    after.addOutputs(outputs);
    return PartsOfStep{std::move(before.program), std::move(after.program)};
  }

  Side old, fresh;
  llvm::EquivalenceClasses<uint32_t> classes; ///< Of nodes, the later program's from numOld() on.
};

std::vector<std::string> namesOf(const Program &program) {
  std::vector<std::string> names;
  for (const Value &value : program.values)
    if (value.kind == ValueKind::Result)
      names.push_back(value.name);
  return names;
}

} // namespace

std::vector<PartsOfStep> partsBetween(const Program &before, const Program &after) {
  return PartFinder(before, after).find();
}

explain::Step describe(const PartsOfStep &parts, const std::string &rule,
                       const std::string &equation, const std::string &refusal) {
  std::vector<std::string> values;
  for (const Program::Output &output : parts.after.outputs)
    values.push_back(output.name);
  return {rule,
          equation,
          printProgram(parts.before),
          printProgram(parts.after),
          std::move(values),
          namesOf(parts.before),
          namesOf(parts.after),
          refusal};
}

} // namespace kintsugi::derive
