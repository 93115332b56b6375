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

/// Whose nodes make no items yet; `needed` by value of the programs together.
Form formOf(const Program &program, size_t number, const space::EqualParts &parts,
            const std::set<unsigned> &needed) {
  Form form;
  form.program = &program;
  form.number = number;
  form.constant = constantNodes(program);
  form.makes.resize(program.nodes.size());
  form.absorbs.resize(program.nodes.size());
  std::set<unsigned> seen;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    bool isNeeded = llvm::any_of(program.resultsOf(node), [&](ValueId id) {
      return needed.count(parts.valueOf(number, id)) > 0;
    });
    if (isNeeded && !form.constant[node] && !isEmpty(program, node) &&
        seen.insert(parts.nodeOf(number, node)).second)
      (std::holds_alternative<Definition>(program.nodes[node]) ? form.definitions
                                                               : form.scansAndCalls)
          .push_back(node);
  }
  return form;
}

std::set<unsigned> callsOf(const Form &form, const space::EqualParts &parts) {
  std::set<unsigned> numbers;
  for (uint32_t node : form.scansAndCalls)
    if (std::holds_alternative<Call>(form.program->nodes[node]))
      numbers.insert(parts.nodeOf(form.number, node));
  return numbers;
}

/// Items by what is equal to them, in any order of dimensions.
class Items {
public:
  Items(const Form &first, const space::EqualParts &parts) : parts(parts) {
    for (const auto &makes : first.makes)
      for (uint32_t item : makes) {
        unsigned number = parts.valueOf(first.number, {item});
        byValue.try_emplace(number, item);
        if (const std::optional<Original> &original = parts.originalOf(number))
          byOriginal.try_emplace(original->value, item);
      }
  }

  std::optional<uint32_t> madeWith(unsigned value) const {
    if (auto found = byValue.find(value); found != byValue.end())
      return found->second;
    const std::optional<Original> &original = parts.originalOf(value);
    auto found = original ? byOriginal.find(original->value) : byOriginal.end();
    return found == byOriginal.end() ? std::nullopt : std::optional(found->second);
  }

private:
  const space::EqualParts &parts;
  std::map<unsigned, uint32_t> byValue;    ///< Of the programs together.
  std::map<uint32_t, uint32_t> byOriginal; ///< Of the original program.
};

/// By item: the first program's nodes that read it; ~0u for outputs.
std::map<uint32_t, std::set<uint32_t>> readersOf(const Form &first, const Items &items,
                                                 const space::EqualParts &parts) {
  std::map<uint32_t, std::set<uint32_t>> readers;
  auto read = [&](ValueId id, uint32_t reader) {
    if (std::optional<uint32_t> item = items.madeWith(parts.valueOf(first.number, id)))
      readers[*item].insert(reader);
  };
  for (uint32_t node : first.nodes())
    for (ValueId operand : first.program->operandsOf(node))
      read(operand, node);
  for (const Program::Output &output : first.program->outputs)
    read(output.value, ~0u);
  return readers;
}

/// The first of several nodes that make an item in different orders makes it; others are copies.
/// Where one node alone reads an item, whatever makes that one's without it stands for both:
/// columns that cover both make a tighter relaxation than one for nothing in the item's place.
void findItems(const Form &first, const space::EqualParts &parts, Form &form) {
  Items items(first, parts);
  std::map<uint32_t, uint32_t> nodeFor; ///< By item.
  for (uint32_t node : form.nodes())
    for (ValueId result : form.program->resultsOf(node)) {
      std::optional<uint32_t> item = items.madeWith(parts.valueOf(form.number, result));
      if (item && nodeFor.try_emplace(*item, node).second)
        form.makes[node].push_back(*item);
    }
  std::set<unsigned> ofFirst;
  llvm::SmallVector<uint32_t> nodesOfFirst = first.nodes();
  for (uint32_t node : nodesOfFirst)
    ofFirst.insert(parts.nodeOf(first.number, node));
  std::map<uint32_t, std::set<uint32_t>> readers = readersOf(first, items, parts);
  // What makes an item of the only node that reads one, in another way than that node.
  auto makerForReader = [&](uint32_t item) -> std::optional<uint32_t> {
    const std::set<uint32_t> &its = readers[item];
    if (its.size() != 1 || *its.begin() == ~0u)
      return std::nullopt;
    for (uint32_t made : first.makes[*its.begin()])
      if (auto maker = nodeFor.find(made);
          maker != nodeFor.end() && !ofFirst.count(parts.nodeOf(form.number, maker->second)))
        return maker->second;
    return std::nullopt;
  };
  for (uint32_t node : llvm::reverse(nodesOfFirst))
    for (uint32_t item : first.makes[node]) {
      if (nodeFor.count(item))
        continue;
      if (std::optional<uint32_t> maker = makerForReader(item)) {
        nodeFor[item] = *maker;
        form.absorbs[*maker].push_back(item);
      } else {
        form.without.push_back(item);
      }
    }
}

} // namespace

bool isEmpty(const Program &program, uint32_t node) {
  return llvm::all_of(program.resultsOf(node),
                      [&](ValueId id) { return program.value(id).isEmpty(); });
}

bool Form::isGiven(ValueId id) const {
  const Value &value = program->value(id);
  return value.kind != ValueKind::Result || constant[value.node] || isEmpty(*program, value.node);
}

llvm::SmallVector<uint32_t> Form::nodes() const {
  llvm::SmallVector<uint32_t> all(definitions);
  llvm::append_range(all, scansAndCalls);
  llvm::sort(all);
  return all;
}

Form firstForm(const Program &program, const space::EqualParts &parts) {
  std::set<unsigned> needed = neededOf(program, 0, parts);
  Form form = formOf(program, 0, parts, needed);
  for (uint32_t node : form.nodes())
    for (ValueId result : program.resultsOf(node))
      if (needed.count(parts.valueOf(0, result)))
        form.makes[node].push_back(result.number);
  return form;
}

std::optional<Form> formBeside(const Form &first, const Program &program, size_t number,
                               const space::EqualParts &parts, std::string &reason) {
  Form form = formOf(program, number, parts, neededOf(program, number, parts));
  for (auto [own, output] : llvm::zip_equal(program.outputs, first.program->outputs))
    if (parts.valueOf(number, own.value) != parts.valueOf(first.number, output.value)) {
      reason = "output '" + own.name + "' is not known to be equal";
      return std::nullopt;
    }
  if (callsOf(form, parts) != callsOf(first, parts)) {
    reason = "its calls differ";
    return std::nullopt;
  }
  findItems(first, parts, form);
  return form;
}

} // namespace kintsugi::orchestrate
