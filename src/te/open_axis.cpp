#include "te/open_axis.h"

#include "llvm/ADT/STLExtras.h"

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

class Analysis {
public:
  Analysis(const Program &program, llvm::ArrayRef<Validity> inputs, const OpenDimension &open,
           bool isBody)
      : program(program), open(open), isBody(isBody), values(program.numValues()) {
    for (auto [input, validity] : llvm::zip_equal(program.inputs, inputs))
      values[input.number] = validity;
  }

  std::vector<Validity> run() {
    for (const Node &node : program.nodes)
      std::visit([&](const auto &each) { look(each); }, node);
    return std::move(values);
  }

private:
  Validity of(ValueId id) const { return values[id.number]; }

  void look(const Definition &definition) {
    Validity validity = validityOf(definition);
    for (ValueId result : definition.results)
      values[result.number] = validity;
  }

  void look(const Call &call) {
    bool areWhole = llvm::all_of(call.operands, [&](ValueId id) { return of(id).isWhole(); });
    for (ValueId result : call.results)
      values[result.number] = areWhole ? Validity() : Validity::mixed();
  }

  void look(const Scan &scan) {
    size_t carried = scan.initial.size();
    std::vector<Validity> inputs(1 + carried + scan.captured.size());
    for (size_t k = 0; k < carried; ++k)
      inputs[1 + k] = of(scan.initial[k]);
    for (size_t k = 0; k < scan.captured.size(); ++k)
      inputs[1 + carried + k] = of(scan.captured[k]);
    std::vector<Validity> body;
    for (bool isStable = false; !isStable;) { // A state only ever goes from whole to mixed.
      isStable = true;
      body = te::validityOf(*scan.body, inputs, open, true);
      for (size_t k = 0; k < carried; ++k) {
        Validity joined = join(inputs[1 + k], body[scan.body->outputs[k].value.number]);
        isStable &= joined == inputs[1 + k];
        inputs[1 + k] = joined;
      }
    }
    for (size_t k = 0; k < scan.results.size(); ++k) {
      Validity validity = k < carried ? inputs[1 + k] : body[scan.body->outputs[k].value.number];
      validity.dimension += k >= carried && validity.isSteps();
      values[scan.results[k].number] = validity;
    }
  }

  static Validity join(Validity a, Validity b) {
    if (a == b || b.isWhole())
      return a;
    return a.isWhole() ? b : Validity::mixed();
  }

  struct StepRead {
    Index index;
    int64_t step;
  };

  /// The reads of values of which not all is valid; false where that is not enough to know.
  bool collectReads(const Expr &body, llvm::ArrayRef<Interval> ranges,
                    std::vector<StepRead> &reads) const {
    bool isKnown = true;
    body.walk([&](const Expr &part) {
      if (part.kind() != ExprKind::Read)
        return;
      for (const Index &index : part.readIndices())
        index.forEachData([&](const Expr &data) { isKnown &= isSafePlace(data); });
      Validity validity = of(part.readValue());
      isKnown &= !validity.isMixed();
      if (!validity.isSteps())
        return;
      const Index &index = part.readIndices()[validity.dimension];
      if (rangeOf(index, ranges).high >= validity.step * open.low)
        reads.push_back({index, validity.step});
    });
    return isKnown;
  }

  /// Whether data says a place inside of the tensor also where it belongs to no valid step.
  bool isSafePlace(const Expr &data) const {
    bool isSafe = true;
    data.walk([&](const Expr &part) {
      if (part.kind() == ExprKind::Read && !of(part.readValue()).isWhole())
        isSafe &= !isBody && program.value(part.readValue()).kind == ValueKind::Input;
    });
    return isSafe;
  }

  Validity validityOf(const Definition &definition) const {
    llvm::SmallVector<Interval> ranges = definition.ranges();
    std::vector<StepRead> reads;
    for (const Expr &body : definition.bodies)
      if (!collectReads(body, ranges, reads))
        return Validity::mixed();
    if (reads.empty())
      return {};
    for (auto [dimension, iterator] : llvm::enumerate(definition.parallel)) {
      int64_t extent = iterator.extent.constant(), each = extent / open.high;
      if (extent == 0 || extent % open.high != 0)
        continue;
      auto staysBehind = [&](const StepRead &read) {
        Interval distance = distanceFromStep(read.index, read.step, dimension, each, {0, each - 1},
                                             ranges, open.high);
        return distance.high < read.step;
      };
      if (llvm::all_of(reads, staysBehind))
        return Validity::steps(dimension, each);
    }
    return Validity::mixed();
  }

  const Program &program;
  const OpenDimension &open;
  bool isBody;
  std::vector<Validity> values;
};

} // namespace

std::vector<Validity> validityOf(const Program &program, llvm::ArrayRef<Validity> inputs,
                                 const OpenDimension &open, bool isBody) {
  return Analysis(program, inputs, open, isBody).run();
}

bool startsAtStep(const Index &position, llvm::ArrayRef<Extent> shape, const Validity &validity,
                  const CutRows &cut, llvm::ArrayRef<Interval> ranges, int64_t high) {
  Index index = delinearize(position, shape)[validity.dimension];
  Interval places = {0, cut.each - (cut.each % cut.piece == 0 ? cut.piece : 1)};
  return distanceFromStep(index, validity.step, cut.origin, cut.each, places, ranges, high).low >=
         0;
}

} // namespace kintsugi::te
