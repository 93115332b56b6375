#include "te/open_axis.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

namespace kintsugi::te {

namespace {

/// How far `index` is from the start of the step that `iterator` is in, `iterator` having `each`
/// elements for a step, of which it is at `places`, and `index` having `step`: its range.
Interval distanceFromStep(const Index &index, int64_t step, unsigned iterator, int64_t each,
                          Interval places, llvm::ArrayRef<Interval> ranges, int64_t high) {
  llvm::SmallVector<Interval> wide(ranges);
  unsigned number = wide.size();
  wide.push_back({0, high - 1});
  wide.push_back(places);
  llvm::SmallVector<Index> replacements;
  for (unsigned k = 0; k < ranges.size(); ++k)
    replacements.push_back(Index::iterator(k));
  replacements[iterator] = Index::iterator(number) * each + Index::iterator(number + 1);
  Index inStep = simplify(substitute(index, replacements), wide) - Index::iterator(number) * step;
  return rangeOf(simplify(inStep, wide), wide);
}

/// That `index` is less than size * `step`.
struct Condition {
  Index index;
  int64_t step;
};

class Analysis {
public:
  Analysis(const Program &program, const OpenInputs &open, llvm::ArrayRef<OpenSum> sums,
           bool isBody)
      : program(program), open(open), sums(sums), isBody(isBody), values(program.numValues()) {
    for (uint32_t value = 0; value < program.numValues(); ++value)
      set(ValueId{value}, Validity());
    for (auto [input, validity] : llvm::zip_equal(program.inputs, open.inputs))
      set(input, validity);
    if (open.size)
      size = program.inputs[*open.size];
  }

  std::vector<Validity> run() {
    for (number = 0; number < program.nodes.size(); ++number)
      std::visit([&](const auto &each) { look(each); }, program.nodes[number]);
    return std::move(values);
  }

private:
  Validity of(ValueId id) const { return values[id.number]; }

  void set(ValueId id, Validity validity) {
    llvm::ArrayRef<Extent> shape = program.shape(id);
    for (unsigned d = 0; d < shape.size() && !validity.isMixed(); ++d)
      if (validity.stepOf(d) == 0 && isShorter(id, d) &&
          shape[d].constant() % open.dimension.high == 0) {
        validity.axes.push_back({d, shape[d].constant() / open.dimension.high});
        llvm::sort(validity.axes, [](auto &a, auto &b) { return a.dimension < b.dimension; });
        validity.kind = Validity::Kind::Steps;
      }
    values[id.number] = std::move(validity);
  }

  /// Whether a dimension is of less extent at one of the smaller sizes.
  bool isShorter(ValueId id, unsigned dimension) const {
    return llvm::any_of(open.smaller, [&](const Program *part) {
      return part->numValues() == program.numValues() &&
             part->shape(id).size() == program.shape(id).size() &&
             part->shape(id)[dimension] != program.shape(id)[dimension];
    });
  }

  void look(const Definition &definition) {
    llvm::SmallVector<unsigned> bounded;
    for (const OpenSum &sum : sums)
      if (sum.node == number)
        bounded.push_back(sum.iterator);
    Validity validity = DefinitionAnalysis(*this, definition).run(bounded);
    for (ValueId result : definition.results)
      set(result, validity);
  }

  void look(const Call &call) {
    bool areWhole = llvm::all_of(call.operands, [&](ValueId id) { return of(id).isWhole(); });
    for (ValueId result : call.results)
      set(result, areWhole ? Validity() : Validity::mixed());
  }

  void look(const Scan &scan) {
    size_t carried = scan.initial.size();
    OpenInputs inner = bodyInputs(scan);
    std::vector<Validity> body;
    for (bool isStable = false; !isStable;) { // A state only ever goes from whole to mixed.
      isStable = true;
      body = te::validityOf(*scan.body, inner, {}, true);
      for (size_t k = 0; k < carried; ++k) {
        Validity &state = inner.inputs[1 + k];
        Validity joined = join(state, body[scan.body->outputs[k].value.number]);
        isStable &= joined == state;
        state = joined;
      }
    }
    bool isSameStep = !scan.goesOnWhile || inner.inputs[1].isWhole();
    for (size_t k = 0; k < scan.results.size(); ++k)
      set(scan.results[k], !isSameStep   ? Validity::mixed()
                           : k < carried ? inner.inputs[1 + k]
                                         : stacked(body[scan.body->outputs[k].value.number]));
  }

  OpenInputs bodyInputs(const Scan &scan) const {
    OpenInputs inner{open.dimension, {Validity()}};
    for (ValueId initial : scan.initial)
      inner.inputs.push_back(of(initial));
    for (ValueId captured : scan.captured)
      inner.inputs.push_back(of(captured));
    inner.takesAnyPlace = open.takesAnyPlace;
    inner.smaller = bodiesAtSmallerSizes();
    auto captured = size ? llvm::find(scan.captured, *size) : scan.captured.end();
    if (captured != scan.captured.end())
      inner.size = inner.inputs.size() - (scan.captured.end() - captured);
    return inner;
  }

  /// Of the node at hand.
  std::vector<const Program *> bodiesAtSmallerSizes() const {
    std::vector<const Program *> bodies;
    for (const Program *part : open.smaller)
      if (number < part->nodes.size())
        if (const auto *scan = std::get_if<Scan>(&part->nodes[number]))
          bodies.push_back(scan->body.get());
    return bodies;
  }

  static Validity stacked(Validity validity) {
    for (OpenSteps &axis : validity.axes)
      ++axis.dimension;
    return validity;
  }

  static Validity join(Validity a, Validity b) {
    if (a == b || b.isWhole())
      return a;
    return a.isWhole() ? b : Validity::mixed();
  }

  /// What the elements of one definition need.
  class DefinitionAnalysis {
  public:
    DefinitionAnalysis(const Analysis &all, const Definition &definition)
        : all(all), definition(definition), ranges(definition.ranges()),
          high(all.open.dimension.high) {}

    /// `bounded`: iterators that end at the size.
    Validity run(llvm::ArrayRef<unsigned> bounded) {
      for (const Expr &body : definition.bodies)
        collect(body);
      for (unsigned iterator : bounded)
        llvm::erase_if(conditions,
                       [&](const Condition &each) { return isImplied(each, iterator); });
      if (!isKnown)
        return Validity::mixed();
      for (unsigned d = 0; d < definition.parallel.size(); ++d)
        if (llvm::all_of(conditions, [&](const Condition &each) { return isImplied(each, d); }))
          return conditions.empty() ? Validity() : Validity::steps({{d, stepOf(d)}});
      return ofSeveralAxes();
    }

  private:
    Validity ofSeveralAxes() const {
      llvm::SmallVector<OpenSteps> axes;
      for (const Condition &each : conditions) {
        auto implies = [&](unsigned d) { return isImplied(each, d); };
        if (llvm::any_of(axes, [&](const OpenSteps &axis) { return implies(axis.dimension); }))
          continue;
        auto dimensions = llvm::seq<unsigned>(definition.parallel.size());
        auto found = llvm::find_if(dimensions, implies);
        if (found == dimensions.end())
          return Validity::mixed();
        axes.push_back({*found, stepOf(*found)});
      }
      llvm::sort(axes, [](auto &a, auto &b) { return a.dimension < b.dimension; });
      return Validity::steps(axes);
    }

    int64_t extentOf(unsigned d) const { return ranges[d].high + 1; }
    int64_t stepOf(unsigned d) const { return extentOf(d) / high; }

    /// Whether the condition holds in all steps of a dimension's that come before the size.
    bool isImplied(const Condition &condition, unsigned d) const {
      int64_t each = stepOf(d);
      if (each == 0 || extentOf(d) % high != 0)
        return false;
      return distanceFromStep(condition.index, condition.step, d, each, {0, each - 1}, ranges, high)
                 .high < condition.step;
    }

    /// The conditions under which what is read is valid, which those that choose it don't imply.
    void collect(const Expr &part) {
      if (!seen.insert(part.identity()).second)
        return;
      if (part.kind() == ExprKind::Read)
        collectRead(part);
      if (part.kind() == ExprKind::Select)
        return collectSelect(part);
      for (const Expr &operand : part.operands())
        collect(operand);
    }

    void collectSelect(const Expr &select) {
      std::optional<Index> below = all.belowSize(select.operand(0));
      collect(select.operand(0));
      if (below)
        collectBelow(*below, select.operand(1));
      else
        collect(select.operand(1));
      collect(select.operand(2));
    }

    /// What is shared with the rest is looked at there, too, where the guard is not.
    void collectBelow(const Index &guard, const Expr &part) {
      llvm::DenseSet<const void *> outside;
      std::swap(seen, outside);
      guards.push_back(guard);
      collect(part);
      guards.pop_back();
      std::swap(seen, outside);
    }

    void collectRead(const Expr &read) {
      for (const Index &index : read.readIndices())
        index.forEachData([&](const Expr &data) {
          isKnown &= all.isSafePlace(data);
          collect(data);
        });
      if (read.readFill())
        collect(*read.readFill());
      Validity validity = all.of(read.readValue());
      isKnown &= !validity.isMixed();
      for (const OpenSteps &axis : validity.axes) {
        const Index &index = read.readIndices()[axis.dimension];
        bool isAlways = rangeOf(index, ranges).high < axis.step * all.open.dimension.low;
        if (!isAlways && !isGuarded(index, axis.step))
          conditions.push_back({index, axis.step});
      }
    }

    /// Whether an index is less than size * `step` where one of the guards is less than the size.
    bool isGuarded(const Index &index, int64_t step) const {
      return llvm::any_of(guards, [&](const Index &guard) {
        return rangeOf(simplify(index - guard * step, ranges), ranges).high < step;
      });
    }

    const Analysis &all;
    const Definition &definition;
    llvm::SmallVector<Interval> ranges;
    int64_t high;
    std::vector<Condition> conditions;
    llvm::SmallVector<Index> guards;   ///< Of the expression at hand: they are below the size.
    llvm::DenseSet<const void *> seen; ///< Under these guards.
    bool isKnown = true;
  };

  /// The index that a condition says is below the size.
  std::optional<Index> belowSize(const Expr &condition) const {
    if (!size || condition.kind() != ExprKind::Binary || condition.binaryOp() != BinaryOp::Less)
      return std::nullopt;
    const Expr &left = condition.operand(0), &right = condition.operand(1);
    if (left.kind() != ExprKind::Index || right.kind() != ExprKind::Read ||
        right.readValue() != *size)
      return std::nullopt;
    return left.indexValue();
  }

  /// Whether data says a place inside of the tensor also where it belongs to no valid step.
  bool isSafePlace(const Expr &data) const {
    bool isSafe = true;
    if (open.takesAnyPlace)
      return isSafe;
    data.walk([&](const Expr &part) {
      if (part.kind() == ExprKind::Read && !of(part.readValue()).isWhole())
        isSafe &= !isBody && program.value(part.readValue()).kind == ValueKind::Input;
    });
    return isSafe;
  }

  const Program &program;
  const OpenInputs &open;
  llvm::ArrayRef<OpenSum> sums;
  bool isBody;
  uint32_t number = 0; ///< Of the node at hand.
  std::vector<Validity> values;
  std::optional<ValueId> size;
};

} // namespace

int64_t Validity::stepOf(unsigned dimension) const {
  for (const OpenSteps &axis : axes)
    if (axis.dimension == dimension)
      return axis.step;
  return 0;
}

Expr isBelowSize(const Index &index, ValueId size) {
  return Expr::binary(BinaryOp::Less, Expr::index(index, ElementType::I64),
                      Expr::read(size, ElementType::I64, {}));
}

bool isBehind(const Index &index, int64_t step, unsigned iterator, llvm::ArrayRef<Interval> ranges,
              int64_t high) {
  int64_t each = (ranges[iterator].high + 1) / high;
  return step > 0 && each > 0 &&
         distanceFromStep(index, step, iterator, each, {0, each - 1}, ranges, high).low >= 0;
}

std::vector<Validity> validityOf(const Program &program, const OpenInputs &open,
                                 llvm::ArrayRef<OpenSum> sums, bool isBody) {
  return Analysis(program, open, sums, isBody).run();
}

bool startsAtStep(const Index &position, llvm::ArrayRef<Extent> shape, const Validity &validity,
                  const CutRows &cut, llvm::ArrayRef<Interval> ranges, int64_t high) {
  llvm::SmallVector<Index> indices = delinearize(position, shape);
  Interval places = {0, cut.each - (cut.each % cut.piece == 0 ? cut.piece : 1)};
  return llvm::any_of(validity.axes, [&](const OpenSteps &axis) {
    // Pieces end within the rows: a fact that is lost where their first row is any of a step's.
    Index within = simplify(indices[axis.dimension], ranges);
    return distanceFromStep(within, axis.step, cut.origin, cut.each, places, ranges, high).low >= 0;
  });
}

} // namespace kintsugi::te
