#include "derive/finite.h"
#include "derive/rule.h"
#include "derive/zero_padding.h"
#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// A factor of the terms is zero unless this index is in [0, extent).
struct Guard {
  Index index;
  int64_t extent;
};

/// A sum whose terms are looked at, as it becomes less.
class Tightening {
public:
  Tightening(const Definition &sum, llvm::ArrayRef<Guard> guards)
      : sum(sum), guards(guards.begin(), guards.end()) {}

  /// Whether it sums over less than before.
  bool run() {
    bool changes = false;
    while (step())
      changes = true;
    if (sum.reduction->iterators.empty())
      sum.reduction.reset();
    return changes;
  }

  Definition sum;

private:
  /// More steps are a window of no convolution, and to be looked at one by one.
  static constexpr int64_t mostSteps = 256;

  bool step() {
    unsigned numParallel = sum.parallel.size();
    for (unsigned k = 0; k < sum.reduction->iterators.size(); ++k) {
      int64_t steps = sum.reduction->iterators[k].extent.constant();
      for (const Guard &guard : guards)
        if (steps <= mostSteps && guard.index.isAffine() &&
            (solve(guard, numParallel + k, steps) || shrink(guard, numParallel + k, steps)))
          return true;
    }
    return false;
  }

  /// Where one step alone has an element, it follows from the other iterators.
  bool solve(const Guard &guard, unsigned iterator, int64_t steps) {
    int64_t factor = guard.index.coefficientOf(iterator);
    if (guard.extent != 1 || std::abs(factor) != 1)
      return false;
    Index only = (guard.index - Index::iterator(iterator) * factor) * -factor;
    if (!rangeOf(only, sum.ranges()).within({0, steps - 1}))
      return false;
    replace(iterator, only, 1);
    return true;
  }

  /// Steps without any element come first and last.
  bool shrink(const Guard &guard, unsigned iterator, int64_t steps) {
    if (guard.index.coefficientOf(iterator) == 0)
      return false;
    llvm::SmallVector<Interval> ranges = sum.ranges();
    Interval open{steps, -1};
    for (int64_t step = 0; step < steps; ++step) {
      ranges[iterator] = Interval::point(step);
      Interval range = rangeOf(guard.index, ranges);
      if (range.high >= 0 && range.low < guard.extent)
        open = {std::min(open.low, step), step};
    }
    if (open.empty() || open.size() == steps)
      return false;
    bool isOne = open.size() == 1;
    replace(iterator, isOne ? Index(open.low) : Index::iterator(iterator) + open.low, open.size());
    return true;
  }

  /// An iterator of one step is gone.
  void replace(unsigned iterator, const Index &by, int64_t steps) {
    llvm::SmallVector<Index> renumbered, replacements;
    for (unsigned k = 0; k < sum.numIterators(); ++k)
      renumbered.push_back(Index::iterator(steps == 1 && k > iterator ? k - 1 : k));
    replacements = renumbered;
    replacements[iterator] = substitute(by, renumbered);
    llvm::SmallVector<Iterator, 3> &iterators = sum.reduction->iterators;
    unsigned number = iterator - sum.parallel.size();
    if (steps == 1)
      iterators.erase(iterators.begin() + number);
    else
      iterators[number].extent = Extent(steps);
    sum.bodies = {substitute(sum.bodies[0], replacements)};
    for (Guard &guard : guards)
      guard.index = te::simplify(substitute(guard.index, replacements), sum.ranges());
  }

  llvm::SmallVector<Guard> guards;
};

class SumTightener {
public:
  SumTightener(const Program &program, const RuleContext &context)
      : old(program), out(program), context(context), constant(constantNodes(program)) {}

  Program run() {
    bool changes = false;
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      if (rewrite(node))
        changes = true;
      else
        out.copy(node);
    }
    return changes ? simplify::simplify(out.finish()) : old;
  }

private:
  void addGuards(const Expr &factor, llvm::SmallVectorImpl<Guard> &guards) const {
    Expr inlined = withinPadding(factor, old);
    const Expr *read = readBehindCasts(inlined);
    if (!read || !hasZerosOutside(*read))
      return;
    for (auto [index, extent] : llvm::zip_equal(read->readIndices(), old.shape(read->readValue())))
      guards.push_back({index, extent.constant()});
  }

  bool rewrite(uint32_t node) {
    const auto *sum = std::get_if<Definition>(&old.nodes[node]);
    if (!sum || constant[node] || !sum->reduction || sum->bodies.size() != 1 ||
        sum->reduction->combiner != Combiner::Sum || !isFloat(sum->bodies[0].type()))
      return false;
    llvm::SmallVector<Guard> guards;
    llvm::SmallVector<Expr> factors = factorsOf(sum->bodies[0]), unpadded;
    for (const Expr &factor : factors) {
      size_t before = guards.size();
      addGuards(factor, guards);
      if (guards.size() == before)
        unpadded.push_back(factor);
    }
    Tightening tight(*sum, guards);
    if (!tight.run())
      return false;
    assume(unpadded.empty() && factors.size() == 2 ? factors : unpadded);
    tell(node, *sum, tight.sum);
    out.fresh.currentOrigin = old.origins[node];
    Definition less = std::move(tight.sum);
    llvm::SmallVector<Expr> its = factorsOf(less.bodies[0]);
    for (Expr &factor : its)
      factor = renamed(factor, less.ranges());
    Expr body = its.size() == 2 ? its[0] * its[1] : its[0];
    if (!less.reduction) // As a sum does of its terms, which may be -0.
      body = Expr::literal(body.type(), 0.0) + body;
    ElementType stored = old.value(sum->results[0]).type;
    less.results.clear();
    less.bodies = {less.reduction ? body : Expr::stored(stored, body)};
    out.define(node, std::move(less));
    out.keepFacts(node);
    return true;
  }

  static llvm::SmallVector<Expr> factorsOf(const Expr &body) {
    bool isProduct = body.kind() == ExprKind::Binary && body.binaryOp() == BinaryOp::Mul;
    return isProduct ? llvm::SmallVector<Expr>(body.operands()) : llvm::SmallVector<Expr>{body};
  }

  /// Terms that are left out were zero times what the other factor is there.
  void assume(llvm::ArrayRef<Expr> multiplied) const {
    if (context.assumed &&
        !llvm::all_of(multiplied, [&](const Expr &e) { return isFiniteFactor(e, old); }))
      context.assumed->add(tightenSumsRule.name);
  }

  /// A factor over new values, which reads what it needs of padding and no more.
  Expr renamed(const Expr &factor, llvm::ArrayRef<Interval> ranges) {
    auto shapeOf = [&](ValueId id) -> llvm::ArrayRef<Extent> { return old.shape(id); };
    Expr simple = simplifyIndices(factor, ranges, shapeOf);
    const Expr *read = readBehindCasts(simple);
    const Definition *padding =
        read && !read->readFill() ? zeroPaddingOf(old, read->readValue()) : nullptr;
    if (!padding || llvm::any_of(read->readIndices(), [](auto &i) { return !i.isAffine(); }))
      return out.rename(simple);
    const te::Value &value = old.value(read->readValue());
    Definition part;
    llvm::SmallVector<Index> from, to;
    for (auto [iterator, index] : llvm::zip_equal(padding->parallel, read->readIndices())) {
      Interval range = rangeOf(index, ranges);
      from.push_back(Index::iterator(part.parallel.size()) + range.low);
      to.push_back(index - range.low);
      part.parallel.push_back({iterator.name, Extent(range.size())});
    }
    Expr element = substitute(padding->bodies[0], from);
    part.bodies = {out.rename(simplifyIndices(element, part.ranges(), shapeOf))};
    ValueId its = out.fresh.define(value.name + ".part", value.type, std::move(part));
    return te::rewrite(out.rename(simple), [&](const Expr &e) {
      return e.kind() == ExprKind::Read ? Expr::read(its, e.type(), to) : e;
    });
  }

  void tell(uint32_t node, const Definition &before, const Definition &after) const {
    if (!context.log)
      return;
    context.log->add({"derive",
                      "value '" + old.value(old.resultsOf(node)[0]).name + "'",
                      "summed over what padding leaves",
                      {"other terms are zeros"},
                      {{"terms before", termsOf(before), ""}, {"after", termsOf(after), ""}}});
  }

  static double termsOf(const Definition &sum) {
    return sum.reduction ? pointsOf(sum.reduction->iterators) : 1;
  }

  const Program &old;
  simplify::Rebuilder out;
  const RuleContext &context;
  std::vector<bool> constant; ///< By node.
};

} // namespace

const Rule tightenSumsRule = {
    .name = "tighten-sums",
    .equation = "y[i] = sum[r:R] (x[i+r-p] | 0) * k[r] => the sum of those r alone for which some "
                "i has an element of x; where x has one element, r is p-i.",
    .source = "EinNet (Zheng et al. 2023), boundaries tightened",
    .exactness = Exactness::Bitwise,
    .assumes = "what zeros that pad are multiplied with",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return SumTightener(program, context).run();
    },
    .isOfReals = true,
};

} // namespace kintsugi::derive
