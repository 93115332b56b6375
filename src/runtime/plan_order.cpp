#include "runtime/plan_order.h"

#include "runtime/binding.h"

#include <algorithm>
#include <limits>

using namespace kintsugi;
using namespace kintsugi::runtime;

constexpr uint64_t never = std::numeric_limits<uint64_t>::max();

PlanOrder::PlanOrder(const Manifest &manifest)
    : manifest(manifest), lastRead(manifest.inputs.size(), 0),
      firstWritten(manifest.outputs.size(), never) {
  walk(manifest.plan);
  step = never; // What goes to the caller when all is done.
  for (const Port &port : manifest.outputs) {
    read(port.buffer);
    for (const DynamicDimension &dynamic : port.dynamic)
      read(dynamic.buffer);
  }
}

void PlanOrder::read(int64_t buffer) {
  if (buffer == none)
    return;
  const Home &home = originOf(manifest, manifest.buffers[buffer]).home;
  if (home.kind == Home::Kind::Input)
    lastRead[home.index] = step;
}

void PlanOrder::write(int64_t buffer) {
  if (buffer == none)
    return;
  const Home &home = originOf(manifest, manifest.buffers[buffer]).home;
  if (home.kind == Home::Kind::Output)
    firstWritten[home.index] = std::min(firstWritten[home.index], step);
}

void PlanOrder::walk(const Plan &plan) {
  bool isOne = plan.kind == Plan::Kind::Repeat || plan.kind == Plan::Kind::Lanes;
  depthOfOne += isOne;
  read(plan.condition);
  write(plan.step);
  if (plan.kind == Plan::Kind::Stage) {
    const Stage &stage = manifest.stages[plan.stage];
    size_t firstResult = stage.buffers.size() - stage.resultCount;
    for (size_t i = 0; i < stage.buffers.size(); ++i)
      i < firstResult ? read(stage.buffers[i]) : write(stage.buffers[i]);
  }
  for (const Plan &child : plan.children)
    walk(child);
  for (const BufferCopy &copy : plan.copies) {
    read(copy.from);
    write(copy.to);
  }
  depthOfOne -= isOne;
  if (depthOfOne == 0)
    ++step;
}
