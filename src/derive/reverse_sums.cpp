//===- reverse_sums.cpp - Windows that run against their results --------------===//
//
// A convolution as mathematics has it reads x[h - r], and so do gradients of convolutions. Whatever
// looks for windows looks for x[h + r]: one substitution is between them.
//
//     y[h] = sum[r:R] x[h - r] * k[r]  =>  sum[r:R] x[h + r - (R - 1)] * k[R - 1 - r]
//
// It is made where a window is found then that was none before (derive/correlation).
//
//===----------------------------------------------------------------------===//

#include "derive/correlation.h"
#include "derive/rule.h"
#include "simplify/rebuild.h"

namespace kintsugi::derive {

using namespace te;

/// Whether an iterator runs against a parallel one somewhere in the body.
static bool runsBackwards(const Definition &definition, unsigned iterator) {
  bool found = false;
  definition.bodies[0].walk([&](const Expr &e) {
    if (e.kind() != ExprKind::Read)
      return;
    for (const Index &index : e.readIndices())
      for (unsigned k = 0; k < definition.parallel.size(); ++k)
        found |= index.coefficientOf(iterator) < 0 && index.coefficientOf(k) > 0;
  });
  return found;
}

static size_t windowsOf(const Program &program, const Definition &sum) {
  std::optional<Correlation> found = findCorrelation(program, sum);
  return found ? found->windows.size() : 0;
}

/// The sum with its terms in the other order along all that runs backwards; nullopt where no
/// further window is found then.
static std::optional<Definition> reversed(const Program &program, const Definition &sum) {
  if (!sum.reduction || sum.reduction->combiner != Combiner::Sum || sum.bodies.size() != 1)
    return std::nullopt;
  bool any = false;
  llvm::SmallVector<Index> order;
  for (unsigned k = 0; k < sum.numIterators(); ++k) {
    bool isTurned = k >= sum.parallel.size() && runsBackwards(sum, k);
    order.push_back(isTurned ? Index(sum.ranges()[k].high) - Index::iterator(k)
                             : Index::iterator(k));
    any |= isTurned;
  }
  if (!any)
    return std::nullopt;
  Definition result = sum;
  result.bodies = {substitute(sum.bodies[0], order)};
  return windowsOf(program, result) > windowsOf(program, sum) ? std::optional(std::move(result))
                                                              : std::nullopt;
}

static Expected<Program> reverseSums(const Program &program, const RuleContext &context) {
  simplify::Rebuilder out(program);
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    const auto *sum = std::get_if<Definition>(&program.nodes[node]);
    std::optional<Definition> changed = sum ? reversed(program, *sum) : std::nullopt;
    if (!changed) {
      out.copy(node);
      continue;
    }
    out.copyAs(node, std::move(*changed));
    if (context.log)
      context.log->add({"derive",
                        "value '" + program.value(sum->results[0]).name + "'",
                        "the terms of its window are taken in the other order",
                        {"the window runs along its results then"},
                        {}});
  }
  return out.finish();
}

const Rule reverseSumsRule = {
    .name = "reverse-sums",
    .equation =
        "y[h] = sum[r:R] x[h - r] * k[r] => sum[r:R] x[h + r - (R-1)] * k[R-1 - r], where a "
        "window is found then.",
    .source = "EinNet (Zheng et al. 2023), variable substitution",
    .exactness = Exactness::Reassociates,
    .assumes = "",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = reverseSums,
};

} // namespace kintsugi::derive
