#include "derive/behind_sums.h"

#include "derive/constant_expr.h"
#include "derive/rule.h"
#include "simplify/rebuild.h"
#include "te/product.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// A sum of softmax weights with values, in terms of the old program.
struct WeightedSum {
  unsigned factor;                       ///< The body's factor that is the weight.
  ElementType narrow;                    ///< To which it is rounded,
  bool isStored;                         ///< and whether only for storing.
  bool zeroForNaN = false;               ///< In place of weights that are NaN.
  const Definition *numbers;             ///< exp(x - m).
  const Definition *maximum;             ///< m.
  Expr x;                                ///< Over the iterators of `numbers`.
  llvm::SmallVector<Index> numberAt;     ///< Where the weight reads them, in the sum's iterators.
  llvm::SmallVector<Index> maximumAt;    ///< Where they read the maximum, in their iterators.
  ValueId maximumValue{};                ///< m, which others may read too, after the sum,
  ValueId totalValue{};                  ///< and z, the divisor.
  llvm::SmallVector<ValueId> onTheWay{}; ///< Values that serve nothing else.
};

bool isStoredCast(const Expr &expr) { return expr.kind() == ExprKind::Cast && expr.isStored(); }

/// An element without the cast that widens it.
const Expr &unwidened(const Expr &expr) {
  bool widens = expr.kind() == ExprKind::Cast && expr.type() == ElementType::F32 &&
                isFloat(expr.operand(0).type());
  return widens ? expr.operand(0) : expr;
}

/// What is stored, before it is rounded for that.
const Expr &unrounded(const Expr &expr) { return isStoredCast(expr) ? expr.operand(0) : expr; }

class DivisorMover {
public:
  DivisorMover(const Program &program, bool narrowFactors, explain::Log *log, Assumptions *assumed)
      : old(program), out(program), narrowFactors(narrowFactors), log(log), assumed(assumed),
        readers(program.numValues()) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      for (ValueId operand : program.operandsOf(node))
        readers[operand.number].push_back(node);
  }

  Program run() {
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      const auto *definition = std::get_if<Definition>(&old.nodes[node]);
      std::optional<WeightedSum> sum = definition ? find(*definition, node) : std::nullopt;
      if (sum)
        rewrite(node, *definition, *sum);
      else
        out.copy(node);
    }
    return simplify::withoutUnneeded(out.finish());
  }

private:
  Expr simplified(const Expr &expr, const Definition &over) const {
    return simplifyIndices(expr, over.ranges(), [&](ValueId id) { return old.shape(id); });
  }

  /// What a read of a value that is computed point by point stands for, or null.
  const Definition *pointwise(const Expr &expr) const {
    if (expr.kind() != ExprKind::Read || expr.readFill())
      return nullptr;
    const Definition *definition = old.definitionOf(expr.readValue());
    return definition && !definition->reduction && definition->bodies.size() == 1 ? definition
                                                                                  : nullptr;
  }

  /// Reads replaced by what they stand for, up to an operation; conversions for storing left out.
  Expr opened(Expr expr, const Definition &sum, WeightedSum &found) const {
    while (true) {
      if (isStoredCast(expr) || (expr.kind() == ExprKind::Cast && isStoredCast(expr.operand(0)) &&
                                 expr.type() == expr.operand(0).operand(0).type())) {
        expr = isStoredCast(expr) ? expr.operand(0) : expr.operand(0).operand(0);
      } else if (const Definition *definition = pointwise(expr)) {
        found.onTheWay.push_back(expr.readValue());
        expr = simplified(inlineInto(expr, *definition, old.shape(expr.readValue())), sum);
      } else {
        return expr;
      }
    }
  }

  bool isZero(const Expr &expr) const {
    bool readsConstants = true;
    expr.walk([&](const Expr &e) {
      readsConstants &=
          e.kind() != ExprKind::Read || old.value(e.readValue()).kind == ValueKind::Constant;
    });
    std::optional<std::vector<double>> values;
    if (readsConstants)
      values = valuesOf(expr, old, {});
    return values && values->size() == 1 && (*values)[0] == 0;
  }

  /// The quotient that a weight is; notes how it is rounded, and what stands in place of NaN.
  std::optional<Expr> quotientOf(const Expr &factor, const Definition &sum,
                                 WeightedSum &found) const {
    if (factor.kind() != ExprKind::Cast || factor.operand(0).kind() != ExprKind::Read)
      return std::nullopt;
    const Expr &read = factor.operand(0);
    const Definition *rounds = pointwise(read);
    if (!rounds || !isFloat(read.type()) || bitsOf(read.type()) != 16 ||
        rounds->bodies[0].kind() != ExprKind::Cast)
      return std::nullopt;
    found.narrow = read.type();
    found.isStored = rounds->bodies[0].isStored();
    found.onTheWay.push_back(read.readValue());
    Expr rounded = simplified(inlineInto(read, *rounds, old.shape(read.readValue())), sum);
    Expr weight = opened(rounded.operand(0), sum, found);
    if (weight.kind() == ExprKind::Select) {
      Expr condition = opened(weight.operand(0), sum, found);
      if (condition.kind() != ExprKind::Unary || condition.unaryOp() != UnaryOp::IsNaN ||
          !isZero(weight.operand(1)))
        return std::nullopt;
      Expr tested = opened(condition.operand(0), sum, found);
      weight = opened(weight.operand(2), sum, found);
      if (tested != weight)
        return std::nullopt;
      found.zeroForNaN = true;
    }
    if (weight.kind() != ExprKind::Binary || weight.binaryOp() != BinaryOp::Div)
      return std::nullopt;
    return weight;
  }

  static bool isReduction(const Definition *definition, Combiner combiner) {
    return definition && definition->reduction && definition->reduction->combiner == combiner &&
           definition->reduction->iterators.size() == 1;
  }

  static bool isOfReals(const Definition &definition) {
    return definition.reduction->accumulator == ElementType::F32;
  }

  /// What is in 16 bits has the same maximum in f32.
  static Expr widened(const Expr &expr) {
    return expr.type() == ElementType::F32 ? expr : Expr::cast(ElementType::F32, expr);
  }

  /// exp(x - m), and that m is the maximum of x along the sum's iterator.
  bool findNumbers(const Expr &numerator, const Definition &sum, WeightedSum &found) const {
    const Expr &number = unwidened(numerator);
    found.numbers = pointwise(number);
    if (!found.numbers)
      return false;
    const Expr &power = unrounded(found.numbers->bodies[0]);
    if (power.type() != ElementType::F32 || power.kind() != ExprKind::Unary ||
        power.unaryOp() != UnaryOp::Exp || power.operand(0).kind() != ExprKind::Binary ||
        power.operand(0).binaryOp() != BinaryOp::Sub)
      return false;
    found.x = power.operand(0).operand(0);
    const Expr &maximum = unwidened(power.operand(0).operand(1));
    if (maximum.kind() != ExprKind::Read)
      return false;
    found.maximum = old.definitionOf(maximum.readValue());
    if (!isReduction(found.maximum, Combiner::Max) || maximum.readFill())
      return false;
    llvm::append_range(found.numberAt, number.readIndices());
    llvm::append_range(found.maximumAt, maximum.readIndices());
    found.onTheWay.push_back(number.readValue());
    found.onTheWay.push_back(maximum.readValue());
    found.maximumValue = maximum.readValue();

    unsigned term = sum.parallel.size(), along = 0, times = 0;
    for (auto [dimension, index] : llvm::enumerate(found.numberAt))
      if (index.uses(term)) {
        along = dimension;
        times += index.asIterator() == int(term) ? 1 : 2;
      }
    if (times != 1)
      return false;
    llvm::SmallVector<Index> atTerms = found.maximumAt;
    if (llvm::any_of(atTerms, [&](const Index &index) { return index.uses(along); }))
      return false;
    atTerms.push_back(Index::iterator(along));
    Expr terms = simplified(substitute(widened(found.maximum->bodies[0]), atTerms), *found.numbers);
    bool coversAll =
        found.maximum->reduction->iterators[0].extent == found.numbers->parallel[along].extent &&
        sum.reduction->iterators[0].extent == found.numbers->parallel[along].extent;
    return coversAll && terms == simplified(found.x, *found.numbers);
  }

  /// Whether the divisor is the sum of the same numbers.
  bool isTheirSum(const Expr &widened, const Expr &numerator, const Definition &sum,
                  WeightedSum &found) const {
    const Expr &divisor = unwidened(widened);
    if (divisor.kind() != ExprKind::Read || divisor.readFill())
      return false;
    const Definition *total = old.definitionOf(divisor.readValue());
    unsigned term = sum.parallel.size();
    if (!isReduction(total, Combiner::Sum) || !isOfReals(*total) || divisor.uses(term) ||
        total->reduction->iterators[0].extent != sum.reduction->iterators[0].extent)
      return false;
    llvm::SmallVector<Index> atTerms(divisor.readIndices());
    atTerms.push_back(Index::iterator(term));
    found.onTheWay.push_back(divisor.readValue());
    if (isAtMaxima(*total, found))
      found.totalValue = divisor.readValue();
    return simplified(substitute(total->bodies[0], atTerms), sum) == numerator;
  }

  /// Whether each element of the total is of numbers whose maximum is at the same place.
  bool isAtMaxima(const Definition &total, const WeightedSum &found) const {
    const Expr &number = unwidened(total.bodies[0]);
    if (number.kind() != ExprKind::Read || number.readFill() ||
        old.definitionOf(number.readValue()) != found.numbers ||
        old.shape(total.results[0]) != old.shape(found.maximumValue))
      return false;
    llvm::SmallVector<Index> places = substitute(found.maximumAt, number.readIndices());
    return llvm::all_of(llvm::enumerate(places), [&](const auto &place) {
      return te::simplify(place.value(), total.ranges()).asIterator() == int(place.index());
    });
  }

  /// Whether nothing but this sum, and each other, needs these values. Who reads the maximum or the
  /// divisor after the sum is given the one that the statistics have.
  bool servesNothingElse(const WeightedSum &found, uint32_t node) const {
    return llvm::all_of(found.onTheWay, [&](ValueId id) {
      bool isOutput =
          llvm::any_of(old.outputs, [&](const auto &output) { return output.value == id; });
      bool mayBeRead = (id == found.maximumValue || id == found.totalValue) &&
                       old.value(id).type == ElementType::F32;
      return !isOutput && llvm::all_of(readers[id.number], [&](uint32_t reader) {
        return reader == node || (mayBeRead && reader > node) ||
               llvm::any_of(old.resultsOf(reader), [&](ValueId result) {
                 return llvm::is_contained(found.onTheWay, result);
               });
      });
    });
  }

  std::optional<WeightedSum> find(const Definition &sum, uint32_t node) const {
    if (!isReduction(&sum, Combiner::Sum) || !isOfReals(sum) || sum.bodies.size() != 1 ||
        !multipliesMatrices(sum.bodies[0], sum.parallel.size()))
      return std::nullopt;
    for (unsigned k : {0, 1}) {
      WeightedSum found{k,       ElementType::F16,     false, false, nullptr,
                        nullptr, Expr::boolean(false), {},    {},    {},
                        {}};
      std::optional<Expr> quotient = quotientOf(sum.bodies[0].operand(k), sum, found);
      if (quotient && findNumbers(quotient->operand(0), sum, found) &&
          isTheirSum(quotient->operand(1), quotient->operand(0), sum, found) &&
          servesNothingElse(found, node))
        return found;
    }
    return std::nullopt;
  }

  void rewrite(uint32_t node, const Definition &sum, const WeightedSum &found) {
    const std::string &name = old.value(sum.results[0]).name;
    const std::string &weights = old.value(found.numbers->results[0]).name;
    Program &fresh = out.fresh;
    fresh.currentOrigin = old.origins[node];
    Definition stats = *found.maximum;
    stats.results.clear();
    stats.reduction->combiner = Combiner::SoftmaxStats;
    stats.reduction->accumulator = ElementType::F32;
    stats.bodies = {out.rename(widened(stats.bodies[0]))};
    llvm::SmallVector<ValueId> maximumAndSum = fresh.defineMany(
        {weights + ".max", weights + ".sum"}, {ElementType::F32, ElementType::F32}, stats);
    out.bind(found.maximumValue, maximumAndSum[0]);
    if (found.totalValue != ValueId())
      out.bind(found.totalValue, maximumAndSum[1]);

    Definition numbers;
    numbers.parallel = found.numbers->parallel;
    Expr maximum = Expr::read(maximumAndSum[0], ElementType::F32, found.maximumAt);
    Expr power = Expr::unary(UnaryOp::Exp, out.rename(found.x) - maximum);
    ElementType type = typeOfWeights(found);
    numbers.bodies = {found.isStored ? Expr::stored(type, power) : Expr::cast(type, power)};
    ValueId weight = fresh.define(weights, type, std::move(numbers));

    Definition weighted = sum;
    weighted.results.clear();
    Expr factor = Expr::cast(ElementType::F32, Expr::read(weight, type, found.numberAt));
    Expr other = out.rename(sum.bodies[0].operand(1 - found.factor));
    weighted.bodies = {found.factor == 0 ? factor * other : other * factor};
    ValueId undivided = fresh.define(name + ".undivided", ElementType::F32, std::move(weighted));
    Definition finish = divided(sum, found, undivided, maximumAndSum[1]);
    finish.bodies = {Expr::stored(old.value(sum.results[0]).type, finish.bodies[0])};
    out.define(node, std::move(finish));
    out.keepFacts(node);
    if (assumed && found.zeroForNaN)
      assumed->add(deferDivisionRule.name);
    if (log)
      log->add({"derive",
                "value '" + name + "'",
                "divide the sum in place of its weights",
                {"the divisor of a softmax is the same for all terms"},
                {}});
  }

  /// A rounding that only storing asked for is left out where it makes no product quicker.
  ElementType typeOfWeights(const WeightedSum &found) const {
    return found.isStored && !narrowFactors ? ElementType::F32 : found.narrow;
  }

  static Definition divided(const Definition &sum, const WeightedSum &found, ValueId undivided,
                            ValueId total) {
    Definition finish;
    finish.parallel = sum.parallel;
    llvm::SmallVector<Index> point;
    for (unsigned k = 0; k < sum.parallel.size(); ++k)
      point.push_back(Index::iterator(k));
    Expr divisor = Expr::read(total, ElementType::F32, substitute(found.maximumAt, found.numberAt));
    Expr quotient = Expr::read(undivided, ElementType::F32, point) / divisor;
    if (found.zeroForNaN)
      quotient = Expr::select(Expr::unary(UnaryOp::IsNaN, divisor),
                              Expr::literal(ElementType::F32, 0.0), quotient);
    finish.bodies = {quotient};
    return finish;
  }

  const Program &old;
  simplify::Rebuilder out;
  bool narrowFactors;
  explain::Log *log;
  Assumptions *assumed;
  std::vector<llvm::SmallVector<uint32_t>> readers; ///< Nodes, by value.
};

} // namespace

Program divideBehindSums(const Program &program, bool narrowFactors, explain::Log *log,
                         Assumptions *assumed) {
  return DivisorMover(program, narrowFactors, log, assumed).run();
}

const Rule deferDivisionRule = {
    .name = "defer-division",
    .equation = "y[i, d] = sum[j] (exp(x[i, j] - m[i]) / z[i]) * v[j, d] => (sum[j] "
                "exp(x[i, j] - m[i]) * v[j, d]) / z[i], where the weights are stored in 16 "
                "bits.",
    .source = "FlashAttention (Dao et al. 2022), section 3",
    .exactness = Exactness::Reassociates,
    .assumes = "what masks hide",
    .order = RuleOrder::BeforeFormats,
    .helps = runsBlocks,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      bool matrixUnits = context.space.schedule.inBlocks();
      return divideBehindSums(program, matrixUnits, context.log, context.assumed);
    },
};

} // namespace kintsugi::derive
