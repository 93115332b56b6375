#include "derive/split_windows.h"

#include "cost/decisions.h"
#include "derive/finite.h"
#include "derive/picked_products.h"
#include "derive/rule.h"
#include "derive/steps.h"
#include "derive/zero_padding.h"
#include "explain/render.h"
#include "search/price_list.h"
#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "te/product.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <map>
#include <set>

namespace kintsugi::derive {

using namespace te;

namespace {

/// Matrix units take no fewer columns than half of that, and vectors along rows are multiplied with
/// so many columns before the next one is needed.
int64_t mostColumns(const machine::Machine &machine) { return runsBlocks(machine) ? 32 : 8; }
/// Of the lanes of those vectors that columns take.
constexpr double wellFilled = 0.9;
/// Of the products before, where there is nothing else to gain.
constexpr double fewerProducts = 0.95;
/// Points beyond the last window's are multiplied for nothing.
constexpr double mostProducts = 1.5;
/// Two places are as many kernels.
constexpr double leastPlaces = 3;
/// Of the products, which lie in memory until they are summed.
constexpr double mostBytes = double(int64_t(1) << 28);

/// A sum of products with constants, and how it may be split.
class WindowFinder {
public:
  WindowFinder(const Program &program, const std::vector<bool> &constant,
               const Definition &definition, const machine::Machine &machine)
      : program(program), definition(definition), machine(machine) {
    for (unsigned factor : {0u, 1u}) {
      bool reads = false, readsOthers = false;
      definition.bodies[0].operand(factor).walk([&](const Expr &e) {
        if (e.kind() != ExprKind::Read)
          return;
        reads = true;
        readsOthers |= !te::isConstant(program, constant, e.readValue());
      });
      if (reads && !readsOthers)
        columns = factor;
    }
  }

  /// Products of matrices, or of a matrix with a column.
  bool isSplittable() const {
    return columns && (multipliesMatrices(definition.bodies[0], definition.parallel.size()) ||
                       !llvm::any_of(llvm::seq<unsigned>(0, definition.parallel.size()),
                                     [&](unsigned k) { return ofColumns().uses(k); }));
  }

  /// With places of one dimension of the window each, and with those of all.
  llvm::SmallVector<Picking> ways() const {
    Places places = placesOfWindow();
    llvm::SmallVector<Places> sets;
    for (unsigned place : places)
      sets.push_back({place});
    if (places.size() > 1)
      sets.push_back(places);
    llvm::SmallVector<Picking> found;
    for (const Places &set : sets)
      for (PickedOrder order :
           {PickedOrder::RowsFirst, PickedOrder::ColumnsFirst, PickedOrder::LastRowLast})
        if (Picking way{set, *columns, order}; split(way))
          found.push_back(way);
    return found;
  }

  /// With places of all of the window, whatever it costs; nullopt where there is no window.
  std::optional<PickedProducts> splitAnyhow() const {
    Places places = placesOfWindow();
    return places.empty() ? std::nullopt : pickedProducts(program, definition, {places, *columns});
  }

  /// The definitions that come in the place of the whole; nothing where the arithmetic or the room
  /// alone speaks against them.
  std::optional<PickedProducts> split(const Picking &way) const {
    std::optional<PickedProducts> parts = pickedProducts(program, definition, way);
    if (!parts)
      return std::nullopt;
    double elements = pointsOf(parts->products.parallel);
    double share = elements * pointsOf(parts->products.reduction->iterators) /
                   (pointsOf(definition.parallel) * pointsOf(definition.reduction->iterators));
    bool isWorthIt = pointsOf(parts->sum.reduction->iterators) >= leastPlaces &&
                     elements * bitsOf(definition.reduction->accumulator) / 8 <= mostBytes &&
                     share <= (fillsBadly() ? mostProducts : fewerProducts);
    return isWorthIt ? std::move(parts) : std::nullopt;
  }

private:
  using Places = decltype(Picking::pickers);

  const Expr &ofRows() const { return definition.bodies[0].operand(1 - *columns); }
  const Expr &ofColumns() const { return definition.bodies[0].operand(*columns); }

  /// What moves along something that results go along, and is another element of the constants.
  Places placesOfWindow() const {
    unsigned numParallel = definition.parallel.size();
    Places places;
    for (unsigned k = numParallel; k < definition.numIterators(); ++k) {
      bool slides = false;
      ofRows().walk([&](const Expr &e) {
        if (e.kind() == ExprKind::Read)
          for (const Index &index : e.readIndices())
            slides |= index.uses(k) && llvm::any_of(llvm::seq<unsigned>(0, numParallel),
                                                    [&](unsigned p) { return index.uses(p); });
      });
      if (slides && ofColumns().uses(k))
        places.push_back(k);
    }
    return places;
  }

  /// Columns that are few, or leave lanes of vectors empty.
  bool fillsBadly() const {
    double count = 1;
    for (auto [k, iterator] : llvm::enumerate(definition.parallel))
      if (ofColumns().uses(k) && !ofRows().uses(k))
        count *= double(iterator.extent.constant());
    double lanes = runsBlocks(machine) ? 1 : machine.vectorBits / 32;
    return count <= double(mostColumns(machine)) ||
           count < wellFilled * lanes * std::ceil(count / lanes);
  }

  const Program &program;
  const Definition &definition;
  const machine::Machine &machine;
  std::optional<unsigned> columns; ///< The factor of constants.
};

class WindowSplitter {
public:
  WindowSplitter(const Program &program, const SplitWindowsOptions &options)
      : program(program), options(options), constant(te::constantNodes(program)),
        prices(options.schedule), known(options.fuel) {}

  Program run() {
    std::map<uint32_t, Picking> splits;
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (std::optional<Picking> way = choose(node))
        splits[node] = *way;
    known.tell(options.log, "derive", "windows of products");
    if (splits.empty())
      return program;
    simplify::Rebuilder out(program);
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (auto split = splits.find(node); split != splits.end())
        write(out, node, split->second);
      else
        out.copy(node);
    }
    return simplify::withoutUnneeded(out.finish());
  }

private:
  struct Priced {
    std::optional<Picking> way; ///< None: it stays whole.
    double before = 0, after = 0;
  };

  bool isSumOfProducts(uint32_t node) const {
    const auto *whole = std::get_if<Definition>(&program.nodes[node]);
    if (!whole || constant[node] || !whole->reduction || whole->results.size() != 1 ||
        whole->reduction->combiner != Combiner::Sum || whole->reduction->iterators.size() < 2)
      return false;
    const Expr &body = whole->bodies[0];
    return body.kind() == ExprKind::Binary && body.binaryOp() == BinaryOp::Mul;
  }

  std::optional<Picking> choose(uint32_t node) {
    if (!isSumOfProducts(node))
      return std::nullopt;
    const auto &whole = std::get<Definition>(program.nodes[node]);
    WindowFinder finder(program, constant, whole, prices.machine());
    if (!finder.isSplittable())
      return std::nullopt;
    llvm::SmallVector<Picking> ways = finder.ways();
    Priced priced;
    if (!ways.empty())
      priced = known.at(keyOf(node), [&] { return price(node, finder, ways); });
    if (priced.way)
      explain(node, priced);
    else if (options.log)
      explainRefusal(node, finder);
    return priced.way;
  }

  /// Equal for windows that become the same: where they read padding, it is part of them.
  std::string keyOf(uint32_t node) const {
    auto textOf = [&](uint32_t each) {
      loops::Group group =
          search::kernelGroup(program, constant, {each}, {program.resultsOf(each)[0]});
      return loops::keyOf(program, group).text;
    };
    std::string key = textOf(node);
    for (ValueId operand : program.operandsOf(node))
      if (zeroPaddingOf(program, operand))
        key += '\n' + textOf(program.value(operand).node);
    return key;
  }

  Priced price(uint32_t node, const WindowFinder &finder, llvm::ArrayRef<Picking> ways) {
    Priced priced;
    priced.before = secondsOfWhole(node);
    priced.after = priced.before * (1 - options.margin);
    for (const Picking &way : ways) {
      double seconds = secondsOf(*finder.split(way));
      if (seconds >= priced.after)
        continue;
      priced.after = seconds;
      priced.way = way;
    }
    return priced;
  }

  /// Alone, or with the definitions that pad what it reads, whatever is quicker.
  double secondsOfWhole(uint32_t node) {
    llvm::SmallVector<uint32_t> nodes;
    for (ValueId operand : program.operandsOf(node))
      if (const te::Value &value = program.value(operand);
          zeroPaddingOf(program, operand) && !constant[value.node])
        nodes.push_back(value.node);
    double alone = prices.secondsOf(program, constant, node);
    if (nodes.empty())
      return alone;
    nodes.push_back(node);
    return std::min(alone,
                    prices.secondsOf(program, search::kernelGroup(program, constant, nodes,
                                                                  {program.resultsOf(node)[0]})));
  }

  double secondsOf(const PickedProducts &parts) {
    Subprogram alone(program, [&](ValueId id) { return te::isConstant(program, constant, id); });
    Definition products = parts.products;
    products.bodies = {alone.rename(products.bodies[0])};
    Program &both = alone.program;
    ValueId places = both.define("places", products.reduction->accumulator, std::move(products));
    both.define("sum", both.value(places).type, parts.sumOf(places));
    std::vector<bool> none(2, false);
    return prices.secondsOf(both, none, 0) + prices.secondsOf(both, none, 1);
  }

  void write(simplify::Rebuilder &out, uint32_t node, const Picking &way) const {
    const auto &whole = std::get<Definition>(program.nodes[node]);
    PickedProducts parts = *WindowFinder(program, constant, whole, prices.machine()).split(way);
    if (options.assumed && !llvm::all_of(parts.multipliedWithZeros, [&](const Expr &factor) {
          return isFiniteFactor(factor, program);
        }))
      options.assumed->add(windowProductsRule.name);
    define(out, node, std::move(parts));
  }

  void define(simplify::Rebuilder &out, uint32_t node, PickedProducts parts) const {
    const auto &whole = std::get<Definition>(program.nodes[node]);
    parts.products.bodies = {out.rename(parts.products.bodies[0])};
    out.fresh.currentOrigin = program.origins[node];
    ValueId products = out.fresh.define(program.value(whole.results[0]).name + ".places",
                                        whole.reduction->accumulator, parts.products);
    out.define(node, parts.sumOf(products));
    out.keepFacts(node);
  }

  /// Tells of what was found and not taken.
  void explainRefusal(uint32_t node, const WindowFinder &finder) {
    constexpr size_t mostTold = 8;
    std::optional<PickedProducts> parts = finder.splitAnyhow();
    std::string key = parts ? keyOf(node) : "";
    if (key.empty() || refused.size() == mostTold || !refused.insert(key).second)
      return;
    auto shown = [](double seconds) { return explain::show({"", seconds, "s"}); };
    std::string reason = "it is predicted to take " + shown(secondsOf(*parts)) + " in place of " +
                         shown(secondsOfWhole(node));
    simplify::Rebuilder out(program);
    for (uint32_t each = 0; each < program.nodes.size(); ++each)
      if (each == node)
        define(out, node, *parts);
      else
        out.copy(each);
    for (const PartsOfStep &step : partsBetween(program, simplify::withoutUnneeded(out.finish())))
      options.log->addStep(
          describe(step, windowProductsRule.name, windowProductsRule.equation, reason));
  }

  void explain(uint32_t node, const Priced &priced) const {
    if (!options.log)
      return;
    const auto &whole = std::get<Definition>(program.nodes[node]);
    int64_t places = 1;
    for (unsigned place : priced.way->pickers)
      places *= whole.reduction->iterators[place - whole.parallel.size()].extent.constant();
    options.log->add({"derive",
                      "value '" + program.value(whole.results[0]).name + "'",
                      "products for " + std::to_string(places) + " places of a window, then sums",
                      {"they have more columns then, or are fewer"},
                      {{"before", priced.before, "s"}, {"after", priced.after, "s"}}});
  }

  const Program &program;
  const SplitWindowsOptions &options;
  std::vector<bool> constant; ///< By node.
  search::PriceList prices;
  cost::Decisions<Priced> known;
  std::set<std::string> refused; ///< Keys of those of which the log was told.
};

} // namespace

Program splitWindows(const Program &program, const SplitWindowsOptions &options) {
  return WindowSplitter(program, options).run();
}

const Rule windowProductsRule = {
    .name = "window-products",
    .equation = "y[o, i, j] = sum[c, h, w] x[c, i+h, j+w] * k[o, c, h, w] => t[i, j, o, h, w] = "
                "sum[c] x[c, i, j] * k[o, c, h, w], y[o, i, j] = sum[h, w] t[i+h, j+w, o, h, w]; "
                "likewise along one dimension of the window, and where k is read by phases.",
    .source = "OLLIE (Zheng et al. 2022), convolutions as products and sums at offsets; EinNet "
              "(Zheng et al. 2023), transposed convolutions as products and selective additions",
    .exactness = Exactness::Reassociates,
    .assumes = "what zeros that pad are multiplied with",
    .order = RuleOrder::AfterFormats,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return splitWindows(program, {.schedule = context.space.schedule,
                                    .margin = context.margins.windowProducts,
                                    .log = context.log,
                                    .assumed = context.assumed});
    },
};

} // namespace kintsugi::derive
