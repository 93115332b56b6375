#include "derive/derive_winograd.h"

#include "cost/cost.h"
#include "cost/decisions.h"
#include "derive/rule.h"
#include "derive/ways_within.h"
#include "derive/winograd.h"
#include "search/price_list.h"
#include "simplify/facts.h"
#include "te/constant_nodes.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();

/// Depth below which moving the points costs more than the multiplications that they save.
constexpr int64_t leastDepth = 8;

using Algorithms = llvm::SmallVector<const BilinearAlgorithm *, 3>; ///< By window; null: none.

/// One definition as a program of its own.
struct Alone {
  Program program;
  Correlation correlation;
};

class Deriver {
public:
  Deriver(const Program &program, const WinogradOptions &options)
      : program(program), options(options), constant(te::constantNodes(program)),
        prices(options.schedule), constantBytes(te::bytesOfConstants(program).once),
        known(options.fuel) {}

  Program run() {
    std::vector<std::optional<Candidate>> candidates(program.nodes.size());
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      candidates[node] = candidateOf(node);
    known.tell(options.log, "derive", "windows with constant weights");
    choose(candidates);
    if (llvm::none_of(candidates, [](const auto &candidate) { return bool(candidate); }))
      return program;
    simplify::Rebuilder rebuilder(program);
    SharedPoints shared;
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (!candidates[node]) {
        rebuilder.copy(node);
        continue;
      }
      const Candidate &candidate = *candidates[node];
      addBilinear(rebuilder, node, candidate.correlation,
                  stepsOf(candidate.correlation, candidate.priced->algorithms[candidate.way]),
                  shared);
      rebuilder.keepFacts(node);
    }
    return simplify::withoutUnneeded(rebuilder.finish());
  }

private:
  /// The first way is as it is, the others are clearly quicker.
  struct Priced {
    std::vector<Algorithms> algorithms; ///< By way.
    std::vector<Way> ways;
  };
  struct Candidate {
    Correlation correlation;
    const Priced *priced;
    size_t way = 0;
  };

  std::optional<Candidate> candidateOf(uint32_t node) {
    const auto *definition = std::get_if<Definition>(&program.nodes[node]);
    if (!definition || constant[node])
      return std::nullopt;
    std::optional<Correlation> correlation = findCorrelation(program, *definition);
    if (!correlation || correlation->depth < leastDepth ||
        !te::isConstant(program, constant, correlation->kernel.readValue()) ||
        te::isConstant(program, constant, correlation->input.readValue()))
      return std::nullopt;
    throughPadding(*correlation);
    if (!slidesOverInput(*definition, *correlation))
      return std::nullopt;
    const Priced &priced = price(node, *correlation);
    if (priced.ways.size() < 2)
      return std::nullopt;
    return Candidate{*correlation, &priced};
  }

  /// Leaves those that are to be replaced, each with its way.
  void choose(std::vector<std::optional<Candidate>> &candidates) {
    std::vector<uint32_t> nodes;
    std::vector<std::vector<Way>> things;
    double others = constantBytes;
    for (auto [node, candidate] : llvm::enumerate(candidates))
      if (candidate) {
        nodes.push_back(node);
        things.push_back(candidate->priced->ways);
        others -= things.back()[0].bytes;
      }
    // Where parts are asked for, whoever puts them together looks after the room.
    bool isOfParts = std::isinf(options.margin);
    double limit =
        isOfParts ? std::numeric_limits<double>::infinity() : cost::roomForConstants(constantBytes);
    for (auto [node, way] : llvm::zip_equal(nodes, chooseWithin(things, limit - others))) {
      candidates[node]->way = way;
      if (way == 0)
        candidates[node].reset();
      else
        explain(node, *candidates[node]);
    }
  }

  /// Whether only windows leave the input, and each place of a window has some of it: transforms
  /// round what is exactly zero elsewhere.
  bool slidesOverInput(const Definition &definition, const Correlation &correlation) const {
    if (!correlation.input.readFill())
      return true;
    llvm::ArrayRef<Extent> shape = program.shape(correlation.input.readValue());
    llvm::SmallVector<Interval> ranges = definition.ranges();
    for (auto [d, index] : llvm::enumerate(correlation.input.readIndices())) {
      int64_t extent = shape[d].constant();
      const Window *window = correlation.windowAlong(d);
      Interval range = rangeOf(index, ranges);
      if (window ? window->offset + window->dilation * (window->taps - 1) < 0 ||
                       window->extent - 1 + window->offset >= extent
                 : range.low < 0 || range.high >= extent)
        return false;
    }
    return true;
  }

  /// A window that slides over a padded copy may slide over the original: outside of both are
  /// zeros.
  void throughPadding(Correlation &correlation) const {
    const Definition *padding = program.definitionOf(correlation.input.readValue());
    if (!padding || padding->reduction || padding->bodies.size() != 1 ||
        padding->bodies[0].kind() != ExprKind::Read)
      return;
    const Expr &read = padding->bodies[0];
    const Expr *fill = read.readFill();
    if (!fill || !fill->isLiteral() || fill->literalFloat() != 0 ||
        read.type() != correlation.input.type())
      return;
    llvm::ArrayRef<Extent> inner = program.shape(read.readValue());
    if (inner.size() != padding->parallel.size())
      return;
    for (auto [d, index] : llvm::enumerate(read.readIndices())) {
      int64_t shift = index.constantTerm();
      bool isShift = (index - Index(shift)).asIterator() == static_cast<int>(d);
      if (!isShift || shift > 0 ||
          padding->parallel[d].extent.constant() + shift < inner[d].constant())
        return; // What a crop cuts off is not zero.
      if (!correlation.windowAlong(d) && (shift != 0 || padding->parallel[d].extent != inner[d]))
        return;
    }
    correlation.input =
        Expr::read(read.readValue(), read.type(),
                   substitute(read.readIndices(), correlation.input.readIndices()), *fill);
    for (Window &window : correlation.windows)
      window.offset += read.readIndices()[window.inputDimension].constantTerm();
  }

  static llvm::SmallVector<Step, 3> stepsOf(const Correlation &correlation,
                                            const Algorithms &algorithms) {
    llvm::SmallVector<Step, 3> steps;
    for (auto [window, algorithm] : llvm::zip_equal(correlation.windows, algorithms))
      if (algorithm)
        steps.push_back({window, algorithm});
    return steps;
  }

  /// Each way to give windows algorithms. Windows that leave the input all need one: only the
  /// first transform reads with zeros outside.
  static std::vector<Algorithms> ways(const Correlation &correlation) {
    std::vector<Algorithms> result = {{}};
    for (const Window &window : correlation.windows) {
      std::vector<Algorithms> longer;
      for (const Algorithms &way : result) {
        auto with = [&](const BilinearAlgorithm *algorithm) {
          longer.push_back(way);
          longer.back().push_back(algorithm);
        };
        bool given = false;
        for (const BilinearAlgorithm &algorithm : bilinearAlgorithms())
          if (algorithm.taps == window.taps && window.extent >= algorithm.outputs)
            with(&algorithm), given = true;
        if (!given && !correlation.input.readFill())
          with(nullptr);
      }
      result = std::move(longer);
    }
    llvm::erase_if(result, [](const Algorithms &way) {
      return llvm::all_of(way, [](const auto *algorithm) { return !algorithm; }) || !areAlike(way);
    });
    return result;
  }

  /// Of windows with equally many taps the same algorithm serves: the rest is not worth its search.
  static bool areAlike(const Algorithms &way) {
    for (const auto *a : way)
      for (const auto *b : way)
        if (a && b && a->taps == b->taps && a != b)
          return false;
    return true;
  }

  Alone alone(uint32_t node, const Correlation &correlation) const {
    ValueId kernel = correlation.kernel.readValue();
    Subprogram part(program, [&](ValueId id) { return id == kernel; });
    Alone result{Program(), correlation};
    result.correlation.input = part.rename(correlation.input);
    result.correlation.kernel = part.rename(correlation.kernel);
    Definition definition = std::get<Definition>(program.nodes[node]);
    definition.bodies = {correlation.input * correlation.kernel};
    part.addOutputs(part.define(node, std::move(definition)));
    result.program = std::move(part.program);
    return result;
  }

  const Priced &price(uint32_t node, const Correlation &correlation) {
    Alone one = alone(node, correlation);
    return known.at(loops::keyOf(one.program, groupOf(one.program, {0})).text, [&] {
      return price(one, program.value(correlation.kernel.readValue()).bytes());
    });
  }

  Priced price(const Alone &one, double kernelBytes) {
    Priced priced;
    double before = seconds(one.program, {0});
    priced.algorithms.push_back({});
    // Where whatever is possible is taken, it can't stay as it is.
    priced.ways.push_back({std::isinf(options.margin) ? impossible : before, kernelBytes});
    for (const Algorithms &way : ways(one.correlation)) {
      Way derived = priceOf(one, way);
      if (derived.seconds >= before * (1 - options.margin))
        continue;
      priced.algorithms.push_back(way);
      priced.ways.push_back(derived);
    }
    return priced;
  }

  /// As one kernel or as three, whichever is less, and what the kernel's points take.
  Way priceOf(const Alone &one, const Algorithms &way) {
    simplify::Rebuilder rebuilder(one.program);
    llvm::SmallVector<Step, 3> steps = stepsOf(one.correlation, way);
    SharedPoints own;
    addBilinear(rebuilder, 0, one.correlation, steps, own);
    Program derived = rebuilder.finish();
    std::vector<bool> constants = te::constantNodes(derived);
    llvm::SmallVector<uint32_t> all;
    for (uint32_t n = 0; n < derived.nodes.size(); ++n)
      if (!constants[n])
        all.push_back(n);
    llvm::ArrayRef<uint32_t> nodes = all;
    size_t in = steps.size();
    double apart = seconds(derived, nodes.take_front(in)) + seconds(derived, nodes.slice(in, 1)) +
                   seconds(derived, nodes.drop_front(in + 1));
    double bytes = 0;
    for (ValueId operand : derived.operandsOf(nodes[in]))
      if (const Value &value = derived.value(operand);
          value.kind == ValueKind::Result && constants[value.node])
        bytes += value.bytes();
    return {std::min(apart, seconds(derived, nodes)), bytes};
  }

  static loops::Group groupOf(const Program &in, llvm::ArrayRef<uint32_t> nodes) {
    return search::kernelGroup(in, te::constantNodes(in), nodes, {in.resultsOf(nodes.back())[0]});
  }

  /// Of some definitions as one kernel.
  double seconds(const Program &in, llvm::ArrayRef<uint32_t> nodes) {
    return prices.secondsOf(in, groupOf(in, nodes));
  }

  void explain(uint32_t node, const Candidate &candidate) const {
    if (options.assumed && !simplify::factsOf(candidate.correlation.input, program).finite)
      options.assumed->add(winogradRule.name);
    if (!options.log)
      return;
    std::string names;
    const Priced &priced = *candidate.priced;
    for (const BilinearAlgorithm *algorithm : priced.algorithms[candidate.way])
      if (algorithm)
        names += (names.empty() ? "" : " x ") + std::string(algorithm->name);
    options.log->add({"derive",
                      "value '" + program.value(program.resultsOf(node)[0]).name + "'",
                      "computed by Winograd's " + names,
                      {},
                      {{"before", priced.ways[0].seconds, "s"},
                       {"after", priced.ways[candidate.way].seconds, "s"}}});
  }

  const Program &program;
  const WinogradOptions &options;
  std::vector<bool> constant; ///< By node.
  search::PriceList prices;
  const double constantBytes;
  cost::Decisions<Priced> known;
};

} // namespace

Program deriveWinograd(const Program &program, const WinogradOptions &options) {
  return Deriver(program, options).run();
}

const Rule winogradRule = {
    .name = "winograd",
    .equation = "y[i] = sum[r] x[i+r] * k[r] with a constant k => A' ((G k) * (B' x)), a "
                "bilinear algorithm of fewer products, along one or two dimensions.",
    .source = "Winograd 1980; Lavin and Gray 2016",
    .exactness = Exactness::Reassociates,
    .assumes = "convolutions by Winograd's algorithms",
    .order = RuleOrder::AfterFormats,
    .helps = runsVectors,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return deriveWinograd(program, {.schedule = context.space.schedule,
                                      .margin = context.margins.winograd,
                                      .log = context.log,
                                      .assumed = context.assumed});
    },
};

} // namespace kintsugi::derive
