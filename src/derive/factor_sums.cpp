//===- factor_sums.cpp - Added sums of products with a common factor ----------===//
//
// Two products of one value with two matrices, added, are one product with the matrices' sum, and
// two values times one matrix are their sum times it. A window of one tap is the middle of a larger
// one: a convolution of one point beside one of nine is part of it. What is added once is constant
// where the other factors are.
//
//===----------------------------------------------------------------------===//

#include "derive/aligned_reads.h"
#include "derive/constant_expr.h"
#include "derive/linear_terms.h"
#include "derive/multiply_adds.h"
#include "derive/renumbered.h"
#include "derive/rule.h"
#include "derive/sole_definitions.h"
#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "te/rename.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

namespace kintsugi::derive {

using namespace te;

namespace {

constexpr ElementType real = ElementType::F32;

/// A sum of products as whoever reads it has it: over the reader's iterators, then its own terms.
struct ReadSum {
  const Definition *definition;
  Expr factors[2];
  Terms terms;
};

/// Two of them that have a factor in common.
struct Common {
  ReadSum larger, smaller;
  Alignment alignment;
  unsigned inLarger, inSmaller; ///< Which factor it is.
};

class SumFactorer {
public:
  SumFactorer(const Program &program, const RuleContext &context)
      : old(program), context(context), constant(constantNodes(program)), sole(program, constant),
        out(program) {}

  /// nullopt where there is nothing to change.
  std::optional<Program> run() {
    bool any = false;
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      if (factorIn(node))
        any = true;
      else
        out.copy(node);
    }
    return any ? std::optional(simplify::withoutUnneeded(out.finish())) : std::nullopt;
  }

private:
  bool isSum(ValueId id) const {
    const Definition *definition = sole.at(id);
    return definition && definition->reduction &&
           definition->reduction->combiner == Combiner::Sum &&
           definition->reduction->accumulator == real &&
           definition->bodies[0].kind() == ExprKind::Binary &&
           definition->bodies[0].binaryOp() == BinaryOp::Mul;
  }

  /// Rewrites the first expression of a definition in which two sums have a common factor.
  bool factorIn(uint32_t node) {
    const auto *reader = std::get_if<Definition>(&old.nodes[node]);
    if (!reader || reader->reduction || reader->bodies.size() != 1 || constant[node])
      return false;
    bool isDone = false;
    Expr body = rewrite(reader->bodies[0], [&](const Expr &e) {
      if (isDone || e.type() != real || e.kind() != ExprKind::Binary ||
          (e.binaryOp() != BinaryOp::Add && e.binaryOp() != BinaryOp::Sub))
        return e;
      std::optional<Expr> factored = factoredIn(e, node, *reader);
      isDone = factored.has_value();
      return factored ? *factored : e;
    });
    if (!isDone)
      return false;
    Definition changed = *reader;
    changed.bodies = {renamed(body)};
    changed.results.clear();
    out.define(node, std::move(changed));
    out.keepFacts(node);
    return true;
  }

  std::optional<Expr> factoredIn(const Expr &expr, uint32_t node, const Definition &reader) {
    std::vector<LinearTerm> terms = linearTermsOf(
        expr, old, [&](ValueId id) { return sole.isMap(id); },
        [&](ValueId id) { return isSum(id); });
    llvm::SmallVector<std::pair<size_t, ReadSum>, 4> sums;
    for (auto [number, term] : llvm::enumerate(terms))
      if (std::optional<ReadSum> sum = sumReadBy(term.factor, reader); sum && sums.size() < most)
        sums.emplace_back(number, std::move(*sum));
    for (size_t a = 0; a < sums.size(); ++a)
      for (size_t b = a + 1; b < sums.size(); ++b)
        for (auto [first, second] : {std::pair(a, b), std::pair(b, a)}) {
          auto common = commonFactor(sums[first].second, sums[second].second);
          size_t one = sums[first].first, other = sums[second].first;
          std::optional<LinearTerm> sum;
          if (common)
            sum = factored(*common, terms[one], terms[other], node, reader);
          if (!sum)
            continue;
          terms[one] = std::move(*sum);
          terms.erase(terms.begin() + other);
          return sumOf(terms);
        }
    return std::nullopt;
  }

  static constexpr size_t most = 6; ///< Sums that are looked at in one expression.

  /// Where each element of the sum is read for one element of the reader.
  std::optional<ReadSum> sumReadBy(const Expr &read, const Definition &reader) const {
    if (read.kind() != ExprKind::Read || read.readFill() || !isSum(read.readValue()))
      return std::nullopt;
    const Definition &sum = *old.definitionOf(read.readValue());
    llvm::SmallBitVector used(reader.numIterators());
    for (const Index &index : read.readIndices()) {
      int iterator = index.asIterator();
      if (index.isConstant())
        continue;
      if (iterator < 0 || used.test(iterator))
        return std::nullopt;
      used.set(iterator);
    }
    llvm::SmallVector<Index> at(read.readIndices().begin(), read.readIndices().end());
    for (unsigned k = 0; k < sum.reduction->iterators.size(); ++k)
      at.push_back(Index::iterator(reader.numIterators() + k));
    const Expr &body = sum.bodies[0];
    return ReadSum{&sum,
                   {substitute(body.operand(0), at), substitute(body.operand(1), at)},
                   {reader.numIterators(), sum.reduction->iterators}};
  }

  std::optional<Common> commonFactor(const ReadSum &larger, const ReadSum &smaller) const {
    for (unsigned a : {0, 1})
      for (unsigned b : {0, 1}) {
        const Expr &one = larger.factors[a], &other = smaller.factors[b];
        if (one.kind() != ExprKind::Read || other.kind() != ExprKind::Read)
          continue;
        std::optional<Alignment> alignment = alignmentOf(one, larger.terms, other, smaller.terms);
        if (!alignment)
          alignment = alignmentOf(readThroughMoves(one, old), larger.terms,
                                  readThroughMoves(other, old), smaller.terms);
        if (alignment)
          return Common{larger, smaller, std::move(*alignment), a, b};
      }
    return std::nullopt;
  }

  /// The sum of products with both other factors, which it defines.
  std::optional<LinearTerm> factored(const Common &common, const LinearTerm &larger,
                                     const LinearTerm &smaller, uint32_t node,
                                     const Definition &reader) {
    bool isScaledAlike = larger.scale == smaller.scale;
    Expr factor = otherFactors(common, larger, smaller, !isScaledAlike);
    const Expr &shared = common.larger.factors[common.inLarger];
    const Terms &terms = common.larger.terms;
    Definition whole{
        reader.parallel,
        Reduction{Combiner::Sum, real, llvm::SmallVector<Iterator, 3>(terms.iterators)},
        {},
        {}};
    Renumbered ofFactor(whole, [&](unsigned k) { return factor.uses(k); });
    Renumbered ofSum(
        whole, [&](unsigned k) { return k >= terms.first || factor.uses(k) || shared.uses(k); });
    if (!pays(common, factor, ofSum.iterators, ofFactor.iterators))
      return std::nullopt;
    out.fresh.currentOrigin = old.origins[node];
    const std::string &name = old.value(old.resultsOf(node)[0]).name;
    Definition factors{ofFactor.iterators, std::nullopt, {}, {}};
    factors.bodies = {renamed(substitute(factor, ofFactor.numbers))};
    ValueId factorValue = out.fresh.define(name + ".factor", real, std::move(factors));
    Expr read = Expr::read(factorValue, real, substitute(ofFactor.old, ofSum.numbers));
    Expr its = renamed(substitute(shared, ofSum.numbers));
    size_t numParallel = ofSum.iterators.size() - terms.iterators.size();
    llvm::ArrayRef<Iterator> all = ofSum.iterators;
    Definition sum;
    sum.parallel.append(all.begin(), all.begin() + numParallel);
    sum.reduction =
        Reduction{Combiner::Sum, real, llvm::SmallVector<Iterator, 3>(all.drop_front(numParallel))};
    sum.bodies = {common.inLarger == 0 ? its * read : read * its};
    ValueId value = out.fresh.define(name + ".sum", real, std::move(sum));
    explain(name);
    llvm::ArrayRef<Index> point = llvm::ArrayRef(ofSum.old).take_front(numParallel);
    return LinearTerm{Expr::read({value.number + firstOfOwn}, real, point),
                      isScaledAlike ? larger.scale : std::nullopt, false};
  }

  /// What the common factor is multiplied with, over the reader's iterators and the larger sum's
  /// terms, with the scales of the sums or without.
  static Expr otherFactors(const Common &common, const LinearTerm &larger,
                           const LinearTerm &smaller, bool withScales) {
    const Terms &terms = common.larger.terms, &others = common.smaller.terms;
    llvm::SmallVector<Index> at;
    for (unsigned k = 0; k < others.first; ++k)
      at.push_back(Index::iterator(k));
    llvm::append_range(at, common.alignment.othersAt(terms, others));
    LinearTerm one = larger, other = smaller;
    one.factor = common.larger.factors[1 - common.inLarger];
    other.factor = substitute(common.smaller.factors[1 - common.inSmaller], at);
    if (!withScales)
      one.scale = other.scale = std::nullopt;
    if (std::optional<Expr> isOther = common.alignment.isOfOther(terms, others))
      other.factor = Expr::select(*isOther, other.factor, Expr::literal(real, 0.0));
    return sumOf({one, other});
  }

  bool pays(const Common &common, const Expr &factor, llvm::ArrayRef<Iterator> ofSum,
            llvm::ArrayRef<Iterator> ofFactor) const {
    auto ofOne = [](const Definition &sum) {
      return pointsOf(sum.parallel) * pointsOf(sum.reduction->iterators);
    };
    double elements = pointsOf(ofFactor);
    MultiplyAdds its;
    its.areNarrow = context.willBeNarrow;
    its.before = ofOne(*common.larger.definition);
    if (common.smaller.definition != common.larger.definition)
      its.before += ofOne(*common.smaller.definition);
    its.after = pointsOf(ofSum);
    its.definitions = 1;
    bool isConstant = isConstantExpr(factor, old, constant);
    if (isConstant && !isLikeConstants(elements, elementsOfFactors(common)))
      return false;
    if (!isConstant) {
      its.after += 2 * elements;
      its.bytes = 4 * elements;
      ++its.definitions;
    }
    return its.areFewer(context.space.schedule.machine, context.margins.commutedSums);
  }

  /// Of the two that are added, as far as they are values.
  double elementsOfFactors(const Common &common) const {
    double elements = 0;
    for (const Expr &factor :
         {common.larger.factors[1 - common.inLarger], common.smaller.factors[1 - common.inSmaller]})
      if (factor.kind() == ExprKind::Read)
        elements += elementsOf(old.shape(factor.readValue()));
    return elements;
  }

  /// New values stand among old ones until they are renamed.
  Expr renamed(const Expr &expr) {
    return renameReads(expr, [&](ValueId id) {
      return id.number >= firstOfOwn ? ValueId{id.number - firstOfOwn} : out[id];
    });
  }

  void explain(const std::string &name) const {
    if (context.log)
      context.log->add({"derive",
                        "value '" + name + "'",
                        "sums with a common factor are one",
                        {"fewer multiply-adds"},
                        {}});
  }

  static constexpr uint32_t firstOfOwn = 1u << 31;

  const Program &old;
  const RuleContext &context;
  std::vector<bool> constant; ///< By node.
  SoleDefinitions sole;
  simplify::Rebuilder out;
};

} // namespace

static Expected<Program> factorSums(const Program &program, const RuleContext &context) {
  constexpr unsigned rounds = 4;
  Program result = program;
  for (unsigned round = 0; round < rounds; ++round) {
    std::optional<Program> next = SumFactorer(result, context).run();
    if (!next)
      break;
    result = std::move(*next);
  }
  return result;
}

const Rule factorSumsRule = {
    .name = "factor-sums",
    .equation = "a[p] * (sum[k] x[p, k] * v[k, o]) + sum[j] x[p, m(j)] * w[j, o] => sum[k] x[p, k] "
                "* (a[p] * v[k, o] + w[j, o] where k = m(j)): sums that have a factor in common, "
                "and of which one's terms are the other's, are one.",
    .source = "EinNet (Zheng et al. 2023), distributivity and merged sums",
    .exactness = Exactness::Reassociates,
    .assumes = "",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = factorSums,
    .isOfReals = true,
    .movesAcrossOperators = true,
};

} // namespace kintsugi::derive
