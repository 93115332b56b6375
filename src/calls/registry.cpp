//===- registry.cpp - Finding and running calls ---------------------------===//

#include "calls/list.h"

#include <algorithm>
#include <array>
#include <string>

using namespace kintsugi;
using namespace kintsugi::calls;

/// Sorted by name. Pointers, since the calls are constants of other files.
static constexpr std::array registered = {
    &nonMaxSuppression, &nonZero, &scatterNd, &topK, &unique,
};

std::span<const Call *const> kintsugi::calls::all() { return registered; }

const Call *kintsugi::calls::find(std::string_view name) {
  auto found = std::lower_bound(
      registered.begin(), registered.end(), name,
      [](const Call *call, std::string_view wanted) { return call->name < wanted; });
  return found != registered.end() && (*found)->name == name ? *found : nullptr;
}

/// Whether the views have the types and shapes, and no fewer bytes than these need.
template <typename View, typename Type>
static bool fit(std::span<const View> views, const std::vector<Type> &types) {
  return std::equal(views.begin(), views.end(), types.begin(), types.end(),
                    [](const View &view, const TensorType &type) {
                      auto needed = bytesOf(type.type, type.shape);
                      return view.type == type.type && std::ranges::equal(view.shape, type.shape) &&
                             needed && view.bytes.size() == static_cast<size_t>(*needed);
                    });
}

static Status runCall(const Call &call, std::span<const TensorView> operands,
                      const Json &attributes, std::span<const ResultView> results) {
  std::vector<TensorType> types;
  for (const TensorView &operand : operands)
    types.push_back({operand.type, {operand.shape.begin(), operand.shape.end()}});
  KINTSUGI_ASSIGN(std::vector<ResultType> wanted, call.infer(types, attributes));
  if (!fit(operands, types) || !fit(results, wanted))
    return inputError("the operands or results have another type, shape or size than it needs");
  return call.body(operands, attributes, results);
}

Status kintsugi::calls::run(std::string_view name, std::span<const TensorView> operands,
                            const Json &attributes, std::span<const ResultView> results) {
  const Call *call = find(name);
  if (!call)
    return inputError("there is no call '" + std::string(name) + "'");
  if (Status status = runCall(*call, operands, attributes, results); !status.ok())
    return at(std::string(name), status.takeError());
  return Status::success();
}
