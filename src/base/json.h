//===- json.h - JSON that can't throw -------------------------------------===//
//
// nlohmann's JSON behind functions that return Expected. Objects keep their keys sorted, so equal
// values print as equal bytes. Manifests, machine descriptions, logs and reports use it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_JSON_H
#define KINTSUGI_BASE_JSON_H

#include "base/status.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace kintsugi {

/// Reading it by operator[] on a missing key or get<T>() of another kind is a fault of ours: look
/// with the functions below where the text came from outside.
using Json = nlohmann::json;

struct JsonLimits {
  uint64_t maxBytes = uint64_t(64) << 20;
  uint32_t maxDepth = 64; ///< Of nested arrays and objects.
};

/// Parses one JSON value (RFC 8259, UTF-8, no comments). Errors name the line and column.
Expected<Json> parseJson(std::string_view text, JsonLimits limits = {});

/// Prints on one line, or over several lines with `indent` spaces where it is not negative. Bytes
/// that are not UTF-8 are replaced.
std::string printJson(const Json &value, int indent = -1);

/// A member of an object, of the kind the name says; an input error that names the key where it is
/// missing, of another kind or does not fit. The pointers live as long as `object`.
Expected<const Json *> jsonMember(const Json &object, std::string_view key);
Expected<const Json *> jsonObject(const Json &object, std::string_view key);
Expected<const Json *> jsonArray(const Json &object, std::string_view key);
Expected<std::string> jsonString(const Json &object, std::string_view key);
Expected<int64_t> jsonInteger(const Json &object, std::string_view key);
Expected<uint64_t> jsonUnsigned(const Json &object, std::string_view key);
Expected<double> jsonNumber(const Json &object, std::string_view key);
Expected<bool> jsonBool(const Json &object, std::string_view key);

} // namespace kintsugi

#endif // KINTSUGI_BASE_JSON_H
