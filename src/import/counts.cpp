#include "import/counts.h"

#include "import/builder.h"
#include "te/check.h"
#include "te/count.h"
#include "te/open_axis.h"
#include "te/same_at_size.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <set>

namespace kintsugi::import {

using te::Validity;

/// The first result that ends at a count.
static const calls::ResultType &countedType(const CountedCall &call) {
  return *llvm::find_if(call.types, [](auto &type) { return !type.counted.empty(); });
}

int64_t CountedCall::bound() const {
  const calls::ResultType &type = countedType(*this);
  return type.shape[type.counted.front().dimension];
}

ValueId CountedCall::count() const {
  return call.results[countedType(*this).counted.front().countResult];
}

namespace {

/// For each the model is imported a few times more.
constexpr size_t mostCalls = 64;

/// What its outputs need of a program, over all of its inputs.
te::Program neededPart(const te::Program &whole) {
  te::Subprogram part(whole,
                      [&](ValueId id) { return whole.value(id).kind == te::ValueKind::Constant; });
  for (ValueId input : whole.inputs)
    part[input];
  std::vector<bool> needed = te::neededNodes(whole);
  for (uint32_t node = 0; node < whole.nodes.size(); ++node)
    if (needed[node]) {
      part.program.currentOrigin = whole.origins[node];
      part.copy(node);
    }
  for (const te::Program::Output &output : whole.outputs) {
    ValueId value = part[output.value];
    part.program.addOutput(output.name, value);
  }
  return std::move(part.program);
}

/// Sizes at which the model is compared with itself: the small ones, where clipped ranges and
/// broadcasts differ, and some of the others. Importing knows no indices of empty tensors, so that
/// 0 is none of them.
llvm::SmallVector<int64_t> sizesBelow(int64_t greatest) {
  llvm::SmallVector<int64_t> sizes = {1, 2, 3, greatest / 2, greatest - 1};
  llvm::sort(sizes);
  sizes.erase(llvm::unique(sizes), sizes.end());
  llvm::erase_if(sizes, [&](int64_t size) { return size < 1 || size >= greatest; });
  return sizes;
}

class CountFinder {
public:
  CountFinder(CountedProgram imported, ImportAtSizes importAt)
      : program(std::move(imported.program)), calls(std::move(imported.calls)),
        numImported(program.outputs.size()), importAt(importAt) {
    for (const CountedCall &call : calls)
      bounds.push_back(call.bound() == 1 ? 2 : call.bound()); // One and none would not tell enough.
  }

  Expected<te::Program> run() {
    KINTSUGI_RETURN_IF_ERROR(importGreatest());
    for (unsigned call = 0; call < calls.size(); ++call)
      if (bounds[call] > 0)
        KINTSUGI_RETURN_IF_ERROR(follow(call));
    guardChecks();
    KINTSUGI_RETURN_IF_ERROR(countOutputs());
    return std::move(program);
  }

private:
  /// With the calls' operands as outputs behind the model's own. `numbers`: those that were known.
  Expected<te::Program> comparedAt(llvm::ArrayRef<int64_t> sizes,
                                   std::vector<int64_t> *numbers = nullptr) const {
    KINTSUGI_ASSIGN(CountedProgram at, importAt(sizes));
    if (numbers)
      *numbers = std::move(at.numbers);
    for (auto [number, call] : llvm::enumerate(at.calls))
      for (auto [place, operand] : llvm::enumerate(call.call.operands))
        at.program.addOutput("operand " + std::to_string(place) + " of " + std::to_string(number),
                             operand);
    return neededPart(at.program);
  }

  Status importGreatest() {
    Expected<te::Program> imported = comparedAt(bounds, &greatestNumbers);
    if (imported.ok()) {
      greatest = std::move(*imported);
      return Status::success();
    }
    unsigned raised = 0; // What the model's own sizes made did not fail.
    while (raised + 1 < calls.size() && bounds[raised] == calls[raised].bound())
      ++raised;
    return refused(raised, whereItGives(bounds[raised]) + ", " + imported.error().message);
  }

  static std::string whereItGives(int64_t size) { return "where it gives " + std::to_string(size); }

  Error refused(unsigned call, const std::string &why) const {
    return inputError("how many elements node '" + calls[call].node +
                      "' gives depends on data, and " + why +
                      ", which is not supported; end the model before that and go on behind the "
                      "run, or use a session with fallback='onnxruntime'");
  }

  /// What the number of one call's elements does to all values.
  Status follow(unsigned call) {
    KINTSUGI_ASSIGN(std::vector<Sized> smaller, smallerOnes(call));
    te::OpenInputs open = openAt(call);
    for (const Sized &each : smaller)
      open.smaller.push_back(&each.program);
    std::vector<Validity> known = te::validityOf(greatest, open);
    for (uint32_t node = 0; node < greatest.nodes.size(); ++node)
      for (ValueId result : greatest.resultsOf(node))
        if (known[result.number].isMixed())
          return refused(call, "node " + te::quotedNode(greatest, node) + " mixes them");
    KINTSUGI_RETURN_IF_ERROR(checkOperands(call, known));
    for (const Sized &each : smaller)
      KINTSUGI_RETURN_IF_ERROR(compare(call, each, known));
    KINTSUGI_ASSIGN(std::vector<int64_t> turns, turningPoints(call, smaller));
    for (int64_t size : turns) {
      KINTSUGI_ASSIGN(Sized each, smallerOne(call, size));
      KINTSUGI_RETURN_IF_ERROR(compare(call, each, known));
    }
    KINTSUGI_RETURN_IF_ERROR(compareWithNone(call, known));
    for (const te::Program::Output &output :
         llvm::ArrayRef(greatest.outputs).take_front(numImported))
      validity[call].push_back(known[output.value.number]);
    return Status::success();
  }

  /// Of no elements, where the model can be imported so, the outputs' shapes are compared, and what
  /// gives those of them that have elements all the same.
  Status compareWithNone(unsigned call, llvm::ArrayRef<Validity> known) const {
    std::vector<int64_t> sizes = bounds;
    sizes[call] = 0;
    Expected<te::Program> none = comparedAt(sizes);
    if (!none.ok())
      return Status::success();
    for (auto [output, empty] : llvm::zip(greatest.outputs, none->outputs)) {
      if (te::isReservedName(output.name))
        break;
      Shape wanted(greatest.shape(output.value));
      for (const te::OpenSteps &axis : known[output.value.number].axes)
        wanted[axis.dimension] = Extent(0);
      if (none->shape(empty.value) != llvm::ArrayRef(wanted))
        return refused(call, "output '" + output.name + "' is something else " + whereItGives(0));
    }
    if (auto why = differenceWithNone(call, *none))
      return refused(call, *why + " is something else " + whereItGives(0));
    return Status::success();
  }

  /// Of outputs that have elements where a call gives none, as in `none`: a model may choose others
  /// for that.
  std::optional<std::string> differenceWithNone(unsigned call, const te::Program &none) const {
    std::set<std::string> filled;
    for (const te::Program::Output &output : none.outputs)
      if (!te::isReservedName(output.name) &&
          !llvm::is_contained(none.shape(output.value), Extent(0)))
        filled.insert(output.name);
    auto whatFills = [&](te::Program program) {
      llvm::erase_if(program.outputs, [&](auto &output) { return !filled.contains(output.name); });
      return neededPart(program);
    };
    te::Program all = whatFills(greatest);
    te::OpenInputs open = openAt(call);
    return te::differenceAtSize(all, whatFills(none), te::validityOf(all, open), {}, open.dimension,
                                0, nullptr);
  }

  struct Sized {
    int64_t size;
    te::Program program;
    std::vector<int64_t> numbers; ///< That were known.
  };

  /// The model where one call gives less than it can.
  Expected<Sized> smallerOne(unsigned call, int64_t size) const {
    Sized result{size, {}, {}};
    std::vector<int64_t> sizes = bounds;
    sizes[call] = size;
    Expected<te::Program> at = comparedAt(sizes, &result.numbers);
    if (!at.ok())
      return refused(call, whereItGives(size) + ", " + at.error().message);
    result.program = std::move(*at);
    return result;
  }

  Expected<std::vector<Sized>> smallerOnes(unsigned call) const {
    std::vector<Sized> result;
    for (int64_t size : sizesBelow(bounds[call])) {
      KINTSUGI_ASSIGN(Sized each, smallerOne(call, size));
      result.push_back(std::move(each));
    }
    return result;
  }

  Status compare(unsigned call, const Sized &at, llvm::ArrayRef<Validity> known) const {
    if (auto why = te::differenceAtSize(greatest, at.program, known, {}, dimensionOf(call), at.size,
                                        nullptr))
      return refused(call, *why + " is something else " + whereItGives(at.size));
    return Status::success();
  }

  /// Further sizes to compare at: about where a known number, or the difference of two, is 0 if it
  /// is linear in the size. A model that decides by the size (whether it is 5, or more than 100)
  /// changes there.
  Expected<std::vector<int64_t>> turningPoints(unsigned call, llvm::ArrayRef<Sized> smaller) const {
    constexpr size_t most = 200;
    std::set<int64_t> turns;
    auto add = [&](const Sized &one, int64_t size, llvm::ArrayRef<int64_t> numbers) {
      if (one.numbers.size() != numbers.size())
        return; // Other nodes were looked at.
      for (auto [a, b] : llvm::zip_equal(one.numbers, numbers)) {
        double at = one.size - double(a) * double(size - one.size) / (double(b) - double(a));
        for (double offset : {-1.0, 0.0, 1.0}) // A comparison may include the point or not.
          if (double near = std::floor(at) + offset; near >= 1 && near < double(bounds[call]))
            turns.insert(int64_t(near));
      }
    };
    for (size_t k = 0; k + 1 < smaller.size(); ++k)
      add(smaller[k], smaller[k + 1].size, smaller[k + 1].numbers);
    if (!smaller.empty())
      add(smaller.back(), bounds[call], greatestNumbers);
    for (const Sized &each : smaller)
      turns.erase(each.size);
    if (turns.size() > most)
      return refused(call, "the model decides by it in more than " + std::to_string(most / 3) +
                               " places");
    return std::vector<int64_t>(turns.begin(), turns.end());
  }

  OpenDimension dimensionOf(unsigned call) const { return {calls[call].node, 0, bounds[call]}; }

  /// Inputs that stand for a call's results come behind the model's own, in order.
  te::OpenInputs openAt(unsigned call) const {
    te::OpenInputs open{dimensionOf(call), {}};
    open.takesAnyPlace = true;
    size_t numResults = 0;
    for (const CountedCall &each : calls)
      numResults += each.types.size();
    open.inputs.resize(greatest.inputs.size() - numResults);
    for (auto [number, each] : llvm::enumerate(calls))
      for (const calls::ResultType &type : each.types)
        open.inputs.push_back(number == call && !type.counted.empty()
                                  ? Validity::steps(type.counted.front().dimension, 1)
                                  : Validity());
    return open;
  }

  Status checkOperands(unsigned call, llvm::ArrayRef<Validity> known) const {
    auto output = greatest.outputs.begin() + numImported;
    for (const CountedCall &reader : calls)
      for (size_t k = 0; k < reader.call.operands.size(); ++k, ++output)
        if (!known[output->value.number].isWhole())
          return refused(call, "node '" + reader.node + "' looks at all of them");
    return Status::success();
  }

  llvm::ArrayRef<te::OpenSteps> axesOf(unsigned call, size_t output) const {
    auto found = validity.find(call);
    return found == validity.end() ? llvm::ArrayRef<te::OpenSteps>() : found->second[output].axes;
  }

  /// Where an element is none, a place that was computed of it is no error.
  void guardChecks() {
    Builder b(program);
    for (size_t k = 0; k < numImported; ++k) {
      if (!te::checkOf(program.outputs[k]))
        continue;
      for (unsigned call = 0; call < calls.size(); ++call)
        for (te::OpenSteps axis : axesOf(call, k)) {
          ValueId value = program.outputs[k].value;
          program.outputs[k].value =
              b.define(program.value(value).name + ".counted", b.shape(value), [&](Indices i) {
                return Expr::select(
                    te::isBelowSize(i[axis.dimension].floorDiv(axis.step), calls[call].count()),
                    b.read(value, i), Expr::literal(b.type(value), int64_t(0)));
              });
        }
    }
  }

  Status countOutputs() {
    for (size_t k = 0; k < numImported; ++k) {
      te::Program::Output output = program.outputs[k];
      if (te::checkOf(output))
        continue;
      std::map<unsigned, unsigned> deciding;
      for (unsigned call = 0; call < calls.size(); ++call)
        for (te::OpenSteps axis : axesOf(call, k)) {
          if (auto [other, isFirst] = deciding.try_emplace(axis.dimension, call); !isFirst)
            return refused(call, "output '" + output.name + "' has as many as node '" +
                                     calls[other->second].node +
                                     "' gives along the same dimension");
          if (bitsOf(program.value(output.value).type) < 8)
            return refused(call, "output '" + output.name + "' packs them into bytes");
          te::addCount(program, {axis.dimension, output.name}, extentOf(call, axis.step));
        }
    }
    return Status::success();
  }

  ValueId extentOf(unsigned call, int64_t step) {
    ValueId count = calls[call].count();
    if (step == 1)
      return count;
    program.currentOrigin = {calls[call].node};
    Builder b(program);
    ValueId extent = b.define(program.value(count).name + ".extent", {}, [&](Indices i) {
      return b.read(count, i) * Expr::literal(ElementType::I64, step);
    });
    program.currentOrigin.clear();
    return extent;
  }

  te::Program program;
  std::vector<CountedCall> calls;
  size_t numImported; ///< Outputs of the model, and checks.
  ImportAtSizes importAt;
  std::vector<int64_t> bounds;                        ///< What is compared at the most.
  te::Program greatest;                               ///< What is compared, at the bounds.
  std::vector<int64_t> greatestNumbers;               ///< That were known there.
  std::map<unsigned, std::vector<Validity>> validity; ///< By call, of the outputs.
};

} // namespace

Expected<te::Program> withCounts(CountedProgram imported, ImportAtSizes importAt) {
  if (imported.calls.size() > mostCalls)
    return inputError("data decide the size of what " + std::to_string(imported.calls.size()) +
                      " nodes give, from '" + imported.calls.front().node + "' on; more than " +
                      std::to_string(mostCalls) + " are too many");
  return CountFinder(std::move(imported), importAt).run();
}

} // namespace kintsugi::import
