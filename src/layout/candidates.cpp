#include "layout/candidates.h"

#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::layout {

using namespace te;

/// Labels of one variable besides row-major.
static constexpr size_t maxLabels = 3;
/// What counts as quicker, of the time before: rounding is not.
static constexpr double margin = 0.001;

int Variable::labelOf(int dimension) const {
  const auto *found = llvm::find(dimensions, dimension);
  return found == dimensions.end() ? -1 : static_cast<int>(found - dimensions.begin());
}

const Order &Candidates::orderOf(ValueId value, const Labelling &labelling) const {
  static const Order rowMajor;
  int variable = value.number < variableOf.size() ? variableOf[value.number] : -1;
  return variable < 0 ? rowMajor : variables[variable].orders[labelling[variable]];
}

namespace {

/// The iterator that a dimension's index moves with, if it is the only parallel one.
int soleParallelIterator(const Index &index, unsigned parallel) {
  int found = -1;
  for (unsigned k = 0; k < parallel; ++k)
    if (index.uses(k)) {
      if (found >= 0)
        return -1;
      found = static_cast<int>(k);
    }
  return found;
}

class Finder {
public:
  Finder(const Program &program, DefinitionCosts &costs, llvm::ArrayRef<OpenInputs> open)
      : program(program), costs(costs) {
    for (const OpenInputs &each : open)
      validity.push_back(validityOf(program, each));
  }

  Candidates run() {
    findVariables();
    findLinks();
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (const auto *definition = std::get_if<Definition>(&program.nodes[node]))
        if (definition->reduction && !constant[node])
          propose(node);
    spread();
    dropSettled();
    return std::move(found);
  }

private:
  void findVariables() {
    constant = te::constantNodes(program);
    std::vector<bool> fixed(program.numValues(), false);
    for (const Program::Output &output : program.outputs)
      fixed[output.value.number] = true;
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (!std::holds_alternative<Definition>(program.nodes[node]))
        for (ValueId operand : program.operandsOf(node))
          fixed[operand.number] = true;
    found.variableOf.assign(program.numValues(), -1);
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (!std::holds_alternative<Definition>(program.nodes[node]) || constant[node])
        continue;
      llvm::ArrayRef<ValueId> results = program.resultsOf(node);
      if (movable(results[0]).empty() ||
          llvm::any_of(results, [&](ValueId id) { return fixed[id.number]; }))
        continue;
      for (ValueId result : results)
        found.variableOf[result.number] = static_cast<int>(found.variables.size());
      found.variables.push_back({node});
    }
  }

  /// The order in which a dimension is innermost; empty: it can't be, or is.
  Order orderOf(ValueId value, int dimension) const {
    bool isOpen = llvm::any_of(validity, [&](const std::vector<Validity> &values) {
      return value.number < values.size() && values[value.number].isSteps() &&
             values[value.number].stepOf(dimension) > 0;
    });
    return isOpen ? Order() : innermost(program.shape(value), dimension);
  }

  /// The largest dimensions that can be moved innermost.
  llvm::SmallVector<int, 4> movable(ValueId value) const {
    llvm::ArrayRef<Extent> shape = program.shape(value);
    llvm::SmallVector<int, 4> dimensions;
    for (unsigned d = 0; d < shape.size(); ++d)
      if (!orderOf(value, d).empty())
        dimensions.push_back(static_cast<int>(d));
    llvm::sort(dimensions, [&](int a, int b) {
      return std::pair(-shape[a].constant(), a) < std::pair(-shape[b].constant(), b);
    });
    if (dimensions.size() > maxLabels)
      dimensions.resize(maxLabels);
    return dimensions;
  }

  void findLinks() {
    for (auto [to, variable] : llvm::enumerate(found.variables)) {
      const auto &definition = std::get<Definition>(program.nodes[variable.node]);
      for (const Expr &body : definition.bodies)
        body.walk([&, to = to](const Expr &e) {
          int from = e.kind() == ExprKind::Read ? found.variableOf[e.readValue().number] : -1;
          if (from < 0)
            return;
          for (auto [d, index] : llvm::enumerate(e.readIndices())) {
            int iterator = soleParallelIterator(index, definition.parallel.size());
            if (iterator >= 0)
              found.links.push_back({static_cast<unsigned>(from), static_cast<unsigned>(d),
                                     static_cast<unsigned>(to), static_cast<unsigned>(iterator),
                                     definition.isReduction()});
          }
        });
    }
  }

  /// Orders by variable; the others are row-major.
  using Choice = std::map<int, int>;

  double seconds(uint32_t node, const Choice &choice) {
    std::map<int, Order> orders;
    for (auto [variable, dimension] : choice)
      orders[variable] = orderOf(valueOf(variable), dimension);
    static const Order rowMajor;
    return costs.seconds(node, [&](ValueId id) -> const Order & {
      auto order = orders.find(found.variableOf[id.number]);
      return order == orders.end() ? rowMajor : order->second;
    });
  }

  ValueId valueOf(int variable) const {
    return program.resultsOf(found.variables[variable].node)[0];
  }

  /// Adds the dimensions of those choices that make a reduction quicker, and of these only what
  /// the gain needs.
  void propose(uint32_t node) {
    double before = seconds(node, {});
    if (!std::isfinite(before))
      return;
    for (const Choice &choice : choicesOf(node)) {
      double gain = before - seconds(node, choice);
      if (!(gain > margin * before))
        continue;
      for (auto [variable, dimension] : choice) {
        Choice without = choice;
        without.erase(variable);
        if (before - seconds(node, without) < gain - margin * before)
          add(variable, dimension, gain);
      }
    }
  }

  /// The result in each order, together with each order of one operand, or with all operands in
  /// the order that moves with the result's.
  std::vector<Choice> choicesOf(uint32_t node) {
    int result = found.variableOf[program.resultsOf(node)[0].number];
    std::vector<Choice> results = {{}}, choices;
    if (result >= 0)
      for (int dimension : movable(valueOf(result)))
        results.push_back({{result, dimension}});
    for (const Choice &base : results) {
      choices.push_back(base);
      for (ValueId operand : program.operandsOf(node)) {
        int variable = found.variableOf[operand.number];
        if (variable < 0)
          continue;
        for (int dimension : movable(valueOf(variable))) {
          choices.push_back(base);
          choices.back()[variable] = dimension;
        }
      }
      if (base.empty())
        continue;
      Choice together = base;
      for (const Link &link : found.links)
        if (static_cast<int>(link.to) == result &&
            static_cast<int>(link.toDimension) == base.begin()->second &&
            !orderOf(valueOf(link.from), link.fromDimension).empty())
          together[link.from] = link.fromDimension;
      if (together.size() > 2)
        choices.push_back(std::move(together));
    }
    return choices;
  }

  bool add(unsigned variable, int dimension, double gain) {
    Variable &v = found.variables[variable];
    v.gain = std::max(v.gain, gain);
    Order order = orderOf(valueOf(variable), dimension);
    if (order.empty() || v.labelOf(dimension) >= 0 || v.dimensions.size() > maxLabels)
      return false;
    v.dimensions.push_back(dimension);
    v.orders.push_back(std::move(order));
    return true;
  }

  /// Gives each variable the dimensions that move with its neighbours'.
  void spread() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Link &link : found.links) {
        if (found.variables[link.from].labelOf(link.fromDimension) >= 0)
          changed |= add(link.to, link.toDimension, 0);
        if (found.variables[link.to].labelOf(link.toDimension) >= 0)
          changed |= add(link.from, link.fromDimension, 0);
      }
    }
  }

  void dropSettled() {
    std::vector<int> number(found.variables.size(), -1);
    std::vector<Variable> kept;
    for (auto [old, variable] : llvm::enumerate(found.variables))
      if (variable.dimensions.size() > 1) {
        number[old] = static_cast<int>(kept.size());
        kept.push_back(std::move(variable));
      }
    found.variables = std::move(kept);
    for (int &variable : found.variableOf)
      variable = variable < 0 ? -1 : number[variable];
    std::vector<Link> links;
    for (Link link : found.links)
      if (number[link.from] >= 0 && number[link.to] >= 0) {
        link.from = number[link.from];
        link.to = number[link.to];
        links.push_back(link);
      }
    found.links = std::move(links);
  }

  const Program &program;
  DefinitionCosts &costs;
  std::vector<std::vector<Validity>> validity; ///< Of each open dimension, by value.
  Candidates found;
  std::vector<bool> constant;
};

} // namespace

Candidates findCandidates(const Program &program, DefinitionCosts &costs,
                          llvm::ArrayRef<OpenInputs> open) {
  return Finder(program, costs, open).run();
}

} // namespace kintsugi::layout
