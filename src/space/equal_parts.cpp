#include "space/equal_parts.h"

#include "te/canonical.h"
#include "te/hash.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::space {

using namespace te;

void EqualParts::add(const Program &program) {
  std::vector<unsigned> &numbers = valueNumbers.emplace_back(program.numValues(), ~0u);
  std::vector<unsigned> &own = nodeNumbers.emplace_back();
  assert(inputs.empty() || inputs.size() == program.inputs.size());
  for (auto [place, input] : llvm::enumerate(program.inputs)) {
    if (place == inputs.size())
      inputs.push_back(values++);
    numbers[input.number] = inputs[place];
  }
  for (auto [number, value] : llvm::zip_equal(numbers, program.values))
    if (value.kind == ValueKind::Constant)
      addConstant(value, number);
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
    for (auto [result, its] : llvm::zip_equal(program.resultsOf(node), results))
      numbers[result.number] = its;
  }
}

bool EqualParts::hasNode(size_t program, unsigned node) const {
  return llvm::is_contained(nodeNumbers[program], node);
}

void EqualParts::addConstant(const Value &value, unsigned &number) {
  std::string text = describe(value) + " ";
  if (value.constant) {
    std::string &identity = identities[value.constant.get()];
    if (identity.empty())
      identity = "is " + value.constant->identity();
    text += identity;
  } else {
    text += "named " + value.name;
  }
  auto [entry, isNew] = constants.try_emplace(std::move(text), values);
  values += isNew;
  number = entry->second;
}

unsigned EqualParts::numberOfResult(const Value &value) {
  if (!value.original)
    return values++;
  auto [entry, isNew] = originals.try_emplace(*value.original, values);
  values += isNew;
  return entry->second;
}

} // namespace kintsugi::space
