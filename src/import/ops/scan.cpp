//===- scan.cpp - Scan: a body for each element of sequences -------------------===//
//
// The number of elements is known: as a loop's, the body is unrolled where that makes few nodes,
// so that rules and the search see all steps at once. Others become a scan of the program.
//
//===----------------------------------------------------------------------===//

#include "import/ops/decisions.h"
#include "import/ops/families.h"
#include "import/ops/join.h"
#include "import/ops/loop.h"
#include "import/scan_body.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

/// How the sequences of a node run: inputs or outputs of the body.
struct Sequences {
  llvm::SmallVector<int64_t> axes;
  llvm::SmallVector<bool> areReversed;
};

Expected<Sequences> sequencesOf(OpContext &c, llvm::StringRef which, size_t count) {
  std::string axes = "scan_" + which.str() + "_axes";
  std::string directions = "scan_" + which.str() + "_directions";
  Sequences result;
  std::vector<int64_t> givenAxes = c.integers(axes), given = c.integers(directions);
  for (auto [name, values] : {std::pair(&axes, &givenAxes), std::pair(&directions, &given)})
    if (!values->empty() && values->size() != count)
      return c.error("its attribute '" + *name + "' has " + llvm::Twine(values->size()) +
                     " numbers for " + llvm::Twine(count) + " " + which + "s");
  for (size_t k = 0; k < count; ++k) {
    int64_t direction = given.empty() ? 0 : given[k];
    if (direction != 0 && direction != 1)
      return c.error("its attribute '" + directions + "' has " + llvm::Twine(direction) +
                     ", but must be 0 or 1");
    result.axes.push_back(givenAxes.empty() ? 0 : givenAxes[k]);
    result.areReversed.push_back(direction == 1);
  }
  return result;
}

/// An element of a sequence, without the dimension along which it stands.
ValueId elementOf(OpContext &c, std::string name, ValueId sequence, unsigned axis,
                  const Index &place) {
  Shape shape(c.shape(sequence).begin(), c.shape(sequence).end());
  shape.erase(shape.begin() + axis);
  return c.view(std::move(name), sequence, shape, [&](Indices i) {
    llvm::SmallVector<Index> map(i.begin(), i.end());
    map.insert(map.begin() + axis, place);
    return map;
  });
}

class Scanner {
public:
  explicit Scanner(OpContext &c) : c(c) {}

  Status run() {
    KINTSUGI_RETURN_IF_ERROR(readNode());
    KINTSUGI_ASSIGN(bool isScan, roll());
    return isScan ? Status::success() : unroll();
  }

private:
  /// As a scan; false where that can't be or is not worth it.
  Expected<bool> roll() {
    std::vector<Binding> state;
    for (unsigned k = 0; k < states; ++k)
      state.push_back(c.binding(k));
    if (steps == 0 || !llvm::all_of(state, isTensor) || !c.importer.mayBeBody(*body))
      return false;
    ScanBody scan(c);
    std::vector<ValueId> next, stacked;
    for (Binding &one : state)
      one.tensor = scan.carry(*one.tensor);
    Index here = c.gather(scan.step(), {});
    Expected<std::vector<Binding>> results =
        c.importer.importSubgraph(*body, arguments(state, here));
    bool isBody = results.ok() && llvm::all_of(*results, isTensor);
    if (isBody) {
      for (auto [k, result] : llvm::enumerate(*results))
        (k < states ? next : stacked).push_back(*result.tensor);
      isBody = scan.carries(next);
    }
    if (!isBody)
      c.importer.isNoBody(*body);
    if (!isBody || isUnrolled(steps, scan.numNodes()))
      return false;
    std::optional<ScanBody::Results> made = scan.finish(steps, next, stacked, std::nullopt);
    if (!made) {
      c.importer.isNoBody(*body);
      return false;
    }
    for (const CheckedTensor &checked : made->checks)
      c.importer.require(checked);
    for (unsigned k = 0; k < states; ++k)
      c.output(k, made->carried[k]);
    KINTSUGI_RETURN_IF_ERROR(outputStacks(made->stacks));
    return true;
  }

  /// What a scan stacks goes along its axis, and the way that it says.
  Status outputStacks(llvm::ArrayRef<ValueId> made) {
    for (auto [k, all] : llvm::enumerate(made)) {
      if (!c.hasOutput(states + k))
        continue;
      KINTSUGI_ASSIGN(unsigned axis, c.axis(outputs.axes[k], c.rank(all)));
      Shape shape(c.shape(all).drop_front());
      shape.insert(shape.begin() + axis, Extent(steps));
      c.output(states + k, c.view(c.name(states + k), all, shape, [&, k = k](Indices i) {
        Index step = outputs.areReversed[k] ? Index(steps - 1) - i[axis] : i[axis];
        llvm::SmallVector<Index> map{step};
        map.append(i.begin(), i.begin() + axis);
        map.append(i.begin() + axis + 1, i.end());
        return map;
      }));
    }
    return Status::success();
  }

  /// Of a step, with the elements of the sequences at its place.
  std::vector<Binding> arguments(std::vector<Binding> state, const Index &step) {
    for (auto [k, sequence] : llvm::enumerate(sequences)) {
      Index place = inputs.areReversed[k] ? Index(steps - 1) - step : step;
      ValueId element = elementOf(c, c.name() + ".element", sequence, axes[k], place);
      state.push_back({element, {}, {}});
    }
    return state;
  }

  Status unroll() {
    if (steps > mostTrips)
      return c.error("its sequences have more than " + llvm::Twine(mostTrips) + " elements");
    std::vector<Binding> state;
    for (unsigned k = 0; k < states; ++k)
      state.push_back(c.binding(k));
    for (int64_t step = 0; step < steps; ++step) {
      KINTSUGI_ASSIGN(auto results,
                      c.importer.importSubgraph(*body, arguments(state, Index(step))));
      state.assign(results.begin(), results.begin() + states);
      for (auto [made, result] : llvm::zip_equal(stacks, llvm::drop_begin(results, states))) {
        if (!result.tensor)
          return c.error("it stacks something that is not a tensor");
        made.push_back(*result.tensor);
      }
    }
    for (unsigned k = 0; k < states; ++k)
      c.outputBinding(k, state[k]);
    return stack();
  }

  Status readNode() {
    KINTSUGI_ASSIGN(body, c.graph("body"));
    int64_t count = c.integer("num_scan_inputs", 0);
    if (count < 1 || count > c.numInputs())
      return c.error("its attribute 'num_scan_inputs' is " + llvm::Twine(count) + ", but it has " +
                     llvm::Twine(c.numInputs()) + " inputs");
    states = c.numInputs() - count;
    if (body->inputs.size() != c.numInputs() || body->outputs.size() != c.numOutputs() ||
        body->outputs.size() < states)
      return c.error("its body does not have the inputs and outputs that it has");
    KINTSUGI_ASSIGN(inputs, sequencesOf(c, "input", count));
    KINTSUGI_ASSIGN(outputs, sequencesOf(c, "output", c.numOutputs() - states));
    stacks.resize(c.numOutputs() - states);
    return readSequences();
  }

  Status readSequences() {
    for (auto [k, given] : llvm::enumerate(inputs.axes)) {
      if (!c.hasInput(states + k))
        return c.error("input " + llvm::Twine(states + k + 1) + " must be given, and be a tensor");
      ValueId sequence = c.input(states + k);
      KINTSUGI_ASSIGN(unsigned axis, c.axis(given, c.rank(sequence)));
      int64_t extent = c.extent(sequence, axis);
      if (k > 0 && extent != steps)
        return c.error("its sequences have " + llvm::Twine(steps) + " and " + llvm::Twine(extent) +
                       " elements, but must have as many");
      steps = extent;
      axes.push_back(axis);
      sequences.push_back(sequence);
    }
    return Status::success();
  }

  Status stack() {
    for (auto [k, parts] : llvm::enumerate(stacks)) {
      if (!c.hasOutput(states + k))
        continue;
      if (parts.empty())
        return c.error("its sequences are empty, so that the shape of what it stacks is unknown");
      if (outputs.areReversed[k])
        std::reverse(parts.begin(), parts.end());
      KINTSUGI_ASSIGN(unsigned axis, c.axis(outputs.axes[k], c.rank(parts[0]) + 1));
      KINTSUGI_ASSIGN(ValueId all, stacked(c, c.name(states + k), parts, axis));
      c.output(states + k, all);
    }
    return Status::success();
  }

  OpContext &c;
  const Graph *body = nullptr;
  unsigned states = 0; ///< The first inputs and outputs: what is carried from step to step.
  int64_t steps = 0;
  Sequences inputs, outputs;
  llvm::SmallVector<ValueId> sequences;
  llvm::SmallVector<unsigned> axes;
  std::vector<std::vector<ValueId>> stacks;
};

Status scan(OpContext &c) { return Scanner(c).run(); }

/// Which had a dimension for the batch, and lengths.
Status batchedScan(OpContext &c) {
  return c.error("Scan of operator sets below 9 is not supported; convert the model to a newer one "
                 "with onnx.version_converter");
}

} // namespace

OperatorTable scanOperators() {
  static const Operator table[] = {
      {"Scan", 8, 1, batchedScan, "", Elements::Any},
      {"Scan", 9, 1, scan, "", Elements::Any},
  };
  return table;
}

} // namespace kintsugi::import
