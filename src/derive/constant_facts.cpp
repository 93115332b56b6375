#include "derive/constant_facts.h"

#include "derive/constant_expr.h"

namespace kintsugi::derive {

using namespace te;

bool ConstantFacts::take(int64_t &budget, double amount) {
  if (amount > double(budget))
    return false;
  budget -= int64_t(amount);
  return true;
}

std::shared_ptr<const FactorFacts> ConstantFacts::of(const SumFactor &factor, const Definition &sum,
                                                     const Program &program,
                                                     const std::vector<bool> &constantNodes) {
  llvm::SmallVector<Interval> ranges = sum.ranges();
  double points = 1;
  for (const auto *iterators : {&factor.rows, &factor.summed})
    for (unsigned k : *iterators)
      points *= double(ranges[k].size());
  constexpr double mostPoints = 1 << 26;
  if (factor.summed.empty() || points == 0 || points > mostPoints)
    return nullptr;
  if (const Expr *read = factor.stored(program)) {
    FactorElements its = elementsInPlace(factor, *read, ranges, program);
    auto [entry, isNew] = known.try_emplace(its);
    if (isNew && (its.source->bytes() || take(bytes, its.bytes())))
      entry->second = look(std::move(its));
    return entry->second;
  }
  if (points > mostComputed || !isLookedAt(factor.factor.type()) ||
      !isConstantExpr(factor.factor, program, constantNodes) || !take(computed, points))
    return nullptr;
  std::optional<FactorElements> its = elementsComputed(factor, ranges, program);
  return its ? look(std::move(*its)) : nullptr;
}

std::shared_ptr<const FactorFacts> ConstantFacts::look(FactorElements its) {
  auto facts = std::make_shared<FactorFacts>();
  Status status = its.withBytes([&](const std::byte *data) {
    if (hasManyZeros(its, data) && take(elements, double(its.points())))
      facts->nonzeros = nonzerosOf(its, data);
    for (unsigned d = 0; d < its.rows.size(); ++d)
      facts->alike.push_back(alikeRowsOf(its, d, data, elements));
  });
  if (!status.ok())
    return nullptr;
  facts->elements = std::move(its);
  return facts;
}

} // namespace kintsugi::derive
