//===- module.cpp - The C API for Python ------------------------------------===//
//
// As little as the package kintsugi (kintsugi/__init__.py) needs: compiling to a file, and running
// on memory that is given. Types, shapes and names are the package's business.
//
//===----------------------------------------------------------------------===//

#include "abi/artifact.h"
#include "kintsugi/compiler.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <variant>

namespace nb = nanobind;

namespace {

/// Who has to act decides the Python class of an error.
template <KinStatus> struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Files' names may be no UTF-8, which what Python raises has to be.
std::string printable(const char *message) {
  nb::object text = nb::steal(
      PyUnicode_DecodeUTF8(message, Py_ssize_t(std::strlen(message)), "backslashreplace"));
  return text.is_valid() ? nb::cast<std::string>(text) : message;
}

/// Paths come as bytes: they are no UTF-8.
std::string pathOf(const nb::bytes &path) { return {path.c_str(), path.size()}; }

/// Calls a function of the C API, which other Python threads may do at the same time.
template <typename Call> void check(Call call) {
  KinError *error = nullptr;
  KinStatus status;
  {
    nb::gil_scoped_release release;
    status = call(&error);
  }
  std::string message = printable(error ? kin_error_message(error) : "");
  kin_error_free(error);
  switch (status) {
  case KIN_OK:
    return;
  case KIN_USAGE:
    throw Failure<KIN_USAGE>(message);
  case KIN_INPUT:
    throw Failure<KIN_INPUT>(message);
  case KIN_MACHINE:
    throw Failure<KIN_MACHINE>(message);
  default:
    throw Failure<KIN_INTERNAL>(message);
  }
}

/// Calls what gives a text.
template <typename Call> std::string textOf(Call call) {
  KinText *text = nullptr;
  check([&](KinError **error) { return call(&text, error); });
  std::unique_ptr<KinText, decltype(&kin_text_free)> owned(text, kin_text_free);
  return kin_text_data(text);
}

/// Calls what reports about a compilation; gives the report.
template <typename Call> std::string report(const std::string &json, Call call) {
  KinCompilerOptions options = {sizeof(options), json.c_str(), nullptr, nullptr};
  return textOf([&](KinText **text, KinError **error) { return call(&options, text, error); });
}

std::string prepare(const nb::bytes &path, const std::string &json) {
  std::string model = pathOf(path);
  return report(json, [&](const KinCompilerOptions *options, KinText **text, KinError **error) {
    return kin_prepare(model.c_str(), options, text, error);
  });
}

std::string compile(const nb::bytes &path, const nb::bytes &result, const std::string &json) {
  std::string model = pathOf(path), artifact = pathOf(result);
  return report(json, [&](const KinCompilerOptions *options, KinText **text, KinError **error) {
    return kin_compile(model.c_str(), artifact.c_str(), options, text, error);
  });
}

/// What each node asks for, or why it is refused.
std::string survey(const nb::bytes &path, const std::string &json) {
  std::string model = pathOf(path);
  return report(json, [&](const KinCompilerOptions *options, KinText **text, KinError **error) {
    return kin_survey(model.c_str(), options, text, error);
  });
}

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;
using Anywhere = nb::ndarray<nb::c_contig>;

/// The number of a DLPack type; KIN_TYPE_ANY for one that no tensor has.
int32_t typeOf(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  struct Known {
    Code code;
    int bits;
    KinType type;
  };
  static constexpr Known all[] = {
      {Code::Float, 16, KIN_TYPE_F16},    {Code::Float, 32, KIN_TYPE_F32},
      {Code::Float, 64, KIN_TYPE_F64},    {Code::Bfloat, 16, KIN_TYPE_BF16},
      {Code::Int, 8, KIN_TYPE_I8},        {Code::Int, 16, KIN_TYPE_I16},
      {Code::Int, 32, KIN_TYPE_I32},      {Code::Int, 64, KIN_TYPE_I64},
      {Code::UInt, 8, KIN_TYPE_U8},       {Code::UInt, 16, KIN_TYPE_U16},
      {Code::UInt, 32, KIN_TYPE_U32},     {Code::UInt, 64, KIN_TYPE_U64},
      {Code::Bool, 8, KIN_TYPE_BOOL},     {Code::Complex, 64, KIN_TYPE_C64},
      {Code::Complex, 128, KIN_TYPE_C128}};
  for (const Known &known : all)
    if (type.code == uint8_t(known.code) && type.bits == known.bits && type.lanes == 1)
      return known.type;
  return KIN_TYPE_ANY;
}

/// Memory of an input or output, wherever it is.
struct Tensor {
  std::variant<std::monostate, Input, Anywhere> owner; ///< None: the caller keeps the memory.
  void *data;
  int32_t type;
  std::vector<int64_t> shape;
  uint64_t bytes;
  bool isOnGpu = false; ///< As who knows only its address says.

  /// The caller keeps the array's memory, whose elements are what `type` says.
  template <typename Array> static Tensor ofMemory(const Array &array, int32_t type) {
    // Inputs are only read.
    Tensor tensor{
        {}, const_cast<void *>(static_cast<const void *>(array.data())), type, {}, array.nbytes()};
    for (size_t d = 0; d < array.ndim(); ++d)
      tensor.shape.push_back(int64_t(array.shape(d)));
    return tensor;
  }

  static Tensor ofDlpack(const Anywhere &array) {
    Tensor tensor = ofMemory(array, typeOf(array.dtype()));
    tensor.owner = array;
    return tensor;
  }

  static Tensor ofArray(const Input &array, int32_t type) {
    Tensor tensor = ofMemory(array, type);
    tensor.owner = array;
    return tensor;
  }

  KinTensor view() { return {nullptr, type, int32_t(shape.size()), shape.data(), data, bytes}; }
};

/// What is known of the machine and its devices, as JSON.
std::string machine() {
  return textOf([](KinText **text, KinError **error) { return kin_machine("show", text, error); });
}

/// An artifact, loaded and ready to run.
class Session {
public:
  Session(const nb::bytes &path, uint32_t threads, const std::string &device)
      : model(nullptr, kin_model_free), context(nullptr, kin_context_free) {
    std::string artifact = pathOf(path);
    KinModel *loaded = nullptr;
    KinLoadOptions where = {sizeof(where), 0, device.c_str()};
    check(
        [&](KinError **error) { return kin_model_load(artifact.c_str(), &where, &loaded, error); });
    model.reset(loaded);
    KinContextOptions options = {sizeof(options), threads, 0};
    KinContext *created = nullptr;
    check([&](KinError **error) { return kin_context_create(loaded, &options, &created, error); });
    context.reset(created);
  }

  nb::list inputs() const { return describe(kin_model_input_count(model.get()), kin_model_input); }
  nb::list outputs() const {
    return describe(kin_model_output_count(model.get()), kin_model_output);
  }

  /// Runs on all inputs and outputs, in the model's order; gives the shapes of the outputs.
  std::vector<std::vector<int64_t>> run(const std::vector<Input> &inputs,
                                        const std::vector<Output> &outputs) {
    std::vector<Tensor> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const KinPort *port = kin_model_input(model.get(), i);
      given.push_back(Tensor::ofMemory(inputs[i], port ? port->type : int32_t(KIN_TYPE_ANY)));
    }
    std::vector<KinTensor> from, to;
    for (Tensor &tensor : given)
      from.push_back(tensor.view());
    for (const Output &array : outputs)
      to.push_back(
          {nullptr, KIN_TYPE_ANY, int32_t(array.ndim()), nullptr, array.data(), array.nbytes()});
    return runOn(from, to);
  }

  /// The same on tensors that may be elsewhere than in the host's memory.
  std::vector<std::vector<int64_t>> runTensors(const std::vector<Tensor *> &inputs,
                                               const std::vector<Tensor *> &outputs) {
    std::vector<KinTensor> from, to;
    for (Tensor *tensor : inputs)
      from.push_back(viewOf(*tensor));
    for (Tensor *tensor : outputs)
      to.push_back(viewOf(*tensor));
    return runOn(from, to);
  }

  /// The number of the GPU's stream that runs are ordered by; none on the host.
  nb::object stream() const {
    void *stream = kin_context_stream(context.get());
    return stream ? nb::cast(reinterpret_cast<uintptr_t>(stream)) : nb::none();
  }

private:
  KinTensor viewOf(Tensor &tensor) const {
    if (tensor.isOnGpu && tensor.bytes > 0 && !kin_context_owns(context.get(), tensor.data))
      throw Failure<KIN_INPUT>(
          "the address " + std::to_string(reinterpret_cast<uintptr_t>(tensor.data)) +
          " is bound as the GPU's, which has no memory there; bind what is allocated");
    return tensor.view();
  }

  std::vector<std::vector<int64_t>> runOn(const std::vector<KinTensor> &from,
                                          std::vector<KinTensor> &to) {
    std::vector<std::vector<int64_t>> shapes(to.size());
    for (size_t i = 0; i < to.size(); ++i) {
      shapes[i].resize(size_t(to[i].rank));
      to[i].dims = shapes[i].data();
    }
    check([&](KinError **error) {
      return kin_run(context.get(), from.data(), from.size(), to.data(), to.size(), error);
    });
    return shapes;
  }

  /// (name, number of the type, shape, whether that depends on data) of each port.
  template <typename Get> nb::list describe(size_t count, Get get) const {
    nb::list ports;
    for (size_t i = 0; i < count; ++i) {
      const KinPort *port = get(model.get(), i);
      nb::list shape;
      for (int32_t d = 0; d < port->rank; ++d)
        shape.append(port->dims[d]);
      ports.append(nb::make_tuple(port->name, port->type, shape, port->dynamic != 0));
    }
    return ports;
  }

  std::unique_ptr<KinModel, decltype(&kin_model_free)> model;
  std::unique_ptr<KinContext, decltype(&kin_context_free)> context;
};

} // namespace

NB_MODULE(_native, m) {
  nb::exception<Failure<KIN_INTERNAL>> error(m, "Error");
  error.attr("__doc__") = "What went wrong, and what to do; its own class where it is our fault.";
  nb::exception<Failure<KIN_USAGE>>(m, "UsageError", error.ptr());
  nb::exception<Failure<KIN_INPUT>>(m, "InputError", error.ptr());
  nb::exception<Failure<KIN_MACHINE>>(m, "MachineError", error.ptr());
  m.attr("ARTIFACT_MAGIC") = nb::bytes(KIN_ARTIFACT_MAGIC, sizeof(KIN_ARTIFACT_MAGIC) - 1);
  m.def("version", &kin_compiler_version);
  m.def("prepare", &prepare);
  m.def("compile", &compile);
  m.def("survey", &survey);
  m.def("machine", &machine);
  nb::class_<Tensor>(m, "Tensor")
      .def_static("of_array", &Tensor::ofArray, nb::arg("array").noconvert(), nb::arg("type"))
      .def_static("of_dlpack", &Tensor::ofDlpack, nb::arg("capsule").noconvert())
      .def_static("at", [](uintptr_t address, int32_t type, std::vector<int64_t> shape,
                           uint64_t bytes, bool isOnGpu) {
        return Tensor{{},     reinterpret_cast<void *>(address), type, std::move(shape), bytes,
                      isOnGpu};
      });
  nb::class_<Session>(m, "Session")
      .def(nb::init<const nb::bytes &, uint32_t, const std::string &>())
      .def("run_tensors", &Session::runTensors)
      .def("stream", &Session::stream)
      .def("inputs", &Session::inputs)
      .def("outputs", &Session::outputs)
      .def("run", &Session::run, nb::arg("inputs").noconvert(), nb::arg("outputs").noconvert());
}
