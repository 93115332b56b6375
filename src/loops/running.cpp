#include "loops/running.h"

#include "te/neutral.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

namespace {

/// Whether a condition of integers holds where `left` <= `right` does, whatever the iterators are.
bool saysNoLater(const Expr &condition, const Index &left, const Index &right) {
  if (condition.kind() != ExprKind::Binary || condition.operand(0).kind() != ExprKind::Index ||
      condition.operand(1).kind() != ExprKind::Index)
    return false;
  Index distance = condition.operand(1).indexValue() - condition.operand(0).indexValue();
  return (condition.binaryOp() == BinaryOp::LessEqual && distance == right - left) ||
         (condition.binaryOp() == BinaryOp::Less && distance == right - left + 1);
}

bool changesNothing(const Expr &literal, Combiner combiner) {
  return (combiner == Combiner::Sum || combiner == Combiner::Prod) && isNeutral(literal, combiner);
}

/// The parallel iterator up to which a member's terms go; none: it is no running sum.
std::optional<unsigned> placeOf(const Member &member) {
  if (!member.reduction || member.reduction->iterators.size() != 1 || member.bodies.size() != 1 ||
      member.results.size() != 1 || !member.kept.empty() || !member.bounds.empty())
    return std::nullopt;
  const Expr &body = member.bodies[0];
  unsigned term = member.parallel.size();
  if (body.kind() != ExprKind::Select || body.type() != member.reduction->accumulator ||
      !changesNothing(body.operand(2), member.reduction->combiner))
    return std::nullopt;
  for (auto [place, iterator] : llvm::enumerate(member.parallel))
    if (iterator.extent == member.reduction->iterators[0].extent &&
        saysNoLater(body.operand(0), Index::iterator(term), Index::iterator(place)) &&
        !body.operand(1).uses(place))
      return unsigned(place);
  return std::nullopt;
}

Expr runningValue(const Member &member) {
  return Expr::read(LoopNest::accumulator(0), member.reduction->accumulator, {});
}

llvm::SmallVector<Index, 4> places(size_t count) {
  llvm::SmallVector<Index, 4> identity;
  for (unsigned k = 0; k < count; ++k)
    identity.push_back(Index::iterator(k));
  return identity;
}

/// Sums all terms, into `total`, and keeps what it has so far, in `running`.
Member walkOf(const Member &sum, unsigned place, ValueId running, ValueId total) {
  Member walk;
  walk.node = sum.node;
  walk.parallel = sum.parallel;
  walk.parallel.erase(walk.parallel.begin() + place);
  walk.reduction = sum.reduction;
  unsigned term = walk.parallel.size();
  llvm::SmallVector<Index> replacements;
  KeptValue kept{running, runningValue(sum), {}};
  for (unsigned k = 0; k < sum.parallel.size(); ++k) {
    kept.iterators.push_back(k == place ? term : k - (k > place));
    replacements.push_back(k == place ? Index(0) : Index::iterator(kept.iterators.back()));
  }
  replacements.push_back(Index::iterator(term));
  walk.bodies = {substitute(sum.bodies[0].operand(1), replacements)};
  walk.epilogue = {runningValue(sum)};
  walk.results = {total};
  walk.resultIndices = places(walk.parallel.size());
  walk.kept.push_back(std::move(kept));
  return walk;
}

/// What the sum's epilogue makes of what is kept; without one, it is stored as `type`.
Member finishOf(const Member &sum, ValueId running, ElementType type) {
  Member finish;
  finish.node = sum.node;
  finish.parallel = sum.parallel;
  Expr kept = Expr::read(running, sum.reduction->accumulator, places(sum.parallel.size()));
  if (sum.epilogue.empty())
    finish.bodies.push_back(Expr::cast(type, kept));
  for (const Expr &each : sum.epilogue)
    finish.bodies.push_back(te::rewrite(each, [&](const Expr &e) {
      bool isRunning = e.kind() == ExprKind::Read && LoopNest::isAccumulator(e.readValue());
      return isRunning ? kept : e;
    }));
  finish.results = sum.results;
  finish.resultIndices = sum.resultIndices;
  finish.isOutput = sum.isOutput;
  return finish;
}

} // namespace

bool keepsRunningValue(const LoopNest &nest) {
  return llvm::any_of(nest.kept, [](const Kept &kept) {
    return kept.value.kind() == ExprKind::Read && LoopNest::isAccumulator(kept.value.readValue());
  });
}

llvm::SmallVector<RunningChoice> runningChoices(llvm::ArrayRef<Member> members) {
  llvm::SmallVector<RunningChoice> choices;
  for (auto [number, member] : llvm::enumerate(members))
    if (std::optional<unsigned> place = placeOf(member))
      choices.push_back({unsigned(number), *place});
  return choices;
}

std::vector<Member> walkOnce(GroupValues &values, llvm::ArrayRef<Member> members,
                             const RunningChoice &choice) {
  const Member &sum = members[choice.member];
  const Value result = values.value(sum.results[0]);
  ElementType type = sum.reduction->accumulator;
  Shape shape;
  for (const Iterator &iterator : sum.parallel)
    shape.push_back(iterator.extent);
  bool isFinished = sum.epilogue.empty() && !sum.isOutput && result.type == type &&
                    sum.resultIndices == places(sum.parallel.size());
  ValueId running = isFinished ? sum.results[0] : values.add(result.name + ".running", type, shape);
  shape.erase(shape.begin() + choice.place);
  ValueId total = values.add(result.name + ".total", type, shape);
  std::vector<Member> walked(members.begin(), members.begin() + choice.member);
  walked.push_back(walkOf(sum, choice.place, running, total));
  if (!isFinished)
    walked.push_back(finishOf(sum, running, result.type));
  walked.insert(walked.end(), members.begin() + choice.member + 1, members.end());
  return walked;
}

} // namespace kintsugi::loops
