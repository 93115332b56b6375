#include "run_case.h"

#include "import/import.h"
#include "te/interpreter.h"

#include <cmath>

namespace kintsugi::import {
namespace {

constexpr std::string_view bindHint = "bind it with --bind ";

/// Imports, and binds inputs as long as the error asks for it.
Expected<te::Program> importBinding(const Bytes &model, const NpzReader &archive) {
  ImportOptions options;
  while (true) {
    Diagnostics diagnostics;
    Expected<te::Program> program = importOnnx(model, "case", "/nonexistent", options, diagnostics);
    if (program.ok())
      return program;
    const std::string &message = program.error().message;
    size_t hint = message.find(bindHint);
    if (hint == std::string::npos)
      return program.takeError();
    size_t start = hint + bindHint.size();
    std::string name = message.substr(start, message.find('=', start) - start);
    if (options.bound.count(name) || !archive.contains("in:" + name))
      return program.takeError();
    KINTSUGI_ASSIGN(Tensor value, archive.read("in:" + name));
    options.bound[name] = std::make_shared<Tensor>(std::move(value));
  }
}

Status compare(const std::string &name, const Tensor &actual, const Tensor &expected,
               double relative, double absolute) {
  if (actual.type() != expected.type() &&
      !(actual.type() == ElementType::BF16 && expected.type() == ElementType::U16))
    return inputError(name + " is " + std::string(nameOf(actual.type())) + ", not " +
                      std::string(nameOf(expected.type())));
  if (actual.shape() != expected.shape())
    return inputError(name + " has shape " + shapeString(actual.shape()) + ", not " +
                      shapeString(expected.shape()));
  TensorView wanted{actual.type(), expected.shape(), expected.bytes()};
  for (int64_t i = 0; i < actual.count(); ++i) {
    double a = loadDouble(actual.view(), i), e = loadDouble(wanted, i);
    bool equal = a == e || (std::isnan(a) && std::isnan(e)) ||
                 std::abs(a - e) <= absolute + relative * std::abs(e);
    if (!equal)
      return inputError(name + " at " + std::to_string(i) + " is " + std::to_string(a) +
                        " instead of " + std::to_string(e));
  }
  return Status::success();
}

} // namespace

Status runCase(const std::string &path) {
  KINTSUGI_ASSIGN(NpzReader archive, NpzReader::open(path));
  KINTSUGI_ASSIGN(Tensor model, archive.read("model"));
  KINTSUGI_ASSIGN(Tensor tolerance, archive.read("tol"));
  Bytes bytes{nullptr, std::as_const(model).bytes()};
  KINTSUGI_ASSIGN(te::Program program, importBinding(bytes, archive));
  std::vector<Tensor> inputs;
  std::vector<TensorView> views;
  for (te::ValueId id : program.inputs) {
    const te::Value &value = program.value(id);
    KINTSUGI_ASSIGN(Tensor input, archive.read("in:" + value.name));
    inputs.push_back(std::move(input));
  }
  for (size_t k = 0; k < inputs.size(); ++k) // NumPy has no bf16: its bits travel as u16.
    views.push_back({program.value(program.inputs[k]).type, inputs[k].shape(), inputs[k].bytes()});
  KINTSUGI_ASSIGN(std::vector<Tensor> outputs, te::interpret(program, views));
  for (size_t k = 0; k < outputs.size(); ++k) {
    std::string name = program.outputs[k].name;
    KINTSUGI_ASSIGN(Tensor expected, archive.read("out:" + name));
    KINTSUGI_RETURN_IF_ERROR(compare(name, outputs[k], expected, loadDouble(tolerance.view(), 0),
                                     loadDouble(tolerance.view(), 1)));
  }
  return Status::success();
}

} // namespace kintsugi::import
