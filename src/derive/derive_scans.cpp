#include "derive/derive_scans.h"

#include "cost/cost.h"
#include "derive/merge_scans.h"
#include "derive/rule.h"
#include "derive/scan_price.h"
#include "derive/wave_scans.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::derive {

using namespace te;

namespace {

/// Blocks to try. Divisors of the steps leave none over.
llvm::SmallVector<int64_t> blockSizes(int64_t steps, unsigned scans) {
  llvm::SmallVector<int64_t> sizes;
  for (int64_t wanted : {4, 8, 16, 32, 64, 128}) {
    int64_t size = wanted;
    while (size > wanted / 2 && steps % size != 0)
      --size;
    if (size == wanted / 2)
      size = wanted;
    if (steps / size >= 2 * int64_t(scans))
      sizes.push_back(size);
  }
  return sizes;
}

class ChainDeriver {
public:
  /// `margin`: what a merged group must save of its scans' time, as a share.
  ChainDeriver(const Program &program, const ScanChain &chain, ScanPricer &pricer,
               const machine::Machine &machine, double margin)
      : program(program), chain(chain), pricer(pricer), machine(machine), margin(margin) {
    for (const ChainedScan &scan : chain.scans) {
      steps.push_back(pricer.step(scan));
      allProducts.push_back(pricer.products(scan, chain.steps));
    }
  }

  double before = 0, after = 0; ///< Seconds of all scans and the products between them.

  std::vector<MergedScans> choose() { return machine.threads > 0 ? chooseWaves() : chooseBlocks(); }

private:
  /// The cut of least cost, from its last group to its first.
  std::vector<MergedScans> chooseBlocks() {
    struct Cut {
      double seconds = 0;
      MergedScans last;
    };
    std::vector<Cut> best(1);
    for (unsigned end = 1; end <= chain.scans.size(); ++end) {
      double single = asItIs(end - 1);
      before += single;
      Cut cut{best[end - 1].seconds + single, {&chain, end - 1, 1, 0, nullptr}};
      for (unsigned count = 2; count <= std::min<unsigned>(end, machine.cores); ++count) {
        unsigned first = end - count;
        if (!canMerge(first, end))
          continue;
        for (int64_t block : blockSizes(chain.steps, count)) {
          MergedScans merged{&chain, first, count, block, nullptr};
          double seconds = price(merged, leastNeeded(merged));
          if (seconds < leastNeeded(merged) && best[first].seconds + seconds < cut.seconds)
            cut = {best[first].seconds + seconds, merged};
        }
      }
      best.push_back(cut);
    }
    after = best.back().seconds;
    std::vector<MergedScans> groups;
    for (unsigned end = chain.scans.size(); end > 0; end -= best[end].last.count)
      if (best[end].last.count > 1)
        groups.push_back(best[end].last);
    return groups;
  }

  /// As many neighbours as are alike, from the first on, where that is quicker; from the last group
  /// to the first.
  std::vector<MergedScans> chooseWaves() {
    std::vector<MergedScans> groups;
    for (unsigned first = 0; first < chain.scans.size();) {
      MergedScans merged = alikeFrom(first);
      double now = 0;
      for (unsigned scan = first; scan < first + merged.count; ++scan)
        now += asItIs(scan);
      double waves = merged.count > 1 ? priceOfWaves(merged) : now;
      bool pays = merged.count > 1 && waves < (1 - margin) * now;
      before += now;
      after += pays ? waves : now;
      first += merged.count;
      if (pays)
        groups.insert(groups.begin(), std::move(merged));
    }
    return groups;
  }

  MergedScans alikeFrom(unsigned first) const {
    MergedScans merged{&chain, first, 1, 0, nullptr};
    for (unsigned end = first + 2; end <= chain.scans.size() && canMerge(first, end); ++end) {
      MergedScans longer{&chain, first, end - first, 0, nullptr};
      std::optional<WaveScan> wave = waveOf(program, longer);
      if (!wave)
        break;
      longer.wave = std::make_shared<const WaveScan>(std::move(*wave));
      merged = std::move(longer);
    }
    return merged;
  }

  double priceOfWaves(const MergedScans &merged) const {
    double total = allProducts[merged.first] +
                   double(chain.steps + merged.count - 1) * pricer.wave(*merged.wave);
    for (const ChainedScan &scan : merged.scans())
      total += copies(scan);
    return total;
  }

  double asItIs(unsigned scan) const {
    return double(chain.steps) * steps[scan].together + allProducts[scan];
  }

  bool canMerge(unsigned first, unsigned end) const {
    auto rest = llvm::ArrayRef(chain.scans).slice(first + 1, end - first - 1);
    return llvm::all_of(rest, [&](const ChainedScan &scan) { return scan.earliest <= first; });
  }

  /// Below which a group is worth it.
  double leastNeeded(const MergedScans &merged) const {
    double total = 0;
    for (unsigned scan = merged.first; scan < merged.first + merged.count; ++scan)
      total += asItIs(scan);
    return (1 - margin) * total;
  }

  /// Seconds of a group, or those of its steps alone if they are no less than `limit`.
  double price(const MergedScans &merged, double limit) const {
    double total = allProducts[merged.first];
    llvm::SmallVector<double> lanes;
    for (unsigned number = 0; number < merged.count; ++number) {
      const StepSeconds &step = steps[merged.first + number];
      total += double(merged.lead(number) + merged.rest(number)) * step.together +
               copies(merged.scans()[number]);
      lanes.push_back(double(merged.block) * step.alone);
    }
    total += double(merged.iterations()) * cost::predictLanesSeconds(lanes, machine);
    return total < limit ? total + priceOfProducts(merged) : total;
  }

  /// For the blocks, and for the steps that are missing at their ends.
  double priceOfProducts(const MergedScans &merged) const {
    double total = double(merged.iterations()) * machine.stageSeconds; // The first scan's part.
    for (unsigned number = 1; number < merged.count; ++number) {
      const ChainedScan &scan = merged.scans()[number];
      total += double(merged.iterations()) * pricer.products(scan, merged.block);
      for (int64_t count : {merged.lead(number), merged.rest(number)})
        if (count > 0)
          total += pricer.products(scan, count);
    }
    return total;
  }

  /// Of putting a scan's stacked results together.
  double copies(const ChainedScan &link) const {
    const auto &scan = std::get<Scan>(program.nodes[link.node]);
    double bytes = 0;
    for (ValueId id : llvm::drop_begin(scan.results, scan.initial.size()))
      bytes += 2 * program.value(id).bytes();
    return cost::predictLaunchesSeconds(1, bytes, machine);
  }

  const Program &program;
  const ScanChain &chain;
  ScanPricer &pricer;
  const machine::Machine &machine;
  double margin;
  std::vector<StepSeconds> steps;
  std::vector<double> allProducts;
};

void explain(explain::Log &log, const Program &program, const ScanChain &chain,
             const ChainDeriver &deriver, llvm::ArrayRef<MergedScans> groups) {
  auto nameOf = [&](const ChainedScan &scan) {
    return "'" + program.value(program.resultsOf(scan.node)[0]).name + "'";
  };
  explain::Record record{
      "derive",
      "scans " + nameOf(chain.scans.front()) + " to " + nameOf(chain.scans.back()),
      "run one after the other",
      {},
      {{"scans", double(chain.scans.size()), ""}, {"steps", double(chain.steps), ""}}};
  if (std::isfinite(deriver.before))
    record.numbers.insert(record.numbers.end(),
                          {{"before", deriver.before, "s"}, {"after", deriver.after, "s"}});
  else
    record.reasons.push_back("a step has more definitions than are looked at");
  if (groups.empty() && std::isfinite(deriver.before))
    record.reasons.push_back("side by side they are predicted to be no quicker");
  if (!groups.empty())
    record.decision = "run side by side";
  for (const MergedScans &group : llvm::reverse(groups))
    record.reasons.push_back(nameOf(group.scans().front()) + " to " + nameOf(group.scans().back()) +
                             (group.wave
                                  ? " as lanes of one scan, a step apart"
                                  : " in blocks of " + std::to_string(group.block) + " steps"));
  log.add(std::move(record));
}

/// Those groups that don't wait for others and others for them.
std::vector<MergedScans> withOthers(const Program &program, std::vector<MergedScans> groups,
                                    std::vector<MergedScans> others) {
  std::vector<MergedScans> kept;
  for (const MergedScans &group : groups) {
    others.push_back(group);
    if (canMergeAll(program, others))
      kept.push_back(group);
    else
      others.pop_back();
  }
  return kept;
}

} // namespace

Program deriveScans(const Program &program, const ScanOptions &options) {
  const machine::Machine &machine = options.space.schedule.machine;
  std::vector<ScanChain> chains = findScanChains(program);
  if (chains.empty() || machine.cores < 2)
    return program;
  ScanPricer pricer(program, options.space);
  std::vector<MergedScans> merged;
  for (const ScanChain &chain : chains) {
    ChainDeriver deriver(program, chain, pricer, machine, options.margin);
    std::vector<MergedScans> groups = withOthers(program, deriver.choose(), merged);
    if (options.log)
      explain(*options.log, program, chain, deriver, groups);
    llvm::append_range(merged, groups);
  }
  return merged.empty() ? program : mergeScans(program, merged);
}

const Rule mergeScansRule = {
    .name = "merge-scans",
    .equation = "Scans that don't wait for each other, or of which each reads what the one "
                "before it stacks => side by side, in blocks of steps, or one scan whose lanes "
                "are a step apart.",
    .source = "Souffle (Xia et al. 2024), wavefronts",
    .exactness = Exactness::Bitwise,
    .assumes = "",
    .order = RuleOrder::OfScans,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return deriveScans(
          program,
          {.space = context.space, .margin = context.margins.sideBySideScans, .log = context.log});
    },
};

} // namespace kintsugi::derive
