#include "derive/masks.h"

#include "derive/mask_values.h"
#include "derive/rule.h"
#include "derive/walk_blocks.h"
#include "search/price_list.h"
#include "simplify/simplify.h"
#include "space/growth.h"
#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::derive {

using namespace te;

namespace {

/// Sizes of blocks to try: divisors that fill vectors and registers, about half the next each.
llvm::SmallVector<int64_t> blockSizes(int64_t extent) {
  llvm::SmallVector<int64_t> sizes;
  for (int64_t wanted : {16, 32, 64, 128})
    for (int64_t size = wanted; size > wanted / 2; --size)
      if (extent % size == 0 && extent > size) {
        sizes.push_back(size);
        break;
      }
  return sizes;
}

class MaskSkipper {
public:
  MaskSkipper(const Program &program, const MaskOptions &options)
      : program(program), options(options), prices(options.space.schedule),
        regions(findMaskedRegions(program)) {}

  Expected<Program> run() {
    std::vector<BlockedRegion> chosen;
    for (const MaskedRegion &region : regions) {
      KINTSUGI_ASSIGN(std::shared_ptr<const BlockMask> mask, choose(region));
      if (mask)
        chosen.push_back({&region, mask});
    }
    if (chosen.empty())
      return program;
    KINTSUGI_ASSIGN(WalkedProgram walked, walkBlocks(program, chosen));
    return simplify::simplify(walked.program);
  }

private:
  /// Regions that are equal but for the values that they read are decided once.
  struct Decision {
    std::string key;
    std::shared_ptr<const BlockMask> mask;
    double dense = 0, derived = 0;
    std::string why;
  };

  Expected<std::shared_ptr<const BlockMask>> choose(const MaskedRegion &region) {
    Decision decision;
    decision.key = keyOf(region);
    for (const Decision &known : decisions)
      if (known.key == decision.key) {
        explain(region, known);
        return known.mask;
      }
    if (std::shared_ptr<const Mask> mask = valuesOf(region))
      KINTSUGI_RETURN_IF_ERROR(decide(region, *mask, decision));
    else
      decision.why = "the mask's values are not at hand, or are too many";
    decisions.push_back(decision);
    explain(region, decision);
    return decision.mask;
  }

  std::string keyOf(const MaskedRegion &region) const {
    const MaskedScore &masked = region.masked;
    std::string key = loops::keyOf(program, groupOf(program, nodesOf(region))).text;
    for (ValueId id : readsOf(masked.mask))
      key += "mask " + std::to_string(id.number);
    return key;
  }

  std::shared_ptr<const Mask> valuesOf(const MaskedRegion &region) const {
    std::optional<Mask> mask = maskOf(region, program);
    return mask ? std::make_shared<const Mask>(std::move(*mask)) : nullptr;
  }

  static llvm::SmallVector<uint32_t> nodesOf(const MaskedRegion &region) {
    llvm::SmallVector<uint32_t> nodes;
    for (const auto &[node, dimensions] : region.nodes)
      nodes.push_back(node);
    return nodes;
  }

  loops::Group groupOf(const Program &of, llvm::ArrayRef<uint32_t> nodes) const {
    space::SpaceOptions spaceOptions = optionsFor(of);
    return space::Growth(of, nodes, spaceOptions).groupOf(nodes);
  }

  space::SpaceOptions optionsFor(const Program &of) const {
    space::SpaceOptions result = options.space;
    std::vector<bool> constants = te::constantNodes(of);
    for (uint32_t value = 0; value < of.numValues(); ++value)
      result.constants.push_back(te::isConstant(of, constants, {value}));
    return result;
  }

  /// Of the nodes as one kernel or as one each, whichever is quicker.
  double priceOf(const Program &of, llvm::ArrayRef<uint32_t> nodes) {
    space::SpaceOptions spaceOptions = optionsFor(of);
    space::Growth growth(of, nodes, spaceOptions);
    auto price = [&](llvm::ArrayRef<uint32_t> members) {
      return prices.secondsOf(of, growth.groupOf(members));
    };
    double together = INFINITY, apart = 0;
    if (options.space.fuse && nodes.size() <= options.space.caps.nodes)
      together = price(nodes);
    if (std::isfinite(together))
      return together;
    for (uint32_t node : nodes)
      apart += price({node});
    return apart;
  }

  Status decide(const MaskedRegion &region, const Mask &mask, Decision &decision) {
    if (llvm::none_of(mask.hidden, [](bool h) { return h; })) {
      decision.why = "it hides nothing";
      return Status::success();
    }
    decision.dense = priceOf(program, nodesOf(region));
    decision.derived = (1 - options.margin) * decision.dense;
    decision.why = "no size of blocks divides its rows and columns";
    for (int64_t rows : blockSizes(mask.rows))
      for (int64_t columns : blockSizes(mask.columns))
        KINTSUGI_RETURN_IF_ERROR(tryBlocks(region, mask, rows, columns, decision));
    return Status::success();
  }

  Status tryBlocks(const MaskedRegion &region, const Mask &mask, int64_t rows, int64_t columns,
                   Decision &decision) {
    auto blocks = std::make_shared<const BlockMask>(cutIntoBlocks(mask, rows, columns));
    if (!decision.mask)
      decision.why = "the dense form is quicker: too little is hidden as whole blocks";
    if (blocks->hiddenBlocks == 0)
      return Status::success();
    KINTSUGI_ASSIGN(WalkedProgram walked, walkBlocks(program, {BlockedRegion{&region, blocks}}));
    double seconds = priceOf(walked.program, walked.nodes[0]);
    if (seconds >= decision.derived)
      return Status::success();
    decision.derived = seconds;
    decision.mask = std::move(blocks);
    decision.why = "hidden blocks are left out";
    return Status::success();
  }

  void explain(const MaskedRegion &region, const Decision &decision) const {
    if (options.assumed && decision.mask && !region.proved)
      options.assumed->add(skipMaskedBlocksRule.name);
    if (!options.log)
      return;
    explain::Record record;
    record.phase = "derive";
    record.subject = "mask of '" + program.value(program.resultsOf(region.maskNode)[0]).name + "'";
    record.reasons = {decision.why};
    record.numbers = {{"dense", decision.dense, "s"}};
    record.decision = "stays dense";
    if (const BlockMask *mask = decision.mask.get()) {
      record.decision = "blocks of " + std::to_string(mask->rowSize) + " rows and " +
                        std::to_string(mask->columnSize) + " columns";
      record.reasons.push_back(
          region.proved ? "facts prove that hidden elements have no effect"
                        : "by rule, hidden elements have no effect even if they are not numbers");
      record.numbers.insert(record.numbers.end(),
                            {{"derived", decision.derived, "s"},
                             {"hidden blocks", double(mask->hiddenBlocks), ""},
                             {"partial blocks", double(mask->partialBlocks), ""},
                             {"open blocks", double(mask->openBlocks), ""},
                             {"computed share", mask->share(), ""}});
    }
    options.log->add(std::move(record));
  }

  const Program &program;
  const MaskOptions &options;
  search::PriceList prices;
  std::vector<MaskedRegion> regions;
  std::vector<Decision> decisions;
};

} // namespace

Expected<Program> skipMaskedBlocks(const Program &program, const MaskOptions &options) {
  return MaskSkipper(program, options).run();
}

const Rule skipMaskedBlocksRule = {
    .name = "skip-masked-blocks",
    .equation = "A softmax of scores under a constant mask, and what it weighs => the same "
                "over a table of the blocks that are not hidden as a whole.",
    .source = "STOF (Dai et al. 2025), block-sparse attention",
    .exactness = Exactness::Reassociates,
    .assumes = "what masks hide",
    .order = RuleOrder::AfterFormats,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return skipMaskedBlocks(program, {.space = context.space,
                                        .margin = context.margins.maskedBlocks,
                                        .log = context.log,
                                        .assumed = context.assumed});
    },
};

} // namespace kintsugi::derive
