#include "space/growth.h"

#include "te/product.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <deque>
#include <map>

namespace kintsugi::space {

using namespace te;

Growth::Growth(const Program &program, llvm::ArrayRef<uint32_t> nodes, const SpaceOptions &options)
    : program(program), options(options), eligible(program.nodes.size(), false),
      alone(program.nodes.size(), 0), producers(program.nodes.size()),
      consumers(program.nodes.size()), operands(program.nodes.size()), readers(program.numValues()),
      isProgramOutput(program.numValues(), false) {
  for (uint32_t node : nodes)
    eligible[node] = std::holds_alternative<Definition>(program.nodes[node]);
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    bool isSibling = eligible[node] && !isContraction(std::get<Definition>(program.nodes[node]));
    operands[node] = program.operandsOf(node);
    for (ValueId operand : operands[node]) {
      const Value &value = program.value(operand);
      if (isSibling && !isConstant(operand))
        readers[operand.number].push_back(node);
      if (value.kind != ValueKind::Result)
        continue;
      producers[node].push_back(value.node);
      if (consumers[value.node].empty() || consumers[value.node].back() != node)
        consumers[value.node].push_back(node);
    }
  }
  for (const Program::Output &output : program.outputs)
    isProgramOutput[output.value.number] = true;
  for (uint32_t node = 0; options.likely && node < program.nodes.size(); ++node)
    named.try_emplace(nameOf(program, node), node);
}

void Growth::keepWhole(llvm::ArrayRef<Nodes> operators) {
  whole.assign(program.nodes.size(), {});
  for (const Nodes &each : operators)
    for (uint32_t node : each)
      whole[node] = each;
}

void Growth::alsoByOperators(llvm::ArrayRef<Nodes> all, llvm::ArrayRef<double> seconds) {
  operators.assign(program.nodes.size(), {});
  for (auto [nodes, alone] : llvm::zip_equal(all, seconds))
    for (uint32_t node : nodes)
      operators[node] = {nodes, alone};
}

Growth::Step Growth::stepAt(uint32_t node, bool byOperators) const {
  if (byOperators)
    return operators[node];
  Nodes nodes = completed({node}, false);
  return {nodes, alone[nodes.back()]};
}

Nodes Growth::completed(llvm::ArrayRef<uint32_t> nodes, bool byOperators) const {
  if (!byOperators && whole.empty())
    return Nodes(nodes);
  Nodes result;
  for (uint32_t node : nodes) {
    const Nodes &its = byOperators ? operators[node].nodes : whole[node];
    if (its.empty())
      result.push_back(node);
    else
      llvm::append_range(result, its);
  }
  llvm::sort(result);
  result.erase(llvm::unique(result), result.end());
  return result;
}

loops::Group Growth::groupOf(llvm::ArrayRef<uint32_t> nodes) const {
  loops::Group group;
  group.nodes.assign(nodes.begin(), nodes.end());
  for (uint32_t node : nodes) {
    bool readOutside = llvm::any_of(
        consumers[node], [&](uint32_t consumer) { return !llvm::is_contained(nodes, consumer); });
    bool isLast = llvm::none_of(
        consumers[node], [&](uint32_t consumer) { return llvm::is_contained(nodes, consumer); });
    for (ValueId result : program.resultsOf(node))
      if (readOutside || isLast || isProgramOutput[result.number])
        group.outputs.push_back(result);
    for (ValueId operand : operands[node])
      if (isConstant(operand) && !llvm::is_contained(group.constants, operand))
        group.constants.push_back(operand);
  }
  group.open = openRowsOf(program.resultsOf(nodes.back())[0]);
  return group;
}

llvm::SmallVector<loops::OpenRows, 2> Growth::openRowsOf(ValueId id) const {
  llvm::SmallVector<loops::OpenRows, 2> rows;
  for (const OpenValues &open : options.open) {
    const Validity &validity = (*open.validity)[id.number];
    if (!validity.isSteps() || validity.axes.size() != 1)
      continue;
    auto [dimension, each] = validity.axes.front();
    if (llvm::none_of(rows, [&](const auto &other) { return other.dimension == dimension; }))
      rows.push_back({dimension, each, open.sizes.low, open.sizes.high});
  }
  return rows;
}

bool Growth::keepsOperators(llvm::ArrayRef<uint32_t> nodes) const {
  return operators.empty() || llvm::ArrayRef<uint32_t>(completed(nodes, true)) == nodes;
}

bool Growth::isConstant(ValueId id) const {
  return id.number < options.constants.size() && options.constants[id.number];
}

bool Growth::hasShapeOf(uint32_t node, uint32_t other) const {
  return llvm::equal(std::get<Definition>(program.nodes[node]).parallel,
                     std::get<Definition>(program.nodes[other]).parallel,
                     [](const Iterator &a, const Iterator &b) { return a.extent == b.extent; });
}

Nodes Growth::siblingsOf(const Nodes &nodes) const {
  constexpr size_t nearest = 8; // Of those that read a value.
  uint32_t root = nodes.back();
  Nodes result;
  for (uint32_t node : llvm::reverse(nodes))
    for (ValueId operand : operands[node]) {
      llvm::ArrayRef<uint32_t> before = readers[operand.number];
      before = before.take_front(llvm::lower_bound(before, root) - before.begin());
      for (uint32_t reader : llvm::reverse(before.take_back(nearest)))
        if (!llvm::is_contained(nodes, reader) && !llvm::is_contained(result, reader) &&
            hasShapeOf(reader, root))
          result.push_back(reader);
    }
  return result;
}

Nodes Growth::producersOf(const Nodes &nodes) const {
  Nodes result;
  for (uint32_t node : llvm::reverse(nodes))
    for (uint32_t producer : producers[node])
      if (eligible[producer] && !llvm::is_contained(nodes, producer) &&
          !llvm::is_contained(result, producer))
        result.push_back(producer);
  return result;
}

bool Growth::isConvex(const Nodes &nodes) const {
  // A path that leaves and comes back goes through nodes between the first and the last member.
  uint32_t last = nodes.back();
  std::set<uint32_t> outside;
  std::deque<uint32_t> queue;
  auto leave = [&](uint32_t node) {
    for (uint32_t consumer : consumers[node])
      if (consumer <= last && !llvm::is_contained(nodes, consumer) &&
          outside.insert(consumer).second)
        queue.push_back(consumer);
  };
  for (uint32_t node : nodes)
    leave(node);
  while (!queue.empty()) {
    uint32_t node = queue.front();
    queue.pop_front();
    for (uint32_t consumer : consumers[node])
      if (llvm::is_contained(nodes, consumer))
        return false;
    leave(node);
  }
  return true;
}

/// The nearest ones on the way back through what is computed point by point, as far as one group
/// may reach.
std::vector<Growth::Behind> Growth::reductionsBehind(uint32_t node, unsigned steps) const {
  std::set<uint32_t> seen;
  std::vector<Behind> found;
  Nodes level(producers[node]);
  for (unsigned left = steps; left-- > 0 && !level.empty();) {
    Nodes next;
    for (uint32_t producer : level) {
      if (!eligible[producer] || !seen.insert(producer).second)
        continue;
      if (std::get<Definition>(program.nodes[producer]).reduction)
        found.push_back({producer, left});
      else
        llvm::append_range(next, producers[producer]);
    }
    level = std::move(next);
  }
  llvm::sort(found, [](const Behind &a, const Behind &b) { return a.node < b.node; });
  return found;
}

/// What leads from some of the first nodes to the last.
Nodes Growth::between(const Nodes &first, uint32_t last) const {
  std::set<uint32_t> after(first.begin(), first.end()), before{last};
  for (uint32_t node = first.front(); node <= last; ++node)
    if (eligible[node] &&
        llvm::any_of(producers[node], [&](uint32_t producer) { return after.count(producer); }))
      after.insert(node);
  for (uint32_t node = last + 1; node-- > first.front();)
    if (before.count(node))
      before.insert(producers[node].begin(), producers[node].end());
  Nodes nodes;
  std::set_intersection(after.begin(), after.end(), before.begin(), before.end(),
                        std::back_inserter(nodes));
  return nodes;
}

std::vector<Nodes> Growth::attentionBefore(uint32_t root) const {
  auto isStats = [&](uint32_t node) {
    return std::get<Definition>(program.nodes[node]).reduction->combiner == Combiner::SoftmaxStats;
  };
  std::vector<Nodes> groups;
  bool isReduction = std::get<Definition>(program.nodes[root]).reduction.has_value();
  std::vector<Behind> sums{{root, options.caps.nodes}};
  if (!isReduction)
    sums = reductionsBehind(root, options.caps.nodes);
  for (const Behind &sum : sums)
    for (const Behind &stats : reductionsBehind(sum.node, sum.stepsLeft)) {
      Nodes scores;
      if (isStats(stats.node))
        for (const Behind &each : reductionsBehind(stats.node, stats.stepsLeft))
          scores.push_back(each.node);
      if (!scores.empty())
        groups.push_back(between(scores, root));
      if (scores.size() > 1) // Not all may be scores: a mask's table of open blocks is a reduction.
        for (uint32_t each : scores)
          groups.push_back(between({each}, root));
    }
  return groups;
}

std::vector<Nodes> Growth::likelyBefore(uint32_t root) const {
  std::vector<Nodes> groups;
  for (const GroupNames::Names &names : options.likely->endingIn(nameOf(program, root))) {
    Nodes nodes;
    for (const std::string &name : names)
      if (auto found = named.find(name); found != named.end() && eligible[found->second])
        nodes.push_back(found->second);
    llvm::sort(nodes);
    if (nodes.size() == names.size() && nodes.size() > 1)
      groups.push_back(std::move(nodes));
  }
  return groups;
}

bool Growth::withinCaps(const loops::Group &group) const {
  llvm::SmallDenseSet<uint32_t, 32> inputs;
  for (uint32_t node : group.nodes)
    for (ValueId operand : operands[node]) {
      const Value &value = program.value(operand);
      if (value.kind != ValueKind::Result || !llvm::is_contained(group.nodes, value.node))
        inputs.insert(operand.number);
    }
  return group.outputs.size() <= options.caps.outputs && inputs.size() <= options.caps.inputs;
}

/// The groups of one root: those that were met, and those that grow further.
class Growth::Search {
public:
  using Price = llvm::function_ref<std::optional<double>(loops::Group)>;

  Search(const Growth &growth, uint32_t root, unsigned &fuel, Price price)
      : growth(growth), fuel(fuel), price(price) {
    grown.push_back(growth.stepAt(root, false));
  }

  void wholes(llvm::ArrayRef<Nodes> groups) {
    for (const Nodes &group : groups) {
      Nodes nodes = growth.completed(group, stepsAreOperators);
      if (fuel == 0 || nodes.back() != group.back() || !met.insert(nodes).second)
        continue;
      if (std::optional<double> seconds = offer(nodes))
        grown.insert(grown.begin(), {std::move(nodes), *seconds});
    }
  }

  /// Along the edges to producers, up to so many groups in all.
  void alongProducers(size_t most) {
    for (size_t next = 0; next < grown.size() && goesOn(most); ++next)
      widen(grown[next], growth.producersOf(grown[next].nodes), most);
  }

  /// Each group by what reads the same values as a member, and what such a group grows to.
  void alongSharedInputs(size_t most) {
    most += accepted;
    std::vector<Step> lone = std::move(grown);
    grown.clear();
    for (size_t next = 0; next < lone.size() && goesOn(most); ++next)
      widen(lone[next], growth.siblingsOf(lone[next].nodes), most);
    for (size_t next = 0; next < grown.size() && goesOn(most); ++next) {
      widen(grown[next], growth.siblingsOf(grown[next].nodes), most);
      widen(grown[next], growth.producersOf(grown[next].nodes), most);
    }
  }

  /// From now on by whole operators, from that of the root on. Groups that were met before are met
  /// again, but not offered.
  void byOperators(const Step &first) {
    stepsAreOperators = true;
    met.clear();
    grown.assign({first});
    if (first.nodes.size() > 1 && fuel > 0)
      offer(first.nodes);
    accepted = 0;
  }

private:
  bool goesOn(size_t most) const { return accepted < most && fuel > 0; }

  /// Its price; nullopt where it is no group that can be a kernel.
  std::optional<double> offer(const Nodes &nodes) {
    if (nodes.size() > growth.options.caps.nodes)
      return std::nullopt;
    auto [entry, isNew] = priced.try_emplace(nodes);
    std::optional<double> &seconds = entry->second;
    if (isNew && growth.isConvex(nodes)) {
      --fuel;
      loops::Group group = growth.groupOf(nodes);
      if (growth.withinCaps(group))
        seconds = price(std::move(group));
    }
    accepted += seconds.has_value();
    return seconds;
  }

  void widen(Step current, const Nodes &neighbours, size_t most) {
    if (current.nodes.size() >= growth.options.caps.nodes)
      return;
    for (uint32_t neighbour : neighbours) {
      if (!goesOn(most))
        return;
      Step added = growth.stepAt(neighbour, stepsAreOperators);
      if (added.nodes.back() > current.nodes.back())
        continue; // It ends in another root.
      Nodes larger = current.nodes;
      larger.append(added.nodes);
      llvm::sort(larger);
      if (!met.insert(larger).second)
        continue;
      std::optional<double> seconds = offer(larger);
      if (seconds && *seconds <= growth.options.caps.detour * (current.seconds + added.seconds))
        grown.push_back({std::move(larger), *seconds});
    }
  }

  const Growth &growth;
  unsigned &fuel;
  Price price;
  bool stepsAreOperators = false;
  std::set<Nodes> met;
  std::map<Nodes, std::optional<double>> priced;
  std::vector<Step> grown; ///< In the order in which they grow further.
  size_t accepted = 0;
};

void Growth::from(uint32_t root, unsigned &fuel,
                  llvm::function_ref<std::optional<double>(loops::Group)> price) const {
  Search search(*this, root, fuel, price);
  if (options.likely)
    return search.wholes(likelyBefore(root));
  const std::vector<Nodes> attention = attentionBefore(root);
  auto grow = [&] {
    search.wholes(attention);
    search.alongProducers(options.caps.candidatesARoot);
    search.alongSharedInputs(options.caps.siblingsARoot);
  };
  grow();
  if (operators.empty() || operators[root].nodes.back() != root)
    return;
  search.byOperators(operators[root]);
  grow();
}

} // namespace kintsugi::space
