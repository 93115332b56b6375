//===- checks.h - What the rules of calls ask again and again -------------===//
#ifndef KINTSUGI_CALLS_CHECKS_H
#define KINTSUGI_CALLS_CHECKS_H

#include "calls/call.h"

#include <span>
#include <string>
#include <string_view>

namespace kintsugi::calls {

/// An input error unless there are exactly `count` operands.
Status expectOperands(std::span<const TensorType> operands, size_t count);

/// The member of `attributes`, or the default where it is absent; an input error where it is of
/// another kind.
Expected<int64_t> integerOr(const Json &attributes, std::string_view key, int64_t otherwise);
Expected<bool> boolOr(const Json &attributes, std::string_view key, bool otherwise);
Expected<std::string> stringOr(const Json &attributes, std::string_view key, std::string otherwise);

/// An axis in [-rank, rank) as one in [0, rank); an input error for others.
Expected<size_t> normalizeAxis(int64_t axis, size_t rank);

} // namespace kintsugi::calls

#endif // KINTSUGI_CALLS_CHECKS_H
