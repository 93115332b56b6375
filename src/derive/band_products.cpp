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
// That is more arithmetic, for units of matrices: prices decide, of the lengths of blocks too.
// (EinNet, Zheng et al. 2023: G2BMM and GBMM of LongFormer, dilated or not.)
//
//===----------------------------------------------------------------------===//

#include "cost/decisions.h"
#include "derive/finite.h"
#include "derive/renumbered.h"
#include "derive/rule.h"
#include "search/price_list.h"
#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

/// A factor's read moves by `each` * rows + `each` * `step` * window along one dimension.
struct Band {
  unsigned rows = 0;   ///< A parallel iterator.
  unsigned window = 0; ///< An iterator, summed or not.
  unsigned factor = 0; ///< The one that has the band.
  int64_t each = 1, step = 1;
};

class BandFinder {
public:
  explicit BandFinder(const Definition &definition) : definition(definition) {}

  std::optional<Band> find() const {
    const Expr &body = definition.bodies[0];
    if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
      return std::nullopt;
    for (unsigned factor : {0, 1}) {
      const Expr *banded = readBehindCasts(body.operand(factor));
      const Expr *other = readBehindCasts(body.operand(1 - factor));
      if (!banded || !other || !isFilledWithNumber(*banded) || !isFilledWithNumber(*other))
        continue;
      for (unsigned rows = 0; rows < definition.parallel.size(); ++rows)
        for (unsigned window = 0; window < definition.numIterators(); ++window)
          if (std::optional<Band> band = bandOf(*banded, *other, rows, window)) {
            band->factor = factor;
            return band;
          }
    }
    return std::nullopt;
  }

private:
  static constexpr int64_t leastWindow = 8, leastRows = 64;

  static bool isFilledWithNumber(const Expr &read) {
    const Expr *fill = read.readFill();
    return !fill || (fill->isLiteral() && std::isfinite(fill->literalFloat()));
  }

  int64_t extentOf(unsigned iterator) const { return definition.ranges()[iterator].size(); }

  static unsigned dimensionsWith(const Expr &read, unsigned iterator) {
    return llvm::count_if(read.readIndices(),
                          [&](const Index &index) { return index.uses(iterator); });
  }

  std::optional<Band> bandOf(const Expr &banded, const Expr &other, unsigned rows,
                             unsigned window) const {
    bool isSummed = window >= definition.parallel.size();
    if (rows == window || extentOf(rows) < leastRows || extentOf(window) < leastWindow ||
        dimensionsWith(banded, rows) != 1 || dimensionsWith(banded, window) != 1 ||
        dimensionsWith(other, rows) == 0 || (dimensionsWith(other, window) > 0) != isSummed)
      return std::nullopt;
    for (const Index &index : other.readIndices())
      if ((index.uses(rows) && (index.uses(window) || !index.isAffine())) ||
          (index.uses(window) && !index.isAffine()))
        return std::nullopt;
    for (const Index &index : banded.readIndices()) {
      int64_t each = index.coefficientOf(rows), along = index.coefficientOf(window);
      if (each >= 1 && along >= 1 && index.isAffine() && along % each == 0)
        return isMatrix(banded, other, rows, window)
                   ? std::optional(Band{rows, window, 0, each, along / each})
                   : std::nullopt;
    }
    return std::nullopt;
  }

  /// Whether blocks have columns: the window's rows, or else what only the banded factor has.
  bool isMatrix(const Expr &banded, const Expr &other, unsigned rows, unsigned window) const {
    if (window < definition.parallel.size())
      return true;
    for (unsigned k = 0; k < definition.parallel.size(); ++k)
      if (k != rows && dimensionsWith(banded, k) > 0 && dimensionsWith(other, k) == 0)
        return true;
    return false;
  }

  const Definition &definition;
};

/// Adds the product of blocks, and what it is for, in place of an old node.
class BandWriter {
public:
  BandWriter(simplify::Rebuilder &out, uint32_t node, const Band &band, int64_t block)
      : out(out), node(node), band(band), block(block),
        whole(std::get<Definition>(out.old.nodes[node])) {}

  void write() {
    constexpr int64_t multiple = 16; ///< Of columns.
    unsigned numParallel = whole.parallel.size();
    bool isSummed = band.window >= numParallel;
    rows = whole.ranges()[band.rows].size();
    window = whole.ranges()[band.window].size();
    columns = llvm::alignTo(block + window - 1, multiple);
    Definition product;
    llvm::SmallVector<Index> at(whole.numIterators(), Index(0)), point;
    for (unsigned k = 0; k < numParallel; ++k) {
      if (k == band.rows || k == band.window)
        continue;
      at[k] = add(product.parallel, whole.parallel[k].name, whole.parallel[k].extent);
      point.push_back(Index::iterator(k));
    }
    bool hasPhases = band.step > 1;
    Index phase = hasPhases ? add(product.parallel, "phase", Extent(band.step)) : Index(0);
    Index number = add(product.parallel, "block",
                       Extent(llvm::divideCeil(llvm::divideCeil(rows, band.step), block)));
    Index row = add(product.parallel, "row", Extent(block));
    Index column = isSummed ? Index(0) : add(product.parallel, "column", Extent(columns));
    product.reduction = whole.reduction;
    product.reduction->iterators.clear();
    for (unsigned k = numParallel; k < whole.numIterators(); ++k) {
      const Iterator &its = whole.reduction->iterators[k - numParallel];
      bool isWindow = k == band.window;
      product.reduction->iterators.push_back(
          {isWindow ? "column" : its.name, isWindow ? Extent(columns) : its.extent});
      at[k] = Index::iterator(product.numIterators() - 1);
      if (isWindow)
        column = at[k];
    }
    at[band.rows] = (number * block + row) * band.step + phase;
    at[band.window] = column - row;
    out.fresh.currentOrigin = out.old.origins[node];
    product.bodies = {bodyOf(product, at)};
    const std::string &name = out.old.value(whole.results[0]).name;
    ValueId blocks = out.fresh.define(name + ".blocks", out.old.value(whole.results[0]).type,
                                      std::move(product));
    Index old = Index::iterator(band.rows), inPhase = old.floorDiv(band.step);
    if (hasPhases)
      point.push_back(old.mod(band.step));
    point.append({inPhase.floorDiv(block), inPhase.mod(block)});
    if (!isSummed)
      point.push_back(inPhase.mod(block) + Index::iterator(band.window));
    Definition result;
    result.parallel = whole.parallel;
    result.bodies = {Expr::read(blocks, out.fresh.value(blocks).type, point)};
    out.define(node, std::move(result));
    out.keepFacts(node);
  }

private:
  static Index add(llvm::SmallVectorImpl<Iterator> &iterators, llvm::StringRef name,
                   Extent extent) {
    iterators.push_back({name.str(), extent});
    return Index::iterator(iterators.size() - 1);
  }

  /// Factors where blocks have them: zeros beyond their ends, and outside of a band that is summed.
  Expr bodyOf(const Definition &product, llvm::ArrayRef<Index> at) {
    const Expr &body = whole.bodies[0];
    llvm::SmallVector<Expr, 2> factors;
    for (unsigned factor : {0, 1}) {
      Expr its = rewrite(substitute(body.operand(factor), at), [&](const Expr &e) {
        if (e.kind() != ExprKind::Read)
          return e;
        bool isWindow = factor != band.factor && band.window >= whole.parallel.size();
        return isWindow ? inBand(e, product, at[band.window]) : withFill(e);
      });
      factors.push_back(simplifyIndices(its, product.ranges(), [&](ValueId id) {
        return llvm::ArrayRef<Extent>(out.fresh.shape(id));
      }));
    }
    return factors[0] * factors[1];
  }

  Expr withFill(const Expr &read) {
    return Expr::read(out[read.readValue()], read.type(), read.readIndices(),
                      read.readFill() ? *read.readFill() : Expr::literal(read.type(), 0.0));
  }

  /// A read of a value that has the band in the columns of blocks.
  Expr inBand(const Expr &read, const Definition &product, const Index &place) {
    Renumbered used(product, [&](unsigned k) { return read.uses(k); });
    Definition blocks{used.iterators, std::nullopt, {}, {}};
    Index at = substitute(place, used.numbers);
    auto number = [](const Index &index) { return Expr::index(index, ElementType::I64); };
    Expr isInBand =
        Expr::binary(BinaryOp::And, Expr::binary(BinaryOp::Less, number(-1), number(at)),
                     Expr::binary(BinaryOp::Less, number(at), number(window)));
    Expr zero = Expr::literal(read.type(), 0.0);
    Expr body = Expr::select(isInBand, withFill(substitute(read, used.numbers)), zero);
    const Value &value = out.old.value(read.readValue());
    blocks.bodies = {simplifyIndices(body, blocks.ranges(), [&](ValueId id) {
      return llvm::ArrayRef<Extent>(out.fresh.shape(id));
    })};
    return Expr::read(out.fresh.define(value.name + ".band", read.type(), std::move(blocks)),
                      read.type(), used.old);
  }

  simplify::Rebuilder &out;
  uint32_t node;
  const Band &band;
  int64_t block;
  const Definition &whole;
  int64_t rows = 0, window = 0, columns = 0; ///< Columns of a block.
};

class BandSplitter {
public:
  BandSplitter(const Program &program, const RuleContext &context)
      : program(program), context(context), constant(constantNodes(program)),
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
        BandWriter(out, node, split->second.band, split->second.block).write();
      else
        out.copy(node);
    }
    return out.finish();
  }

private:
  static constexpr unsigned fuel = 32; ///< Distinct definitions that are priced.

  struct Split {
    Band band;
    int64_t block;
  };
  struct Priced {
    int64_t block = 0; ///< None is quicker.
    double before = 0, after = 0;
  };

  std::optional<Split> choose(uint32_t node) {
    const auto *whole = std::get_if<Definition>(&program.nodes[node]);
    if (!whole || constant[node] || !whole->reduction || whole->results.size() != 1 ||
        whole->reduction->combiner != Combiner::Sum)
      return std::nullopt;
    std::optional<Band> band = BandFinder(*whole).find();
    if (!band)
      return std::nullopt;
    loops::Group group = search::kernelGroup(program, constant, {node}, {whole->results[0]});
    const Priced &priced =
        known.at(loops::keyOf(program, group).text, [&] { return price(node, *band); });
    if (!priced.block)
      return std::nullopt;
    const Expr &banded = whole->bodies[0].operand(band->factor);
    bool isSummed = band->window >= whole->parallel.size();
    if (context.assumed && isSummed && !isFiniteFactor(banded, program))
      context.assumed->add(bandProductsRule.name);
    explain(node, priced);
    return Split{*band, priced.block};
  }

  Priced price(uint32_t node, const Band &band) {
    Priced priced;
    auto isKnown = [&](ValueId id) { return te::isConstant(program, constant, id); };
    Program one = nodeAlone(program, node, isKnown);
    priced.before = secondsOf(one);
    priced.after = priced.before * (1 - context.margins.bandProducts);
    for (int64_t block : {32, 64, 128}) {
      simplify::Rebuilder out(one);
      BandWriter(out, 0, band, block).write();
      double seconds = secondsOf(out.finish());
      if (seconds >= priced.after)
        continue;
      priced.after = seconds;
      priced.block = block;
    }
    return priced;
  }

  /// As kernels that share nothing.
  double secondsOf(const Program &part) {
    std::vector<bool> none(part.nodes.size(), false);
    double seconds = 0;
    for (uint32_t node = 0; node < part.nodes.size(); ++node)
      seconds += prices.secondsOf(part, none, node);
    return seconds;
  }

  void explain(uint32_t node, const Priced &priced) const {
    if (context.log)
      context.log->add(
          {"derive",
           "value '" + program.value(program.resultsOf(node)[0]).name + "'",
           "a product along a band is one of blocks of " + std::to_string(priced.block) + " rows",
           {"rows of a block meet nearly the same rows"},
           {{"before", priced.before, "s"}, {"after", priced.after, "s"}}});
  }

  const Program &program;
  const RuleContext &context;
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
      return BandSplitter(program, context).run();
    },
    .isOfReals = true,
};

} // namespace kintsugi::derive
