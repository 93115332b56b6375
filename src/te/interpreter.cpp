#include "te/interpreter.h"

#include "calls/call.h"
#include "te/body.h"
#include "te/check.h"
#include "te/constant.h"
#include "te/count.h"
#include "te/reducer.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

namespace {

/// Steps `digits` through the box of `extents`, the last one fastest; false at the end, with all of
/// them back at 0.
bool advance(llvm::MutableArrayRef<int64_t> digits, llvm::ArrayRef<int64_t> extents) {
  for (size_t d = digits.size(); d-- > 0;) {
    if (++digits[d] < extents[d])
      return true;
    digits[d] = 0;
  }
  return false;
}

llvm::SmallVector<int64_t> extentsOf(llvm::ArrayRef<Iterator> iterators) {
  llvm::SmallVector<int64_t> extents;
  for (const Iterator &iterator : iterators)
    extents.push_back(iterator.extent.constant());
  return extents;
}

class Interpreter {
public:
  Interpreter(const Program &program, const CancelToken &cancel)
      : program(program), cancel(cancel), tensors(program.numValues()) {}

  Expected<std::vector<ExactTensor>> run(llvm::ArrayRef<ExactTensor> inputs) {
    KINTSUGI_RETURN_IF_ERROR(bindInputs(inputs));
    for (const Program::Output &output : program.outputs)
      if (std::optional<Check> check = checkOf(output))
        checks.emplace(output.value.number, *check);
    KINTSUGI_RETURN_IF_ERROR(checkValues(program.inputs));
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      for (ValueId operand : program.operandsOf(node))
        KINTSUGI_RETURN_IF_ERROR(loadIfConstant(operand));
      Status status = std::visit([&](const auto &n) { return execute(n); }, program.nodes[node]);
      if (!status.ok())
        return at("'" + program.value(program.resultsOf(node)[0]).name + "'", status.takeError());
      KINTSUGI_RETURN_IF_ERROR(checkValues(program.resultsOf(node)));
    }
    std::vector<ExactTensor> outputs;
    for (const Program::Output &output : modelOutputs(program)) {
      KINTSUGI_RETURN_IF_ERROR(loadIfConstant(output.value));
      outputs.push_back(*tensors[output.value.number]);
    }
    KINTSUGI_RETURN_IF_ERROR(cutToCounts(outputs));
    return outputs;
  }

private:
  using TensorRef = std::shared_ptr<const ExactTensor>;

  /// Leaves out what lies behind the counts of the model's outputs.
  Status cutToCounts(std::vector<ExactTensor> &outputs) {
    std::vector<Program::Output> ofModel = modelOutputs(program);
    for (const Program::Output &output : program.outputs) {
      std::optional<Count> count = countOf(output);
      if (!count)
        continue;
      auto found = llvm::find_if(
          ofModel, [&](const Program::Output &each) { return each.name == count->output; });
      KINTSUGI_RETURN_IF_ERROR(loadIfConstant(output.value));
      int64_t extent = tensors[output.value.number]->integers.front();
      ExactTensor &tensor = outputs[found - ofModel.begin()];
      if (extent < 0 || extent > tensor.shape[count->dimension])
        return inputError("output '" + count->output + "' has " + std::to_string(extent) +
                          " elements along a dimension of " +
                          std::to_string(tensor.shape[count->dimension]));
      tensor = tensor.first(extent, count->dimension);
    }
    return Status::success();
  }

  Status bindInputs(llvm::ArrayRef<ExactTensor> inputs) {
    if (inputs.size() != program.inputs.size())
      return inputError(std::to_string(inputs.size()) + " inputs are given; the program has " +
                        std::to_string(program.inputs.size()));
    for (auto [id, tensor] : llvm::zip(program.inputs, inputs)) {
      const Value &value = program.value(id);
      if (tensor.type != value.type || tensor.shape != plainShape(value.shape))
        return inputError("input '" + value.name + "' is given as " +
                          std::string(nameOf(tensor.type)) + shapeString(tensor.shape) +
                          "; the program takes " + std::string(nameOf(value.type)) +
                          shapeString(plainShape(value.shape)));
      // The caller keeps the inputs alive.
      tensors[id.number] = TensorRef(TensorRef(), &tensor);
    }
    return Status::success();
  }

  /// Ahead of what reads them: a gather would say less of what is wrong.
  Status checkValues(llvm::ArrayRef<ValueId> values) const {
    for (ValueId id : values)
      for (auto [at, end] = checks.equal_range(id.number); at != end; ++at) {
        const std::vector<int64_t> &elements = tensors[id.number]->integers;
        std::optional<int64_t> wrong = findOutside(at->second, elements.size(),
                                                   [&](int64_t place) { return elements[place]; });
        if (wrong)
          return at->second.error(*wrong);
      }
    return Status::success();
  }

  Status loadIfConstant(ValueId id) {
    const Value &value = program.value(id);
    if (value.kind != ValueKind::Constant || tensors[id.number])
      return Status::success();
    KINTSUGI_ASSIGN(Tensor tensor, loadConstant(value));
    KINTSUGI_ASSIGN(ExactTensor exact, ExactTensor::from(tensor.view()));
    tensors[id.number] = std::make_shared<const ExactTensor>(std::move(exact));
    return Status::success();
  }

  Expected<std::vector<ExactTensor>> allocate(llvm::ArrayRef<ValueId> results) {
    std::vector<ExactTensor> list;
    for (ValueId id : results) {
      KINTSUGI_ASSIGN(ExactTensor tensor,
                      ExactTensor::create(program.value(id).type, plainShape(program.shape(id))));
      list.push_back(std::move(tensor));
    }
    return list;
  }

  void bind(llvm::ArrayRef<ValueId> results, std::vector<ExactTensor> list) {
    for (auto [id, tensor] : llvm::zip(results, list))
      tensors[id.number] = std::make_shared<const ExactTensor>(std::move(tensor));
  }

  Status execute(const Definition &definition) {
    for (const Expr &body : definition.bodies)
      for (ValueId id : readsOf(body))
        if (!tensors[id.number])
          return inputError("reads '" + program.value(id).name + "', which was not computed");
    KINTSUGI_ASSIGN(std::vector<ExactTensor> results, allocate(definition.results));
    auto tensorOf = [&](ValueId id) { return tensors[id.number].get(); };
    Body body(program, definition, tensorOf);
    KINTSUGI_RETURN_IF_ERROR(definition.reduction ? reduce(definition, body, results)
                                                  : map(definition, body, results[0]));
    bind(definition.results, std::move(results));
    return Status::success();
  }

  /// Errors are looked for, and a request to stop, once in so many points.
  static constexpr uint64_t pointsBetweenChecks = 4096;

  Status check(const Body &body) const {
    if (cancel.cancelled())
      return machineError("stopped");
    return body.status();
  }

  Status map(const Definition &definition, Body &body, ExactTensor &result) {
    llvm::SmallVector<int64_t> extents = extentsOf(definition.parallel);
    for (int64_t place = 0, count = result.count(); place < count; ++place) {
      if (isFloat(result.type))
        result.floats[place] = body.floatValue(0);
      else
        result.integers[place] = body.integerValue(0);
      advance(body.point(), extents);
      body.advance();
      if (place % pointsBetweenChecks == 0)
        KINTSUGI_RETURN_IF_ERROR(check(body));
    }
    return check(body);
  }

  Status reduce(const Definition &definition, Body &body, std::vector<ExactTensor> &results) {
    llvm::SmallVector<int64_t> outer = extentsOf(definition.parallel);
    llvm::SmallVector<int64_t> inner = extentsOf(definition.reduction->iterators);
    auto point = body.point();
    auto outerPoint = point.take_front(outer.size()), innerPoint = point.drop_front(outer.size());
    bool isEmpty = llvm::is_contained(inner, 0);
    Reducer reducer(*definition.reduction, body);
    uint64_t steps = 0;
    for (int64_t place = 0, count = results[0].count(); place < count; ++place) {
      reducer.start();
      for (bool more = !isEmpty; more; more = advance(innerPoint, inner)) {
        body.advance();
        reducer.step();
        if (++steps % pointsBetweenChecks == 0)
          KINTSUGI_RETURN_IF_ERROR(check(body));
      }
      reducer.finish(results, place);
      advance(outerPoint, outer);
    }
    return check(body);
  }

  Status execute(const Scan &scan) {
    std::vector<ExactTensor> arguments(1);
    arguments[0] = {ElementType::I64, {}, {}, {0}};
    size_t carried = scan.initial.size();
    for (ValueId id : llvm::concat<const ValueId>(scan.initial, scan.captured))
      arguments.push_back(*tensors[id.number]);
    KINTSUGI_ASSIGN(std::vector<ExactTensor> results, allocate(scan.results));
    for (int64_t step = 0; step < scan.trip.constant(); ++step) {
      if (scan.goesOnWhile && bool(arguments[1].integers[0]) != *scan.goesOnWhile)
        break;
      arguments[0].integers[0] = step;
      Expected<std::vector<ExactTensor>> outputs = evaluate(*scan.body, arguments, cancel);
      if (!outputs.ok())
        return at("step " + std::to_string(step), outputs.takeError());
      for (size_t i = 0; i < carried; ++i)
        arguments[1 + i] = std::move((*outputs)[i]);
      for (size_t i = carried; i < outputs->size(); ++i)
        stack((*outputs)[i], results[i], step);
    }
    for (size_t i = 0; i < carried; ++i)
      results[i] = std::move(arguments[1 + i]);
    bind(scan.results, std::move(results));
    return Status::success();
  }

  static void stack(const ExactTensor &slice, ExactTensor &whole, int64_t step) {
    llvm::copy(slice.floats, whole.floats.begin() + step * slice.floats.size());
    llvm::copy(slice.integers, whole.integers.begin() + step * slice.integers.size());
  }

  /// Operands and results are rounded to their types: a call works on bytes.
  Status execute(const Call &call) {
    std::vector<Tensor> operands, results;
    for (ValueId id : call.operands) {
      KINTSUGI_ASSIGN(Tensor tensor, tensors[id.number]->rounded());
      operands.push_back(std::move(tensor));
    }
    std::vector<calls::ResultView> resultViews;
    for (ValueId id : call.results) {
      const Value &value = program.value(id);
      KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(value.type, plainShape(value.shape)));
      results.push_back(std::move(tensor));
    }
    for (Tensor &result : results)
      resultViews.push_back({result.type(), result.shape(), result.bytes()});
    std::vector<TensorView> views;
    for (const Tensor &operand : operands)
      views.push_back(operand.view());
    KINTSUGI_RETURN_IF_ERROR(calls::run(call.callee, views, call.attributes, resultViews));
    std::vector<ExactTensor> exact;
    for (const Tensor &result : results) {
      KINTSUGI_ASSIGN(ExactTensor tensor, ExactTensor::from(result.view()));
      exact.push_back(std::move(tensor));
    }
    bind(call.results, std::move(exact));
    return Status::success();
  }

  const Program &program;
  const CancelToken &cancel;
  std::vector<TensorRef> tensors;
  std::multimap<uint32_t, Check> checks; ///< By the value's number.
};

} // namespace

Expected<std::vector<ExactTensor>>
evaluate(const Program &program, llvm::ArrayRef<ExactTensor> inputs, const CancelToken &cancel) {
  return Interpreter(program, cancel).run(inputs);
}

Expected<std::vector<Tensor>> interpret(const Program &program, llvm::ArrayRef<TensorView> inputs,
                                        const CancelToken &cancel) {
  std::vector<ExactTensor> exact;
  for (const TensorView &input : inputs) {
    KINTSUGI_ASSIGN(ExactTensor tensor, ExactTensor::from(input));
    exact.push_back(std::move(tensor));
  }
  KINTSUGI_ASSIGN(std::vector<ExactTensor> results, evaluate(program, exact, cancel));
  std::vector<Tensor> outputs;
  for (const ExactTensor &result : results) {
    KINTSUGI_ASSIGN(Tensor tensor, result.rounded());
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

} // namespace kintsugi::te
