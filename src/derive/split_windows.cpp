#include "derive/split_windows.h"

#include "cost/decisions.h"
#include "derive/rule.h"
#include "search/price_list.h"
#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/product.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

/// Matrix units take no fewer columns; with more than twice as many there is nothing to gain.
constexpr int64_t mostColumns = 32;
/// Two places are as many kernels.
constexpr int64_t leastPlaces = 3;

/// A window along a dimension: what slides is read at `slides` + `step` * `place`.
struct Window {
  unsigned slides = 0; ///< A parallel iterator.
  unsigned place = 0;  ///< The reduction's iterator, by its number in expressions.
  int64_t step = 1;
};

/// What is known of the reads of a sum of products with constants.
class WindowFinder {
public:
  WindowFinder(const Program &program, const std::vector<bool> &constant,
               const Definition &definition)
      : definition(definition) {
    definition.bodies[0].walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read)
        (te::isConstant(program, constant, e.readValue()) ? ofConstants : ofOthers).push_back(e);
    });
  }

  /// Whether only constants change with a parallel iterator.
  bool isColumn(unsigned iterator) const {
    return uses(ofConstants, iterator) && !uses(ofOthers, iterator);
  }

  /// Whether constants and others are factors whose iterators have nothing in common but those that
  /// are summed: then the places of a window are columns of a product though it has no other.
  bool isProductOfOneColumn() const {
    const Expr &body = definition.bodies[0];
    if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
      return false;
    for (unsigned k = 0; k < definition.parallel.size(); ++k)
      if (uses(ofConstants, k))
        return false;
    auto reads = [&](unsigned factor, llvm::ArrayRef<Expr> reads) {
      bool any = false;
      body.operand(factor).walk([&](const Expr &e) { any |= llvm::is_contained(reads, e); });
      return any;
    };
    return reads(0, ofConstants) != reads(0, ofOthers) &&
           reads(1, ofConstants) != reads(1, ofOthers) &&
           reads(0, ofConstants) != reads(1, ofConstants);
  }

  llvm::SmallVector<Window> windows() const {
    llvm::SmallVector<Window> found;
    unsigned numParallel = definition.parallel.size();
    for (unsigned place = numParallel; place < definition.numIterators(); ++place)
      if (std::optional<Window> window = windowAlong(place))
        found.push_back(*window);
    return found;
  }

private:
  static bool uses(llvm::ArrayRef<Expr> reads, unsigned iterator) {
    return llvm::any_of(reads, [&](const Expr &read) { return read.uses(iterator); });
  }

  std::optional<Window> windowAlong(unsigned place) const {
    const Iterator &places = definition.reduction->iterators[place - definition.parallel.size()];
    if (places.extent.constant() < leastPlaces || ofOthers.size() != 1 || !uses(ofConstants, place))
      return std::nullopt;
    // What fills a border is the same for every point that is read there.
    if (const Expr *fill = ofOthers[0].readFill(); fill && !fill->isLiteral())
      return std::nullopt;
    std::optional<Window> found;
    for (const Index &index : ofOthers[0].readIndices()) {
      if (!index.uses(place))
        continue;
      if (found || !index.isAffine() || index.coefficientOf(place) < 1)
        return std::nullopt;
      for (unsigned k = 0; k < definition.parallel.size(); ++k)
        if (index.coefficientOf(k) == 1)
          found = {k, place, index.coefficientOf(place)};
      if (!found)
        return std::nullopt;
    }
    if (!found || uses(ofConstants, found->slides) || isElsewhere(found->slides, place))
      return std::nullopt;
    return found;
  }

  /// Whether an iterator stands where the place of the window does not, or by itself.
  bool isElsewhere(unsigned slides, unsigned place) const {
    bool is = llvm::any_of(ofOthers[0].readIndices(), [&](const Index &index) {
      return index.uses(slides) && !index.uses(place);
    });
    definition.bodies[0].walk([&](const Expr &e) {
      is |= e.kind() == ExprKind::Index && (e.uses(slides) || e.uses(place));
    });
    return is;
  }

  const Definition &definition;
  llvm::SmallVector<Expr> ofConstants, ofOthers; ///< Reads.
};

/// Adds the products of all places and their sum in place of an old node.
class WindowWriter {
public:
  WindowWriter(simplify::Rebuilder &out, const std::vector<bool> &constant, uint32_t node,
               const Window &window)
      : out(out), node(node), window(window), whole(std::get<Definition>(out.old.nodes[node])),
        finder(out.old, constant, whole) {
    // Rows, then columns, then the places: the columns of all places lie side by side.
    for (bool columns : {false, true})
      for (unsigned k = 0; k < whole.parallel.size(); ++k)
        if (finder.isColumn(k) == columns)
          order.push_back(k);
  }

  void write() {
    Definition products = productsOfPlaces();
    products.bodies[0] = out.rename(products.bodies[0]);
    out.fresh.currentOrigin = out.old.origins[node];
    const std::string &name = out.old.value(whole.results[0]).name;
    ValueId places =
        out.fresh.define(name + ".places", whole.reduction->accumulator, std::move(products));
    out.define(node, sumOf(places));
    out.keepFacts(node);
  }

private:
  const Iterator &places() const {
    return whole.reduction->iterators[window.place - whole.parallel.size()];
  }

  Definition productsOfPlaces() const {
    Definition products;
    llvm::SmallVector<Index> replacements(whole.numIterators(), Index(0));
    for (auto [number, k] : llvm::enumerate(order)) {
      products.parallel.push_back(whole.parallel[k]);
      replacements[k] = Index::iterator(number);
      if (k == window.slides)
        products.parallel.back().extent = Extent(whole.parallel[k].extent.constant() +
                                                 window.step * (places().extent.constant() - 1));
    }
    Index place = Index::iterator(products.parallel.size());
    products.parallel.push_back(places());
    products.reduction = whole.reduction;
    products.reduction->iterators.clear();
    for (unsigned k = whole.parallel.size(); k < whole.numIterators(); ++k) {
      replacements[k] = place;
      if (k == window.place)
        continue;
      replacements[k] =
          Index::iterator(products.parallel.size() + products.reduction->iterators.size());
      products.reduction->iterators.push_back(
          whole.reduction->iterators[k - whole.parallel.size()]);
    }
    products.bodies = {rewrite(substitute(whole.bodies[0], replacements), [&](const Expr &e) {
      return e.kind() == ExprKind::Read ? withoutPlace(e, replacements, place) : e;
    })};
    return products;
  }

  /// What slides is read where it is, for any place of the window.
  Expr withoutPlace(const Expr &read, llvm::ArrayRef<Index> replacements,
                    const Index &place) const {
    unsigned slides = replacements[window.slides].asIterator(), iterator = place.asIterator();
    llvm::SmallVector<Index> indices(read.readIndices());
    for (Index &index : indices)
      if (index.uses(slides) && index.uses(iterator))
        index = index - place * window.step;
    std::optional<Expr> fill;
    if (const Expr *f = read.readFill())
      fill = *f;
    return Expr::read(read.readValue(), read.type(), indices, std::move(fill));
  }

  Definition sumOf(ValueId products) const {
    Definition sum;
    sum.parallel = whole.parallel;
    sum.reduction = whole.reduction;
    sum.reduction->iterators = {places()};
    Index place = Index::iterator(whole.parallel.size());
    llvm::SmallVector<Index> indices;
    for (unsigned k : order)
      indices.push_back(k == window.slides ? Index::iterator(k) + place * window.step
                                           : Index::iterator(k));
    indices.push_back(place);
    sum.bodies = {Expr::read(products, whole.reduction->accumulator, indices)};
    return sum;
  }

  simplify::Rebuilder &out;
  uint32_t node;
  const Window &window;
  const Definition &whole;
  WindowFinder finder;
  llvm::SmallVector<unsigned> order; ///< Of the products' parallel iterators, by the old ones.
};

class WindowSplitter {
public:
  WindowSplitter(const Program &program, const SplitWindowsOptions &options)
      : program(program), options(options), constant(te::constantNodes(program)),
        prices(options.schedule), known(options.fuel) {}

  Program run() {
    std::map<uint32_t, Window> splits;
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (std::optional<Window> window = choose(node))
        splits[node] = *window;
    known.tell(options.log, "derive", "windows of products with few columns");
    if (splits.empty())
      return program;
    simplify::Rebuilder out(program);
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (auto split = splits.find(node); split != splits.end())
        WindowWriter(out, constant, node, split->second).write();
      else
        out.copy(node);
    }
    return out.finish();
  }

private:
  struct Priced {
    std::optional<Window> window;
    double before = 0, after = 0;
  };

  /// Products of matrices with few columns, or of a matrix with a column.
  bool isSplittable(uint32_t node) const {
    const auto *whole = std::get_if<Definition>(&program.nodes[node]);
    if (!whole || constant[node] || !whole->reduction || whole->results.size() != 1 ||
        whole->reduction->combiner != Combiner::Sum || whole->reduction->iterators.size() < 2)
      return false;
    WindowFinder finder(program, constant, *whole);
    if (!multipliesMatrices(whole->bodies[0], whole->parallel.size()) &&
        !finder.isProductOfOneColumn())
      return false;
    int64_t columns = 1;
    for (auto [k, iterator] : llvm::enumerate(whole->parallel))
      if (finder.isColumn(k))
        columns *= iterator.extent.constant();
    return columns <= mostColumns;
  }

  std::optional<Window> choose(uint32_t node) {
    if (!isSplittable(node))
      return std::nullopt;
    const auto &whole = std::get<Definition>(program.nodes[node]);
    llvm::SmallVector<Window> windows = WindowFinder(program, constant, whole).windows();
    if (windows.empty())
      return std::nullopt;
    loops::Group group = search::kernelGroup(program, constant, {node}, {whole.results[0]});
    const Priced &priced =
        known.at(loops::keyOf(program, group).text, [&] { return price(node, windows); });
    if (priced.window)
      explain(node, priced);
    return priced.window;
  }

  Priced price(uint32_t node, llvm::ArrayRef<Window> windows) {
    Priced priced;
    Program one =
        nodeAlone(program, node, [&](ValueId id) { return te::isConstant(program, constant, id); });
    std::vector<bool> none(2, false);
    priced.before = prices.secondsOf(one, none, 0);
    priced.after = priced.before * (1 - options.margin);
    for (const Window &window : windows) {
      simplify::Rebuilder out(one);
      WindowWriter(out, none, 0, window).write();
      Program both = out.finish();
      double seconds = prices.secondsOf(both, none, 0) + prices.secondsOf(both, none, 1);
      if (seconds >= priced.after)
        continue;
      priced.after = seconds;
      priced.window = window;
    }
    return priced;
  }

  void explain(uint32_t node, const Priced &priced) const {
    if (!options.log)
      return;
    const auto &whole = std::get<Definition>(program.nodes[node]);
    int64_t places =
        whole.reduction->iterators[priced.window->place - whole.parallel.size()].extent.constant();
    options.log->add({"derive",
                      "value '" + program.value(whole.results[0]).name + "'",
                      "products for " + std::to_string(places) + " places of a window, then sums",
                      {"it has few columns for matrix units"},
                      {{"before", priced.before, "s"}, {"after", priced.after, "s"}}});
  }

  const Program &program;
  const SplitWindowsOptions &options;
  std::vector<bool> constant; ///< By node.
  search::PriceList prices;
  cost::Decisions<Priced> known;
};

} // namespace

Program splitWindows(const Program &program, const SplitWindowsOptions &options) {
  return WindowSplitter(program, options).run();
}

const Rule windowProductsRule = {
    .name = "window-products",
    .equation = "y[o, i, j] = sum[c, h, w] x[c, i+h, j+w] * k[o, c, h, w] => t[o, w, i, j] "
                "= sum[c, h] x[c, i+h, j] * k[o, c, h, w], y[o, i, j] = sum[w] t[o, w, i, "
                "j+w].",
    .source = "OLLIE (Zheng et al. 2022), convolutions as products and sums at offsets",
    .exactness = Exactness::Reassociates,
    .assumes = "",
    .order = RuleOrder::AfterFormats,
    .helps = runsBlocks,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return splitWindows(program, {.schedule = context.space.schedule,
                                    .margin = context.margins.windowProducts,
                                    .log = context.log});
    },
};

} // namespace kintsugi::derive
