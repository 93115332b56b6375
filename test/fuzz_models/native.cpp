//===- native.cpp - What the generator of random models asks of the compiler ------------------===//
//
// A module for Python (test/fuzz_models/*.py): which operators are imported, what a model means (by
// the interpreter, in double), compiling, and running each code of an artifact on so many threads.
// The package `kintsugi` is for users and has the C interface only.
//
//===----------------------------------------------------------------------===//

#include "api/runtime/runtime_api.h"
#include "import/import.h"
#include "import/registry.h"
#include "kintsugi/compiler.h"
#include "machine/machine.h"
#include "te/interpreter.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <stdexcept>

namespace nb = nanobind;
using namespace kintsugi;

namespace {

/// An error as (exit code of the command line, message).
struct Failure : std::runtime_error {
  Failure(int status, const std::string &message)
      : std::runtime_error(std::to_string(status) + " " + message) {}
};

void check(const Status &status) {
  if (!status.ok())
    throw Failure(int(status.error().kind), status.error().message);
}

template <typename T> T take(Expected<T> expected) {
  check(expected.status());
  return std::move(*expected);
}

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

nb::list operators() {
  nb::list result;
  for (const import::Operator *entry : import::allOperators())
    result.append(nb::make_tuple(entry->domain, entry->name, entry->since));
  return result;
}

/// The array of kin_rules() as JSON.
std::string rules() {
  KinText *text = nullptr;
  KinError *error = nullptr;
  KinStatus status = kin_rules(&text, &error);
  std::unique_ptr<KinText, decltype(&kin_text_free)> owned(text, kin_text_free);
  std::unique_ptr<KinError, decltype(&kin_error_free)> problem(error, kin_error_free);
  if (status != KIN_OK)
    throw Failure(status, kin_error_message(error));
  return kin_text_data(text);
}

/// The levels whose code this processor runs, the lesser first.
std::vector<std::string> levels() {
  std::vector<std::string> result;
  machine::Level own = *machine::levelOf(machine::Machine::detect().level);
  for (machine::Level level : {machine::Level::V3, machine::Level::V4})
    if (machine::checkRuns(own, level).ok())
      result.push_back(std::string(machine::nameOf(level)));
  return result;
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;

template <typename T> nb::object arrayOf(std::vector<T> values, std::vector<int64_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T *data = owned->data();
  nb::capsule owner(owned.release(),
                    [](void *memory) noexcept { delete static_cast<std::vector<T> *>(memory); });
  std::vector<size_t> extents(shape.begin(), shape.end());
  return nb::ndarray<nb::numpy, T>(data, extents.size(), extents.data(), owner).cast();
}

std::vector<int64_t> shapeOf(const Input &array) {
  std::vector<int64_t> shape;
  for (size_t d = 0; d < array.ndim(); ++d)
    shape.push_back(int64_t(array.shape(d)));
  return shape;
}

//===----------------------------------------------------------------------===//
// The meaning of a model
//===----------------------------------------------------------------------===//

/// The outputs of a model as its expressions say, computed in double: arrays of f64, or of i64
/// where the model has integers or booleans.
nb::list interpret(const std::string &path, const std::vector<Input> &feeds) {
  std::vector<te::ExactTensor> results;
  {
    std::vector<std::vector<int64_t>> shapes;
    for (const Input &feed : feeds)
      shapes.push_back(shapeOf(feed));
    nb::gil_scoped_release release;
    Diagnostics diagnostics;
    te::Program program = take(import::importOnnx(path, {}, diagnostics));
    if (program.inputs.size() != feeds.size())
      throw Failure(KIN_USAGE, "the model has " + std::to_string(program.inputs.size()) +
                                   " inputs, not " + std::to_string(feeds.size()));
    std::vector<te::ExactTensor> inputs;
    for (size_t i = 0; i < feeds.size(); ++i) {
      std::span bytes(static_cast<const std::byte *>(feeds[i].data()), feeds[i].nbytes());
      ElementType type = program.value(program.inputs[i]).type;
      inputs.push_back(take(te::ExactTensor::from({type, shapes[i], bytes})));
    }
    results = take(te::evaluate(program, inputs));
  }
  nb::list outputs;
  for (te::ExactTensor &result : results)
    outputs.append(isFloat(result.type) ? arrayOf(std::move(result.floats), result.shape)
                                        : arrayOf(std::move(result.integers), result.shape));
  return outputs;
}

//===----------------------------------------------------------------------===//
// Compiling and running
//===----------------------------------------------------------------------===//

std::string compile(const std::string &model, const std::string &artifact,
                    const std::string &json) {
  nb::gil_scoped_release release;
  KinCompilerOptions options = {sizeof(options), json.c_str(), nullptr, nullptr};
  KinText *text = nullptr;
  KinError *error = nullptr;
  KinStatus status = kin_compile(model.c_str(), artifact.c_str(), &options, &text, &error);
  std::unique_ptr<KinText, decltype(&kin_text_free)> owned(text, kin_text_free);
  std::unique_ptr<KinError, decltype(&kin_error_free)> problem(error, kin_error_free);
  if (status != KIN_OK)
    throw Failure(status, kin_error_message(error));
  return kin_text_data(text);
}

/// One code of an artifact, loaded, with a context for each number of threads that was asked for.
class Loaded {
public:
  Loaded(const std::string &path, const std::string &deviceName, const std::string &variant) {
    auto device = take(api::findDevice(deviceName));
    runtime::ReadOptions options;
    options.variant = variant;
    model = take(runtime::Model::load(path, device, options));
  }

  Loaded(const Loaded &) = delete;
  Loaded &operator=(const Loaded &) = delete;

  /// (name, number of the type, shape or bounds) of each port.
  nb::list inputs() const { return describe(model->manifest().inputs); }
  nb::list outputs() const { return describe(model->manifest().outputs); }

  /// Runs on all inputs and outputs, in the model's order; gives the shapes of the outputs.
  std::vector<std::vector<int64_t>> run(unsigned threads, const std::vector<Input> &inputs,
                                        const std::vector<Output> &outputs) {
    const runtime::Manifest &manifest = model->manifest();
    if (inputs.size() != manifest.inputs.size() || outputs.size() != manifest.outputs.size())
      throw Failure(KIN_USAGE, "as many arrays as the model has inputs and outputs are needed");
    std::vector<std::vector<int64_t>> extents, shapes;
    std::vector<runtime::InputTensor> from;
    std::vector<runtime::OutputTensor> to;
    for (const Input &array : inputs)
      extents.push_back(shapeOf(array));
    for (const runtime::Port &port : manifest.outputs)
      shapes.push_back(port.shape);
    for (size_t i = 0; i < inputs.size(); ++i)
      from.push_back({manifest.inputs[i].name, manifest.inputs[i].type, extents[i],
                      static_cast<const std::byte *>(inputs[i].data()), inputs[i].nbytes()});
    for (size_t i = 0; i < outputs.size(); ++i)
      to.push_back({manifest.outputs[i].name, static_cast<std::byte *>(outputs[i].data()),
                    outputs[i].nbytes(), shapes[i]});
    nb::gil_scoped_release release;
    check(contextFor(threads).run(from, to, {}));
    return shapes;
  }

private:
  static nb::list describe(const std::vector<runtime::Port> &ports) {
    nb::list result;
    for (const runtime::Port &port : ports)
      result.append(nb::make_tuple(port.name, int(toInt(port.type)), nb::cast(port.shape)));
    return result;
  }

  runtime::Context &contextFor(unsigned threads) {
    std::unique_ptr<runtime::Context> &context = contexts[threads];
    if (!context) {
      runtime::ContextOptions options;
      options.threads = threads;
      context = take(runtime::Context::create(model, options));
    }
    return *context;
  }

  std::shared_ptr<const runtime::Model> model;
  std::map<unsigned, std::unique_ptr<runtime::Context>> contexts;
};

} // namespace

NB_MODULE(kintsugi_fuzz, m) {
  nb::exception<Failure>(m, "Failure");
  m.def("operators", &operators);
  m.def("levels", &levels);
  m.def("rules", &rules);
  m.def("interpret", &interpret, nb::arg("path"), nb::arg("feeds").noconvert());
  m.def("compile", &compile);
  nb::class_<Loaded>(m, "Loaded")
      .def(nb::init<const std::string &, const std::string &, const std::string &>())
      .def("inputs", &Loaded::inputs)
      .def("outputs", &Loaded::outputs)
      .def("run", &Loaded::run, nb::arg("threads"), nb::arg("inputs").noconvert(),
           nb::arg("outputs").noconvert());
}
