#include "space/equal_parts.h"

#include "base/checked.h"
#include "te/canonical.h"
#include "te/constant.h"
#include "te/hash.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::space {

using namespace te;

/// Constants of at most so many bytes are compared by what they hold.
static constexpr int64_t smallConstant = 1 << 16;

void EqualParts::add(const Program &program) {
  std::vector<unsigned> &numbers = valueNumbers.emplace_back(program.numValues(), ~0u);
  std::vector<unsigned> &own = nodeNumbers.emplace_back();
  assert(valueNumbers.size() == 1 || inputs.size() == program.inputs.size());
  for (auto [place, input] : llvm::enumerate(program.inputs)) {
    if (place == inputs.size())
      inputs.push_back(addValue());
    numbers[input.number] = inputs[place];
  }
  std::set<unsigned> taken;
  for (auto [number, value] : llvm::zip_equal(numbers, program.values))
    if (value.kind == ValueKind::Constant) {
      number = numberOfConstant(value, taken);
      taken.insert(number);
    }
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    std::string text = canonicalText(program, node, [&](ValueId id) { return numbers[id.number]; });
    auto [entry, isNew] = nodes.try_emplace(std::move(text));
    auto &[number, results] = entry->second;
    if (isNew) {
      number = nodes.size() - 1;
      for (ValueId result : program.resultsOf(node))
        results.push_back(numberOfResult(program.value(result)));
    }
    own.push_back(number);
    for (auto [result, its] : llvm::zip_equal(program.resultsOf(node), results)) {
      numbers[result.number] = its;
      if (const std::optional<Original> &original = program.value(result).original;
          original && !labels[its]) {
        labels[its] = original;
        originals.try_emplace(*original, its);
      }
    }
  }
  nodeSets.emplace_back(own.begin(), own.end());
}

unsigned EqualParts::addValue() {
  labels.emplace_back();
  return labels.size() - 1;
}

unsigned EqualParts::numberOfConstant(const Value &value, const std::set<unsigned> &taken) {
  std::string text = describe(value) + " ";
  std::optional<int64_t> bytes = bytesOf(value.type, plainShape(value.shape));
  bool isSmall = bytes && *bytes <= smallConstant;
  if (!value.constant)
    text += "named " + value.name;
  else if (isSmall)
    text += "is " + value.constant->identity();
  std::vector<unsigned> &equal = constants[{isSmall ? nullptr : value.constant.get(), text}];
  auto free = llvm::find_if(equal, [&](unsigned number) { return !taken.count(number); });
  return free != equal.end() ? *free : equal.emplace_back(addValue());
}

unsigned EqualParts::numberOfResult(const Value &value) {
  if (!value.original)
    return addValue();
  auto [entry, isNew] = originals.try_emplace(*value.original, numValues());
  return isNew ? addValue() : entry->second;
}

} // namespace kintsugi::space
