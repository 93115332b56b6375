//===- separate_windows.cpp - Windows along one dimension after another -------===//
//
// A pooling joins all elements of a window of several dimensions, most of which the window beside
// it joins, too. What it joins along all dimensions but one is the same for both, and joined once:
//
//     y[i, j] = max[r:5, s:5] x[i+r, j+s]  =>  t[i, w] = max[r:5] x[i+r, w]
//                                              y[i, j] = max[s:5] t[i, j+s]
//
// Two times 5 elements are joined for each result in place of 25. A stride leaves less to share,
// but then the first step reads elements that lie side by side.
//
//===----------------------------------------------------------------------===//

#include "cost/decisions.h"
#include "derive/rule.h"
#include "search/price_list.h"
#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// The body depends on a step of the reduction and on a parallel iterator through
/// `stride` * parallel + step alone.
struct Window {
  unsigned step, parallel; ///< Iterators, by number.
  int64_t stride;
};

bool joinsAlike(const Definition &whole) {
  if (!whole.reduction || whole.bodies.size() != 1 || whole.results.size() != 1)
    return false;
  Combiner combiner = whole.reduction->combiner;
  return !isArgForm(combiner) && combiner != Combiner::SoftmaxStats;
}

/// The stride at which one index goes along the window; 0: it does not; nullopt: it is no window's.
std::optional<int64_t> strideIn(const Index &index, unsigned parallel, unsigned step) {
  int64_t ofParallel = index.coefficientOf(parallel), ofStep = index.coefficientOf(step);
  Index rest = index - Index::iterator(parallel) * ofParallel - Index::iterator(step) * ofStep;
  if (rest.uses(parallel) || rest.uses(step))
    return std::nullopt;
  if (ofParallel == 0 && ofStep == 0)
    return 0;
  if (ofStep == 0 || ofParallel % ofStep != 0 || ofParallel / ofStep < 1)
    return std::nullopt;
  return ofParallel / ofStep;
}

std::optional<Window> windowOf(const Definition &whole, unsigned parallel, unsigned step) {
  int64_t stride = 0;
  bool isOne = true;
  auto look = [&](const Index &index) {
    std::optional<int64_t> its = strideIn(index, parallel, step);
    isOne &= its && (*its == 0 || stride == 0 || *its == stride);
    if (isOne && *its != 0)
      stride = *its;
  };
  whole.bodies[0].walk([&](const Expr &e) {
    if (e.kind() == ExprKind::Read)
      llvm::for_each(e.readIndices(), look);
    if (e.kind() == ExprKind::Index)
      look(e.indexValue());
  });
  return isOne && stride > 0 ? std::optional(Window{step, parallel, stride}) : std::nullopt;
}

double termsOf(const Definition &definition) {
  return pointsOf(definition.parallel) * pointsOf(definition.reduction->iterators);
}

/// What is joined along all dimensions but the window's own, at each of its places.
Definition acrossOf(const Definition &whole, const Window &window) {
  unsigned numParallel = whole.parallel.size();
  Definition across;
  across.parallel = whole.parallel;
  across.reduction = whole.reduction;
  llvm::SmallVector<Iterator, 3> &terms = across.reduction->iterators;
  int64_t steps = terms[window.step - numParallel].extent.constant();
  int64_t results = whole.parallel[window.parallel].extent.constant();
  across.parallel[window.parallel].extent = Extent(window.stride * (results - 1) + steps);
  terms.erase(terms.begin() + (window.step - numParallel));
  llvm::SmallVector<Index> replacements;
  for (unsigned k = 0; k < whole.numIterators(); ++k)
    replacements.push_back(Index::iterator(k > window.step ? k - 1 : k));
  replacements[window.step] = Index::iterator(window.parallel);
  replacements[window.parallel] = Index(0);
  across.bodies = {substitute(whole.bodies[0], replacements)};
  return across;
}

/// What is joined of that along the window.
Definition alongOf(const Definition &whole, const Window &window, ValueId across) {
  unsigned numParallel = whole.parallel.size();
  Definition along;
  along.parallel = whole.parallel;
  along.reduction = whole.reduction;
  along.reduction->iterators = {whole.reduction->iterators[window.step - numParallel]};
  llvm::SmallVector<Index> place;
  for (unsigned k = 0; k < numParallel; ++k)
    place.push_back(Index::iterator(k));
  place[window.parallel] = place[window.parallel] * window.stride + Index::iterator(numParallel);
  along.bodies = {Expr::read(across, whole.reduction->accumulator, place)};
  return along;
}

/// Adds both in place of an old node.
void addSeparated(simplify::Rebuilder &out, uint32_t node, const Window &window) {
  const auto &whole = std::get<Definition>(out.old.nodes[node]);
  Definition across = acrossOf(whole, window);
  across.bodies = {out.rename(across.bodies[0])};
  out.fresh.currentOrigin = out.old.origins[node];
  const std::string &name = out.old.value(whole.results[0]).name;
  ValueId places = out.fresh.define(name + ".across", whole.reduction->accumulator, across);
  out.define(node, alongOf(whole, window, places));
  out.keepFacts(node);
}

class WindowSeparator {
public:
  WindowSeparator(const Program &program, const RuleContext &context)
      : program(program), context(context), constant(constantNodes(program)),
        prices(context.space.schedule), known(fuel) {}

  std::optional<Program> run() {
    simplify::Rebuilder out(program);
    bool changes = false;
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      std::optional<Window> window = choose(node);
      changes |= window.has_value();
      if (window)
        addSeparated(out, node, *window);
      else
        out.copy(node);
    }
    known.tell(context.log, "derive", "windows of several dimensions");
    return changes ? std::optional(out.finish()) : std::nullopt;
  }

private:
  static constexpr unsigned fuel = 64; ///< Distinct definitions that are priced.

  struct Priced {
    std::optional<Window> window; ///< None: it stays whole.
    double before = 0, after = 0;
  };

  std::optional<Window> choose(uint32_t node) {
    const auto *whole = std::get_if<Definition>(&program.nodes[node]);
    if (!whole || constant[node] || !joinsAlike(*whole) || whole->reduction->iterators.size() < 2)
      return std::nullopt;
    llvm::SmallVector<Window> windows = windowsOf(*whole);
    if (windows.empty())
      return std::nullopt;
    loops::Group group =
        search::kernelGroup(program, constant, {node}, {program.resultsOf(node)[0]});
    const Priced &priced =
        known.at(loops::keyOf(program, group).text, [&] { return price(node, group, windows); });
    if (priced.window)
      explain(node, priced);
    return priced.window;
  }

  /// Those of which no more is joined than before.
  static llvm::SmallVector<Window> windowsOf(const Definition &whole) {
    llvm::SmallVector<Window> windows;
    unsigned numParallel = whole.parallel.size();
    for (unsigned step = numParallel; step < whole.numIterators(); ++step)
      for (unsigned parallel = 0; parallel < numParallel; ++parallel) {
        std::optional<Window> window = windowOf(whole, parallel, step);
        if (!window || whole.parallel[parallel].extent.constant() < 2 ||
            whole.reduction->iterators[step - numParallel].extent.constant() < 2)
          continue;
        Definition across = acrossOf(whole, *window);
        double along = pointsOf(whole.parallel) *
                       double(whole.reduction->iterators[step - numParallel].extent.constant());
        if (termsOf(across) + along <= termsOf(whole))
          windows.push_back(*window);
      }
    return windows;
  }

  Priced price(uint32_t node, const loops::Group &group, llvm::ArrayRef<Window> windows) {
    Priced priced{.before = prices.secondsOf(program, group)};
    priced.after = priced.before * (1 - context.margins.separateWindows);
    for (const Window &window : windows) {
      double seconds = secondsOf(node, window);
      if (seconds >= priced.after)
        continue;
      priced.after = seconds;
      priced.window = window;
    }
    return priced;
  }

  /// Of both steps in one kernel.
  double secondsOf(uint32_t node, const Window &window) {
    Program one =
        nodeAlone(program, node, [&](ValueId id) { return te::isConstant(program, constant, id); });
    simplify::Rebuilder out(one);
    addSeparated(out, 0, window);
    Program both = out.finish();
    std::vector<bool> none(both.nodes.size(), false);
    return prices.secondsOf(both, search::kernelGroup(both, none, {0, 1}, {both.resultsOf(1)[0]}));
  }

  void explain(uint32_t node, const Priced &priced) const {
    if (!context.log)
      return;
    const Definition &whole = std::get<Definition>(program.nodes[node]);
    context.log->add(
        {"derive",
         "value '" + program.value(whole.results[0]).name + "'",
         "its windows are joined along '" + whole.parallel[priced.window->parallel].name + "' last",
         {"windows side by side share what is joined along the others"},
         {{"before", priced.before, "s"}, {"after", priced.after, "s"}}});
  }

  const Program &program;
  const RuleContext &context;
  std::vector<bool> constant; ///< By node.
  search::PriceList prices;
  cost::Decisions<Priced> known;
};

/// Windows of three dimensions are taken apart twice.
Expected<Program> separateWindows(const Program &program, const RuleContext &context) {
  Program current = program;
  while (std::optional<Program> next = WindowSeparator(current, context).run())
    current = std::move(*next);
  return current;
}

} // namespace

const Rule separateWindowsRule = {
    .name = "separate-windows",
    .equation = "y[i, j] = max[r:R, s:S] x[i+r, j+s] => t[i, w] = max[r:R] x[i+r, w], y[i, j] = "
                "max[s:S] t[i, j+s]; likewise of sums and products, with strides.",
    .source = "",
    .exactness = Exactness::Reassociates,
    .assumes = "",
    .order = RuleOrder::AfterFormats,
    .helps = runsVectors,
    .apply = separateWindows,
};

} // namespace kintsugi::derive
