//===- share_rows.cpp - One sum for rows of a constant that are alike -------===//
//
// Where rows of a constant factor are multiples of others, so are the sums over them, as long as
// the other factor is the same for all: the sums of different rows are computed, and the others
// read them.
//
//===----------------------------------------------------------------------===//

#include "derive/constant_facts.h"
#include "derive/packed_factor.h"
#include "derive/rule.h"
#include "derive/sum_price.h"
#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "te/constant.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// A sum of products, and a row iterator of its constant factor along which rows are alike.
struct Likeness {
  unsigned constant = 0; ///< Which operand of the product.
  SumFactor factor;
  std::shared_ptr<const FactorFacts> facts;
  unsigned row = 0; ///< Of the factor's row iterators.

  const AlikeRows &rows() const { return *facts->alike[row]; }
  unsigned iterator() const { return factor.rows[row]; }
};

/// Writes the sums of different rows, and what the others are.
class LikenessWriter {
public:
  LikenessWriter(simplify::Rebuilder &out, uint32_t node, const Likeness &alike)
      : out(out), node(node), alike(alike), sum(std::get<Definition>(out.old.nodes[node])),
        name(out.old.value(sum.results[0]).name), isSingle(alike.rows().firsts.size() == 1) {}

  /// A machine error where there is no memory for a table.
  Status write() {
    out.fresh.currentOrigin = out.old.origins[node];
    ElementType real = sum.bodies[0].type(), stored = out.old.value(sum.results[0]).type;
    ElementType type = alike.rows().times.empty() ? stored : real;
    ValueId sums = out.fresh.define(name + ".rows", type, ofDifferentRows());
    Definition all;
    all.parallel = sum.parallel;
    KINTSUGI_ASSIGN(Index which, classOf(Index::iterator(alike.iterator())));
    llvm::SmallVector<Index> point;
    for (unsigned k = 0; k < sum.parallel.size(); ++k)
      if (k != alike.iterator())
        point.push_back(Index::iterator(k));
      else if (!isSingle)
        point.push_back(which);
    Expr element = Expr::read(sums, type, point);
    if (!alike.rows().times.empty()) {
      KINTSUGI_ASSIGN(ValueId times, addTable<double>(".times", real, alike.rows().times));
      Index at = Index::iterator(alike.iterator());
      element = Expr::stored(stored, Expr::read(times, real, {at}) * element);
    }
    all.bodies = {element};
    out.define(node, std::move(all));
    out.keepFacts(node);
    return Status::success();
  }

private:
  Definition ofDifferentRows() {
    Definition rows = sum;
    rows.results.clear();
    llvm::SmallVector<Index> places;
    for (unsigned k = 0; k < sum.numIterators(); ++k)
      places.push_back(Index::iterator(isSingle && k > alike.iterator() ? k - 1 : k));
    if (isSingle) {
      places[alike.iterator()] = Index(0);
      rows.parallel.erase(rows.parallel.begin() + alike.iterator());
    } else {
      rows.parallel[alike.iterator()].extent = Extent(int64_t(alike.rows().firsts.size()));
    }
    Expr weight = different(places, rows.ranges());
    Expr other = out.rename(substitute(sum.bodies[0].operand(1 - alike.constant), places));
    rows.bodies = {alike.constant == 0 ? weight * other : other * weight};
    return rows;
  }

  /// The factor with different rows alone, as a constant of its own: other row iterators, the one
  /// of the rows, and the summed ones.
  Expr different(llvm::ArrayRef<Index> places, llvm::ArrayRef<Interval> ranges) {
    FactorElements elements = alike.facts->elements;
    MemoryAxis axis = elements.rows[alike.row];
    elements.rows.erase(elements.rows.begin() + alike.row);
    elements.summed.insert(elements.summed.begin(), axis);
    llvm::SmallVector<SumWindow> windows;
    const std::vector<int32_t> &firsts = alike.rows().firsts;
    windows.push_back({.start = firsts[0], .count = int64_t(firsts.size())});
    if (!isSingle) {
      windows[0].listsAll = true;
      for (int64_t row = 0, count = elements.numRows(); row < count; ++row)
        llvm::append_range(windows[0].table, firsts);
    }
    for (const MemoryAxis &each : llvm::drop_begin(elements.summed))
      windows.push_back({.start = 0, .count = each.extent});
    Shape shape;
    llvm::SmallVector<Index> point;
    auto add = [&](unsigned k) {
      shape.push_back(ranges[places[k].asIterator()].size());
      point.push_back(places[k]);
    };
    for (unsigned k : alike.factor.rows)
      if (k != alike.iterator())
        add(k);
    if (!isSingle)
      add(alike.iterator());
    llvm::for_each(alike.factor.summed, add);
    ElementType type = elements.type;
    auto packed = std::make_shared<PackedFactor>(std::move(elements), windows);
    ValueId constant =
        out.fresh.addConstant(name + ".different", type, std::move(shape), std::move(packed));
    return alike.factor.withStored(out.old, Expr::read(constant, type, point));
  }

  /// Which of the different rows a row is like: an index where one says it.
  Expected<Index> classOf(const Index &row) {
    const AlikeRows &rows = alike.rows();
    int64_t points = int64_t(rows.classes.size());
    Support support(points, int64_t(rows.firsts.size()));
    for (int64_t point = 0; point < points; ++point)
      support.add(point, rows.classes[point]);
    SumWindow window = windowOf(support, points);
    if (window.count == 1 && window.table.empty())
      return substitute(window.start, row);
    KINTSUGI_ASSIGN(ValueId table, addTable<int32_t>(".class", ElementType::I32, rows.classes));
    out.fresh.value(table).facts = {0.0, double(rows.firsts.size() - 1), true, true};
    return Index::data(Expr::read(table, ElementType::I32, {row}));
  }

  template <typename T>
  Expected<ValueId> addTable(const char *suffix, ElementType type, llvm::ArrayRef<T> values) {
    int64_t count = int64_t(values.size());
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(type, {count}));
    for (int64_t k = 0; k < count; ++k)
      storeDouble(type, tensor.bytes(), k, double(values[k]));
    return out.fresh.addConstant(name + suffix, type, {Extent(count)},
                                 std::make_shared<TensorConstant>(std::move(tensor)));
  }

  simplify::Rebuilder &out;
  uint32_t node;
  const Likeness &alike;
  const Definition &sum;
  const std::string &name;
  bool isSingle; ///< All rows are multiples of one.
};

class RowSharer {
public:
  RowSharer(const Program &program, const RuleContext &context, bool isDominant)
      : old(program), context(context), isDominant(isDominant), constant(constantNodes(program)),
        out(program) {}

  Expected<Program> run() {
    bool changes = false;
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      std::optional<Likeness> alike = find(node);
      if (!alike) {
        out.copy(node);
        continue;
      }
      changes = true;
      KINTSUGI_RETURN_IF_ERROR(LikenessWriter(out, node, *alike).write());
      tell(node, *alike);
    }
    return changes ? simplify::simplify(out.finish()) : old;
  }

private:
  /// The iterator along which the fewest rows differ.
  std::optional<Likeness> find(uint32_t node) {
    const Definition *sum = constant[node] ? nullptr : sumOfProducts(old.nodes[node]);
    if (!sum)
      return std::nullopt;
    std::optional<Likeness> best;
    double most = 1;
    for (unsigned operand : {0, 1}) {
      Likeness alike{.constant = operand, .factor = SumFactor::of(*sum, operand)};
      alike.facts = facts().of(alike.factor, *sum, old, constant);
      for (unsigned d = 0; alike.facts && d < alike.factor.rows.size(); ++d) {
        alike.row = d;
        if (!isAlike(alike) || sum->bodies[0].operand(1 - operand).uses(alike.iterator()))
          continue;
        double share = double(alike.rows().firsts.size()) / double(alike.rows().classes.size());
        if (share < most && pays(*sum, share)) {
          most = share;
          best = alike;
        }
      }
    }
    return best;
  }

  /// What is stored in another type may be no multiple any more where it was converted.
  bool isAlike(const Likeness &alike) const {
    return alike.facts->alike[alike.row] &&
           (alike.rows().times.empty() || !alike.factor.stored(old) ||
            alike.factor.factor.kind() == ExprKind::Read);
  }

  bool pays(const Definition &sum, double share) const {
    double terms = pointsOf(sum.reduction->iterators);
    return derive::pays({.terms = terms * share, .kernels = 2}, old, sum, context, isDominant);
  }

  void tell(uint32_t node, const Likeness &alike) const {
    if (context.log)
      context.log->add({"derive",
                        "value '" + old.value(old.resultsOf(node)[0]).name + "'",
                        "summed once for rows of a constant that are alike",
                        {"other sums are multiples of these"},
                        {{"rows", double(alike.rows().classes.size()), ""},
                         {"different", double(alike.rows().firsts.size()), ""}}});
  }

  ConstantFacts &facts() { return context.facts ? *context.facts : own; }

  const Program &old;
  const RuleContext &context;
  bool isDominant; ///< Whether what is replaced must take longer by its arithmetic alone.
  std::vector<bool> constant; ///< By node.
  ConstantFacts own;
  simplify::Rebuilder out;
};

} // namespace

const Rule alikeRowsRule = {
    .name = "alike-rows",
    .equation = "y[m, n] = sum[k] w[m, k] * x[k, n], where rows of the constant w are multiples of "
                "others, w[m, k] = a[m] * v[c(m), k] => t[c, n] = sum[k] v[c, k] * x[k, n], "
                "y[m, n] = a[m] * t[c(m), n].",
    .source = "",
    .exactness = Exactness::Reassociates,
    .assumes = "",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return RowSharer(program, context, false).run();
    },
    .applyDominant = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return RowSharer(program, context, true).run();
    },
    .isOfReals = true,
};

} // namespace kintsugi::derive
