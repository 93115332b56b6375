#include "derive/rule.h"
#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/product.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

/// Elements of 16 bits that are copied as one, from multiples of so many on.
constexpr int64_t copiedTogether = 8;

/// A factor that reads 16-bit elements, of which one dimension is summed over.
struct Factor {
  ValueId value;
  unsigned dimension = 0;
};

using Factors = std::array<Factor, 2>;

/// Of a factor as products on matrix units have it: widened elements.
std::optional<Factor> factorOf(const Expr &expr, const Program &program, unsigned summed,
                               int64_t terms) {
  if (expr.kind() != ExprKind::Cast || expr.type() != ElementType::F32)
    return std::nullopt;
  const Expr &read = expr.operand(0);
  if (read.kind() != ExprKind::Read || read.readFill() || bitsOf(read.type()) != 16 ||
      !isFloat(read.type()))
    return std::nullopt;
  Factor factor{read.readValue(), ~0u};
  for (auto [dimension, index] : llvm::enumerate(read.readIndices())) {
    if (!index.uses(summed))
      continue;
    if (factor.dimension != ~0u || !(index == Index::iterator(summed)))
      return std::nullopt;
    factor.dimension = dimension;
  }
  if (factor.dimension == ~0u || program.shape(factor.value)[factor.dimension].constant() != terms)
    return std::nullopt;
  return factor;
}

/// The factors of a sum over rows that are no multiple of what is copied together.
std::optional<Factors> unevenFactors(const Definition &sum, const Program &program) {
  if (sum.bodies.size() != 1 || !isContraction(sum) ||
      sum.reduction->accumulator != ElementType::F32 || sum.reduction->iterators.size() != 1)
    return std::nullopt;
  int64_t terms = sum.reduction->iterators[0].extent.constant();
  if (terms % copiedTogether == 0 || terms < copiedTogether)
    return std::nullopt;
  unsigned summed = sum.parallel.size();
  Factors factors;
  bool hasUnevenRows = false;
  for (unsigned k : {0, 1}) {
    std::optional<Factor> factor = factorOf(sum.bodies[0].operand(k), program, summed, terms);
    if (!factor)
      return std::nullopt;
    factors[k] = *factor;
    hasUnevenRows |= factor->dimension + 1 == program.shape(factor->value).size();
  }
  return hasUnevenRows ? std::optional(factors) : std::nullopt;
}

/// Adds sums and their factors over even rows. A factor is stored once for all that sum over it.
class EvenSums {
public:
  explicit EvenSums(simplify::Rebuilder &out) : out(out) {}

  void add(uint32_t node, const Factors &factors) {
    const auto &sum = std::get<Definition>(out.old.nodes[node]);
    out.fresh.currentOrigin = out.old.origins[node];
    Definition even = sum;
    even.results.clear();
    Extent &terms = even.reduction->iterators[0].extent;
    terms = Extent(llvm::alignTo(terms.constant(), copiedTogether));
    llvm::SmallVector<Expr> elements;
    for (unsigned k : {0, 1}) {
      Expr read = out.rename(sum.bodies[0].operand(k).operand(0));
      Expr element = Expr::read(padded(factors[k]), read.type(), read.readIndices());
      elements.push_back(Expr::cast(ElementType::F32, element));
    }
    even.bodies = {elements[0] * elements[1]};
    out.define(node, std::move(even));
    out.keepFacts(node);
  }

private:
  ValueId padded(const Factor &factor) {
    auto [known, isNew] = all.try_emplace({factor.value, factor.dimension});
    if (!isNew)
      return known->second;
    const te::Value &value = out.old.value(factor.value);
    Definition padded;
    llvm::SmallVector<Index> place;
    for (auto [dimension, extent] : llvm::enumerate(out.old.shape(factor.value))) {
      int64_t size = extent.constant();
      if (dimension == factor.dimension)
        size = llvm::alignTo(size, copiedTogether);
      padded.parallel.push_back({"i" + std::to_string(dimension), Extent(size)});
      place.push_back(Index::iterator(dimension));
    }
    padded.bodies = {
        Expr::read(out[factor.value], value.type, place, Expr::literal(value.type, 0.0))};
    known->second = out.fresh.define(value.name + ".even", value.type, std::move(padded));
    return known->second;
  }

  simplify::Rebuilder &out;
  std::map<std::pair<ValueId, unsigned>, ValueId> all;
};

Program overEvenRows(const Program &program, explain::Log *log) {
  simplify::Rebuilder out(program);
  EvenSums sums(out);
  std::vector<bool> constant = constantNodes(program);
  bool changes = false;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    const auto *sum = std::get_if<Definition>(&program.nodes[node]);
    std::optional<Factors> factors;
    if (sum && !constant[node])
      factors = unevenFactors(*sum, program);
    if (!factors) {
      out.copy(node);
      continue;
    }
    sums.add(node, *factors);
    changes = true;
    if (log)
      log->add({"derive",
                "value '" + program.value(program.resultsOf(node)[0]).name + "'",
                "summed over rows with zeros behind",
                {"what is copied at once starts at a multiple of its size"},
                {}});
  }
  return changes ? out.finish() : program;
}

} // namespace

const Rule evenSumsRule = {
    .name = "even-sums",
    .equation = "y[i, j] = sum[k:n] a[i, k] * b[j, k] => the same over the next multiple of 8, "
                "where 16-bit a and b are stored with zeros behind their rows.",
    .source = "EinNet (Zheng et al. 2023), ranges relaxed",
    .exactness = Exactness::Reassociates,
    .assumes = "",
    .order = RuleOrder::Alone,
    .helps = runsBlocks,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return overEvenRows(program, context.log);
    },
};

} // namespace kintsugi::derive
