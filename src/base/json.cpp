//===- json.cpp - JSON that can't throw -----------------------------------===//

#include "base/json.h"

#include <algorithm>

using namespace kintsugi;

/// "line 3, column 7" of a byte of the text.
static std::string placeOf(std::string_view text, size_t offset) {
  std::string_view before = text.substr(0, offset);
  size_t line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t lineStart = before.rfind('\n');
  size_t column = lineStart == before.npos ? before.size() + 1 : before.size() - lineStart;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// Where brackets outside strings nest deeper than allowed, or npos. Text that is no JSON is left
/// for the parser to refuse.
static size_t findTooDeep(std::string_view text, uint32_t maxDepth) {
  uint32_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > maxDepth)
        return i;
    } else if ((c == ']' || c == '}') && depth != 0) {
      --depth;
    }
  }
  return std::string_view::npos;
}

namespace {
/// Builds the value, and keeps the place of the first error instead of throwing it.
class Builder : public nlohmann::detail::json_sax_dom_parser<Json> {
public:
  explicit Builder(Json &root) : json_sax_dom_parser(root, /*allow_exceptions=*/false) {}

  bool parse_error(std::size_t position, const std::string &lastToken,
                   const nlohmann::detail::exception &) {
    errorOffset = position == 0 ? 0 : position - 1;
    return false;
  }

  std::size_t errorOffset = 0;
};
} // namespace

Expected<Json> kintsugi::parseJson(std::string_view text, JsonLimits limits) {
  if (text.size() > limits.maxBytes)
    return inputError("JSON text of " + std::to_string(text.size()) +
                      " bytes is over the limit of " + std::to_string(limits.maxBytes));
  if (size_t place = findTooDeep(text, limits.maxDepth); place != text.npos)
    return inputError("JSON nests deeper than " + std::to_string(limits.maxDepth) + " levels at " +
                      placeOf(text, place));
  Json root;
  Builder builder(root);
  if (!Json::sax_parse(text.begin(), text.end(), &builder))
    return inputError("not valid JSON at " + placeOf(text, builder.errorOffset));
  return root;
}

std::string kintsugi::printJson(const Json &value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

static Error wrongKind(std::string_view key, std::string_view wanted) {
  return inputError("JSON member \"" + std::string(key) + "\" is not " + std::string(wanted));
}

Expected<const Json *> kintsugi::jsonMember(const Json &object, std::string_view key) {
  if (!object.is_object())
    return inputError("JSON value with a member \"" + std::string(key) + "\" is not an object");
  auto found = object.find(key);
  if (found == object.end())
    return inputError("JSON member \"" + std::string(key) + "\" is missing");
  return &*found;
}

Expected<const Json *> kintsugi::jsonObject(const Json &object, std::string_view key) {
  KINTSUGI_ASSIGN(const Json *member, jsonMember(object, key));
  if (!member->is_object())
    return wrongKind(key, "an object");
  return member;
}

Expected<const Json *> kintsugi::jsonArray(const Json &object, std::string_view key) {
  KINTSUGI_ASSIGN(const Json *member, jsonMember(object, key));
  if (!member->is_array())
    return wrongKind(key, "an array");
  return member;
}

Expected<std::string> kintsugi::jsonString(const Json &object, std::string_view key) {
  KINTSUGI_ASSIGN(const Json *member, jsonMember(object, key));
  if (!member->is_string())
    return wrongKind(key, "a string");
  return member->get_ref<const std::string &>();
}

Expected<int64_t> kintsugi::jsonInteger(const Json &object, std::string_view key) {
  KINTSUGI_ASSIGN(const Json *member, jsonMember(object, key));
  bool tooLarge = member->is_number_unsigned() && member->get<uint64_t>() > uint64_t(INT64_MAX);
  if (!member->is_number_integer() || tooLarge)
    return wrongKind(key, "an integer of 64 bits");
  return member->get<int64_t>();
}

Expected<uint64_t> kintsugi::jsonUnsigned(const Json &object, std::string_view key) {
  KINTSUGI_ASSIGN(const Json *member, jsonMember(object, key));
  bool negative =
      !member->is_number_unsigned() && member->is_number_integer() && member->get<int64_t>() < 0;
  if (!member->is_number_integer() || negative)
    return wrongKind(key, "an unsigned integer of 64 bits");
  return member->get<uint64_t>();
}

Expected<double> kintsugi::jsonNumber(const Json &object, std::string_view key) {
  KINTSUGI_ASSIGN(const Json *member, jsonMember(object, key));
  if (!member->is_number())
    return wrongKind(key, "a number");
  return member->get<double>();
}

Expected<bool> kintsugi::jsonBool(const Json &object, std::string_view key) {
  KINTSUGI_ASSIGN(const Json *member, jsonMember(object, key));
  if (!member->is_boolean())
    return wrongKind(key, "true or false");
  return member->get<bool>();
}
