//===- run_call.h - Runs a call on tensors, for tests ---------------------===//
#ifndef KINTSUGI_TEST_CALLS_RUN_CALL_H
#define KINTSUGI_TEST_CALLS_RUN_CALL_H

#include "calls/call.h"

#include <string>
#include <vector>

namespace kintsugi::calls {

template <typename T> Tensor tensorOf(std::vector<int64_t> shape, std::vector<T> values) {
  return std::move(*Tensor::from<T>(std::move(shape), values));
}

/// The results of a call, of the types and shapes that its own rule gives.
inline Expected<std::vector<Tensor>> runCall(std::string_view name,
                                             const std::vector<const Tensor *> &operands,
                                             const Json &attributes) {
  std::vector<TensorType> types;
  std::vector<TensorView> views;
  for (const Tensor *operand : operands) {
    types.push_back({operand->type(), operand->shape()});
    views.push_back(operand->view());
  }
  KINTSUGI_ASSIGN(std::vector<ResultType> inferred, find(name)->infer(types, attributes));
  std::vector<Tensor> results;
  std::vector<ResultView> resultViews;
  for (const ResultType &type : inferred) {
    KINTSUGI_ASSIGN(Tensor result, Tensor::create(type.type, type.shape));
    results.push_back(std::move(result));
  }
  for (Tensor &result : results)
    resultViews.push_back({result.type(), result.shape(), result.bytes()});
  KINTSUGI_RETURN_IF_ERROR(run(name, views, attributes, resultViews));
  return results;
}

template <typename T> std::vector<T> valuesOf(const Tensor &tensor) {
  auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

/// The message of a call that must fail.
inline std::string errorOf(std::string_view name, const std::vector<const Tensor *> &operands,
                           const Json &attributes) {
  auto results = runCall(name, operands, attributes);
  return results.ok() ? "" : results.error().message;
}

} // namespace kintsugi::calls

#endif // KINTSUGI_TEST_CALLS_RUN_CALL_H
