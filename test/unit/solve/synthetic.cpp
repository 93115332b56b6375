//===- synthetic.cpp - Seeded spaces to test and time solvers on ----------===//

#include "synthetic.h"

#include <algorithm>
#include <set>

namespace kintsugi::solve {

uint64_t Random::next() {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

namespace {

struct Operator {
  std::vector<int> inputs; ///< Operators; empty for those that read the model's input.
  std::vector<int> users;
  bool heavy = false;        ///< Arithmetic dominates (a convolution), else traffic does.
  bool choice = false;       ///< Its value has several formats.
  double bytes = 0;          ///< Time to write its value, or to read it, in microseconds.
  double work = 0;           ///< Time of its arithmetic.
  std::vector<double> taste; ///< Factor on `work`, by format.
};

using Group = std::vector<int>; ///< Operators, ascending.

class Space {
public:
  explicit Space(const SyntheticOptions &options) : options(options), random(options.seed) {}
  Problem build();

private:
  void makeOperators();
  void declare();
  Group grow(int root);
  bool isConvex(const std::set<int> &group) const;
  void addGroup(const Group &group);
  void addVariant(const Group &group, int in, int out);
  void addConversions();
  void addDerivations(int op);
  ResourceId value(int op, int format) const {
    return values[static_cast<size_t>(op)][at(op).choice ? static_cast<size_t>(format) : 0];
  }
  const Operator &at(int op) const { return operators[static_cast<size_t>(op)]; }
  int room() const { return options.candidates - covering; }

  SyntheticOptions options;
  Random random;
  Problem problem;
  std::vector<Operator> operators;
  std::vector<std::vector<ResourceId>> values; ///< By operator and format.
  ResourceId input = 0;
  int covering = 0; ///< Columns so far that cover something.
};

void Space::makeOperators() {
  for (int i = 0; i < options.operators; ++i) {
    Operator op;
    std::set<int> inputs;
    if (i > 0)
      inputs.insert(random.chance(0.8) ? i - 1 : std::max(0, i - 1 - random.below(6)));
    if (i > 2 && random.chance(0.3))
      inputs.insert(std::max(0, i - 2 - random.below(random.chance(0.2) ? 24 : 6)));
    op.inputs.assign(inputs.begin(), inputs.end());
    op.heavy = random.chance(0.3);
    op.choice = options.formats > 1 && random.chance(0.6);
    op.bytes = random.real(1, 6);
    op.work = op.heavy ? random.real(10, 40) : random.real(0.2, 2);
    for (int f = 0; f < options.formats; ++f)
      op.taste.push_back(op.heavy ? random.real(0.7, 1.3) : random.real(0.95, 1.05));
    for (int from : op.inputs)
      operators[static_cast<size_t>(from)].users.push_back(i);
    operators.push_back(std::move(op));
  }
}

void Space::declare() {
  problem.name = "synthetic-" + std::to_string(options.seed);
  input = problem.addResource("input", ResourceKind::Input);
  for (int i = 0; i < options.operators; ++i) {
    std::string name = "op" + std::to_string(i);
    problem.addItem(name);
    std::vector<ResourceId> formats;
    if (!at(i).choice)
      formats.push_back(problem.addResource(name));
    else
      for (int f = 0; f < options.formats; ++f)
        formats.push_back(
            problem.addResource(name + "@" + std::to_string(f), ResourceKind::Derived));
    if (at(i).users.empty())
      problem.setOutput(formats[0]);
    values.push_back(std::move(formats));
  }
}

/// No path leaves the group and comes back.
bool Space::isConvex(const std::set<int> &group) const {
  std::set<int> outside; // Reached from the group, not in it.
  for (int op = *group.begin(); op <= *group.rbegin(); ++op) {
    bool fed = std::ranges::any_of(at(op).inputs, [&](int from) { return outside.contains(from); });
    if (group.contains(op)) {
      if (fed)
        return false;
    } else if (fed ||
               std::ranges::any_of(at(op).inputs, [&](int from) { return group.contains(from); })) {
      outside.insert(op);
    }
  }
  return true;
}

Group Space::grow(int root) {
  std::set<int> group{root};
  int target = 2 + random.below(6);
  for (int tries = 0; tries < 12 && static_cast<int>(group.size()) < target; ++tries) {
    std::vector<int> around;
    for (int op : group)
      for (const auto *side : {&at(op).inputs, &at(op).users})
        for (int other : *side)
          if (!group.contains(other))
            around.push_back(other);
    if (around.empty())
      break;
    int pick = around[static_cast<size_t>(random.below(static_cast<int>(around.size())))];
    group.insert(pick);
    if (!isConvex(group))
      group.erase(pick);
  }
  return {group.begin(), group.end()};
}

void Space::addVariant(const Group &group, int in, int out) {
  std::set<ResourceId> consumed, produced;
  double cost = 4, work = 0; // A launch; then traffic and arithmetic.
  int heavy = 0;
  for (int op : group) {
    const Operator &member = at(op);
    if (member.inputs.empty())
      consumed.insert(input);
    for (int from : member.inputs)
      if (!std::ranges::binary_search(group, from) && consumed.insert(value(from, in)).second)
        cost += at(from).bytes;
    bool leaves = member.users.empty() || std::ranges::any_of(member.users, [&](int user) {
                    return !std::ranges::binary_search(group, user);
                  });
    if (leaves && produced.insert(value(op, out)).second)
      cost += member.bytes;
    heavy += member.heavy;
    work += member.work * member.taste[static_cast<size_t>(in)];
  }
  work *= random.real(0.9, 1.2) * (heavy > 1 ? 1 + 0.15 * heavy : 1) * (in == out ? 1 : 1.05);
  problem.addColumn({"k" + std::to_string(problem.columns.size()),
                     cost + work,
                     {group.begin(), group.end()},
                     {consumed.begin(), consumed.end()},
                     {produced.begin(), produced.end()}});
  ++covering;
}

/// The group in every format that makes a difference to it.
void Space::addGroup(const Group &group) {
  bool reads = false, writes = false;
  for (int op : group) {
    writes |= at(op).choice;
    for (int from : at(op).inputs)
      reads |= at(from).choice;
  }
  if (!reads && !writes)
    return addVariant(group, 0, 0);
  for (int f = 0; f < options.formats && (f == 0 || room() > 0); ++f)
    addVariant(group, f, f);
  if (reads && writes && room() > 0 && random.chance(0.3))
    addVariant(group, random.below(options.formats), random.below(options.formats));
}

void Space::addConversions() {
  for (int op = 0; op < options.operators; ++op)
    for (int from = 0; at(op).choice && from < options.formats; ++from)
      for (int to = 0; to < options.formats; ++to)
        if (from != to)
          problem.addColumn({"c" + std::to_string(problem.columns.size()),
                             4 + at(op).bytes * random.real(2, 3),
                             {},
                             {value(op, from)},
                             {value(op, to)}});
}

/// op also as: a part that stands alone (or two in a row), then a cheaper rest, perhaps fused.
void Space::addDerivations(int op) {
  std::vector<ResourceId> reads;
  for (int from : at(op).inputs)
    reads.push_back(value(from, 0));
  if (reads.empty())
    reads.push_back(input);
  std::string name = "op" + std::to_string(op);
  ResourceId last = problem.addResource(name + ".part", ResourceKind::Derived);
  double half = at(op).work * random.real(0.3, 0.5);
  problem.addColumn({"d" + name, 4 + half, {}, reads, {last}});
  if (random.chance(0.5)) {
    ResourceId further = problem.addResource(name + ".part2", ResourceKind::Derived);
    problem.addColumn({"e" + name, 4 + random.real(0, 2), {}, {last}, {further}});
    last = further;
  }
  Column rest{"r" + name, 4 + half * random.real(0.2, 0.9), {op}, {last}, {value(op, 0)}};
  problem.addColumn(rest);
  ++covering;
  if (at(op).users.size() == 1 && at(at(op).users[0]).inputs.size() == 1) {
    int user = at(op).users[0];
    problem.addColumn(
        {"f" + name, rest.cost + at(user).work, {op, user}, {last}, {value(user, 0)}});
    ++covering;
  }
}

Problem Space::build() {
  makeOperators();
  declare();
  for (int op = 0; op < options.operators; ++op)
    addGroup({op});
  for (int op = 0; options.derivations && op < options.operators; ++op)
    if (at(op).heavy && random.chance(0.2))
      addDerivations(op);
  std::set<Group> seen;
  for (int tries = 0; room() > 0 && tries < 20 * options.candidates; ++tries) {
    Group group = grow(tries % options.operators);
    if (group.size() > 1 && seen.insert(group).second)
      addGroup(group);
  }
  addConversions();
  return std::move(problem);
}

} // namespace

Problem makeSyntheticSpace(const SyntheticOptions &options) { return Space(options).build(); }

Problem makeRandomProblem(uint64_t seed) {
  Random random(seed);
  Problem problem;
  problem.name = "random-" + std::to_string(seed);
  int items = 1 + random.below(6), resources = 2 + random.below(7), columns = 3 + random.below(20);
  for (int i = 0; i < items; ++i)
    problem.addItem("i" + std::to_string(i));
  for (int r = 0; r < resources; ++r) {
    auto kind = r == 0               ? ResourceKind::Input
                : random.chance(0.5) ? ResourceKind::Value
                                     : ResourceKind::Derived;
    problem.addResource("r" + std::to_string(r), kind);
    if (random.chance(0.15))
      problem.setOutput(r);
  }
  while (static_cast<int>(problem.columns.size()) < columns) {
    Column column{"c" + std::to_string(problem.columns.size()), 0, {}, {}, {}};
    column.cost = random.below(8) == 0 ? 0 : random.real(1, 20);
    for (int i = 0; i < items; ++i)
      if (random.chance(0.3))
        column.covers.push_back(i);
    for (int r = 0; r < resources; ++r) {
      int pick = random.below(10);
      if (pick < 2)
        column.consumes.push_back(r);
      else if (pick < 5 && r > 0)
        column.produces.push_back(r);
    }
    if (!column.covers.empty() || !column.produces.empty())
      problem.addColumn(std::move(column));
  }
  return problem;
}

} // namespace kintsugi::solve
