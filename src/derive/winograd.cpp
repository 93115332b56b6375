#include "derive/winograd.h"

#include "te/constant.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// What a dimension of a value on the way stands for.
enum class Role : uint8_t {
  Kept,   ///< A dimension of the input (before the products), or a parallel iterator (after).
  Point,  ///< Of a step: where the polynomials are evaluated.
  Tile,   ///< Of a step: the tiles of its window's output.
  Phase,  ///< Of a step: which of the dilated window's interleaved parts.
  Inside, ///< Of a step: the place in a tile.
  Beside, ///< An iterator that the kernel reads in one dimension with a tap.
};

struct Dimension {
  Role role;
  unsigned number; ///< The step, the iterator, or what is kept.
  int64_t extent;
};

using Dimensions = llvm::SmallVector<Dimension, 8>;

class Derivation {
public:
  Derivation(simplify::Rebuilder &rebuilder, uint32_t node, const Correlation &correlation,
             llvm::ArrayRef<Step> steps, SharedPoints &shared)
      : rebuilder(rebuilder), old(rebuilder.old), node(node),
        definition(std::get<Definition>(old.nodes[node])), correlation(correlation), steps(steps),
        name(old.value(definition.results[0]).name), shared(shared) {}

  void run() {
    rebuilder.fresh.currentOrigin = old.origins[node];
    ValueId kernel = transformKernel();
    ValueId current = rebuilder[correlation.input.readValue()];
    Dimensions dimensions = inputDimensions();
    for (unsigned s = 0; s < steps.size(); ++s)
      current = transformInput(s, current, dimensions);
    current = multiply(current, kernel, dimensions);
    for (unsigned s = 0; s < steps.size(); ++s)
      current = transformOutput(s, current, dimensions);
    rebuilder.define(node, untile(current, dimensions));
  }

private:
  int64_t tiles(unsigned s) const {
    const Window &window = steps[s].window;
    return llvm::divideCeil(llvm::divideCeil(window.extent, window.dilation),
                            steps[s].algorithm->outputs);
  }
  /// How far a step reads along the input, from its window's offset on.
  int64_t reach(unsigned s) const {
    const BilinearAlgorithm &algorithm = *steps[s].algorithm;
    return steps[s].window.dilation * (algorithm.outputs * (tiles(s) - 1) + algorithm.points());
  }
  /// The step whose window has this number there, or -1.
  int stepWith(unsigned Window::*place, unsigned number) const {
    for (auto [s, step] : llvm::enumerate(steps))
      if (step.window.*place == number)
        return s;
    return -1;
  }
  int stepOfInput(unsigned dimension) const { return stepWith(&Window::inputDimension, dimension); }
  int stepOfOutput(unsigned iterator) const { return stepWith(&Window::output, iterator); }
  bool isTap(unsigned iterator) const { return stepWith(&Window::tap, iterator) >= 0; }
  /// Whether the products sum along a dimension of the input: it lies innermost then.
  bool isSummed(unsigned dimension) const {
    const Index &index = correlation.input.readIndices()[dimension];
    for (unsigned k = definition.parallel.size(); k < definition.numIterators(); ++k)
      if (index.uses(k) && !isTap(k))
        return true;
    return false;
  }
  bool isOfKernel(unsigned iterator) const {
    return llvm::any_of(correlation.kernel.readIndices(),
                        [&](const Index &index) { return index.uses(iterator); });
  }

  /// Whether taps move along a dimension of the kernel.
  bool hasTap(const Index &index) const {
    return llvm::any_of(steps, [&](const Step &step) { return index.uses(step.window.tap); });
  }

  /// Of the kernel's points: its dimensions without taps, and the iterators beside taps in others.
  Dimensions kernelDimensions() const {
    Dimensions dimensions;
    for (unsigned s = 0; s < steps.size(); ++s)
      dimensions.push_back({Role::Point, s, steps[s].algorithm->points()});
    llvm::ArrayRef<Extent> shape = old.shape(correlation.kernel.readValue());
    for (auto [d, index] : llvm::enumerate(correlation.kernel.readIndices())) {
      if (!hasTap(index))
        dimensions.push_back({Role::Kept, unsigned(d), shape[d].constant()});
      for (unsigned k = 0; hasTap(index) && k < definition.numIterators(); ++k)
        if (index.uses(k) && stepWith(&Window::tap, k) < 0 &&
            llvm::none_of(dimensions, [&](const Dimension &other) {
              return other.role == Role::Beside && other.number == k;
            }))
          dimensions.push_back({Role::Beside, k, extentOf(k)});
    }
    return dimensions;
  }
  int64_t extentOf(unsigned iterator) const {
    unsigned parallel = definition.parallel.size();
    return iterator < parallel
               ? definition.parallel[iterator].extent.constant()
               : definition.reduction->iterators[iterator - parallel].extent.constant();
  }

  static Index at(llvm::ArrayRef<Dimension> dimensions, Role role, unsigned number) {
    for (auto [position, dimension] : llvm::enumerate(dimensions))
      if (dimension.role == role && dimension.number == number)
        return Index::iterator(position);
    return Index(0); // A phase of a window without dilation.
  }

  void addTiling(Dimensions &dimensions, unsigned s) const {
    if (steps[s].window.dilation > 1)
      dimensions.push_back({Role::Phase, s, steps[s].window.dilation});
    dimensions.push_back({Role::Tile, s, tiles(s)});
  }

  Dimensions inputDimensions() const {
    Dimensions dimensions;
    for (auto [d, extent] : llvm::enumerate(old.shape(correlation.input.readValue())))
      dimensions.push_back({Role::Kept, unsigned(d), extent.constant()});
    return dimensions;
  }

  /// Of the input after the first `done` steps. Once all are done its points come first.
  Dimensions inputAfter(unsigned done) const {
    Dimensions result;
    bool all = done == steps.size();
    for (unsigned s = 0; all && s < done; ++s)
      result.push_back({Role::Point, s, steps[s].algorithm->points()});
    llvm::ArrayRef<Extent> shape = old.shape(correlation.input.readValue());
    auto addKept = [&](bool summed) {
      for (unsigned d = 0; d < shape.size(); ++d)
        if (stepOfInput(d) < 0 && isSummed(d) == summed)
          result.push_back({Role::Kept, d, shape[d].constant()});
    };
    addKept(false);
    for (unsigned s = 0; s < steps.size(); ++s) {
      if (s >= done) {
        result.push_back({Role::Kept, steps[s].window.inputDimension, reach(s)});
        continue;
      }
      addTiling(result, s);
      if (!all)
        result.push_back({Role::Point, s, steps[s].algorithm->points()});
    }
    addKept(true);
    return result;
  }

  Definition define(llvm::ArrayRef<Dimension> dimensions) const {
    Definition result;
    for (auto [position, dimension] : llvm::enumerate(dimensions))
      result.parallel.push_back({"d" + std::to_string(position), Extent(dimension.extent)});
    return result;
  }

  static void reduceBy(Definition &result, ElementType type,
                       llvm::ArrayRef<std::pair<std::string, int64_t>> iterators, Expr body) {
    result.reduction = Reduction{Combiner::Sum, type, {}};
    for (const auto &[iterator, extent] : iterators)
      result.reduction->iterators.push_back({iterator, Extent(extent)});
    result.bodies = {std::move(body)};
  }

  ValueId add(const char *what, ElementType type, Definition result) {
    return rebuilder.fresh.define(name + what, type, std::move(result));
  }

  ValueId transformInput(unsigned s, ValueId source, Dimensions &dimensions) {
    const Step &step = steps[s];
    Dimensions after = inputAfter(s + 1);
    Definition result = define(after);
    Index i = Index::iterator(after.size());
    llvm::SmallVector<Index> place;
    for (const Dimension &dimension : dimensions) {
      int other = dimension.role == Role::Kept ? stepOfInput(dimension.number) : -1;
      Index index = at(after, dimension.role, dimension.number);
      if (other == int(s))
        index = (at(after, Role::Tile, s) * step.algorithm->outputs + i) * step.window.dilation +
                at(after, Role::Phase, s);
      // The first step reads the input itself, from where the windows start.
      if (other >= 0 && s == 0)
        index = index + steps[other].window.offset;
      place.push_back(index);
    }
    std::optional<Expr> fill;
    if (s == 0)
      fill = Expr::literal(ElementType::F32, 0.0);
    Expr factor =
        Expr::read(matrix("input", *step.algorithm, step.algorithm->input, step.algorithm->points(),
                          ElementType::F32, step.algorithm->inputDenominator),
                   ElementType::F32, {at(after, Role::Point, s), i});
    Expr element = Expr::read(source, ElementType::F32, place, std::move(fill));
    reduceBy(result, ElementType::F32, {{"i", step.algorithm->points()}}, factor * element);
    dimensions = std::move(after);
    return pointsOfInput(std::move(result));
  }

  /// Once for all windows that slide alike.
  ValueId pointsOfInput(Definition result) {
    for (const auto &[other, points] : shared.inputs)
      if (isSame(result, other))
        return points;
    ValueId points = add(".input_points", ElementType::F32, result);
    shared.inputs.emplace_back(std::move(result), points);
    return points;
  }

  /// Of sums over one iterator.
  static bool isSame(const Definition &a, const Definition &b) {
    auto isAlike = [](const Iterator &one, const Iterator &other) {
      return one.extent == other.extent;
    };
    return a.parallel.size() == b.parallel.size() &&
           llvm::all_of(
               llvm::zip_equal(a.parallel, b.parallel),
               [&](const auto &both) { return isAlike(std::get<0>(both), std::get<1>(both)); }) &&
           isAlike(a.reduction->iterators[0], b.reduction->iterators[0]) &&
           a.bodies[0] == b.bodies[0];
  }

  /// In double precision until the end: constants are transformed once.
  ValueId transformKernel() {
    Dimensions dimensions = kernelDimensions();
    ValueId kernel = correlation.kernel.readValue();
    Definition result = define(dimensions);
    llvm::SmallVector<Index> iterators, place; // In terms of the definition's, and of this one's.
    for (unsigned k = 0; k < definition.numIterators(); ++k) {
      int step = stepWith(&Window::tap, k);
      iterators.push_back(step < 0 ? at(dimensions, Role::Beside, k)
                                   : Index::iterator(dimensions.size() + step));
    }
    for (auto [d, index] : llvm::enumerate(correlation.kernel.readIndices()))
      place.push_back(hasTap(index) ? substitute(index, iterators) : at(dimensions, Role::Kept, d));
    Expr body =
        Expr::cast(ElementType::F64, Expr::read(rebuilder[kernel], ElementType::F32, place));
    llvm::SmallVector<std::pair<std::string, int64_t>> taps;
    for (auto [s, step] : llvm::enumerate(steps)) {
      Index tap = Index::iterator(dimensions.size() + s);
      body = Expr::read(kernelMatrix(*step.algorithm), ElementType::F64,
                        {at(dimensions, Role::Point, s), tap}) *
             body;
      taps.push_back({"r" + std::to_string(s), step.window.taps});
    }
    reduceBy(result, ElementType::F64, taps, body);
    Definition rounded = define(dimensions);
    ValueId exact = add(".kernel_points.exact", ElementType::F64, std::move(result));
    llvm::SmallVector<Index> same;
    for (unsigned d = 0; d < dimensions.size(); ++d)
      same.push_back(Index::iterator(d));
    rounded.bodies = {Expr::cast(ElementType::F32, Expr::read(exact, ElementType::F64, same))};
    return add(".kernel_points", ElementType::F32, std::move(rounded));
  }

  /// Of the products, and then of the sums after `done` steps of the way back.
  Dimensions outputAfter(unsigned done) const {
    Dimensions result;
    for (unsigned s = 0; done == 0 && s < steps.size(); ++s)
      result.push_back({Role::Point, s, steps[s].algorithm->points()});
    auto addKept = [&](bool ofKernel) {
      for (auto [k, iterator] : llvm::enumerate(definition.parallel))
        if (stepOfOutput(k) < 0 && isOfKernel(k) == ofKernel)
          result.push_back({Role::Kept, unsigned(k), iterator.extent.constant()});
    };
    addKept(false);
    for (unsigned s = 0; s < steps.size(); ++s) {
      if (s >= done) {
        addTiling(result, s);
        if (done > 0)
          result.push_back({Role::Point, s, steps[s].algorithm->points()});
        continue;
      }
      result.push_back({Role::Tile, s, tiles(s)});
      result.push_back({Role::Inside, s, steps[s].algorithm->outputs});
      if (steps[s].window.dilation > 1)
        result.push_back({Role::Phase, s, steps[s].window.dilation});
    }
    addKept(true);
    return result;
  }

  ValueId multiply(ValueId input, ValueId kernel, Dimensions &dimensions) {
    Dimensions after = outputAfter(0);
    Definition result = define(after);
    // The old definition's iterators in terms of the new one's.
    llvm::SmallVector<Index> iterators;
    for (unsigned k = 0; k < definition.parallel.size(); ++k)
      iterators.push_back(stepOfOutput(k) < 0 ? at(after, Role::Kept, k) : Index(0));
    llvm::SmallVector<std::pair<std::string, int64_t>> summed;
    for (auto [k, iterator] : llvm::enumerate(definition.reduction->iterators)) {
      bool tap = isTap(definition.parallel.size() + k);
      iterators.push_back(tap ? Index(0) : Index::iterator(after.size() + summed.size()));
      if (!tap)
        summed.push_back({iterator.name, iterator.extent.constant()});
    }
    llvm::SmallVector<Index> place, kernelPlace;
    for (const Dimension &dimension : dimensions)
      place.push_back(dimension.role == Role::Kept
                          ? substitute(correlation.input.readIndices()[dimension.number], iterators)
                          : at(after, dimension.role, dimension.number));
    for (const Dimension &dimension : kernelDimensions())
      kernelPlace.push_back(
          dimension.role == Role::Point ? at(after, Role::Point, dimension.number)
          : dimension.role == Role::Beside
              ? iterators[dimension.number]
              : substitute(correlation.kernel.readIndices()[dimension.number], iterators));
    reduceBy(result, ElementType::F32, summed,
             Expr::read(input, ElementType::F32, place) *
                 Expr::read(kernel, ElementType::F32, kernelPlace));
    dimensions = std::move(after);
    return add(".products", ElementType::F32, std::move(result));
  }

  ValueId transformOutput(unsigned s, ValueId source, Dimensions &dimensions) {
    const BilinearAlgorithm &algorithm = *steps[s].algorithm;
    Dimensions after = outputAfter(s + 1);
    Definition result = define(after);
    Index x = Index::iterator(after.size());
    llvm::SmallVector<Index> place;
    for (const Dimension &dimension : dimensions)
      place.push_back(dimension.role == Role::Point && dimension.number == s
                          ? x
                          : at(after, dimension.role, dimension.number));
    Expr factor = Expr::read(matrix("output", algorithm, algorithm.output, algorithm.outputs,
                                    ElementType::F32, algorithm.outputDenominator),
                             ElementType::F32, {at(after, Role::Inside, s), x});
    reduceBy(result, ElementType::F32, {{"x", algorithm.points()}},
             factor * Expr::read(source, ElementType::F32, place));
    dimensions = std::move(after);
    return add(".output_tiles", ElementType::F32, std::move(result));
  }

  Definition untile(ValueId source, llvm::ArrayRef<Dimension> dimensions) const {
    Definition result;
    result.parallel = definition.parallel;
    llvm::SmallVector<Index> place;
    for (const Dimension &dimension : dimensions) {
      if (dimension.role == Role::Kept) {
        place.push_back(Index::iterator(dimension.number));
        continue;
      }
      const Step &step = steps[dimension.number];
      Index h = Index::iterator(step.window.output);
      int64_t dilation = step.window.dilation, outputs = step.algorithm->outputs;
      place.push_back(dimension.role == Role::Phase  ? h.mod(dilation)
                      : dimension.role == Role::Tile ? h.floorDiv(dilation * outputs)
                                                     : h.floorDiv(dilation).mod(outputs));
    }
    result.bodies = {Expr::read(source, ElementType::F32, place)};
    return result;
  }

  ValueId kernelMatrix(const BilinearAlgorithm &algorithm) {
    return matrix("kernel", algorithm, algorithm.kernel, algorithm.points(), ElementType::F64, 1,
                  algorithm.denominators);
  }

  /// A matrix of an algorithm as a constant.
  ValueId matrix(const char *which, const BilinearAlgorithm &algorithm,
                 llvm::ArrayRef<int64_t> numbers, int64_t rows, ElementType type,
                 int64_t denominator, llvm::ArrayRef<int64_t> ofRows = {}) {
    ValueId &known = shared.matrices[numbers.data()];
    if (known != ValueId())
      return known;
    int64_t columns = numbers.size() / rows;
    Expected<Tensor> tensor = Tensor::create(type, {rows, columns});
    assert(tensor.ok() && "a small matrix");
    auto fill = [&](auto elements) {
      for (auto [position, element] : llvm::enumerate(elements))
        element = static_cast<std::remove_reference_t<decltype(element)>>(
            double(numbers[position]) /
            double(ofRows.empty() ? denominator : ofRows[position / columns]));
    };
    if (type == ElementType::F32)
      fill(tensor->as<float>());
    else
      fill(tensor->as<double>());
    return known = rebuilder.fresh.addConstant(
               std::string(algorithm.name) + " " + which, type, {Extent(rows), Extent(columns)},
               std::make_shared<TensorConstant>(std::move(*tensor)));
  }

  simplify::Rebuilder &rebuilder;
  const Program &old;
  uint32_t node;
  const Definition &definition;
  const Correlation &correlation;
  llvm::ArrayRef<Step> steps;
  std::string name;
  SharedPoints &shared;
};

} // namespace

void addBilinear(simplify::Rebuilder &rebuilder, uint32_t node, const Correlation &correlation,
                 llvm::ArrayRef<Step> steps, SharedPoints &shared) {
  Derivation(rebuilder, node, correlation, steps, shared).run();
}

} // namespace kintsugi::derive
