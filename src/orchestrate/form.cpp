#include "orchestrate/form.h"

#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace kintsugi::orchestrate {

using namespace te;

namespace {

/// By value of the programs together: what outputs are made of.
std::set<unsigned> neededOf(const Program &program, size_t number, const space::EqualParts &parts) {
  std::set<unsigned> needed;
  for (const Program::Output &output : program.outputs)
    needed.insert(parts.valueOf(number, output.value));
  for (uint32_t node = program.nodes.size(); node-- > 0;)
    if (llvm::any_of(program.resultsOf(node),
                     [&](ValueId id) { return needed.count(parts.valueOf(number, id)) > 0; }))
      for (ValueId operand : program.operandsOf(node))
        needed.insert(parts.valueOf(number, operand));
  return needed;
}

Form formOf(const Program &program, size_t number, const space::EqualParts &parts) {
  Form form;
  form.program = &program;
  form.number = number;
  form.constant = constantNodes(program);
  form.covers.resize(program.nodes.size());
  form.makes.resize(program.nodes.size());
  std::set<unsigned> needed = neededOf(program, number, parts), seen;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    bool isNeeded = llvm::any_of(program.resultsOf(node), [&](ValueId id) {
      return needed.count(parts.valueOf(number, id)) > 0;
    });
    if (isNeeded && !form.constant[node] && !isEmpty(program, node) &&
        seen.insert(parts.nodeOf(number, node)).second)
      (std::holds_alternative<Definition>(program.nodes[node]) ? form.definitions : form.fixed)
          .push_back(node);
  }
  return form;
}

std::set<unsigned> numbersOf(const Form &form, const space::EqualParts &parts) {
  std::set<unsigned> numbers;
  for (uint32_t node : form.fixed)
    numbers.insert(parts.nodeOf(form.number, node));
  return numbers;
}

/// Finds what stands for the first program's definitions.
class Coverage {
public:
  Coverage(const Form &first, Form &form, const space::EqualParts &parts)
      : first(first), form(form), parts(parts), consumer(first.program->nodes.size(), none) {
    for (uint32_t node : first.definitions) {
      byFirst.insert(parts.nodeOf(first.number, node));
      for (ValueId result : first.program->resultsOf(node)) {
        unsigned number = parts.valueOf(first.number, result);
        itemOf.try_emplace(number, node);
        if (const std::optional<Original> &original = parts.originalOf(number))
          byOriginal.try_emplace(original->value, node);
      }
    }
    for (uint32_t node : first.definitions)
      for (ValueId operand : first.program->operandsOf(node))
        if (auto item = itemOf.find(parts.valueOf(first.number, operand)); item != itemOf.end())
          consumer[item->second] = node;
  }

  /// Whether each has one.
  bool run() {
    std::map<uint32_t, uint32_t> nodeFor; ///< By item.
    for (uint32_t node : form.definitions)
      for (ValueId result : form.program->resultsOf(node))
        if (std::optional<uint32_t> item = itemMadeBy(result))
          if (nodeFor.try_emplace(*item, node).second && !form.makes[node])
            form.makes[node] = item;
    // What is gone went into what read it.
    for (uint32_t item : llvm::reverse(first.definitions)) {
      if (nodeFor.count(item))
        continue;
      auto reader = nodeFor.find(consumer[item]);
      if (reader == nodeFor.end() || byFirst.count(parts.nodeOf(form.number, reader->second)))
        return false;
      nodeFor[item] = reader->second;
    }
    for (auto [item, node] : nodeFor)
      form.covers[node].push_back(item);
    return true;
  }

private:
  static constexpr uint32_t none = ~0u;

  /// In any order of its dimensions.
  std::optional<uint32_t> itemMadeBy(ValueId result) const {
    unsigned number = parts.valueOf(form.number, result);
    if (auto found = itemOf.find(number); found != itemOf.end())
      return found->second;
    const std::optional<Original> &original = parts.originalOf(number);
    auto found = original ? byOriginal.find(original->value) : byOriginal.end();
    return found == byOriginal.end() ? std::nullopt : std::optional(found->second);
  }

  const Form &first;
  Form &form;
  const space::EqualParts &parts;
  std::vector<uint32_t> consumer; ///< By the first program's node: the last one.
  std::set<unsigned> byFirst;
  std::map<unsigned, uint32_t> itemOf;     ///< By value of the programs together.
  std::map<uint32_t, uint32_t> byOriginal; ///< Items by value of the original program.
};

} // namespace

bool isEmpty(const Program &program, uint32_t node) {
  return llvm::all_of(program.resultsOf(node),
                      [&](ValueId id) { return program.value(id).isEmpty(); });
}

bool Form::isGiven(ValueId id) const {
  const Value &value = program->value(id);
  return value.kind != ValueKind::Result || constant[value.node] || isEmpty(*program, value.node);
}

Form firstForm(const Program &program, const space::EqualParts &parts) {
  Form form = formOf(program, 0, parts);
  for (uint32_t node : form.definitions) {
    form.covers[node].push_back(node);
    form.makes[node] = node;
  }
  return form;
}

std::optional<Form> formBeside(const Form &first, const Program &program, size_t number,
                               const space::EqualParts &parts, std::string &reason) {
  Form form = formOf(program, number, parts);
  for (auto [own, output] : llvm::zip_equal(program.outputs, first.program->outputs))
    if (parts.valueOf(number, own.value) != parts.valueOf(first.number, output.value)) {
      reason = "output '" + own.name + "' is not known to be equal";
      return std::nullopt;
    }
  if (numbersOf(form, parts) != numbersOf(first, parts)) {
    reason = "its scans or calls differ";
    return std::nullopt;
  }
  if (!Coverage(first, form, parts).run()) {
    reason = "a definition has nothing in its place";
    return std::nullopt;
  }
  return form;
}

} // namespace kintsugi::orchestrate
