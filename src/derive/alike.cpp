#include "derive/alike.h"

#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

std::optional<std::map<uint32_t, ConstantPair>> Alike::match(const Chain &leader,
                                                             const Chain &other) {
  if (leader.size() != other.size())
    return std::nullopt;
  locals.clear();
  pairs.clear();
  for (auto [ours, theirs] : llvm::zip(leader, other)) {
    const auto &a = std::get<Definition>(program.nodes[ours]);
    const auto &b = std::get<Definition>(program.nodes[theirs]);
    if (!matches(a, b))
      return std::nullopt;
    locals[a.results[0].number] = b.results[0];
  }
  if (pairs.empty())
    return std::nullopt;
  return std::move(pairs);
}

bool Alike::matches(const Definition &a, const Definition &b) {
  if (a.parallel.size() != b.parallel.size() || a.isReduction() != b.isReduction() ||
      program.value(a.results[0]).type != program.value(b.results[0]).type)
    return false;
  for (unsigned k = 0; k < a.parallel.size(); ++k)
    if (k != dimension && a.parallel[k].extent != b.parallel[k].extent)
      return false;
  extentA = a.parallel[dimension].extent.constant();
  extentB = b.parallel[dimension].extent.constant();
  auto sameExtent = [](const Iterator &x, const Iterator &y) { return x.extent == y.extent; };
  if (a.reduction && (a.reduction->combiner != b.reduction->combiner ||
                      a.reduction->accumulator != b.reduction->accumulator ||
                      !llvm::equal(a.reduction->iterators, b.reduction->iterators, sameExtent)))
    return false;
  return matches(a.bodies[0], b.bodies[0]);
}

bool Alike::matches(const Expr &a, const Expr &b) {
  if (a.kind() != b.kind() || a.type() != b.type())
    return false;
  auto operandsMatch = [&] {
    return llvm::all_of(llvm::zip_equal(a.operands(), b.operands()), [&](const auto &both) {
      return matches(std::get<0>(both), std::get<1>(both));
    });
  };
  switch (a.kind()) {
  case ExprKind::Literal:
    return a == b;
  case ExprKind::Index: // It would have to be counted from each one's begin.
    return a == b && !a.uses(dimension);
  case ExprKind::Read:
    return matchesRead(a, b);
  case ExprKind::Unary:
    return a.unaryOp() == b.unaryOp() && operandsMatch();
  case ExprKind::Binary:
    return a.binaryOp() == b.binaryOp() && operandsMatch();
  case ExprKind::Select:
    return operandsMatch();
  case ExprKind::Cast:
    return a.isStored() == b.isStored() && operandsMatch();
  }
  return false;
}

bool Alike::matchesRead(const Expr &a, const Expr &b) {
  const Expr *fillA = a.readFill(), *fillB = b.readFill();
  if (!llvm::equal(a.readIndices(), b.readIndices()) || !fillA != !fillB ||
      (fillA && !(*fillA == *fillB)))
    return false;
  if (auto local = locals.find(a.readValue().number); local != locals.end())
    return b.readValue() == local->second &&
           a.readIndices()[dimension].asIterator() == int(dimension);
  bool isConstant = te::isConstant(program, constant, a.readValue());
  if (!a.uses(dimension)) // A fill may be found past the end, where the next one's elements are.
    return a.readValue() == b.readValue() && !(fillA && isConstant);
  return !fillA && isConstant && te::isConstant(program, constant, b.readValue()) &&
         matchesConstant(a, b);
}

/// Read along the dimension by one index, which is nothing else, and as long as it.
bool Alike::matchesConstant(const Expr &a, const Expr &b) {
  std::optional<unsigned> place;
  for (auto [k, index] : llvm::enumerate(a.readIndices())) {
    if (!index.uses(dimension))
      continue;
    if (place || index.asIterator() != int(dimension))
      return false;
    place = k;
  }
  const Value &ours = program.value(a.readValue()), &theirs = program.value(b.readValue());
  if (!place || ours.shape.size() != theirs.shape.size())
    return false;
  for (unsigned k = 0; k < ours.shape.size(); ++k)
    if (k == *place ? ours.shape[k] != Extent(extentA) || theirs.shape[k] != Extent(extentB)
                    : ours.shape[k] != theirs.shape[k])
      return false;
  ConstantPair pair{b.readValue(), *place};
  auto [entry, isNew] = pairs.try_emplace(a.readValue().number, pair);
  return isNew || (entry->second.other == pair.other && entry->second.dimension == *place);
}

} // namespace kintsugi::derive
