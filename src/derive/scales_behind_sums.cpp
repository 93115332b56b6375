#include "derive/behind_sums.h"

#include "derive/rule.h"
#include "simplify/rebuild.h"
#include "te/product.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// A factor of a sum as scale * rest.
struct Scaled {
  Expr rest, scale;
};

bool isFree(const Expr &expr, unsigned iterators) {
  for (unsigned k = 0; k < iterators; ++k)
    if (expr.uses(k))
      return false;
  return true;
}

/// A 16-bit element of a value, widened.
bool isNarrowRead(const Expr &expr) {
  if (expr.kind() != ExprKind::Cast || !isFloat(expr.type()))
    return false;
  const Expr &read = expr.operand(0);
  return read.kind() == ExprKind::Read && isFloat(read.type()) && bitsOf(read.type()) == 16 &&
         !read.readFill();
}

/// Of numbers a number.
Expr productOf(const Expr &a, const Expr &b) {
  bool areNumbers = a.isLiteral() && b.isLiteral();
  return areNumbers ? Expr::literal(a.type(), a.literalFloat() * b.literalFloat()) : a * b;
}

class ScaleMover {
public:
  ScaleMover(const Program &program, explain::Log *log) : old(program), out(program), log(log) {}

  Program run() {
    for (uint32_t node = 0; node < old.nodes.size(); ++node)
      if (!rewrite(node))
        out.copy(node);
    return simplify::withoutUnneeded(out.finish());
  }

private:
  /// `factor`, which widens what a definition scales and stores for this alone.
  std::optional<Scaled> scaledFactor(const Expr &factor, const Definition &sum) const {
    if (!isNarrowRead(factor))
      return std::nullopt;
    const Expr &read = factor.operand(0);
    const Definition *producer = old.definitionOf(read.readValue());
    if (!producer || producer->reduction || producer->bodies.size() != 1)
      return std::nullopt;
    const Expr &stored = producer->bodies[0];
    if (stored.kind() != ExprKind::Cast || !stored.isStored())
      return std::nullopt;
    const Expr &product = stored.operand(0);
    if (product.kind() != ExprKind::Binary || product.binaryOp() != BinaryOp::Mul ||
        product.type() != factor.type())
      return std::nullopt;
    for (unsigned k : {0, 1}) {
      const Expr &rest = product.operand(k), &scale = product.operand(1 - k);
      if (!isNarrowRead(rest) || rest.operand(0).type() != read.type() ||
          !isFree(scale, producer->parallel.size()))
        continue;
      Definition unscaled = *producer;
      unscaled.bodies = {Expr::stored(read.type(), rest)};
      Expr inlined = inlineInto(factor, unscaled, old.shape(read.readValue()));
      inlined = simplifyIndices(inlined, sum.ranges(), [&](ValueId id) { return old.shape(id); });
      if (!isNarrowRead(inlined))
        continue;
      return Scaled{std::move(inlined), scale};
    }
    return std::nullopt;
  }

  bool rewrite(uint32_t node) {
    const auto *definition = std::get_if<Definition>(&old.nodes[node]);
    if (!definition || !definition->reduction || definition->reduction->combiner != Combiner::Sum ||
        definition->reduction->accumulator != ElementType::F32 || !isContraction(*definition))
      return false;
    llvm::SmallVector<Expr> factors(definition->bodies[0].operands());
    std::optional<Expr> scale;
    for (Expr &factor : factors)
      if (std::optional<Scaled> scaled = scaledFactor(factor, *definition)) {
        factor = scaled->rest;
        scale = scale ? productOf(*scale, scaled->scale) : scaled->scale;
      }
    if (!scale)
      return false;
    const std::string &name = old.value(definition->results[0]).name;
    Definition sum = *definition;
    sum.results.clear();
    sum.bodies = {out.rename(factors[0] * factors[1])};
    out.fresh.currentOrigin = old.origins[node];
    ValueId unscaled = out.fresh.define(name + ".unscaled", ElementType::F32, std::move(sum));
    Definition finish;
    finish.parallel = definition->parallel;
    llvm::SmallVector<Index> point;
    for (unsigned k = 0; k < finish.parallel.size(); ++k)
      point.push_back(Index::iterator(k));
    Expr scaled = Expr::read(unscaled, ElementType::F32, point) * out.rename(*scale);
    finish.bodies = {Expr::stored(old.value(definition->results[0]).type, scaled)};
    out.define(node, std::move(finish));
    out.keepFacts(node);
    if (log)
      log->add({"derive",
                "value '" + name + "'",
                "scale the sum in place of its factors",
                {"the scale is the same for all terms"},
                {}});
    return true;
  }

  const Program &old;
  simplify::Rebuilder out;
  explain::Log *log;
};

} // namespace

Program moveScalesBehindSums(const Program &program, explain::Log *log) {
  return ScaleMover(program, log).run();
}

const Rule factorScalesRule = {
    .name = "factor-scales",
    .equation = "sum[k] (q[i, k] * c) * b[j, k] => (sum[k] q[i, k] * b[j, k]) * c, where "
                "the scaled factor is stored in 16 bits.",
    .source = "EinNet (Zheng et al. 2023), linearity of sums",
    .exactness = Exactness::Reassociates,
    .assumes = "",
    .order = RuleOrder::BeforeFormats,
    .helps = runsBlocks,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return moveScalesBehindSums(program, context.log);
    },
};

} // namespace kintsugi::derive
