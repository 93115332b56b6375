//===- schemas.cpp - What nodes of ONNX's operators have ---------------------===//

#include "import/schemas.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace kintsugi::import {
namespace {

constexpr unsigned many = ~0u;

struct Schema {
  const char *name;
  int since; ///< The first version of the operator set that it holds for.
  unsigned fewestInputs, mostInputs, fewestOutputs, mostOutputs;
  const char *attributes; ///< With spaces between; those with a "!" have to be there.
};

constexpr Schema schemas[] = {
#include "import/schemas.inc"
};

using Versions = llvm::ArrayRef<Schema>;

/// The rows of an operator, oldest first.
Versions versionsOf(llvm::StringRef name) {
  static const auto *table = [] {
    auto *result = new llvm::StringMap<Versions>;
    for (size_t begin = 0, end; begin < std::size(schemas); begin = end) {
      for (end = begin + 1; end < std::size(schemas); ++end)
        if (llvm::StringRef(schemas[end].name) != schemas[begin].name)
          break;
      result->try_emplace(schemas[begin].name, Versions(schemas).slice(begin, end - begin));
    }
    return result;
  }();
  return table->lookup(name);
}

struct AttributeName {
  llvm::StringRef name;
  bool required;
};

llvm::SmallVector<AttributeName> attributesOf(const Schema &schema) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(schema.attributes).split(words, ' ', -1, /*KeepEmpty=*/false);
  llvm::SmallVector<AttributeName> result;
  for (llvm::StringRef word : words) {
    bool required = word.consume_back("!");
    result.push_back({word, required});
  }
  return result;
}

bool has(const Schema &schema, llvm::StringRef attribute) {
  return llvm::any_of(attributesOf(schema),
                      [&](const AttributeName &known) { return known.name == attribute; });
}

/// Names that are left out at the end don't count.
unsigned countOf(const std::vector<std::string> &names) {
  unsigned count = names.size();
  while (count > 0 && names[count - 1].empty())
    --count;
  return count;
}

std::string counted(unsigned count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// `verb` is what the operator does with them. Inputs that are left out count as they are written:
/// their function says which ones it can't do without.
Status checkCount(const Schema &schema, const std::vector<std::string> &names, unsigned fewest,
                  unsigned most, const char *noun, const char *verb) {
  unsigned used = countOf(names);
  if (names.size() >= fewest && used <= most)
    return Status::success();
  std::string wanted = most == many     ? std::to_string(fewest) + " or more"
                       : fewest == most ? std::to_string(most)
                                        : std::to_string(fewest) + " to " + std::to_string(most);
  return inputError("it has " + counted(used, noun) + ", but " + schema.name + " " + verb + " " +
                    wanted + "; export the model anew");
}

Error unknownAttribute(llvm::StringRef attribute, const Schema &schema, int64_t opset) {
  std::string name = "attribute '" + attribute.str() + "' ", op = schema.name;
  for (const Schema &version : versionsOf(schema.name))
    if (version.since > opset && has(version, attribute))
      return inputError(name + "came to " + op + " with version " + std::to_string(version.since) +
                        " of ONNX's operators, but the model uses version " +
                        std::to_string(opset) +
                        "; convert it with onnx.version_converter, or leave the attribute out");
  return inputError(name + "is none that " + op + " has in version " + std::to_string(opset) +
                    " of ONNX's operators; leave it out");
}

Status checkAttributes(const Node &node, const Schema &schema, int64_t opset) {
  llvm::SmallVector<AttributeName> known = attributesOf(schema);
  llvm::StringSet<> given;
  for (const Attribute &attribute : node.attributes) {
    if (!given.insert(attribute.name).second)
      return inputError("attribute '" + attribute.name + "' is given twice; leave one out");
    // Two underscores mark what tools note for themselves, as ONNX's checker has it.
    bool isNote = llvm::StringRef(attribute.name).starts_with("__");
    if (!isNote && llvm::none_of(known, [&](auto &each) { return each.name == attribute.name; }))
      return unknownAttribute(attribute.name, schema, opset);
  }
  for (const AttributeName &attribute : known)
    if (attribute.required && !given.contains(attribute.name))
      return inputError("its attribute '" + attribute.name.str() + "' is missing");
  return Status::success();
}

} // namespace

Status checkAgainstSchema(const Node &node, int64_t opset) {
  const Schema *schema = nullptr;
  if (node.domain.empty())
    for (const Schema &version : versionsOf(node.op))
      if (version.since <= opset)
        schema = &version;
  if (!schema)
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(
      checkCount(*schema, node.inputs, schema->fewestInputs, schema->mostInputs, "input", "takes"));
  KINTSUGI_RETURN_IF_ERROR(checkCount(*schema, node.outputs, schema->fewestOutputs,
                                      schema->mostOutputs, "output", "gives"));
  return checkAttributes(node, *schema, opset);
}

} // namespace kintsugi::import
