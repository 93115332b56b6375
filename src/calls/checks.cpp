//===- checks.cpp - What the rules of calls ask again and again -----------===//

#include "calls/checks.h"

using namespace kintsugi;
using namespace kintsugi::calls;

Status kintsugi::calls::expectOperands(std::span<const TensorType> operands, size_t count) {
  if (operands.size() != count)
    return inputError("has " + std::to_string(operands.size()) + " operands, it takes " +
                      std::to_string(count));
  return Status::success();
}

Expected<int64_t> kintsugi::calls::integerOr(const Json &attributes, std::string_view key,
                                             int64_t otherwise) {
  return attributes.contains(key) ? jsonInteger(attributes, key) : otherwise;
}

Expected<bool> kintsugi::calls::boolOr(const Json &attributes, std::string_view key,
                                       bool otherwise) {
  return attributes.contains(key) ? jsonBool(attributes, key) : otherwise;
}

Expected<std::string> kintsugi::calls::stringOr(const Json &attributes, std::string_view key,
                                                std::string otherwise) {
  return attributes.contains(key) ? jsonString(attributes, key) : std::move(otherwise);
}

Expected<size_t> kintsugi::calls::normalizeAxis(int64_t axis, size_t rank) {
  auto extent = static_cast<int64_t>(rank);
  if (axis < -extent || axis >= extent)
    return inputError("axis " + std::to_string(axis) + " is outside a tensor of rank " +
                      std::to_string(rank));
  return static_cast<size_t>(axis < 0 ? axis + extent : axis);
}
