//===- band_products.cpp - Products along a band, as products of blocks -------===//
//
// In a product with a band each row meets a window of rows of the other factor, its own: nothing is
// there to be multiplied as a matrix, since rows stand in both factors. A block of rows, though,
// meets the same rows nearly: those of all their windows.
//
//     s[m, w] = sum[k] q[m, k] * x[m + w, k]
//   =>  p[b, i, j] = sum[k] q[T b + i, k] * x[T b + j, k],  s[m, w] = p[m//T, m%T, m%T + w]
//
// With a dilation of d the rows of a block are d apart. Where the window is summed, the other
// factor is zero outside of the band:
//
//     y[m, k] = sum[w] p[m, w] * x[m + w, k]
//   =>  q[b, i, j] = p[T b + i, j - i] in the band,
//       y[T b + i, k] = sum[j] q[b, i, j] * x[T b + j, k]
//
// That is more arithmetic, for units of matrices: prices decide, of the lengths of blocks too. Or
// rows of a phase of the dilation are stored next to each other, with what stands outside of a
// factor; of what that leaves, blocks can be made in turn.
// (EinNet, Zheng et al. 2023: G2BMM and GBMM of LongFormer, dilated or not.)
//
//===----------------------------------------------------------------------===//

#include "cost/decisions.h"
#include "derive/band_forms.h"
#include "derive/finite.h"
#include "derive/rule.h"
#include "search/price_list.h"
#include "te/constant_nodes.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <variant>

namespace kintsugi::derive {

using namespace te;

namespace {

class BandSplitter {
public:
  BandSplitter(const Program &program, const RuleContext &context, bool byPhases)
      : program(program), context(context), byPhases(byPhases), constant(constantNodes(program)),
        prices(context.space.schedule), known(fuel) {}

  Program run() {
    std::map<uint32_t, Split> splits;
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (std::optional<Split> split = choose(node))
        splits[node] = *split;
    known.tell(context.log, "derive", "products along bands");
    if (splits.empty())
      return program;
    simplify::Rebuilder out(program);
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (auto split = splits.find(node); split != splits.end())
        write(out, node, split->second);
      else
        out.copy(node);
    }
    return out.finish();
  }

private:
  static constexpr unsigned fuel = 32; ///< Distinct definitions that are priced.

  static constexpr int64_t blocks[] = {32, 64, 128}; ///< Their rows.

  /// Blocks of so many rows, or phases.
  using Way = std::variant<int64_t, RowsOfCopy>;

  struct Split {
    Band band;
    Way way;
  };
  struct Priced {
    std::optional<Way> way; ///< None is quicker.
    double before = 0, after = 0;
  };

  static void write(simplify::Rebuilder &out, uint32_t node, const Split &split) {
    if (const auto *order = std::get_if<RowsOfCopy>(&split.way))
      writePhases(out, node, split.band, *order);
    else
      writeBlocks(out, node, split.band, std::get<int64_t>(split.way));
  }

  std::optional<Split> choose(uint32_t node) {
    const auto *whole = std::get_if<Definition>(&program.nodes[node]);
    if (!whole || constant[node] || !whole->reduction || whole->results.size() != 1 ||
        whole->reduction->combiner != Combiner::Sum)
      return std::nullopt;
    std::optional<Band> band = findBand(*whole);
    if (!band || (byPhases && !hasPhases(*whole, *band)))
      return std::nullopt;
    loops::Group group = search::kernelGroup(program, constant, {node}, {whole->results[0]});
    const Priced &priced =
        known.at(loops::keyOf(program, group).text, [&] { return price(node, *band); });
    if (!priced.way)
      return std::nullopt;
    const Expr &banded = whole->bodies[0].operand(band->factor);
    bool isSummed = band->window >= whole->parallel.size();
    bool hasZeros = isSummed && std::holds_alternative<int64_t>(*priced.way);
    if (context.assumed && hasZeros && !isFiniteFactor(banded, program))
      context.assumed->add(bandProductsRule.name);
    explain(node, priced);
    return Split{*band, *priced.way};
  }

  Priced price(uint32_t node, const Band &band) {
    Priced priced;
    auto isKnown = [&](ValueId id) { return te::isConstant(program, constant, id); };
    Program one = nodeAlone(program, node, isKnown);
    priced.before = secondsOf(one);
    priced.after = priced.before * (1 - context.margins.bandProducts);
    auto take = [&](const Way &way, double seconds) {
      if (seconds < priced.after) {
        priced.after = seconds;
        priced.way = way;
      }
    };
    if (byPhases)
      for (RowsOfCopy order : {RowsOfCopy::InPlace, RowsOfCopy::Last})
        take(order, secondsByPhases(one, band, order));
    else
      for (int64_t block : blocks)
        take(block, secondsOf(blocked(one, 0, band, block)));
    return priced;
  }

  static Program blocked(const Program &part, uint32_t node, const Band &band, int64_t block) {
    simplify::Rebuilder out(part);
    for (uint32_t each = 0; each < part.nodes.size(); ++each)
      if (each == node)
        writeBlocks(out, node, band, block);
      else
        out.copy(each);
    return out.finish();
  }

  /// Blocks may be made of phases in turn, by the other rule.
  double secondsByPhases(const Program &one, const Band &band, RowsOfCopy order) {
    simplify::Rebuilder out(one);
    writePhases(out, 0, band, order);
    Program phases = out.finish();
    double least = secondsWithView(phases);
    uint32_t product = phases.nodes.size() - 2;
    if (std::optional<Band> rest = findBand(std::get<Definition>(phases.nodes[product])))
      for (int64_t block : blocks)
        least = std::min(least, secondsWithView(blocked(phases, product, *rest, block)));
    return least;
  }

  /// As kernels that share nothing.
  double secondsOf(const Program &part) {
    std::vector<bool> none(part.nodes.size(), false);
    double seconds = 0;
    for (uint32_t node = 0; node < part.nodes.size(); ++node)
      seconds += prices.secondsOf(part, none, node);
    return seconds;
  }

  /// The same, or with the last two definitions as one kernel: what reads phases back is a view.
  double secondsWithView(const Program &part) {
    uint32_t last = part.nodes.size() - 1;
    std::vector<bool> none(part.nodes.size(), false);
    loops::Group both =
        search::kernelGroup(part, none, {last - 1, last}, {part.resultsOf(last)[0]});
    double seconds =
        std::min(prices.secondsOf(part, none, last) + prices.secondsOf(part, none, last - 1),
                 prices.secondsOf(part, both));
    for (uint32_t node = 0; node + 1 < last; ++node)
      seconds += prices.secondsOf(part, none, node);
    return seconds;
  }

  void explain(uint32_t node, const Priced &priced) const {
    const auto *block = std::get_if<int64_t>(&*priced.way);
    if (context.log)
      context.log->add(
          {"derive",
           "value '" + program.value(program.resultsOf(node)[0]).name + "'",
           block ? "a product along a band is one of blocks of " + std::to_string(*block) + " rows"
                 : "a product along a band is one of phases of its dilation",
           {block ? "rows of a block meet nearly the same rows"
                  : "rows of a phase lie next to each other, with what is outside of them"},
           {{"before", priced.before, "s"}, {"after", priced.after, "s"}}});
  }

  const Program &program;
  const RuleContext &context;
  bool byPhases;              ///< What it makes of a product: phases, or blocks.
  std::vector<bool> constant; ///< By node.
  search::PriceList prices;
  cost::Decisions<Priced> known;
};

} // namespace

const Rule bandProductsRule = {
    .name = "band-products",
    .equation = "s[m, w] = sum[k] q[m, k] * x[m + d*w, k] => p[r, b, i, j] = sum[k] "
                "q[d*(T*b + i) + r, k] * x[d*(T*b + j) + r, k], s[m, w] = p[m%d, m//d//T, m//d%T, "
                "m//d%T + w]; and where w is summed, with zeros outside of the band.",
    .source = "EinNet (Zheng et al. 2023), G2BMM and GBMM",
    .exactness = Exactness::Reassociates,
    .assumes = "what zeros outside of a band are multiplied with",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return BandSplitter(program, context, false).run();
    },
    .isOfReals = true,
};

const Rule bandPhasesRule = {
    .name = "band-phases",
    .equation =
        "s[m, w] = sum[k] q[m, k] * (x[m + d*w, k] | 0) => z[r, j, k] = (x[d*j + r, k] | 0), "
        "p[r, i, w] = sum[k] q[d*i + r, k] * z[r, i + w, k], s[m, w] = p[m%d, m//d, w]; "
        "and where w is summed.",
    .source = "EinNet (Zheng et al. 2023), dilated G2BMM by a change of layout",
    .exactness = Exactness::Bitwise,
    .assumes = "",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return BandSplitter(program, context, true).run();
    },
};

} // namespace kintsugi::derive
