#include "loops/reindex.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

bool isBijective(llvm::ArrayRef<Index> indices, llvm::ArrayRef<Iterator> iterators,
                 llvm::ArrayRef<Extent> shape) {
  llvm::SmallVector<bool> used(iterators.size(), false);
  for (auto [index, extent] : llvm::zip(indices, shape)) {
    if (!index.isAffine() || index.constantTerm() != 0)
      return false;
    llvm::SmallVector<Term> terms(index.terms());
    llvm::sort(terms, [](const Term &a, const Term &b) { return a.factor < b.factor; });
    int64_t radix = 1;
    for (const Term &term : terms) {
      if (term.factor != radix || used[term.atom.iterator])
        return false;
      used[term.atom.iterator] = true;
      radix *= iterators[term.atom.iterator].extent.constant();
    }
    if (radix != extent.constant())
      return false;
  }
  return llvm::all_of(llvm::enumerate(iterators), [&](const auto &entry) {
    return used[entry.index()] || entry.value().extent.constant() == 1;
  });
}

namespace {

/// index = (iterator // divisor) % extent, the form of one digit of a split iterator.
struct Digit {
  unsigned iterator;
  int64_t divisor;
};

std::optional<Digit> digitOf(const Index &index) {
  if (int iterator = index.asIterator(); iterator >= 0)
    return Digit{static_cast<unsigned>(iterator), 1};
  if (index.constantTerm() != 0 || index.terms().size() != 1 || index.terms()[0].factor != 1)
    return std::nullopt;
  const Atom &atom = index.terms()[0].atom;
  if (atom.kind == AtomKind::Mod)
    return digitOf(atom.operand);
  if (atom.kind == AtomKind::FloorDiv)
    if (int iterator = atom.operand.asIterator(); iterator >= 0)
      return Digit{static_cast<unsigned>(iterator), atom.divisor};
  return std::nullopt;
}

} // namespace

std::optional<llvm::SmallVector<Index>> invertSplit(llvm::ArrayRef<Index> indices,
                                                    llvm::ArrayRef<Iterator> iterators,
                                                    llvm::ArrayRef<Extent> shape) {
  llvm::SmallVector<Index> inverse(iterators.size());
  llvm::SmallVector<int64_t> covered(iterators.size(), 1);
  struct Part {
    Digit digit;
    unsigned dimension;
  };
  llvm::SmallVector<Part> parts;
  for (auto [dimension, index] : llvm::enumerate(indices)) {
    if (shape[dimension].constant() == 1 && index == Index(0))
      continue;
    std::optional<Digit> digit = digitOf(index);
    if (!digit)
      return std::nullopt;
    parts.push_back({*digit, static_cast<unsigned>(dimension)});
  }
  llvm::sort(parts, [](const Part &a, const Part &b) { return a.digit.divisor < b.digit.divisor; });
  for (const Part &part : parts) {
    auto [iterator, divisor] = part.digit;
    if (covered[iterator] != divisor)
      return std::nullopt;
    inverse[iterator] = inverse[iterator] + Index::iterator(part.dimension) * divisor;
    covered[iterator] *= shape[part.dimension].constant();
  }
  for (auto [iterator, extent] : llvm::zip(iterators, covered))
    if (iterator.extent.constant() != extent)
      return std::nullopt;
  return inverse;
}

namespace {

/// The one list of indices with which `consumer` reads `value`; nullopt if there are several.
std::optional<llvm::SmallVector<Index>> soleAccess(const Expr &body, ValueId value) {
  std::optional<llvm::SmallVector<Index>> access;
  bool several = false;
  body.walk([&](const Expr &e) {
    if (e.kind() != ExprKind::Read || e.readValue() != value)
      return;
    llvm::SmallVector<Index> indices(e.readIndices());
    if (e.readFill() || (access && !llvm::equal(*access, indices)))
      several = true;
    access = std::move(indices);
  });
  return several ? std::nullopt : access;
}

/// A sum may be held in a wider type than what it is stored in; what reads it sees it rounded.
Expr useAccumulator(const Expr &body, const Member &reduction) {
  bool isKey = reduction.bodies.size() == 1;
  return rewrite(body, [&](const Expr &e) {
    if (e.kind() != ExprKind::Read || e.readValue() != reduction.results[0])
      return e;
    ElementType held = isKey ? reduction.reduction->accumulator : e.type();
    return Expr::cast(e.type(), Expr::read(LoopNest::accumulator(0), held, {}));
  });
}

/// Iterates over the consumer's iterators: the reduction's coordinates are `access` of them.
Member overConsumer(const Member &reduction, const Member &consumer, llvm::ArrayRef<Index> access) {
  Member joined = consumer;
  joined.reduction = reduction.reduction;
  joined.factors = reduction.factors;
  llvm::SmallVector<Index> replacements(access.begin(), access.end());
  for (unsigned k = 0; k < reduction.reduction->iterators.size(); ++k)
    replacements.push_back(Index::iterator(consumer.parallel.size() + k));
  llvm::SmallVector<Interval> ranges = joined.ranges();
  joined.bodies.clear();
  for (const Expr &body : reduction.bodies)
    joined.bodies.push_back(simplifyIndices(substitute(body, replacements), ranges, nullptr));
  joined.epilogue = {useAccumulator(consumer.bodies[0], reduction)};
  return joined;
}

/// Iterates over the reduction's iterators: the consumer's coordinates are `inverse` of them.
Member overReduction(const Member &reduction, const Member &consumer,
                     llvm::ArrayRef<Index> inverse) {
  Member joined = reduction;
  joined.node = consumer.node;
  joined.results = consumer.results;
  joined.isOutput = consumer.isOutput;
  llvm::SmallVector<Interval> ranges = joined.ranges();
  Expr finish = useAccumulator(consumer.bodies[0], reduction);
  joined.epilogue = {simplifyIndices(substitute(finish, inverse), ranges, nullptr)};
  joined.resultIndices = substitute(consumer.resultIndices, inverse);
  return joined;
}

} // namespace

std::optional<Member> joinEpilogue(const Program &program, const Member &reduction,
                                   const Member &consumer) {
  if (!reduction.epilogue.empty())
    return std::nullopt;
  for (unsigned k = 0; k < reduction.resultIndices.size(); ++k)
    if (reduction.resultIndices[k].asIterator() != static_cast<int>(k))
      return std::nullopt;
  ValueId value = reduction.results[0];
  std::optional<llvm::SmallVector<Index>> access = soleAccess(consumer.bodies[0], value);
  if (!access)
    return std::nullopt;
  if (isBijective(*access, consumer.parallel, program.shape(value)))
    return overConsumer(reduction, consumer, *access);
  if (auto inverse = invertSplit(*access, consumer.parallel, program.shape(value)))
    return overReduction(reduction, consumer, *inverse);
  return std::nullopt;
}

} // namespace kintsugi::loops
