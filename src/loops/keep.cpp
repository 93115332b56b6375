#include "loops/keep.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

namespace {

bool reads(const Member &member, ValueId value) {
  return llvm::any_of(member.expressions(),
                      [&](const Expr &expr) { return llvm::is_contained(readsOf(expr), value); });
}

/// Whether what is computed depends on where: a nest of its own has a part for each side.
bool choosesByPlace(const Expr &body) {
  bool found = false;
  body.walk([&](const Expr &e) {
    found |= e.kind() == ExprKind::Read && e.readFill();
    if (e.kind() == ExprKind::Select)
      e.operand(0).walk([&](const Expr &part) { found |= part.kind() == ExprKind::Index; });
  });
  return found;
}

bool computesPoints(const Member &member) {
  bool storesByIterators = llvm::all_of(llvm::enumerate(member.resultIndices), [](const auto &k) {
    return k.value().asIterator() == static_cast<int>(k.index());
  });
  return !member.reduction && !member.isOutput && member.bodies.size() == 1 &&
         member.results.size() == 1 && member.bounds.empty() && storesByIterators &&
         !choosesByPlace(member.bodies[0]);
}

bool hasOneRunningValue(const Reduction &reduction) {
  return reduction.combiner != Combiner::ArgMax && reduction.combiner != Combiner::ArgMin &&
         reduction.combiner != Combiner::SoftmaxStats;
}

int64_t extentOf(const Member &member, unsigned iterator) {
  unsigned parallel = member.parallel.size();
  const Iterator &found = iterator < parallel ? member.parallel[iterator]
                                              : member.reduction->iterators[iterator - parallel];
  return found.extent.constant();
}

/// The only read of a value in a member's body; none: there are several, or another part reads it.
std::optional<Expr> onlyRead(const Member &member, ValueId value) {
  for (const Expr &finish : member.epilogue)
    if (llvm::is_contained(readsOf(finish), value))
      return std::nullopt;
  llvm::SmallVector<Expr, 1> found;
  member.bodies[0].walk([&](const Expr &e) {
    if (e.kind() == ExprKind::Read && e.readValue() == value && !llvm::is_contained(found, e))
      found.push_back(e);
  });
  return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
}

/// The iterators of a read, by dimension, where each of the member's points has an element of its
/// own and every element has a point.
std::optional<llvm::SmallVector<unsigned, 4>> pointsOf(const Member &member, const Expr &read,
                                                       const Member &producer) {
  llvm::SmallVector<unsigned, 4> iterators;
  if (read.readFill() || read.readIndices().size() != member.numIterators())
    return std::nullopt;
  for (auto [index, dimension] : llvm::zip_equal(read.readIndices(), producer.parallel)) {
    int iterator = index.asIterator();
    if (iterator < 0 || llvm::is_contained(iterators, unsigned(iterator)) ||
        extentOf(member, iterator) != dimension.extent.constant())
      return std::nullopt;
    iterators.push_back(iterator);
  }
  return iterators;
}

/// What a reduction keeps of a producer, its body still to be inlined; none: it can't.
std::optional<KeptValue> keptOf(const Member &reduction, const Member &producer) {
  if (!reduction.reduction || !hasOneRunningValue(*reduction.reduction) ||
      reduction.bodies.size() != 1 || !reduction.bounds.empty())
    return std::nullopt;
  std::optional<Expr> read = onlyRead(reduction, producer.results[0]);
  if (!read)
    return std::nullopt;
  std::optional<llvm::SmallVector<unsigned, 4>> iterators = pointsOf(reduction, *read, producer);
  if (!iterators)
    return std::nullopt;
  return KeptValue{producer.results[0], *read, std::move(*iterators)};
}

} // namespace

llvm::SmallVector<KeepChoice> keepChoices(llvm::ArrayRef<Member> members) {
  llvm::SmallVector<KeepChoice> choices;
  for (auto [number, producer] : llvm::enumerate(members)) {
    if (!computesPoints(producer))
      continue;
    llvm::SmallVector<unsigned> readers;
    for (unsigned k = number + 1; k < members.size(); ++k)
      if (reads(members[k], producer.results[0]))
        readers.push_back(k);
    if (readers.size() > 1 && keptOf(members[readers[0]], producer))
      choices.push_back({unsigned(number), readers[0]});
  }
  return choices;
}

std::vector<Member> keepReduced(const GroupValues &values, llvm::ArrayRef<Member> members,
                                const KeepChoice &choice) {
  const Member &producer = members[choice.producer];
  Member reduction = members[choice.reduction];
  reduction.kept.push_back(*keptOf(reduction, producer));
  Definition definition;
  definition.parallel = producer.parallel;
  definition.bodies = producer.bodies;
  definition.results = producer.results;
  auto inlineIn = [&](Expr &expr) {
    expr = simplifyIndices(inlineInto(expr, definition, values.shape(producer.results[0])),
                           reduction.ranges(), [&](ValueId id) { return values.shape(id); });
  };
  llvm::for_each(reduction.bodies, inlineIn);
  for (KeptValue &kept : reduction.kept)
    inlineIn(kept.expr);
  std::vector<Member> result(members.begin(), members.end());
  result[choice.reduction] = std::move(reduction);
  result.erase(result.begin() + choice.producer);
  return result;
}

} // namespace kintsugi::loops
