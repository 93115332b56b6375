#include "te/hash.h"

#include "te/canonical.h"
#include "te/check.h"
#include "te/syntax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <set>

namespace kintsugi::te {

//===- Inside one program ---------------------------------------------------===//

static Hash128 numberColour(ValueId value) { return Hasher("value").add(value.number).finish(); }

static std::string numberName(ValueId value) { return "%" + std::to_string(value.number); }

std::string canonicalText(const Expr &expr) {
  ColourHasher hasher(numberColour);
  CanonicalWriter writer(hasher, numberName);
  writer.write(expr);
  return std::move(writer.text);
}

std::string canonicalText(const Program &program, uint32_t node) {
  return canonicalText(program, node, [](ValueId id) { return id.number; });
}

std::string canonicalText(const Program &program, uint32_t node,
                          llvm::function_ref<uint32_t(ValueId)> numberOf) {
  ColourHasher hasher([&](ValueId id) { return numberColour({numberOf(id)}); });
  CanonicalWriter writer(hasher, [&](ValueId id) { return numberName({numberOf(id)}); });
  writer.write(program, node);
  if (std::holds_alternative<Call>(program.nodes[node]))
    for (ValueId result : program.resultsOf(node))
      writer.text += " " + describe(program.value(result));
  return std::move(writer.text);
}

Hash128 hashOf(const Expr &expr) { return Hasher("te.expr").add(canonicalText(expr)).finish(); }

Hash128 hashOf(const Program &program, uint32_t node) {
  return Hasher("te.node").add(canonicalText(program, node)).finish();
}

bool equivalent(const Expr &a, const Expr &b) { return canonicalText(a) == canonicalText(b); }

//===- Groups ---------------------------------------------------------------===//

namespace {

/// Finds a canonical order of a group's nodes and names for its values, and writes it all down.
class GroupWriter {
public:
  /// `describeInput` tells what is known of a value from outside; where `tellApart`, inputs of
  /// equal descriptions are told apart by where they are used.
  GroupWriter(const Program &program, llvm::ArrayRef<uint32_t> nodes,
              llvm::ArrayRef<ValueId> outputs, std::function<std::string(ValueId)> describeInput,
              bool tellApart)
      : program(program), given(nodes), outputs(outputs), describeInput(std::move(describeInput)) {
    collect();
    for (ValueId input : externals)
      colours[input.number] = Hasher("input").add(this->describeInput(input)).finish();
    if (tellApart)
      separateInputs();
    colourNodes();
    orderNodes();
  }

  GroupKey write() {
    GroupKey key;
    key.nodes = order;
    llvm::DenseMap<uint32_t, std::string> names;
    ColourHasher hasher([&](ValueId value) { return colours[value.number]; });
    CanonicalWriter writer(hasher, [&](ValueId value) {
      auto [entry, isNew] = names.try_emplace(value.number);
      if (isNew) {
        entry->second = "x" + std::to_string(key.inputs.size());
        key.inputs.push_back(value);
      }
      return entry->second;
    });
    for (uint32_t node : order) {
      writer.write(program, node);
      for (ValueId result : program.resultsOf(node)) {
        names[result.number] = "t" + std::to_string(key.results.size());
        key.results.push_back(result);
        writer.text += describeResult(node, result);
      }
      writer.text += "\n";
    }
    for (ValueId input : key.inputs)
      writer.text += names[input.number] + ": " + describeInput(input) + "\n";
    key.text = std::move(writer.text);
    key.hash = Hasher("te.group").add(key.text).finish();
    return key;
  }

private:
  void collect() {
    llvm::SmallVector<uint32_t> sorted(given);
    llvm::sort(sorted);
    given = sorted;
    for (uint32_t node : given)
      for (ValueId result : program.resultsOf(node))
        producers[result.number] = node;
    std::set<uint32_t> seen;
    for (uint32_t node : given)
      for (ValueId operand : program.operandsOf(node))
        if (!producers.count(operand.number) && seen.insert(operand.number).second)
          externals.push_back(operand);
  }

  std::string describeResult(uint32_t node, ValueId result) const {
    std::string text;
    if (std::holds_alternative<Call>(program.nodes[node])) // Its definition doesn't tell.
      text += " " + describe(program.value(result));
    return llvm::is_contained(outputs, result) ? text + " out" : text;
  }

  /// Colours the results; what each node computes goes to `nodeColours`. Gives a colour of the
  /// whole group.
  Hash128 colourNodes() {
    ColourHasher hasher([&](ValueId value) { return colours[value.number]; });
    llvm::SmallVector<Hash128> all;
    for (uint32_t node : given) {
      Hash128 colour = hasher.hash(program, node);
      for (auto [number, result] : llvm::enumerate(program.resultsOf(node))) {
        std::string description = describeResult(node, result);
        Hash128 resultColour = Hasher("result").add(colour).add(number).add(description).finish();
        colours[result.number] = resultColour;
        all.push_back(resultColour);
      }
      nodeColours[node] = colour;
    }
    return Hasher().addUnordered(all).finish();
  }

  /// Gives inputs that look the same the colour that the group takes on when the input is marked.
  void separateInputs() {
    std::map<Hash128, llvm::SmallVector<ValueId>> classes;
    for (ValueId input : externals)
      classes[colours[input.number]].push_back(input);
    llvm::SmallVector<std::pair<ValueId, Hash128>> separated;
    for (auto &[colour, members] : classes) {
      if (members.size() == 1)
        continue;
      for (ValueId input : members) {
        colours[input.number] = Hasher("marked").add(colour).finish();
        separated.push_back({input, Hasher("apart").add(colour).add(colourNodes()).finish()});
        colours[input.number] = colour;
      }
    }
    for (auto &[input, colour] : separated)
      colours[input.number] = colour;
  }

  /// An order of execution that takes, of the nodes that are ready, the one of the least colour.
  void orderNodes() {
    llvm::DenseMap<uint32_t, unsigned> waiting;
    llvm::DenseMap<uint32_t, llvm::SmallVector<uint32_t>> users;
    std::set<std::pair<Hash128, uint32_t>> ready;
    for (uint32_t node : given) {
      unsigned &count = waiting[node];
      for (ValueId operand : program.operandsOf(node))
        if (auto producer = producers.find(operand.number); producer != producers.end()) {
          users[producer->second].push_back(node);
          ++count;
        }
      if (count == 0)
        ready.insert({nodeColours[node], node});
    }
    while (!ready.empty()) {
      uint32_t node = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(node);
      for (uint32_t user : users[node])
        if (--waiting[user] == 0)
          ready.insert({nodeColours[user], user});
    }
  }

  const Program &program;
  llvm::SmallVector<uint32_t> given; ///< In order of execution.
  llvm::ArrayRef<ValueId> outputs;
  std::function<std::string(ValueId)> describeInput;
  llvm::DenseMap<uint32_t, uint32_t> producers; ///< Of values from inside.
  llvm::SmallVector<ValueId> externals;
  llvm::DenseMap<uint32_t, Hash128> colours;
  llvm::DenseMap<uint32_t, Hash128> nodeColours;
  llvm::SmallVector<uint32_t> order;
};

std::string factsText(const Facts &facts) {
  auto bound = [](std::optional<double> value) {
    return value ? spellLiteral(Expr::literal(ElementType::F64, *value)) : "?";
  };
  return " " + bound(facts.low) + ".." + bound(facts.high) + (facts.neverNaN ? " no_nan" : "") +
         (facts.finite ? " finite" : "");
}

} // namespace

GroupKey keyOf(const Program &program, llvm::ArrayRef<uint32_t> nodes,
               llvm::ArrayRef<ValueId> outputs) {
  auto describeInput = [&](ValueId id) {
    const Value &value = program.value(id);
    return describe(value) + (value.kind == ValueKind::Constant ? " const" : "") +
           (value.facts == Facts() ? "" : factsText(value.facts));
  };
  return GroupWriter(program, nodes, outputs, describeInput, /*tellApart=*/true).write();
}

//===- Programs -------------------------------------------------------------===//

std::string canonicalText(const Program &program) {
  llvm::DenseMap<uint32_t, size_t> places;
  for (auto [place, input] : llvm::enumerate(program.inputs))
    places[input.number] = place;
  auto describeInput = [&](ValueId id) {
    const Value &value = program.value(id);
    std::string source = value.kind == ValueKind::Constant
                             ? " = " + quote(value.constant->identity())
                             : " input " + std::to_string(places[id.number]);
    return describe(value) + factsText(value.facts) + source;
  };
  llvm::SmallVector<uint32_t> nodes = llvm::to_vector(llvm::seq<uint32_t>(program.nodes.size()));
  GroupKey key = GroupWriter(program, nodes, {}, describeInput, /*tellApart=*/false).write();
  llvm::DenseMap<uint32_t, size_t> results;
  for (auto [place, result] : llvm::enumerate(key.results))
    results[result.number] = place;
  std::string text = std::move(key.text);
  for (ValueId input : program.inputs)
    text += "input " + describeInput(input) + "\n";
  for (const Program::Output &output : program.outputs) {
    auto result = results.find(output.value.number);
    text += isReservedName(output.name) ? quote(output.name) + " " : "";
    text += "output " +
            (result != results.end() ? "t" + std::to_string(result->second)
                                     : describeInput(output.value)) +
            "\n";
  }
  return text;
}

Hash128 hashOf(const Program &program) {
  return Hasher("te.program").add(canonicalText(program)).finish();
}

bool equivalent(const Program &a, const Program &b) { return canonicalText(a) == canonicalText(b); }

} // namespace kintsugi::te
