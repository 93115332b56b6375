#include "loops/stage_operands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

namespace kintsugi::loops {

using namespace te;

namespace {

bool isMemberValue(llvm::ArrayRef<Member> members, ValueId value) {
  return llvm::any_of(members, [&](const Member &member) { return member.stores(value); });
}

/// A member that stores `body` over iterators of the given extents.
Member copyMember(uint32_t node, ValueId result, llvm::SmallVector<Iterator, 4> parallel,
                  Expr body) {
  Member copy{node};
  for (unsigned k = 0; k < parallel.size(); ++k)
    copy.resultIndices.push_back(Index::iterator(k));
  copy.parallel = std::move(parallel);
  copy.bodies = {std::move(body)};
  copy.results = {result};
  return copy;
}

Shape shapeOf(llvm::ArrayRef<Iterator> iterators) {
  Shape shape;
  for (const Iterator &iterator : iterators)
    shape.push_back(iterator.extent);
  return shape;
}

void replaceRead(Member &member, const Expr &read, const Expr &replacement) {
  auto replaceIn = [&](Expr &expr) {
    expr = rewrite(expr, [&](const Expr &e) { return e == read ? replacement : e; });
  };
  llvm::for_each(member.bodies, replaceIn);
  for (KeptValue &kept : member.kept)
    replaceIn(kept.expr);
}

/// A copy of what a read can reach, and the read of it.
struct StagedCopy {
  Member copy;
  Expr read;
};

/// Of all that a read with affine indices can reach, its fill included.
std::optional<StagedCopy> padded(GroupValues &values, const Member &member, const Expr &read) {
  llvm::SmallVector<Interval> ranges = member.ranges();
  llvm::SmallVector<Iterator, 4> parallel;
  llvm::SmallVector<Index> source, target;
  bool isReduced = false;
  for (const Index &index : read.readIndices()) {
    if (!index.isAffine())
      return std::nullopt;
    Interval range = rangeOf(index, ranges);
    source.push_back(Index::iterator(parallel.size()) + Index(range.low));
    target.push_back(index - Index(range.low));
    parallel.push_back({"p" + std::to_string(parallel.size()), Extent(range.size())});
    for (unsigned k = member.parallel.size(); k < member.numIterators(); ++k)
      isReduced |= index.uses(k);
  }
  if (!isReduced)
    return std::nullopt;
  const Value &value = values.value(read.readValue());
  ValueId copy = values.add(value.name + ".padded", value.type, shapeOf(parallel));
  Expr body = Expr::read(read.readValue(), read.type(), source, *read.readFill());
  return StagedCopy{copyMember(member.node, copy, std::move(parallel), std::move(body)),
                    Expr::read(copy, read.type(), target)};
}

} // namespace

std::optional<std::vector<Member>> stagePadding(GroupValues &values,
                                                llvm::ArrayRef<Member> members) {
  std::vector<Member> result;
  bool changed = false;
  for (const Member &original : members) {
    Member member = original;
    llvm::SmallVector<Expr> reads;
    if (member.reduction)
      for (const Expr &body : member.bodies)
        body.walk([&](const Expr &e) {
          if (e.kind() == ExprKind::Read && e.readFill() && e.readFill()->isLiteral() &&
              !isMemberValue(members, e.readValue()) && !llvm::is_contained(reads, e))
            reads.push_back(e);
        });
    for (const Expr &read : reads) {
      std::optional<StagedCopy> staged = padded(values, member, read);
      if (!staged)
        continue;
      replaceRead(member, read, staged->read);
      result.push_back(std::move(staged->copy));
      changed = true;
    }
    result.push_back(std::move(member));
  }
  if (!changed)
    return std::nullopt;
  return result;
}

llvm::SmallVector<StagingChoice> stagingChoices(llvm::ArrayRef<Member> members,
                                                llvm::ArrayRef<ValueId> constants) {
  llvm::SmallVector<StagingChoice> choices;
  for (auto [number, member] : llvm::enumerate(members)) {
    if (!member.reduction || member.bodies.size() != 1 || member.parallel.size() < 2 ||
        member.reduction->combiner != Combiner::Sum)
      continue;
    unsigned vector = member.parallel.size() - 1;
    llvm::SmallVector<Expr> reads;
    member.bodies[0].walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read && !llvm::is_contained(reads, e))
        reads.push_back(e);
    });
    for (const Expr &read : reads) {
      if (reads.size() < 2 || read.readFill() || isMemberValue(members, read.readValue()) ||
          llvm::is_contained(constants, read.readValue()))
        continue;
      auto uses = [&](unsigned k) {
        return llvm::any_of(read.readIndices(), [&](const Index &index) { return index.uses(k); });
      };
      bool isReused = false, isReduced = false;
      for (unsigned k = 0; k < vector; ++k)
        isReused |= !uses(k) && member.parallel[k].extent.constant() > 1;
      for (unsigned k = vector + 1; k < member.numIterators(); ++k)
        isReduced |= uses(k);
      if (isReused && isReduced && uses(vector))
        choices.push_back({unsigned(number), read, vector});
    }
  }
  return choices;
}

namespace {

/// A read's indices with an iterator of its own, numbered from the member's last on, for each
/// number that comes from data: what the data choose among.
struct Choices {
  llvm::SmallVector<Index> indices;
  llvm::SmallVector<Iterator> iterators;
  llvm::SmallVector<Index> chosen; ///< For each of the iterators.
};

/// One number from data in an index, a whole multiple of which starts an affine walk.
bool addChoice(const Index &index, Extent extent, const Member &member, Choices &choices) {
  llvm::SmallVector<Interval> ranges = member.ranges();
  const Term *gather = nullptr;
  for (const Term &term : index.terms())
    if (term.atom.kind == AtomKind::Data)
      gather = gather ? nullptr : &term;
  if (!gather || gather->factor <= 0)
    return false;
  Index number = Index::data(*gather->atom.data), walk = index - number * gather->factor;
  Interval reach = rangeOf(walk, ranges);
  if (!walk.isAffine() || reach.low != 0 || reach.high >= extent.constant())
    return false;
  int64_t count = (extent.constant() - 1 - reach.high) / gather->factor + 1;
  unsigned iterator = member.numIterators() + choices.iterators.size();
  choices.indices.push_back(walk + Index::iterator(iterator) * gather->factor);
  choices.iterators.push_back({"t" + std::to_string(choices.iterators.size()), Extent(count)});
  choices.chosen.push_back(number);
  return true;
}

/// A gathered operand is copied as a whole: then the copy does not change with what the data say.
/// A read that is none, or whose data stand elsewhere, has no choices.
Choices choicesOf(const GroupValues &values, const Member &member, const Expr &read) {
  Choices choices;
  for (auto [index, extent] : llvm::zip(read.readIndices(), values.shape(read.readValue()))) {
    if (index.isStatic())
      choices.indices.push_back(index);
    else if (!addChoice(index, extent, member, choices))
      return {llvm::SmallVector<Index>(read.readIndices()), {}, {}};
  }
  return choices;
}

} // namespace

std::vector<Member> stageOperand(GroupValues &values, llvm::ArrayRef<Member> members,
                                 const StagingChoice &choice) {
  Member member = members[choice.member];
  Choices choices = choicesOf(values, member, choice.read);
  llvm::SmallVector<Iterator, 4> parallel;
  llvm::SmallVector<Index> target,
      source(member.numIterators() + choices.iterators.size(), Index(0));
  auto take = [&](unsigned k, const Iterator &iterator) {
    bool isUsed = llvm::any_of(choices.indices, [&](const Index &index) { return index.uses(k); });
    if (!isUsed)
      return;
    source[k] = Index::iterator(parallel.size());
    bool isChosen = k >= member.numIterators();
    target.push_back(isChosen ? choices.chosen[k - member.numIterators()] : Index::iterator(k));
    parallel.push_back(iterator);
  };
  for (auto [k, iterator] : llvm::enumerate(member.parallel))
    if (k != choice.vectorIterator)
      take(k, iterator);
  for (auto [k, iterator] : llvm::enumerate(choices.iterators))
    take(member.numIterators() + k, iterator);
  for (auto [k, iterator] : llvm::enumerate(member.reduction->iterators))
    take(member.parallel.size() + k, iterator);
  take(choice.vectorIterator, member.parallel[choice.vectorIterator]);
  const Value &value = values.value(choice.read.readValue());
  ElementType type = value.type;
  ValueId copy = values.add(value.name + ".staged", type, shapeOf(parallel));
  Expr body =
      Expr::read(choice.read.readValue(), choice.read.type(), substitute(choices.indices, source));
  replaceRead(member, choice.read, Expr::read(copy, choice.read.type(), target));
  std::vector<Member> result(members.begin(), members.end());
  result[choice.member] = std::move(member);
  result.insert(result.begin() + choice.member,
                copyMember(result[choice.member].node, copy, std::move(parallel), std::move(body)));
  return result;
}

namespace {

/// A read's flat position in row-major order, for how far iterators move it.
Index positionOf(const GroupValues &values, const Expr &read) {
  return linearize(read.readIndices(), values.shape(read.readValue()));
}

/// Whether neighbours along the last iterator with more than one point lie apart, and those along
/// another one side by side.
bool isTurned(const GroupValues &values, const Member &member, const Expr &read) {
  constexpr int64_t leastPoints = 8; // Of a row that is worth moving as one.
  auto extentOf = [&](unsigned k) { return member.parallel[k].extent.constant(); };
  unsigned last = member.parallel.size();
  while (last > 0 && extentOf(last - 1) == 1)
    --last;
  if (last < 2 || read.readFill() ||
      llvm::any_of(read.readIndices(), [](const Index &index) { return !index.isAffine(); }))
    return false;
  Index position = positionOf(values, read);
  if (extentOf(last - 1) < leastPoints || std::abs(position.coefficientOf(last - 1)) < 2)
    return false;
  for (unsigned k = 0; k + 1 < last; ++k)
    if (position.coefficientOf(k) == 1 && extentOf(k) >= leastPoints)
      return true;
  return false;
}

/// The member's parallel iterators, those first that move a read the farthest.
llvm::SmallVector<unsigned> orderOfReading(const GroupValues &values, const Member &member,
                                           const Expr &read) {
  Index position = positionOf(values, read);
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, member.parallel.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    int64_t first = std::abs(position.coefficientOf(a));
    int64_t second = std::abs(position.coefficientOf(b));
    return first != second ? first > second : a < b;
  });
  return order;
}

/// A copy over the iterators that move the read, the farthest first.
StagedCopy turnedCopy(GroupValues &values, const Member &member, const Expr &read) {
  llvm::SmallVector<unsigned> order = orderOfReading(values, member, read);
  llvm::erase_if(order, [&](unsigned k) {
    return llvm::none_of(read.readIndices(), [&](const Index &index) { return index.uses(k); });
  });
  llvm::SmallVector<Iterator, 4> parallel;
  llvm::SmallVector<Index> target, source(member.parallel.size(), Index(0));
  for (unsigned k : order) {
    source[k] = Index::iterator(parallel.size());
    target.push_back(Index::iterator(k));
    parallel.push_back(member.parallel[k]);
  }
  const Value &value = values.value(read.readValue());
  ElementType type = value.type;
  ValueId copy = values.add(value.name + ".turned", type, shapeOf(parallel));
  Expr body = Expr::read(read.readValue(), read.type(), substitute(read.readIndices(), source));
  return {copyMember(member.node, copy, std::move(parallel), std::move(body)),
          Expr::read(copy, read.type(), target)};
}

} // namespace

/// Of memory, by the last member, which is no sum.
static llvm::SmallVector<Expr> turnedReads(const GroupValues &values,
                                           llvm::ArrayRef<Member> members) {
  const Member &last = members.back();
  llvm::SmallVector<Expr> reads;
  if (last.reduction)
    return reads;
  for (const Expr &body : last.bodies)
    body.walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read && !isMemberValue(members, e.readValue()) &&
          isTurned(values, last, e) && !llvm::is_contained(reads, e))
        reads.push_back(e);
    });
  return reads;
}

std::optional<std::vector<Member>> stageTurned(GroupValues &values, llvm::ArrayRef<Member> members,
                                               llvm::SmallVectorImpl<ValueId> &copies) {
  llvm::SmallVector<Expr> reads = turnedReads(values, members);
  if (reads.empty())
    return std::nullopt;
  Member last = members.back();
  std::vector<Member> result(members.begin(), members.end() - 1);
  for (const Expr &read : reads) {
    StagedCopy staged = turnedCopy(values, last, read);
    copies.push_back(staged.copy.results[0]);
    replaceRead(last, read, staged.read);
    result.push_back(std::move(staged.copy));
  }
  result.push_back(std::move(last));
  return result;
}

std::optional<std::vector<Member>> stageTurnedResult(GroupValues &values,
                                                     llvm::ArrayRef<Member> members) {
  llvm::SmallVector<Expr> reads = turnedReads(values, members);
  Member last = members.back();
  if (reads.empty() || last.results.size() != 1 || last.bodies.size() != 1)
    return std::nullopt;
  const Value &value = values.value(last.results[0]);
  ElementType type = value.type;
  ValueId staged = values.add(value.name + ".turned", type, shapeOf(last.parallel));
  llvm::SmallVector<unsigned> order = orderOfReading(values, last, reads[0]);
  llvm::SmallVector<Iterator, 4> parallel;
  llvm::SmallVector<Index> places(order.size(), Index(0));
  for (auto [position, k] : llvm::enumerate(order)) {
    places[k] = Index::iterator(position);
    parallel.push_back(last.parallel[k]);
  }
  Member copy =
      copyMember(last.node, last.results[0], std::move(parallel), Expr::read(staged, type, places));
  copy.resultIndices.clear();
  for (const Index &index : last.resultIndices)
    copy.resultIndices.push_back(substitute(index, places));
  copy.isOutput = last.isOutput;
  last.results = {staged};
  last.resultIndices.clear();
  for (unsigned k = 0; k < last.parallel.size(); ++k)
    last.resultIndices.push_back(Index::iterator(k));
  last.isOutput = false;
  std::vector<Member> result(members.begin(), members.end() - 1);
  result.push_back(std::move(last));
  result.push_back(std::move(copy));
  return result;
}

std::optional<std::vector<Member>> stageResult(GroupValues &values, llvm::ArrayRef<Member> members,
                                               unsigned innermost) {
  const Member &last = members.back();
  if (!last.reduction || last.results.size() != 1 || last.bodies.size() != 1)
    return std::nullopt;
  unsigned numParallel = last.parallel.size();
  llvm::SmallVector<unsigned> order;
  for (unsigned k = 0; k < numParallel; ++k)
    if (k != innermost)
      order.push_back(k);
  order.push_back(innermost);
  Member sums = last;
  sums.resultIndices.clear();
  llvm::SmallVector<Index> replacements(numParallel), target;
  for (auto [position, old] : llvm::enumerate(order)) {
    replacements[old] = Index::iterator(position);
    sums.parallel[position] = last.parallel[old];
    sums.resultIndices.push_back(Index::iterator(position));
    target.push_back(Index::iterator(old));
  }
  for (unsigned k = numParallel; k < last.numIterators(); ++k)
    replacements.push_back(Index::iterator(k));
  for (Expr &body : sums.bodies)
    body = substitute(body, replacements);
  for (Expr &finish : sums.epilogue)
    finish = substitute(finish, replacements);
  for (Bound &bound : sums.bounds)
    bound = {static_cast<unsigned>(replacements[bound.iterator].asIterator()),
             substitute(bound.end, replacements)};
  const Value &value = values.value(last.results[0]);
  ElementType type = value.type;
  ValueId staged = values.add(value.name + ".sums", type, shapeOf(sums.parallel));
  sums.results = {staged};
  sums.isOutput = false;
  Member copy =
      copyMember(last.node, last.results[0], last.parallel, Expr::read(staged, type, target));
  copy.resultIndices = last.resultIndices;
  copy.isOutput = last.isOutput;
  std::vector<Member> result(members.begin(), members.end());
  result.back() = std::move(sums);
  result.push_back(std::move(copy));
  return result;
}

} // namespace kintsugi::loops
