#include "link/device_calls.h"

#include "cost/cost.h"
#include "explain/log.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace kintsugi::link {

using orchestrate::Plan;
using orchestrate::PlanBuffer;
using orchestrate::PlanNode;
using orchestrate::Stage;

namespace {

class Placer {
public:
  Placer(Plan &plan, const targets::Target &target, const machine::Machine &machine,
         explain::Log *log)
      : plan(plan), target(target), machine(machine), log(log) {}

  bool placedAny = false;

  /// `once`: whether each run comes here exactly once.
  void visit(const PlanNode &node, bool once) {
    if (node.kind == PlanNode::Kind::Stage && plan.stages[node.stage].kind == Stage::Kind::Call)
      place(node.stage, once);
    once &= node.kind != PlanNode::Kind::Repeat && node.kind != PlanNode::Kind::Branch;
    for (const PlanNode &child : node.children)
      visit(child, once);
  }

private:
  void place(unsigned number, bool once) {
    calls::Site site = siteOf(plan.stages[number]);
    calls::DeviceCall call = target.launchesOfCall(site);
    if (call.reason.empty() && call.report && !once)
      call.reason = "its indices may be wrong, and a loop or branch has no place to say so";
    note(number, call);
    if (!call.reason.empty())
      return;
    placedAny = true;
    if (llvm::none_of(plan.sites, [&](const calls::Site &s) { return s.symbol == site.symbol; }))
      plan.sites.push_back(std::move(site));
    Stage &stage = plan.stages[number];
    for (uint64_t bytes : call.memory)
      stage.memory.push_back(addMemory(stage.callee, bytes));
    if (call.report)
      addCheck(stage, *call.report);
    stage.predictedSeconds =
        cost::predictLaunchesSeconds(call.launches.size(), bytesOf(stage, call), machine);
    stage.device = std::move(call);
  }

  /// Under the name of an equal one, or a name of its own.
  calls::Site siteOf(const Stage &stage) const {
    calls::Site site{"c" + std::to_string(plan.sites.size()), stage.callee, stage.attributes, {}};
    for (unsigned operand : llvm::ArrayRef(stage.operands).drop_back(stage.results)) {
      const PlanBuffer &buffer = plan.buffers[operand];
      calls::TensorType &type = site.operands.emplace_back();
      type.type = buffer.type;
      for (te::Extent extent : buffer.shape)
        type.shape.push_back(extent.constant());
    }
    auto alike =
        llvm::find_if(plan.sites, [&](const calls::Site &other) { return other.sameCode(site); });
    if (alike != plan.sites.end())
      site.symbol = alike->symbol;
    return site;
  }

  unsigned addMemory(const std::string &callee, uint64_t bytes) {
    PlanBuffer buffer;
    buffer.name = callee + ".memory" + std::to_string(plan.buffers.size());
    buffer.type = ElementType::U8;
    buffer.shape = {te::Extent(static_cast<int64_t>(bytes))};
    buffer.bytes = bytes;
    plan.buffers.push_back(std::move(buffer));
    return plan.buffers.size() - 1;
  }

  void addCheck(const Stage &stage, unsigned report) {
    std::string text = stage.callee + ": " + std::string(calls::find(stage.callee)->failure);
    plan.checks.push_back({stage.memory[report], stage.origins.empty() ? "" : stage.origins.front(),
                           std::move(text)});
  }

  /// That all launches together move at the least.
  double bytesOf(const Stage &stage, const calls::DeviceCall &call) const {
    double bytes = 0;
    for (const calls::Launch &launch : call.launches)
      for (const auto *places : {&launch.reads, &launch.writes})
        for (unsigned place : *places)
          bytes += static_cast<double>(plan.buffers[stage.bufferAt(place)].bytes);
    return bytes;
  }

  void note(unsigned number, const calls::DeviceCall &call) const {
    if (!log)
      return;
    const Stage &stage = plan.stages[number];
    explain::Record record{
        "calls", "stage " + std::to_string(number), "call " + stage.callee, {}, {}};
    if (call.reason.empty()) {
      record.decision += " runs on the device";
      record.numbers = {
          {"launches", double(call.launches.size()), ""},
          {"memory", double(std::accumulate(call.memory.begin(), call.memory.end(), uint64_t(0))),
           "bytes"}};
    } else {
      record.decision += " runs on the host, between copies";
      record.reasons.push_back(call.reason);
    }
    for (const std::string &origin : stage.origins)
      record.reasons.push_back("serves " + origin);
    log->add(std::move(record));
  }

  Plan &plan;
  const targets::Target &target;
  const machine::Machine &machine;
  explain::Log *log;
};

} // namespace

void placeCalls(Plan &plan, const targets::Target &target, const machine::Machine &machine,
                explain::Log *log) {
  Placer placer(plan, target, machine, log);
  placer.visit(plan.root, true);
  if (placer.placedAny)
    assignArena(plan);
}

} // namespace kintsugi::link
