#include "derive/rule.h"
#include "search/price_list.h"
#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/product.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

/// Of a part: fewer, and moving what parts give costs as much as their keys.
constexpr int64_t leastKeys = 64;
/// Rows that a block of threads has at once. Where there are more, other cores have those.
constexpr int64_t rowsOfBlock = 64;

/// A softmax and what sums its powers with values.
struct Attention {
  uint32_t stats, powers, sum; ///< Nodes.
  unsigned factor;             ///< Of the sum's body, which is the power.
  unsigned keys;               ///< The powers' dimension along which the softmax goes.
  int64_t extent;              ///< Of that.
  int64_t others = 0;          ///< Blocks of a part: what neither keys nor rows count.
  int64_t parts = 0;
};

const Expr *powerOf(const Expr &factor) {
  bool isWidened = factor.kind() == ExprKind::Cast && factor.operand(0).kind() == ExprKind::Read &&
                   !factor.operand(0).readFill();
  return isWidened ? &factor.operand(0) : nullptr;
}

class KeySplitter {
public:
  KeySplitter(const Program &program, const RuleContext &context)
      : old(program), prices(context.space.schedule), margin(context.margins.splitKeys),
        cores(context.space.schedule.machine.cores), log(context.log),
        readers(program.numValues()) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      for (ValueId operand : program.operandsOf(node))
        readers[operand.number].push_back(node);
  }

  Program run() {
    std::vector<Attention> found = all();
    if (found.empty())
      return old;
    if (!std::isinf(margin))
      found = quicker(std::move(found));
    if (found.empty())
      return old;
    Program changed = split(found);
    for (const Attention &each : found)
      tell(each);
    return simplify::withoutUnneeded(changed);
  }

private:
  /// Those that are quicker in parts, in as many as are quickest.
  std::vector<Attention> quicker(std::vector<Attention> found) {
    std::vector<bool> constant = constantNodes(old);
    std::vector<double> least;
    for (const Attention &each : found)
      least.push_back(secondsOf(old, constant, each) * (1 - margin));
    std::vector<int64_t> parts(found.size(), 0);
    for (int64_t blocks : {2, 1}) {
      for (Attention &each : found)
        each.parts = std::max<int64_t>(2, partsOf(each, blocks));
      Program changed = split(found);
      std::vector<bool> constantThen = constantNodes(changed);
      for (auto [number, each] : llvm::enumerate(found)) {
        double seconds = secondsOf(changed, constantThen, splits.at(each.stats));
        if (seconds >= least[number])
          continue;
        least[number] = seconds;
        parts[number] = each.parts;
      }
    }
    for (auto [each, its] : llvm::zip_equal(found, parts))
      each.parts = its;
    llvm::erase_if(found, [](const Attention &each) { return each.parts == 0; });
    return found;
  }

  Program split(llvm::ArrayRef<Attention> attentions) {
    out.emplace(old);
    splits.clear();
    std::map<uint32_t, const Attention *> nodes; ///< By each of its nodes.
    for (const Attention &each : attentions)
      for (uint32_t node : {each.stats, each.powers, each.sum})
        nodes.emplace(node, &each);
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      auto attention = nodes.find(node);
      if (attention == nodes.end()) {
        out->copy(node);
        continue;
      }
      out->fresh.currentOrigin = old.origins[node];
      const Attention &its = *attention->second;
      if (node == its.stats)
        splitStats(its);
      else if (node == its.powers)
        splitPowers(its);
      else
        splitSum(its);
    }
    return out->finish();
  }

  struct Split {
    ValueId maxima, totals, powers, sums; ///< Of each part,
    ValueId maximum, total, sum;          ///< and of all.
  };

  /// The kernel of the parts, and that which joins them; the sums of powers come with the others.
  double secondsOf(const Program &program, const std::vector<bool> &constant, const Split &its) {
    auto nodeOf = [&](ValueId id) { return program.value(id).node; };
    loops::Group parts = search::kernelGroup(
        program, constant, {nodeOf(its.maxima), nodeOf(its.powers), nodeOf(its.sums)},
        {its.maxima, its.totals, its.sums});
    loops::Group join =
        search::kernelGroup(program, constant, {nodeOf(its.maximum), nodeOf(its.sum)}, {its.sum});
    return prices.secondsOf(program, parts) + prices.secondsOf(program, join);
  }

  double secondsOf(const Program &program, const std::vector<bool> &constant,
                   const Attention &its) {
    return prices.secondsOf(
        program,
        search::kernelGroup(program, constant, {its.stats, its.powers, its.sum},
                            {program.resultsOf(its.stats)[1], program.resultsOf(its.sum)[0]}));
  }

  std::vector<Attention> all() const {
    std::vector<Attention> found;
    for (uint32_t node = 0; node < old.nodes.size(); ++node)
      if (std::optional<Attention> its = find(node))
        if (llvm::none_of(found, [&](const Attention &each) { return each.stats == its->stats; }))
          found.push_back(*its);
    return found;
  }

  const Definition &definition(uint32_t node) const {
    return std::get<Definition>(old.nodes[node]);
  }

  std::optional<Attention> find(uint32_t node) const {
    const auto *sum = std::get_if<Definition>(&old.nodes[node]);
    if (!sum || !sum->reduction || sum->reduction->combiner != Combiner::Sum ||
        sum->reduction->accumulator != ElementType::F32 || sum->reduction->iterators.size() != 1 ||
        sum->bodies.size() != 1 || !multipliesMatrices(sum->bodies[0], sum->parallel.size()))
      return std::nullopt;
    for (unsigned factor : {0, 1})
      if (const Expr *power = powerOf(sum->bodies[0].operand(factor)))
        if (std::optional<Attention> its = ofPower(node, factor, *power)) {
          its->others = blocksOfPart(*its);
          its->parts = its->others ? partsOf(*its, 2) : 0;
          return its->parts > 1 ? its : std::nullopt;
        }
    return std::nullopt;
  }

  /// exp(x - m), whose m and x are of one softmax, along the sum's terms.
  std::optional<Attention> ofPower(uint32_t node, unsigned factor, const Expr &read) const {
    const Definition &sum = definition(node);
    const Definition *powers = old.definitionOf(read.readValue());
    if (!powers || powers->reduction || powers->bodies.size() != 1 || !isOnlyFor(read, node))
      return std::nullopt;
    const Expr &rounded = powers->bodies[0];
    if (rounded.kind() != ExprKind::Cast || rounded.operand(0).kind() != ExprKind::Unary ||
        rounded.operand(0).unaryOp() != UnaryOp::Exp)
      return std::nullopt;
    const Expr &difference = rounded.operand(0).operand(0);
    if (difference.kind() != ExprKind::Binary || difference.binaryOp() != BinaryOp::Sub ||
        difference.operand(1).kind() != ExprKind::Read || difference.operand(1).readFill() ||
        difference.type() != ElementType::F32 ||
        llvm::is_contained(readsOf(sum.bodies[0].operand(1 - factor)), read.readValue()))
      return std::nullopt;
    const Expr &maximum = difference.operand(1);
    const Definition *stats = old.definitionOf(maximum.readValue());
    if (!stats || !stats->reduction || stats->reduction->combiner != Combiner::SoftmaxStats ||
        stats->reduction->accumulator != ElementType::F32 ||
        old.value(stats->results[1]).type != ElementType::F32 ||
        stats->reduction->iterators.size() != 1 || stats->results[0] != maximum.readValue())
      return std::nullopt;
    std::optional<unsigned> keys = soleUse(read.readIndices(), sum.parallel.size());
    if (!keys || maximum.uses(*keys) || !isOfSame(difference.operand(0), *powers, *stats, *keys))
      return std::nullopt;
    Extent extent = powers->parallel[*keys].extent;
    if (stats->reduction->iterators[0].extent != extent ||
        sum.reduction->iterators[0].extent != extent)
      return std::nullopt;
    return Attention{old.value(stats->results[0]).node,
                     old.value(powers->results[0]).node,
                     node,
                     factor,
                     *keys,
                     extent.constant()};
  }

  bool isOnlyFor(const Expr &read, uint32_t node) const {
    return llvm::all_of(readers[read.readValue().number],
                        [&](uint32_t reader) { return reader == node; }) &&
           llvm::none_of(old.outputs,
                         [&](const auto &output) { return output.value == read.readValue(); });
  }

  /// The index that is an iterator which no other index has.
  static std::optional<unsigned> soleUse(llvm::ArrayRef<Index> indices, unsigned iterator) {
    std::optional<unsigned> found;
    for (auto [dimension, index] : llvm::enumerate(indices)) {
      if (!index.uses(iterator))
        continue;
      if (found || index.asIterator() != int(iterator))
        return std::nullopt;
      found = unsigned(dimension);
    }
    return found;
  }

  /// Whether the powers are of what the statistics are of.
  bool isOfSame(const Expr &x, const Definition &powers, const Definition &stats,
                unsigned keys) const {
    llvm::SmallVector<Index> places(
        powers.bodies[0].operand(0).operand(0).operand(1).readIndices());
    places.push_back(Index::iterator(keys));
    auto simplified = [&](const Expr &expr) {
      return simplifyIndices(expr, powers.ranges(), [&](ValueId id) { return old.shape(id); });
    };
    return simplified(substitute(stats.bodies[0], places)) == simplified(x);
  }

  /// 0 where there are too many rows, or none.
  int64_t blocksOfPart(const Attention &its) const {
    const Definition &sum = definition(its.sum);
    const Expr &power = sum.bodies[0].operand(its.factor);
    const Expr &values = sum.bodies[0].operand(1 - its.factor);
    int64_t rows = 1, batch = 1;
    for (auto [k, iterator] : llvm::enumerate(sum.parallel))
      if (power.uses(k))
        (values.uses(k) ? batch : rows) *= iterator.extent.constant();
    return rows <= rowsOfBlock && rows > 0 ? batch : 0;
  }

  /// So that each core has so many blocks: with two, one works while the other waits; a lone one
  /// has more on its way, and fewer parts are joined.
  int64_t partsOf(const Attention &its, int64_t blocks) const {
    return evenParts(its.extent, blocks * cores / its.others);
  }

  /// About so many, of equal length where there are such.
  static int64_t evenParts(int64_t keys, int64_t wanted) {
    wanted = std::min(wanted, keys / leastKeys);
    for (int64_t parts = wanted; parts > std::max<int64_t>(1, wanted * 3 / 4); --parts)
      if (keys % parts == 0 && keys / parts % 16 == 0)
        return parts;
    return wanted;
  }

  static int64_t longestOf(const Attention &its) {
    return (its.extent + its.parts - 1) / its.parts;
  }

  static Index beginOf(const Attention &its, const Index &part) {
    return te::simplify((part * its.extent).floorDiv(its.parts), {{0, its.parts}});
  }

  /// Iterators of a definition behind that of its parts, but for `keys`, a place in a part.
  static llvm::SmallVector<Index> behindParts(const Attention &its, unsigned count, unsigned keys) {
    llvm::SmallVector<Index> places;
    for (unsigned k = 0; k < count; ++k)
      places.push_back(k == keys ? beginOf(its, Index::iterator(0)) + Index::iterator(k + 1)
                                 : Index::iterator(k + 1));
    return places;
  }

  static Iterator parts(const Attention &its) { return {"part", Extent(its.parts)}; }

  /// Scores of a part; behind a shorter part's end come those of the next one, hidden.
  Expr scoresOf(const Attention &its, const Expr &x, unsigned count, unsigned keys) {
    Expr scores = substitute(out->rename(x), behindParts(its, count, keys));
    if (its.extent % its.parts == 0)
      return scores;
    Index part = Index::iterator(0), place = Index::iterator(keys + 1);
    Index end = beginOf(its, part + Index(1)) - beginOf(its, part);
    Expr isOwn = Expr::binary(BinaryOp::Less, Expr::index(place, ElementType::I64),
                              Expr::index(end, ElementType::I64));
    return Expr::select(isOwn, scores, low());
  }

  static Expr low() {
    return Expr::literal(ElementType::F32, -std::numeric_limits<double>::infinity());
  }

  /// Reads of a value of parts in a definition whose reduction goes over them.
  static Expr ofPart(ValueId value, llvm::ArrayRef<Index> at, unsigned part) {
    llvm::SmallVector<Index> places{Index::iterator(part)};
    llvm::append_range(places, at);
    return Expr::read(value, ElementType::F32, places);
  }

  static llvm::SmallVector<Index> identity(unsigned count) {
    llvm::SmallVector<Index> point;
    for (unsigned k = 0; k < count; ++k)
      point.push_back(Index::iterator(k));
    return point;
  }

  /// A definition of each part, which reduces over keys where the whole does; without bodies.
  static Definition ofParts(const Attention &its, const Definition &whole) {
    Definition each;
    each.parallel.push_back(parts(its));
    llvm::append_range(each.parallel, whole.parallel);
    each.reduction = whole.reduction;
    if (each.reduction)
      each.reduction->iterators[0].extent = Extent(longestOf(its));
    return each;
  }

  /// A definition of sums or maxima over parts.
  static Definition over(const Attention &its, const Definition &whole, Combiner combiner,
                         const Expr &body) {
    Definition join;
    join.parallel = whole.parallel;
    join.reduction = Reduction{combiner, ElementType::F32, {parts(its)}};
    join.bodies = {body};
    return join;
  }

  /// What a part adds; one that is hidden as a whole adds nothing, if not all are.
  static Expr scaled(const Expr &maximum, const Expr &ofAll, const Expr &value) {
    Expr isHidden = Expr::binary(BinaryOp::And, Expr::binary(BinaryOp::Equal, maximum, low()),
                                 Expr::binary(BinaryOp::Less, low(), ofAll));
    return Expr::select(isHidden, Expr::literal(ElementType::F32, 0.0),
                        Expr::unary(UnaryOp::Exp, maximum - ofAll) * value);
  }

  void splitStats(const Attention &its) {
    const Definition &whole = definition(its.stats);
    unsigned rank = whole.parallel.size();
    Definition each = ofParts(its, whole);
    each.bodies = {scoresOf(its, whole.bodies[0], rank + 1, rank)};
    std::string maximum = old.value(whole.results[0]).name, sum = old.value(whole.results[1]).name;
    llvm::SmallVector<ValueId> both = out->fresh.defineMany(
        {maximum + ".parts", sum + ".parts"}, {ElementType::F32, ElementType::F32}, each);
    Split &split = splits[its.stats];
    split.maxima = both[0];
    split.totals = both[1];
    llvm::SmallVector<Index> point = identity(rank);
    Expr ofPartMax = ofPart(both[0], point, rank);
    split.maximum =
        out->fresh.define(maximum, ElementType::F32, over(its, whole, Combiner::Max, ofPartMax));
    Expr ofAll = Expr::read(split.maximum, ElementType::F32, point);
    Expr term = scaled(ofPartMax, ofAll, ofPart(both[1], point, rank));
    out->bind(whole.results[0], split.maximum);
    split.total = out->fresh.define(sum, ElementType::F32, over(its, whole, Combiner::Sum, term));
    out->bind(whole.results[1], split.total);
  }

  void splitPowers(const Attention &its) {
    const Definition &whole = definition(its.powers);
    Split &split = splits[its.stats];
    unsigned rank = whole.parallel.size();
    Definition each = ofParts(its, whole);
    each.parallel[its.keys + 1].extent = Extent(longestOf(its));
    const Expr &rounded = whole.bodies[0], &difference = rounded.operand(0).operand(0);
    llvm::SmallVector<Index> places = behindParts(its, rank, its.keys);
    Expr maximum = ofPart(split.maxima, substitute(difference.operand(1).readIndices(), places), 0);
    Expr power =
        Expr::unary(UnaryOp::Exp, scoresOf(its, difference.operand(0), rank, its.keys) - maximum);
    each.bodies = {rounded.isStored() ? Expr::stored(rounded.type(), power)
                                      : Expr::cast(rounded.type(), power)};
    split.powers = out->fresh.define(old.value(whole.results[0]).name + ".parts", rounded.type(),
                                     std::move(each));
  }

  void splitSum(const Attention &its) {
    const Definition &whole = definition(its.sum);
    Split &split = splits[its.stats];
    unsigned rank = whole.parallel.size();
    const Expr &read = *powerOf(whole.bodies[0].operand(its.factor));
    llvm::SmallVector<Index> places = behindParts(its, rank + 1, rank);
    Definition each = ofParts(its, whole);
    llvm::SmallVector<Index> at{Index::iterator(0)};
    llvm::append_range(at, substitute(read.readIndices(), places));
    at[its.keys + 1] = Index::iterator(rank + 1);
    Expr power = Expr::cast(ElementType::F32, Expr::read(split.powers, read.type(), at));
    Expr values = substitute(out->rename(whole.bodies[0].operand(1 - its.factor)), places);
    each.bodies = {its.factor == 0 ? power * values : values * power};
    const std::string &name = old.value(whole.results[0]).name;
    split.sums = out->fresh.define(name + ".parts", ElementType::F32, std::move(each));

    // The maximum of a row, where the sum is.
    const Expr &maximum = definition(its.powers).bodies[0].operand(0).operand(0).operand(1);
    llvm::SmallVector<Index> row = substitute(maximum.readIndices(), read.readIndices());
    Expr term =
        scaled(ofPart(split.maxima, row, rank), Expr::read(split.maximum, ElementType::F32, row),
               ofPart(split.sums, identity(rank), rank));
    out->define(its.sum, over(its, whole, Combiner::Sum, term));
    out->keepFacts(its.sum);
    split.sum = (*out)[whole.results[0]];
  }

  void tell(const Attention &its) const {
    if (log)
      log->add({"derive",
                "value '" + old.value(definition(its.sum).results[0]).name + "'",
                "summed over " + std::to_string(its.parts) + " parts of its keys, then those",
                {"there are too few rows for all cores"},
                {}});
  }

  const Program &old;
  std::optional<simplify::Rebuilder> out;
  search::PriceList prices;
  double margin; ///< Of seconds, by which it has to be quicker.
  int64_t cores;
  explain::Log *log;
  std::vector<llvm::SmallVector<uint32_t>> readers; ///< Nodes, by value.
  std::map<uint32_t, Split> splits;                 ///< By the node of the statistics.
};

} // namespace

const Rule splitKeysRule = {
    .name = "split-keys",
    .equation = "m[i] = max[j:n] x[i, j], u[i, d] = sum[j:n] exp(x[i, j] - m[i]) * v[j, d] => "
                "m'[p:b, i] = max[j:n/b] x[i, n/b*p + j], u'[p:b, i, d] = sum[j:n/b] exp(x[i, "
                "n/b*p + j] - m'[p, i]) * v[n/b*p + j, d], m[i] = max[p:b] m'[p, i], u[i, d] = "
                "sum[p:b] exp(m'[p, i] - m[i]) * u'[p, i, d], and the sum of powers likewise.",
    .source = "Flash-Decoding (Dao et al. 2023)",
    .exactness = Exactness::Reassociates,
    .assumes = "",
    .order = RuleOrder::BeforeFormats,
    .helps = runsBlocks,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return KeySplitter(program, context).run();
    },
};

} // namespace kintsugi::derive
