#include "loops/bounds.h"

#include "te/constant.h"
#include "te/neutral.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

namespace {

/// `iterator < end`, where `end` is read from a table of integers.
struct Condition {
  unsigned iterator;
  Expr end;
};

std::optional<Condition> conditionOf(const Expr &expr) {
  if (expr.kind() != ExprKind::Binary || expr.binaryOp() != BinaryOp::Less)
    return std::nullopt;
  const Expr &left = expr.operand(0), &end = expr.operand(1);
  bool isLookup = end.kind() == ExprKind::Read && !LoopNest::isAccumulator(end.readValue()) &&
                  (end.type() == ElementType::I32 || end.type() == ElementType::I64) &&
                  !end.readFill() &&
                  llvm::all_of(end.readIndices(), [](const Index &i) { return i.isStatic(); });
  if (!isLookup || left.kind() != ExprKind::Index)
    return std::nullopt;
  int iterator = left.indexValue().asIterator();
  if (iterator < 0 || end.uses(iterator))
    return std::nullopt;
  return Condition{static_cast<unsigned>(iterator), end};
}

/// Whether joining `expr` to an accumulator changes nothing.
bool addsNothing(const Expr &expr, Combiner combiner) {
  return !isArgForm(combiner) && combiner != Combiner::SoftmaxStats && isNeutral(expr, combiner);
}

/// The bound of a sum whose terms are neutral past it; its body then goes without the condition.
void takeGuard(Member &member) {
  if (!member.reduction || member.bodies.size() != 1 || member.bodies[0].kind() != ExprKind::Select)
    return;
  Expr body = member.bodies[0];
  std::optional<Condition> condition = conditionOf(body.operand(0));
  if (!condition || condition->iterator < member.parallel.size() ||
      !addsNothing(body.operand(2), member.reduction->combiner))
    return;
  const Iterator &iterator =
      member.reduction->iterators[condition->iterator - member.parallel.size()];
  for (unsigned k = member.parallel.size(); k < member.numIterators(); ++k)
    if (condition->end.uses(k))
      return;
  if (iterator.extent.constant() < 2)
    return;
  member.bodies[0] = body.operand(1);
  member.bounds.push_back({condition->iterator, condition->end});
}

/// The dimension of a read value that moves with an iterator and nothing else; -1: none.
int dimensionOf(const Expr &read, unsigned iterator) {
  for (auto [dimension, index] : llvm::enumerate(read.readIndices()))
    if (index.asIterator() == static_cast<int>(iterator))
      return static_cast<int>(dimension);
  return -1;
}

/// A reader's bound as one of what it reads: the bound's own indices must be dimensions of it.
std::optional<Bound> throughRead(const Bound &bound, const Expr &read, unsigned iterators) {
  int dimension = dimensionOf(read, bound.iterator);
  if (dimension < 0 || read.readFill())
    return std::nullopt;
  llvm::SmallVector<Index> replacements(iterators, Index(0));
  for (unsigned k = 0; k < iterators; ++k) {
    if (!bound.end.uses(k))
      continue;
    int moved = dimensionOf(read, k);
    if (moved < 0)
      return std::nullopt;
    replacements[k] = Index::iterator(moved);
  }
  return Bound{static_cast<unsigned>(dimension), substitute(bound.end, replacements)};
}

/// What all readers keep to.
llvm::SmallVector<Bound, 1> commonBounds(const Member &producer, llvm::ArrayRef<Member> readers) {
  std::optional<llvm::SmallVector<Bound, 1>> common;
  for (const Member &reader : readers)
    for (const Expr &expr : reader.expressions())
      expr.walk([&](const Expr &e) {
        if (e.kind() != ExprKind::Read || !llvm::is_contained(producer.results, e.readValue()))
          return;
        llvm::SmallVector<Bound, 1> here;
        for (const Bound &bound : reader.bounds)
          if (auto moved = throughRead(bound, e, reader.numIterators()))
            here.push_back(std::move(*moved));
        if (!common)
          common = std::move(here);
        else
          llvm::erase_if(*common, [&](const Bound &bound) {
            return llvm::none_of(here, [&](const Bound &other) {
              return other.iterator == bound.iterator && other.end == bound.end;
            });
          });
      });
  return common.value_or(llvm::SmallVector<Bound, 1>());
}

bool storesByIterators(const Member &member) {
  return llvm::all_of(llvm::enumerate(member.resultIndices), [](const auto &entry) {
    return entry.value().asIterator() == static_cast<int>(entry.index());
  });
}

Expr withChoice(const Expr &expr, const Condition &condition, bool holds) {
  return rewrite(expr, [&](const Expr &e) {
    if (e.kind() != ExprKind::Select)
      return e;
    std::optional<Condition> here = conditionOf(e.operand(0));
    bool isSame = here && here->iterator == condition.iterator && here->end == condition.end;
    return isSame ? e.operand(holds ? 1 : 2) : e;
  });
}

LoopNest part(const LoopNest &nest, const Condition &condition, bool holds) {
  LoopNest result = nest;
  for (auto *list : {&result.bodies, &result.epilogue})
    for (Expr &expr : *list)
      expr = withChoice(expr, condition, holds);
  Span *span = llvm::find_if(result.spans, [&](const Span &s) {
    return s.iterator.asIterator() == static_cast<int>(condition.iterator);
  });
  if (span == result.spans.end()) {
    result.spans.push_back({Index::iterator(condition.iterator), std::nullopt, std::nullopt});
    span = &result.spans.back();
  }
  // What lies past the old end may be computed: it is never read.
  (holds ? span->end : span->begin) = condition.end;
  return result;
}

/// The mean of a table of integers that is at hand; -1: not known.
double meanOf(const Value &value) {
  constexpr int64_t most = 1 << 16;
  int64_t count = 1;
  for (Extent extent : value.shape)
    count *= extent.constant();
  if (value.kind != ValueKind::Constant || count == 0 || count > most)
    return -1;
  Expected<Tensor> tensor = loadConstant(value);
  if (!tensor.ok())
    return -1;
  double sum = 0;
  for (int64_t k = 0; k < count; ++k)
    sum += value.type == ElementType::I32
               ? double(reinterpret_cast<const int32_t *>(tensor->bytes().data())[k])
               : double(reinterpret_cast<const int64_t *>(tensor->bytes().data())[k]);
  return sum / double(count);
}

} // namespace

bool boundLoops(std::vector<Member> &members) {
  bool any = false;
  for (size_t number = members.size(); number-- > 0;) {
    Member &member = members[number];
    if (!member.isOutput && storesByIterators(member))
      for (Bound &bound : commonBounds(member, llvm::ArrayRef(members).drop_front(number + 1)))
        if (member.parallel[bound.iterator].extent.constant() > 1)
          member.bounds.push_back(std::move(bound));
    takeGuard(member);
    any |= !member.bounds.empty();
  }
  return any;
}

llvm::SmallVector<LoopNest, 2> splitAtConditions(LoopNest nest) {
  constexpr int64_t apart = 8; // Neighbours want to share a vector.
  std::optional<Condition> found;
  auto look = [&](const Expr &e) {
    if (found || e.kind() != ExprKind::Select)
      return;
    std::optional<Condition> condition = conditionOf(e.operand(0));
    if (!condition || condition->iterator >= nest.parallel.size() ||
        nest.destinationIndex.coefficientOf(condition->iterator) < apart)
      return;
    for (unsigned k = 0; k < nest.parallel.size() + nest.numReductions(); ++k)
      if (condition->end.uses(k))
        return;
    const Span *span = nest.spanOf(condition->iterator);
    if (!span || !span->begin)
      found = condition;
  };
  for (const Expr &body : nest.bodies)
    body.walk(look);
  for (const Expr &finish : nest.epilogue)
    finish.walk(look);
  if (!found)
    return {std::move(nest)};
  return {part(nest, *found, true), part(nest, *found, false)};
}

bool areSpansUniform(const LoopNest &nest) {
  unsigned iterators = nest.parallel.size() + nest.numReductions();
  return llvm::all_of(nest.spans, [&](const Span &span) {
    int iterator = span.iterator.asIterator();
    if (iterator < 0 || iterator >= static_cast<int>(iterators))
      return false;
    for (const std::optional<Expr> *bound : {&span.begin, &span.end})
      for (unsigned k = 0; k < iterators; ++k)
        if (*bound && (**bound).uses(k))
          return false;
    return true;
  });
}

void setShares(LoopNest &nest, llvm::ArrayRef<Buffer> buffers, const GroupValues &values) {
  for (Span &span : nest.spans) {
    double extent = double(nest.extentOf(span.iterator.asIterator()));
    auto mean = [&](const std::optional<Expr> &bound, double otherwise) {
      double found =
          bound ? meanOf(values.value(buffers[bound->readValue().number].value)) : otherwise;
      return found < 0 ? otherwise : std::min(found, extent);
    };
    span.share = std::max(0.0, mean(span.end, extent) - mean(span.begin, 0)) / extent;
  }
}

} // namespace kintsugi::loops
