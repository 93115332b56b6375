//===- commute_sums.cpp - Sums before linear maps, and in a cheaper order ---===//
//
// A convolution of one point over what was upsampled and joined is one of each part, before it is
// upsampled; of two products with constant factors in a row one is left. What each sum costs is
// counted as multiply-adds: no more is known of what kernels there will be, and the solver chooses
// between what is made here and what was there.
//
//===----------------------------------------------------------------------===//

#include "derive/constant_expr.h"
#include "derive/finite.h"
#include "derive/linear_sum.h"
#include "derive/multiply_adds.h"
#include "derive/near_misses.h"
#include "derive/rule.h"
#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "te/rename.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <list>
#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

/// How a sum is computed.
struct Way {
  enum class Kind : uint8_t {
    Plain,     ///< As it is.
    Mapped,    ///< As the map of the sums of what a map reads.
    Reordered, ///< Of a sum of products: over one factor first.
  };

  LinearSum sum;
  bool isSole = false; ///< The value is read for this sum alone, and is not needed any more.
  Kind kind = Kind::Plain;
  unsigned first = 0;            ///< Reordered: the factor that has the terms.
  double cost = 0;               ///< Multiply-adds of what is no constant, less those spared.
  double spared = 0;             ///< Multiply-adds of what is not computed any more.
  double bytes = 0;              ///< Of results that are no constants.
  std::vector<const Way *> read; ///< Mapped: of the map's reads, in their order.
  unsigned kernels = 1;          ///< Definitions that are no constants, at most.
  std::vector<Expr> leftOut;     ///< Mapped: the weights of terms that are zeros.
};

/// Finds the cheapest way of sums, and remembers it.
class WayFinder {
public:
  explicit WayFinder(const Program &program)
      : program(program), constant(constantNodes(program)), readers(program.numValues(), 0) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      countReads(node);
    for (const Program::Output &output : program.outputs)
      ++readers[output.value.number];
  }

  bool isConstantNode(uint32_t node) const { return constant[node]; }
  bool isConstantExpression(const Expr &expr) const {
    return isConstantExpr(expr, program, constant);
  }

  /// The cheapest way of what a definition sums, with fuel of its own.
  const Way &of(const LinearSum &sum) {
    fuel = mostWays;
    return *at(sum, true);
  }

  /// The sum of a sum of products over one factor first, whatever that costs; null where that is
  /// not possible.
  const Way *reorderedOf(const LinearSum &sum) {
    const Definition *definition = sum.isOfOnes() ? nullptr : program.definitionOf(sum.value);
    std::optional<Way> way;
    if (definition && definition->reduction && !isConstant(sum))
      way = reordered({.sum = sum, .isSole = readers[sum.value.number] == 1}, *definition);
    if (!way)
      return nullptr;
    // A constant of whatever size is added to another.
    if (std::isinf(way->cost))
      way->cost =
          elementsOf(sum.resultShape(program)) * pointsOf(definition->reduction->iterators) -
          way->spared;
    forced.push_back(std::move(*way));
    return &forced.back();
  }

private:
  static constexpr double bytesEach = 4;
  static constexpr unsigned mostWays = 64; ///< That are looked at for one sum.
  static constexpr unsigned mostDepth = 12;

  void countReads(uint32_t node) {
    const auto *definition = std::get_if<Definition>(&program.nodes[node]);
    if (!definition)
      for (ValueId operand : program.operandsOf(node))
        ++readers[operand.number];
    else
      for (const Expr &body : definition->bodies)
        body.walk([&](const Expr &e) {
          if (e.kind() == ExprKind::Read)
            ++readers[e.readValue().number];
        });
  }

  /// `isSole`: whether what the value's sum is for is needed for nothing else.
  const Way *at(const LinearSum &sum, bool isSole) {
    isSole &= !sum.isOfOnes() && readers[sum.value.number] == 1;
    std::list<Way> &known = ways[sum.value.number];
    for (const Way &way : known)
      if (way.isSole == isSole && way.sum == sum)
        return &way;
    ++depth;
    Way way = find(sum, isSole);
    --depth;
    known.push_back(std::move(way));
    return &known.back();
  }

  bool isConstant(const LinearSum &sum) const {
    return (sum.isOfOnes() || te::isConstant(program, constant, sum.value)) &&
           (!sum.weight || isConstantExpression(*sum.weight));
  }

  /// A table of what sums of an embedding could be is no gain: constants may become larger than
  /// weights that they replace, but not much.
  static double costOfConstant(const LinearSum &sum, double elements) {
    return isLikeConstants(elements, pointsOf(sum.own) * pointsOf(sum.terms))
               ? 0
               : std::numeric_limits<double>::infinity();
  }

  Way find(const LinearSum &sum, bool isSole) {
    Way way{.sum = sum, .isSole = isSole};
    if (isConstant(sum)) {
      way.kernels = 0;
      way.cost = costOfConstant(sum, elementsOf(sum.resultShape(program)));
      return way;
    }
    double elements = elementsOf(sum.resultShape(program));
    way.cost = elements * pointsOf(sum.terms);
    way.bytes = elements * bytesEach;
    const Definition *definition = sum.isOfOnes() ? nullptr : program.definitionOf(sum.value);
    if (!definition || fuel == 0 || depth > mostDepth)
      return way;
    --fuel;
    std::optional<Way> other = definition->reduction ? reordered(way, *definition) : mapped(way);
    return other && other->cost < way.cost ? *other : way;
  }

  /// Of a map: first whether it is one, then what the sums that it needs cost.
  std::optional<Way> mapped(const Way &plain) {
    const LinearSum &sum = plain.sum;
    Way way{.sum = sum, .isSole = plain.isSole, .kind = Way::Kind::Mapped};
    auto isKnown = [&](const Expr &expr) { return isConstantExpression(expr); };
    std::vector<LinearSum> needed;
    auto note = [&](const LinearSum &its) {
      needed.push_back(its);
      return std::optional(its.value);
    };
    auto leaveOut = [&](const std::optional<Expr> &weight) {
      if (weight)
        way.leftOut.push_back(*weight);
    };
    if (!mappedSum(program, sum, isKnown, {note, leaveOut}))
      return std::nullopt;
    double elements = elementsOf(sum.resultShape(program));
    way.bytes = elements * bytesEach;
    for (const LinearSum &its : needed) {
      const Way *found = at(its, way.isSole);
      if (!llvm::is_contained(way.read, found)) {
        way.cost += found->cost;
        way.spared += found->spared;
        way.bytes += found->bytes;
        way.kernels += found->kernels;
      }
      way.read.push_back(found);
    }
    way.cost += elements * double(way.read.size());
    return way;
  }

  /// The factor that has the terms is summed over them first; the other has none.
  std::optional<Way> reordered(const Way &plain, const Definition &product) const {
    const LinearSum &sum = plain.sum;
    const Expr &body = product.bodies[0];
    if (product.reduction->combiner != Combiner::Sum || body.kind() != ExprKind::Binary ||
        body.binaryOp() != BinaryOp::Mul || body.type() != ElementType::F32 ||
        product.reduction->accumulator != ElementType::F32)
      return std::nullopt;
    auto hasTerms = [&](const Expr &factor) {
      return llvm::any_of(llvm::enumerate(sum.dimensions), [&](const auto &entry) {
        return entry.value().term >= 0 && factor.uses(entry.index());
      });
    };
    if (hasTerms(body.operand(0)) == hasTerms(body.operand(1)))
      return std::nullopt;
    Way way{.sum = sum, .isSole = plain.isSole, .kind = Way::Kind::Reordered};
    way.first = hasTerms(body.operand(0)) ? 0 : 1;
    const Expr &first = body.operand(way.first);
    double inner = pointsOf(product.reduction->iterators);
    double factor = pointsOf(sum.own) * pointsOf(sum.terms);
    for (auto [d, dimension] : llvm::enumerate(sum.dimensions))
      if (dimension.isInResult() && first.uses(d))
        factor *= double(sum.extentInResult(program, d).constant());
    for (unsigned k = product.parallel.size(); k < product.numIterators(); ++k)
      if (first.uses(k))
        factor *=
            double(product.reduction->iterators[k - product.parallel.size()].extent.constant());
    bool isKnown =
        isConstantExpression(first) && (!sum.weight || isConstantExpression(*sum.weight));
    way.kernels = isKnown ? 1 : 2;
    double ofFactor = factor / pointsOf(sum.terms), elements = elementsOf(sum.resultShape(program));
    way.cost = (isKnown ? costOfConstant(sum, ofFactor) : factor) + elements * inner;
    way.bytes = (elements + (isKnown ? 0 : ofFactor)) * bytesEach;
    // What it was the sum of is not computed any more.
    if (way.isSole && !te::isConstant(program, constant, sum.value))
      way.spared = pointsOf(product.parallel) * inner;
    way.cost -= way.spared;
    return way;
  }

  const Program &program;
  std::vector<bool> constant;              ///< By node.
  std::vector<unsigned> readers;           ///< By value: reads of it, and outputs that it is.
  std::map<uint32_t, std::list<Way>> ways; ///< By value.
  std::list<Way> forced;
  unsigned depth = 0, fuel = 0;
};

/// Adds the definitions of ways to the program that is made.
class WayWriter {
public:
  WayWriter(const WayFinder &finder, simplify::Rebuilder &out) : finder(finder), out(out) {}

  /// The value that is the sum. `prefix` begins the names of new values, `origins` are what they
  /// serve.
  ValueId write(const Way &way, const std::string &prefix,
                const std::vector<std::string> &origins) {
    if (auto found = written.find(&way); found != written.end())
      return found->second;
    std::vector<ValueId> read;
    for (const Way *each : way.read)
      read.push_back(write(*each, prefix, origins));
    Definition definition;
    for (auto [d, dimension] : llvm::enumerate(way.sum.dimensions))
      if (dimension.isInResult())
        definition.parallel.push_back(
            {"i" + std::to_string(d), way.sum.extentInResult(out.old, d)});
    for (unsigned k = 0; k < way.sum.own.size(); ++k)
      definition.parallel.push_back({"o" + std::to_string(k), way.sum.own[k].extent});
    std::string name = prefix + "." + lastName(way.sum);
    switch (way.kind) {
    case Way::Kind::Plain:
      addPlain(way.sum, definition);
      break;
    case Way::Kind::Mapped:
      addMapped(way.sum, read, definition);
      break;
    case Way::Kind::Reordered:
      addReordered(way, name, origins, definition);
      break;
    }
    out.fresh.currentOrigin = origins;
    ValueId result = out.fresh.define(name, ElementType::F32, std::move(definition));
    written.emplace(&way, result);
    return result;
  }

private:
  /// Names would grow without an end if they were kept whole.
  std::string lastName(const LinearSum &sum) const {
    if (sum.isOfOnes())
      return "weights";
    const std::string &name = out.old.value(sum.value).name;
    return name.substr(name.rfind('.') + 1);
  }

  /// The weight where `own` begin at an iterator, and the terms at another.
  static std::optional<Expr> weightAt(const LinearSum &sum, unsigned own, unsigned terms) {
    if (!sum.weight)
      return std::nullopt;
    llvm::SmallVector<Index> numbers;
    for (unsigned k = 0; k < sum.own.size(); ++k)
      numbers.push_back(Index::iterator(own + k));
    for (unsigned k = 0; k < sum.terms.size(); ++k)
      numbers.push_back(Index::iterator(terms + k));
    return substitute(*sum.weight, numbers);
  }

  static Expr timesWeight(const Expr &expr, const std::optional<Expr> &weight) {
    return weight ? expr * *weight : expr;
  }

  static Reduction sumOver(llvm::ArrayRef<Iterator> iterators) {
    Reduction reduction{Combiner::Sum, ElementType::F32, {}};
    for (unsigned k = 0; k < iterators.size(); ++k)
      reduction.iterators.push_back({"r" + std::to_string(k), iterators[k].extent});
    return reduction;
  }

  /// For each dimension of a sum's value where it is: what the result has begins at 0.
  static llvm::SmallVector<Index> placesOf(const LinearSum &sum, unsigned terms) {
    llvm::SmallVector<Index> places;
    unsigned inResult = 0;
    for (const LinearSum::Summed &dimension : sum.dimensions) {
      Index position = dimension.isInResult() ? Index::iterator(inResult++) : Index(0);
      places.push_back(dimension.term < 0
                           ? position
                           : dimension.at(Index::iterator(terms + dimension.term), position));
    }
    return places;
  }

  void addPlain(const LinearSum &sum, Definition &definition) {
    unsigned terms = definition.parallel.size(), own = terms - sum.own.size();
    std::optional<Expr> weight = weightAt(sum, own, terms);
    assert((weight || !sum.isOfOnes()) && "how many they are is a number");
    Expr summed =
        sum.isOfOnes()
            ? *weight
            : timesWeight(Expr::read(sum.value, ElementType::F32, placesOf(sum, terms)), weight);
    definition.bodies = {out.rename(summed)};
    definition.reduction = sumOver(sum.terms);
  }

  void addMapped(const LinearSum &sum, llvm::ArrayRef<ValueId> read, Definition &definition) {
    // The new values stand for old ones until the others are renamed.
    std::vector<ValueId> stands;
    auto next = [&](const LinearSum &) -> std::optional<ValueId> {
      stands.push_back({firstOfOwn + uint32_t(stands.size())});
      return stands.back();
    };
    auto isKnown = [&](const Expr &expr) { return finder.isConstantExpression(expr); };
    auto ignore = [](const std::optional<Expr> &) {};
    std::optional<Expr> body = mappedSum(out.old, sum, isKnown, {next, ignore});
    assert(body && stands.size() == read.size() && "it was found before");
    definition.bodies = {renameReads(*body, [&](ValueId id) {
      return id.number >= firstOfOwn ? read[id.number - firstOfOwn] : out[id];
    })};
  }

  /// factor[p, own, k] = sum[terms] first * weight; sum[k] other * factor.
  void addReordered(const Way &way, const std::string &name,
                    const std::vector<std::string> &origins, Definition &definition) {
    const Definition &product = *out.old.definitionOf(way.sum.value);
    const Expr &first = product.bodies[0].operand(way.first);
    unsigned numParallel = product.parallel.size(), inSum = 0;
    Definition factor;
    llvm::SmallVector<Index> inFactor(product.numIterators(), Index(0)); ///< Its iterators there,
    llvm::SmallVector<Index> inResult(product.numIterators(), Index(0)); ///< and in the result.
    llvm::SmallVector<Index> point;
    auto keep = [&](unsigned k, const Iterator &iterator) {
      inFactor[k] = Index::iterator(factor.parallel.size());
      factor.parallel.push_back(iterator);
      point.push_back(inResult[k]);
    };
    for (unsigned d = 0; d < numParallel; ++d) {
      if (!way.sum.dimensions[d].isInResult())
        continue;
      inResult[d] = Index::iterator(inSum++);
      if (first.uses(d))
        keep(d, {product.parallel[d].name, way.sum.extentInResult(out.old, d)});
    }
    unsigned own = factor.parallel.size();
    for (unsigned k = 0; k < way.sum.own.size(); ++k) {
      factor.parallel.push_back({"o" + std::to_string(k), way.sum.own[k].extent});
      point.push_back(Index::iterator(inSum + k));
    }
    for (unsigned k = numParallel; k < product.numIterators(); ++k) {
      inResult[k] = Index::iterator(definition.parallel.size() + k - numParallel);
      if (first.uses(k))
        keep(k, product.reduction->iterators[k - numParallel]);
    }
    unsigned terms = factor.parallel.size();
    for (auto [d, dimension] : llvm::enumerate(way.sum.dimensions))
      if (dimension.term >= 0)
        inFactor[d] = dimension.at(Index::iterator(terms + dimension.term), inFactor[d]);
    factor.reduction = sumOver(way.sum.terms);
    factor.bodies = {
        out.rename(timesWeight(substitute(first, inFactor), weightAt(way.sum, own, terms)))};
    out.fresh.currentOrigin = origins;
    ValueId summed = out.fresh.define(name + ".factor", ElementType::F32, std::move(factor));
    Expr other = out.rename(substitute(product.bodies[0].operand(1 - way.first), inResult));
    Expr read = Expr::read(summed, ElementType::F32, point);
    definition.bodies = {way.first == 0 ? read * other : other * read};
    definition.reduction = sumOver(product.reduction->iterators);
  }

  static constexpr uint32_t firstOfOwn = 1u << 31;

  const WayFinder &finder;
  simplify::Rebuilder &out;
  std::map<const Way *, ValueId> written;
};

class SumMover {
public:
  SumMover(const Program &program, const RuleContext &context, bool isDominant)
      : old(program), context(context), isDominant(isDominant), finder(program), out(program),
        writer(finder, out) {}

  /// nullopt where there is nothing to change.
  std::optional<Program> run() {
    return rewritten([&](uint32_t node) { return move(node); });
  }

  /// The same of those that lead to what another rule looks for.
  std::optional<Program> run(llvm::ArrayRef<NearMiss> misses) {
    return rewritten([&](uint32_t node) {
      const NearMiss *miss =
          llvm::find_if(misses, [&](const NearMiss &each) { return each.node == node; });
      return miss != misses.end() && reorder(*miss);
    });
  }

private:
  std::optional<Program> rewritten(llvm::function_ref<bool(uint32_t)> rewrite) {
    bool any = false;
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      if (rewrite(node))
        any = true;
      else
        out.copy(node);
    }
    return any ? std::optional(simplify::withoutUnneeded(out.finish())) : std::nullopt;
  }

  bool pays(double before, const Way &way) const {
    const machine::Machine &machine = context.space.schedule.machine;
    MultiplyAdds its{before, way.cost, way.bytes, way.kernels + 1, context.willBeNarrow};
    return isDominant ? its.areDominant(machine)
                      : its.areFewer(machine, context.margins.commutedSums);
  }

  bool move(uint32_t node) {
    const auto *definition = std::get_if<Definition>(&old.nodes[node]);
    if (!definition || finder.isConstantNode(node) || definition->results.size() != 1)
      return false;
    ValueId result = definition->results[0];
    if (!definition->reduction || old.value(result).type != ElementType::F32)
      return false;
    double before = pointsOf(definition->parallel) * pointsOf(definition->reduction->iterators);
    const Way *best = nullptr;
    llvm::SmallVector<Index> point, bestPoint;
    bool isFilled = false;
    for (unsigned operand : {0, 1}) {
      std::optional<LinearSum> sum = linearSumOf(old, *definition, operand, point);
      const Way *way = sum ? &finder.of(*sum) : nullptr;
      if (!way || !pays(before, *way) || (best && best->cost <= way->cost))
        continue;
      best = way;
      bestPoint = point;
      const Expr &body = definition->bodies[0];
      isFilled = (body.kind() == ExprKind::Read ? body : body.operand(operand)).readFill();
    }
    if (!best)
      return false;
    write(node, *best, bestPoint, isFilled);
    explain(old.value(result).name, before, *best, "fewer multiply-adds");
    return true;
  }

  bool reorder(const NearMiss &miss) {
    const auto &definition = std::get<Definition>(old.nodes[miss.node]);
    llvm::SmallVector<Index> point;
    std::optional<LinearSum> sum = linearSumOf(old, definition, miss.operand, point);
    const Way *way = sum ? finder.reorderedOf(*sum) : nullptr;
    if (!way)
      return false;
    write(miss.node, *way, point, definition.bodies[0].operand(miss.operand).readFill());
    explain(old.value(definition.results[0]).name,
            pointsOf(definition.parallel) * pointsOf(definition.reduction->iterators), *way,
            "it has a factor in common with what it is added to then");
    return true;
  }

  /// Defines the sum in its way, and reads it in place of an old node.
  void write(uint32_t node, const Way &way, llvm::ArrayRef<Index> point, bool isFilled) {
    const auto &definition = std::get<Definition>(old.nodes[node]);
    const std::string &name = old.value(definition.results[0]).name;
    ValueId moved = writer.write(way, name, old.origins[node]);
    Definition view;
    view.parallel = definition.parallel;
    std::optional<Expr> fill;
    if (isFilled)
      fill = Expr::literal(ElementType::F32, 0.0);
    view.bodies = {Expr::read(moved, ElementType::F32, point, std::move(fill))};
    out.define(node, std::move(view));
    out.keepFacts(node);
    bool fillsWithZeros = isFilled && way.sum.weight && !isFiniteFactor(*way.sum.weight, old);
    if (context.assumed && (fillsWithZeros || assumesFinite(way)))
      context.assumed->add(commuteSumsRule.name);
  }

  /// Whether zeros are left out that are multiplied with what may be infinite.
  bool assumesFinite(const Way &way) const {
    return llvm::any_of(way.leftOut, [&](const Expr &e) { return !isFiniteFactor(e, old); }) ||
           llvm::any_of(way.read, [&](const Way *each) { return assumesFinite(*each); });
  }

  void explain(const std::string &name, double before, const Way &way, const char *reason) const {
    if (context.log)
      context.log->add(
          {"derive",
           "value '" + name + "'",
           way.kind == Way::Kind::Reordered ? "the sum is taken in another order"
                                            : "sums are taken before linear maps of what is summed",
           {reason},
           {{"before", before + way.spared, ""}, {"after", way.cost + way.spared, ""}}});
  }

  const Program &old;
  const RuleContext &context;
  bool isDominant; ///< Whether what is replaced must take longer by its arithmetic alone.
  WayFinder finder;
  simplify::Rebuilder out;
  WayWriter writer;
};

} // namespace

std::optional<Program> repaired(const Program &program, llvm::ArrayRef<NearMiss> misses,
                                const RuleContext &context) {
  return SumMover(program, context, false).run(misses);
}

static Program commuteSums(Program program, const RuleContext &context, bool isDominant) {
  constexpr unsigned rounds = 4;
  for (unsigned round = 0; round < rounds; ++round) {
    std::optional<Program> next = SumMover(program, context, isDominant).run();
    if (!next)
      break;
    program = std::move(*next);
  }
  return program;
}

const Rule commuteSumsRule = {
    .name = "commute-sums",
    .equation = "v[p, c] = a[p] * x[m(p), c], y[p, o] = sum[c] v[p, c] * w[o, c] => t[q, o] = "
                "sum[c] x[q, c] * w[o, c], y[p, o] = a[p] * t[m(p), o]; of joined parts a sum of "
                "each; and sum[c] (sum[k] x[p, k] * a[k, c]) * w[o, c] => sum[k] x[p, k] * "
                "(sum[c] a[k, c] * w[o, c]); where there are fewer multiply-adds.",
    .source = "EinNet (Zheng et al. 2023), linearity and order of sums",
    .exactness = Exactness::Reassociates,
    .assumes = "what zeros that pad are multiplied with",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return commuteSums(program, context, false);
    },
    .applyDominant = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return commuteSums(program, context, true);
    },
    .isOfReals = true,
    .movesAcrossOperators = true,
};

} // namespace kintsugi::derive
