//===- runtime_api.h - The handles of the C interface, in C++ -------------===//
//
// For the compiler's half of the interface, which makes models too.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_RUNTIME_RUNTIME_API_H
#define KINTSUGI_API_RUNTIME_RUNTIME_API_H

#include "base/diagnostics.h"
#include "kintsugi/runtime.h"
#include "runtime/context.h"
#include "runtime/model.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

struct KinError {
  KinError() = default; ///< That there is no memory, not even for a message.
  explicit KinError(std::string_view text) : message(kintsugi::oneLine(text)) {}
  std::string message;
};

struct KinModel {
  std::shared_ptr<const kintsugi::runtime::Model> model;
  std::vector<KinPort> inputs, outputs;
  std::string manifest;
};

struct KinContext {
  std::unique_ptr<kintsugi::runtime::Context> context;
  kintsugi::runtime::RunOptions options;
  std::atomic<bool> cancel{false};
  std::mutex running; ///< Guards the tensors below, which are kept for the next run.
  std::vector<kintsugi::runtime::InputTensor> inputs;
  std::vector<kintsugi::runtime::OutputTensor> outputs;
};

struct KinBinding {
  KinContext *context;
  std::unique_ptr<kintsugi::runtime::Binding> binding;
};

namespace kintsugi::api {

/// The device of that name ("cpu", "null", "cuda", "cuda:1", ...), one for the whole process. A
/// usage error for a name that is not known, a machine error where there is no such device.
Expected<std::shared_ptr<runtime::Device>> findDevice(std::string_view name);

/// Sets *error, where there is somewhere to set it, and returns the status.
KinStatus report(const Status &status, KinError **error);

/// The same of the exception that is being handled: what memory or threads could not be had for is
/// the machine's, anything else our own fault.
KinStatus reportException(KinError **error);

/// Runs `body`, which returns a Status. No exception leaves the C interface.
template <typename Body> KinStatus guarded(KinError **error, Body body) {
  try {
    return report(body(), error);
  } catch (...) {
    return reportException(error);
  }
}

std::unique_ptr<KinModel> wrapModel(std::shared_ptr<const runtime::Model> model);

} // namespace kintsugi::api

#endif // KINTSUGI_API_RUNTIME_RUNTIME_API_H
