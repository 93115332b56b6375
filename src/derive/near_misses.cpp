#include "derive/near_misses.h"

#include "derive/linear_terms.h"
#include "derive/multiply_adds.h"
#include "derive/sole_definitions.h"
#include "derive/sum_price.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

constexpr ElementType real = ElementType::F32;

class MissFinder {
public:
  explicit MissFinder(const Program &program)
      : program(program), constant(constantNodes(program)), sole(program, constant) {}

  std::vector<NearMiss> find() {
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      const auto *reader = std::get_if<Definition>(&program.nodes[node]);
      if (reader && !reader->reduction && reader->bodies.size() == 1 && !constant[node])
        findIn(reader->bodies[0]);
    }
    std::vector<NearMiss> result;
    for (const auto &[node, miss] : found)
      result.push_back(miss);
    return result;
  }

private:
  static constexpr unsigned mostDistance = 3; ///< Of what is found.
  static constexpr size_t mostTerms = 6;      ///< Sums that are looked at in one expression.

  /// A sum of products that is no constant, whatever reads it.
  const Definition *sumOf(ValueId id) const {
    const Definition *definition = program.definitionOf(id);
    bool isSum = definition && !constant[program.value(id).node] &&
                 program.value(id).type == real &&
                 sumOfProducts(program.nodes[program.value(id).node]) &&
                 definition->reduction->accumulator == real;
    return isSum ? definition : nullptr;
  }

  void findIn(const Expr &body) {
    body.walk([&](const Expr &e) {
      bool isAdded = e.kind() == ExprKind::Binary && e.type() == real &&
                     (e.binaryOp() == BinaryOp::Add || e.binaryOp() == BinaryOp::Sub);
      if (isAdded)
        compareTerms(e);
    });
  }

  void compareTerms(const Expr &added) {
    llvm::SmallVector<ValueId, mostTerms> sums;
    for (const LinearTerm &term : linearTermsOf(
             added, program, [&](ValueId id) { return sole.isMap(id); },
             [&](ValueId id) { return sumOf(id) != nullptr; }))
      if (term.factor.kind() == ExprKind::Read && !term.factor.readFill() &&
          sums.size() < mostTerms && sumOf(term.factor.readValue()))
        sums.push_back(term.factor.readValue());
    for (ValueId one : sums)
      for (ValueId other : sums)
        if (one != other && !sharesFactor(one, other))
          approach(one, other);
  }

  bool sharesFactor(ValueId one, ValueId other) const {
    return llvm::any_of(factorsOf(one), [&](ValueId factor) {
      return llvm::is_contained(factorsOf(other), factor);
    });
  }

  /// What is no constant and is read as a factor.
  llvm::SmallVector<ValueId, 2> factorsOf(ValueId sum) const {
    llvm::SmallVector<ValueId, 2> values;
    const Expr &body = sumOf(sum)->bodies[0];
    for (unsigned k : {0, 1})
      if (const Expr &factor = body.operand(k);
          factor.kind() == ExprKind::Read && !te::isConstant(program, constant, factor.readValue()))
        values.push_back(factor.readValue());
    return values;
  }

  /// Notes a step of the sum towards a factor of the other one.
  void approach(ValueId sum, ValueId other) {
    for (unsigned operand : {0, 1}) {
      const Expr &factor = sumOf(sum)->bodies[0].operand(operand);
      if (factor.kind() != ExprKind::Read || !sumOf(factor.readValue()))
        continue;
      for (ValueId wanted : factorsOf(other)) {
        std::optional<unsigned> distance = distanceTo(wanted, factor.readValue(), 1);
        if (distance && isPromising(sum, operand))
          note({program.value(sum).node, operand, *distance});
      }
    }
  }

  /// Sums from `sum` on, this one included, until one has the factor.
  std::optional<unsigned> distanceTo(ValueId wanted, ValueId sum, unsigned distance) const {
    llvm::SmallVector<ValueId, 2> factors = factorsOf(sum);
    if (llvm::is_contained(factors, wanted))
      return distance;
    for (ValueId factor : factors)
      if (distance < mostDistance && sumOf(factor))
        if (std::optional<unsigned> found = distanceTo(wanted, factor, distance + 1))
          return found;
    return std::nullopt;
  }

  /// Whether what the other factors make together is known, or takes less than this sum: else
  /// nothing that follows can make good of it.
  bool isPromising(ValueId id, unsigned operand) const {
    const Definition &sum = *sumOf(id);
    const Expr &own = sum.bodies[0].operand(1 - operand);
    const Definition &inner = *sumOf(sum.bodies[0].operand(operand).readValue());
    if (own.kind() != ExprKind::Read)
      return false;
    auto isKnown = [&](const Expr &factor) {
      return factor.kind() == ExprKind::Read &&
             te::isConstant(program, constant, factor.readValue());
    };
    if (isKnown(own) &&
        (isKnown(inner.bodies[0].operand(0)) || isKnown(inner.bodies[0].operand(1))))
      return true;
    double product =
        elementsOf(program.shape(own.readValue())) * pointsOf(inner.reduction->iterators);
    return product < pointsOf(sum.parallel) * pointsOf(sum.reduction->iterators);
  }

  void note(const NearMiss &miss) {
    auto [place, isNew] = found.try_emplace(miss.node, miss);
    if (!isNew && miss.distance < place->second.distance)
      place->second = miss;
  }

  const Program &program;
  std::vector<bool> constant; ///< By node.
  SoleDefinitions sole;
  std::map<uint32_t, NearMiss> found; ///< By node.
};

} // namespace

std::vector<NearMiss> nearMisses(const Program &program) { return MissFinder(program).find(); }

double estimatedSeconds(const Program &program, const RuleContext &context) {
  const machine::Machine &machine = context.space.schedule.machine;
  std::vector<bool> constant = constantNodes(program);
  double bandwidth = std::max(1e9, machine.memory().bytesPerSecondAll), seconds = 0;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    const auto *sum = std::get_if<Definition>(&program.nodes[node]);
    if (!sum || !sum->reduction || constant[node])
      continue;
    MultiplyAdds its{.before = pointsOf(sum->parallel) * pointsOf(sum->reduction->iterators),
                     .areNarrow = context.willBeNarrow};
    double bytes = 0;
    for (ValueId result : sum->results)
      bytes += program.value(result).bytes();
    seconds += machine.stageSeconds + its.secondsBefore(machine) + bytes / bandwidth;
  }
  return seconds;
}

} // namespace kintsugi::derive
