#include "link/joins.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace kintsugi::link {

using orchestrate::Plan;
using orchestrate::PlanNode;
using orchestrate::Stage;

namespace {

template <typename T> void addOnce(std::vector<T> &list, const T &value) {
  if (!llvm::is_contained(list, value))
    list.push_back(value);
}

bool isConstant(const Plan &plan, unsigned buffer) {
  orchestrate::BufferKind kind = plan.buffers[buffer].kind;
  return kind == orchestrate::BufferKind::Source || kind == orchestrate::BufferKind::Derived;
}

/// Stages below a node that are kernels in launches of their own.
void visitLaunches(const Plan &plan, const PlanNode &node,
                   llvm::function_ref<void(const Stage &)> visit) {
  if (node.kind == PlanNode::Kind::Stage && plan.stages[node.stage].kind == Stage::Kind::Kernel)
    visit(plan.stages[node.stage]);
  if (node.kind == PlanNode::Kind::Joined)
    return;
  for (const PlanNode &child : node.children)
    visitLaunches(plan, child, visit);
}

/// One joined node in the making.
class Joining {
public:
  Joining(const Plan &plan, const PlanNode &node) : plan(plan), node(node) {}

  JoinedStage run(tile::Launch &launch) {
    for (const PlanNode &phase : node.children)
      Plan::forEachStage(phase, [&](unsigned number) { collect(number); });
    llvm::erase_if(read, [&](unsigned buffer) { return llvm::is_contained(written, buffer); });
    Stage &stage = result.stage;
    stage.operands.assign(read.begin(), read.end());
    stage.operands.append(written.begin(), written.end());
    stage.results = written.size();
    stage.predictedSeconds = node.predictedSeconds;
    for (unsigned operand : stage.operands)
      launch.constants.push_back(isConstant(plan, operand));
    for (const PlanNode &phase : node.children)
      launch.phases.push_back(phaseOf(phase));
    result.meets = launch.phases.size() > 1;
    for (size_t part : launch.orderOfParts())
      result.parts.push_back(stages[part]);
    return std::move(result);
  }

private:
  void collect(unsigned number) {
    stages.push_back(number);
    const Stage &part = plan.stages[number];
    llvm::ArrayRef<unsigned> operands = part.operands;
    for (unsigned buffer : operands.drop_back(part.results))
      addOnce(read, buffer);
    for (unsigned buffer : operands.take_back(part.results))
      addOnce(written, buffer);
    for (auto [origin, operations] : llvm::zip_equal(part.origins, part.operations))
      result.stage.addOperations(origin, operations);
    result.stage.definitions += part.definitions;
    result.stage.movedBytes += part.movedBytes;
    result.stage.expressions += part.expressions;
  }

  std::vector<tile::Launch::Part> phaseOf(const PlanNode &phase) {
    std::vector<tile::Launch::Part> parts;
    uint64_t tiles = 0;
    Plan::forEachStage(phase, [&](unsigned number) {
      const Stage &stage = plan.stages[number];
      const orchestrate::Kernel &kernel = plan.kernels[stage.kernel];
      const loops::Schedule &schedule = kernel.shape->schedule;
      tiles += schedule.tiles();
      result.scratchBytes = std::max<uint64_t>(result.scratchBytes, schedule.scratchBytes);
      result.threads = std::max<uint32_t>(result.threads, schedule.threads);
      tile::Launch::Part &part = parts.emplace_back();
      part.kernel = kernel.symbol;
      for (unsigned operand : stage.operands)
        part.operands.push_back(llvm::find(result.stage.operands, operand) -
                                result.stage.operands.begin());
    });
    result.tiles = std::max(result.tiles, tiles);
    return parts;
  }

  const Plan &plan;
  const PlanNode &node;
  JoinedStage result;
  std::vector<unsigned> stages, read, written;
};

} // namespace

std::vector<tile::Launch> launchesOfKernels(const Plan &plan, const PlanNode &node) {
  std::vector<tile::Launch> launches;
  visitLaunches(plan, node, [&](const Stage &stage) {
    const std::string &symbol = plan.kernels[stage.kernel].symbol;
    auto launch = llvm::find_if(launches, [&](const auto &each) { return each.symbol == symbol; });
    bool isNew = launch == launches.end();
    if (isNew) {
      tile::Launch::Part part{symbol, {}};
      for (unsigned number = 0; number < stage.operands.size(); ++number)
        part.operands.push_back(number);
      launch = launches.insert(launches.end(), {symbol, {}, {{part}}});
      launch->constants.resize(stage.operands.size(), true);
    }
    for (auto [number, operand] : llvm::enumerate(stage.operands))
      launch->constants[number] = launch->constants[number] && isConstant(plan, operand);
  });
  return launches;
}

Joins::Joins(const Plan &plan) : plan(plan) { visit(plan.root); }

void Joins::visit(const PlanNode &node) {
  if (node.kind == PlanNode::Kind::Joined)
    return add(node);
  for (const PlanNode &child : node.children)
    visit(child);
}

void Joins::add(const PlanNode &node) {
  tile::Launch launch;
  JoinedStage stage = Joining(plan, node).run(launch);
  auto alike = llvm::find_if(entries, [&](const tile::Launch &other) {
    return other.constants == launch.constants && other.phases == launch.phases;
  });
  if (alike == entries.end()) {
    launch.symbol = "j" + std::to_string(entries.size());
    alike = entries.insert(entries.end(), std::move(launch));
  }
  stage.symbol = alike->symbol;
  stages.emplace(&node, std::move(stage));
}

namespace {

/// The launches of a plan in the order in which they run, with nullopt for all else.
class Sequence {
public:
  struct Turn {
    std::string symbol;
    std::optional<tile::Launch::Size> size; ///< Not of one whose blocks wait for each other.
  };

  Sequence(const Plan &plan, const Joins &joins) : plan(plan), joins(joins) { add(plan.root); }

  std::vector<std::optional<Turn>> turns;

private:
  void add(const PlanNode &node) {
    if (node.kind == PlanNode::Kind::Joined)
      return addJoined(joins.of(node));
    const Stage *stage = node.kind == PlanNode::Kind::Stage ? &plan.stages[node.stage] : nullptr;
    if (stage && stage->kind == Stage::Kind::Kernel)
      return addKernel(plan.kernels[stage->kernel]);
    bool isInOrder = node.kind == PlanNode::Kind::Sequence;
    if (!isInOrder)
      turns.push_back(std::nullopt);
    for (const PlanNode &child : node.children) {
      add(child);
      if (!isInOrder)
        turns.push_back(std::nullopt);
    }
  }

  void addJoined(const JoinedStage &joined) {
    tile::Launch::Size size{int64_t(joined.tiles), int64_t(joined.scratchBytes)};
    turns.push_back(Turn{joined.symbol, joined.meets ? std::nullopt : std::optional(size)});
  }

  void addKernel(const orchestrate::Kernel &kernel) {
    const loops::Schedule &schedule = kernel.shape->schedule;
    turns.push_back(
        Turn{kernel.symbol, tile::Launch::Size{schedule.blocks(), schedule.scratchBytes}});
  }

  const Plan &plan;
  const Joins &joins;
};

} // namespace

std::vector<tile::Launch> launchesOf(const Plan &plan) {
  Joins joins(plan);
  std::vector<tile::Launch> launches = launchesOfKernels(plan, plan.root);
  llvm::append_range(launches, joins.entries);
  llvm::StringMap<tile::Launch *> named;
  for (tile::Launch &launch : launches)
    named[launch.symbol] = &launch;
  auto turns = Sequence(plan, joins).turns;
  for (auto [turn, next] : llvm::zip(turns, llvm::drop_begin(turns)))
    if (turn)
      named.lookup(turn->symbol)->next.push_back(next ? next->size : std::nullopt);
  return launches;
}

} // namespace kintsugi::link
