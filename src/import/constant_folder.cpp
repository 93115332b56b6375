//===- constant_folder.cpp - Values that are known while importing -----------===//

#include "import/constant_folder.h"

#include "base/checked.h"
#include "te/constant.h"
#include "te/interpreter.h"
#include "te/subprogram.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace kintsugi::import {
namespace {

constexpr int64_t largestLoaded = int64_t(1) << 24;
constexpr int64_t largestEvaluated = int64_t(1) << 18;

/// How many points a node's iteration space has; saturates.
uint64_t pointsOf(const te::Program &program, uint32_t node) {
  std::vector<int64_t> extents;
  if (const auto *definition = std::get_if<te::Definition>(&program.nodes[node])) {
    for (const te::Interval &range : definition->ranges())
      extents.push_back(range.size());
  } else if (const auto *scan = std::get_if<te::Scan>(&program.nodes[node])) {
    uint64_t inside = 1;
    for (uint32_t inner = 0; inner < scan->body->nodes.size(); ++inner)
      inside += std::min<uint64_t>(pointsOf(*scan->body, inner), uint64_t(1) << 32);
    extents = {scan->trip.constant(), static_cast<int64_t>(inside)};
  } else {
    return 1 << 16;
  }
  return elementCount(extents).value_or(INT64_MAX);
}

/// Of a small tensor of integers; else none.
std::vector<int64_t> integersOf(const Tensor &tensor) {
  constexpr int64_t most = 16;
  TensorView view = tensor.view();
  std::vector<int64_t> integers;
  int64_t count = elementCount(view.shape).value_or(most + 1);
  if (isFloat(view.type) || bitsOf(view.type) < 8 || count > most)
    return integers;
  for (int64_t i = 0; i < count; ++i)
    integers.push_back(loadInteger(view, i));
  return integers;
}

} // namespace

std::vector<int64_t> ConstantFolder::numbers() const {
  std::vector<int64_t> all;
  std::set<uint32_t> nodes;
  for (const auto &[id, tensor] : evaluated) {
    llvm::append_range(all, integersOf(tensor));
    if (program.value(id).kind == te::ValueKind::Result)
      nodes.insert(program.value(id).node);
  }
  for (uint32_t node : nodes) {
    std::vector<std::vector<int64_t>> operands;
    for (te::ValueId operand : program.operandsOf(node))
      if (auto found = evaluated.find(operand); found != evaluated.end())
        if (auto integers = integersOf(found->second); !integers.empty())
          operands.push_back(std::move(integers));
    for (size_t k = 1; k < operands.size(); ++k) {
      const auto &one = operands[k - 1], &other = operands[k];
      for (size_t i = 0; i < std::max(one.size(), other.size()); ++i)
        all.push_back(int64_t(uint64_t(one[i % one.size()]) - uint64_t(other[i % other.size()])));
    }
  }
  return all;
}

bool ConstantFolder::isConstant(te::ValueId id) {
  // Values only depend on earlier ones, so asking in order of their numbers never recurses.
  while (constancy.size() <= id.number) {
    te::ValueId next{static_cast<uint32_t>(constancy.size())};
    const te::Value &value = program.value(next);
    bool known = value.kind == te::ValueKind::Constant;
    if (value.kind == te::ValueKind::Result)
      known = llvm::all_of(program.operandsOf(value.node),
                           [&](te::ValueId operand) { return constancy[operand.number]; });
    constancy.push_back(known);
  }
  return constancy[id.number];
}

std::vector<std::string> ConstantFolder::inputsBehind(te::ValueId id) const {
  std::vector<std::string> names;
  std::set<te::ValueId> seen{id};
  std::vector<te::ValueId> pending{id};
  while (!pending.empty()) {
    const te::Value &value = program.value(pending.back());
    pending.pop_back();
    if (value.kind == te::ValueKind::Input)
      names.push_back(value.name);
    if (value.kind == te::ValueKind::Result)
      for (te::ValueId operand : program.operandsOf(value.node))
        if (seen.insert(operand).second)
          pending.push_back(operand);
  }
  return names;
}

const Tensor *ConstantFolder::load(te::ValueId id) {
  if (!sizeWithin(id, largestLoaded))
    return nullptr;
  Expected<Tensor> tensor = te::loadConstant(program.value(id));
  if (!tensor.ok())
    return nullptr; // Whoever compiles the constant reports it.
  return &evaluated.emplace(id, std::move(*tensor)).first->second;
}

bool ConstantFolder::sizeWithin(te::ValueId id, int64_t limit) const {
  auto elements = elementCount(te::plainShape(program.shape(id)));
  return elements && *elements <= limit;
}

bool ConstantFolder::evaluate(uint32_t node) {
  uint64_t points = pointsOf(program, node);
  if (points > fuel)
    return false;
  fuel -= points;
  std::vector<TensorView> operands;
  for (te::ValueId operand : program.operandsOf(node)) {
    auto found = evaluated.find(operand);
    if (found == evaluated.end())
      return false;
    operands.push_back(found->second.view());
  }
  Expected<std::vector<Tensor>> results = te::interpret(te::nodeAlone(program, node), operands);
  if (!results.ok())
    return false;
  for (auto [id, tensor] : llvm::zip(program.resultsOf(node), *results))
    evaluated.emplace(id, std::move(tensor));
  return true;
}

const Tensor *ConstantFolder::value(te::ValueId id) {
  if (auto found = evaluated.find(id); found != evaluated.end())
    return &found->second;
  if (!isConstant(id))
    return nullptr;
  // What is needed, in the order of execution.
  std::set<uint32_t> nodes;
  std::vector<te::ValueId> pending{id};
  while (!pending.empty()) {
    te::ValueId next = pending.back();
    pending.pop_back();
    const te::Value &value = program.value(next);
    if (evaluated.count(next))
      continue;
    if (value.kind == te::ValueKind::Constant) {
      if (!load(next))
        return nullptr;
      continue;
    }
    if (!sizeWithin(next, largestEvaluated))
      return nullptr;
    if (nodes.insert(value.node).second)
      llvm::append_range(pending, program.operandsOf(value.node));
  }
  for (uint32_t node : nodes)
    if (!evaluate(node))
      return nullptr;
  return &evaluated.at(id);
}

} // namespace kintsugi::import
