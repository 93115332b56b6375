#include "derive/split_sums.h"

#include "cost/cost.h"
#include "cost/decisions.h"
#include "derive/rule.h"
#include "search/price_list.h"
#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/product.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

/// Fewer terms are no more than a block's threads share well.
constexpr int64_t leastTerms = 1024;
/// Terms of a run: fewer, and moving what comes of the runs costs as much as the terms.
constexpr int64_t leastInRun = 32;

/// A reduction's iterator, and into how many runs its terms are cut.
struct Split {
  unsigned iterator = 0; ///< Of the reduction.
  int64_t runs = 0;
};

int64_t pointsOf(llvm::ArrayRef<Iterator> iterators) {
  int64_t points = 1;
  for (const Iterator &iterator : iterators)
    points *= iterator.extent.constant();
  return points;
}

/// What each run gives. An iterator of which every step is a run of its own is none of the sum's.
Definition partialOf(const Definition &whole, Split split) {
  unsigned numParallel = whole.parallel.size();
  int64_t inRun = whole.reduction->iterators[split.iterator].extent.constant() / split.runs;
  Definition partial;
  partial.parallel.push_back({"p", Extent(split.runs)});
  llvm::append_range(partial.parallel, whole.parallel);
  partial.reduction = whole.reduction;
  llvm::SmallVector<Iterator, 3> &iterators = partial.reduction->iterators;
  iterators[split.iterator].extent = Extent(inRun);
  llvm::SmallVector<Index> replacements;
  for (unsigned k = 0; k < whole.numIterators(); ++k) {
    bool isBehind = inRun == 1 && k > numParallel + split.iterator;
    replacements.push_back(Index::iterator(isBehind ? k : k + 1));
  }
  Index &terms = replacements[numParallel + split.iterator];
  terms = inRun == 1 ? Index::iterator(0) : Index::iterator(0) * inRun + terms;
  if (inRun == 1)
    iterators.erase(iterators.begin() + split.iterator);
  partial.bodies = {substitute(whole.bodies[0], replacements)};
  return partial;
}

/// What all runs give together.
Definition joinOf(const Definition &whole, Split split, ValueId partial) {
  unsigned numParallel = whole.parallel.size();
  Definition join;
  join.parallel = whole.parallel;
  join.reduction = whole.reduction;
  join.reduction->iterators = {{"p", Extent(split.runs)}};
  llvm::SmallVector<Index> place = {Index::iterator(numParallel)};
  for (unsigned k = 0; k < numParallel; ++k)
    place.push_back(Index::iterator(k));
  join.bodies = {Expr::read(partial, whole.reduction->accumulator, place)};
  return join;
}

/// Adds both in place of an old node.
void addSplit(simplify::Rebuilder &out, uint32_t node, Split split) {
  const auto &whole = std::get<Definition>(out.old.nodes[node]);
  Definition partial = partialOf(whole, split);
  for (Expr &body : partial.bodies)
    body = out.rename(body);
  out.fresh.currentOrigin = out.old.origins[node];
  const std::string &name = out.old.value(whole.results[0]).name;
  ValueId runs = out.fresh.define(name + ".runs", whole.reduction->accumulator, partial);
  out.define(node, joinOf(whole, split, runs));
}

class SumSplitter {
public:
  SumSplitter(const Program &program, const SplitSumsOptions &options)
      : program(program), options(options), constant(te::constantNodes(program)),
        prices(options.schedule), known(options.fuel) {}

  Program run() {
    std::vector<std::optional<Split>> splits;
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      splits.push_back(choose(node));
    known.tell(options.log, "derive", "long sums of few results");
    if (llvm::none_of(splits, [](const auto &split) { return split.has_value(); }))
      return program;
    simplify::Rebuilder out(program);
    for (auto [node, split] : llvm::enumerate(splits)) {
      if (!split) {
        out.copy(node);
        continue;
      }
      addSplit(out, node, *split);
      out.keepFacts(node);
    }
    return out.finish();
  }

private:
  struct Priced {
    std::optional<Split> split;
    double before = 0, after = 0;
  };

  /// Sums that matrix units work on cut their terms themselves.
  bool isSplittable(uint32_t node) const {
    const auto *whole = std::get_if<Definition>(&program.nodes[node]);
    if (!whole || constant[node] || !whole->reduction || whole->bodies.size() != 1 ||
        whole->results.size() != 1)
      return false;
    switch (whole->reduction->combiner) {
    case Combiner::Sum:
    case Combiner::Prod:
    case Combiner::Max:
    case Combiner::Min:
    case Combiner::And:
    case Combiner::Or:
      break;
    default:
      return false;
    }
    const machine::Machine &machine = options.schedule.machine;
    int64_t threads = int64_t(machine.threads) * machine.cores;
    return pointsOf(whole->parallel) < threads &&
           pointsOf(whole->reduction->iterators) >= leastTerms &&
           !multipliesMatrices(whole->bodies[0], whole->parallel.size());
  }

  std::optional<Split> choose(uint32_t node) {
    if (!isSplittable(node))
      return std::nullopt;
    loops::Group group =
        search::kernelGroup(program, constant, {node}, {program.resultsOf(node)[0]});
    if (isAsQuickAsMemory(prices.kernelOf(program, group)))
      return std::nullopt;
    const Priced &priced = known.at(loops::keyOf(program, group).text,
                                    [&] { return price(node, prices.secondsOf(program, group)); });
    if (priced.split)
      explain(node, priced);
    return priced.split;
  }

  bool isAsQuickAsMemory(const search::PriceList::Kernel &kernel) const {
    constexpr double muchLonger = 1.5;
    return kernel &&
           cost::predictSeconds(*kernel, prices.machine()) <
               muchLonger * cost::movingSeconds(*kernel, prices.machine()) + options.marginSeconds;
  }

  Priced price(uint32_t node, double before) {
    const auto &whole = std::get<Definition>(program.nodes[node]);
    Priced priced{.before = before};
    priced.after =
        std::min(priced.before * (1 - options.margin), priced.before - options.marginSeconds);
    for (Split split : splitsOf(whole)) {
      double time = secondsOf(node, split);
      if (time >= priced.after)
        continue;
      priced.after = time;
      priced.split = split;
    }
    return priced;
  }

  /// Of each iterator, into about so many runs of equal length.
  static llvm::SmallVector<Split> splitsOf(const Definition &whole) {
    llvm::SmallVector<Split> splits;
    int64_t terms = pointsOf(whole.reduction->iterators);
    bool isOnly = whole.reduction->iterators.size() == 1;
    for (auto [number, iterator] : llvm::enumerate(whole.reduction->iterators))
      for (double wanted : {16.0, 64.0, 256.0, 1024.0}) {
        int64_t extent = iterator.extent.constant(), nearest = 1;
        auto distance = [&](int64_t runs) { return std::abs(std::log(double(runs) / wanted)); };
        for (int64_t runs = 2; runs <= std::min<int64_t>(extent, 4096); ++runs)
          if (extent % runs == 0 && terms / runs >= leastInRun && !(isOnly && runs == extent) &&
              distance(runs) < distance(nearest))
            nearest = runs;
        bool isKnown = llvm::any_of(
            splits, [&](Split split) { return split.iterator == number && split.runs == nearest; });
        if (nearest > 1 && !isKnown)
          splits.push_back({unsigned(number), nearest});
      }
    return splits;
  }

  double secondsOf(uint32_t node, Split split) {
    Program one =
        nodeAlone(program, node, [&](ValueId id) { return te::isConstant(program, constant, id); });
    simplify::Rebuilder out(one);
    addSplit(out, 0, split);
    Program both = out.finish();
    std::vector<bool> none(both.nodes.size(), false);
    return prices.secondsOf(both, none, 0) + prices.secondsOf(both, none, 1);
  }

  void explain(uint32_t node, const Priced &priced) const {
    if (!options.log)
      return;
    options.log->add({"derive",
                      "value '" + program.value(program.resultsOf(node)[0]).name + "'",
                      "summed in " + std::to_string(priced.split->runs) + " runs, then those",
                      {"there are too few results for all cores"},
                      {{"before", priced.before, "s"}, {"after", priced.after, "s"}}});
  }

  const Program &program;
  const SplitSumsOptions &options;
  std::vector<bool> constant; ///< By node.
  search::PriceList prices;
  cost::Decisions<Priced> known;
};

} // namespace

Program splitSums(const Program &program, const SplitSumsOptions &options) {
  return SumSplitter(program, options).run();
}

const Rule splitReductionRule = {
    .name = "split-reduction",
    .equation = "y[j] = sum[i:n] f(i, j) => t[a:b, j] = sum[i:n/b] f(n/b*a + i, j), y[j] = "
                "sum[a:b] t[a, j].",
    .source = "EinNet (Zheng et al. 2023), sums split",
    .exactness = Exactness::Reassociates,
    .assumes = "",
    .order = RuleOrder::AfterFormats,
    .helps = runsBlocks,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return splitSums(program, {.schedule = context.space.schedule,
                                 .margin = context.margins.splitReduction,
                                 .marginSeconds = context.margins.splitReductionSeconds,
                                 .log = context.log});
    },
};

} // namespace kintsugi::derive
