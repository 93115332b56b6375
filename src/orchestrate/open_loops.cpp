#include "orchestrate/open_loops.h"

#include "loops/end_at_size.h"
#include "orchestrate/plan_buffers.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::orchestrate {

namespace {

class Ending {
public:
  explicit Ending(Plan &plan) : plan(plan) {}

  void run() {
    std::vector<unsigned> stages;
    Plan::forEachStage(plan.root, [&](unsigned stage) { stages.push_back(stage); });
    for (unsigned stage : stages)
      if (plan.stages[stage].kind == Stage::Kind::Kernel)
        end(plan.stages[stage]);
  }

private:
  /// A kernel and what it knows of its operands.
  using Key = std::pair<unsigned, std::vector<te::Validity>>;

  void end(Stage &stage) {
    Key key{stage.kernel, {}};
    std::vector<loops::OpenBuffer> operands;
    for (unsigned operand : stage.operands) {
      const PlanBuffer &buffer = plan.buffers[operand];
      operands.push_back({buffer.shape, buffer.validity});
      key.second.push_back(buffer.validity);
    }
    auto known = llvm::find_if(ended, [&](const auto &each) { return each.first == key; });
    if (known == ended.end()) {
      ended.push_back({key, endedKernel(stage.kernel, operands)});
      known = std::prev(ended.end());
    }
    if (!known->second)
      return;
    stage.kernel = *known->second;
    stage.operands.insert(stage.operands.begin(), sizeBuffer());
  }

  std::optional<unsigned> endedKernel(unsigned number, llvm::ArrayRef<loops::OpenBuffer> operands) {
    auto shape = std::make_shared<loops::KernelShape>(*plan.kernels[number].shape);
    std::optional<loops::Schedule> schedule = loops::endAtSize(shape->schedule, operands);
    if (!schedule)
      return std::nullopt;
    shape->schedule = std::move(*schedule);
    Kernel kernel = plan.kernels[number];
    kernel.symbol = "k" + std::to_string(plan.kernels.size());
    kernel.shape = std::move(shape);
    plan.kernels.push_back(std::move(kernel));
    return plan.kernels.size() - 1;
  }

  unsigned sizeBuffer() {
    auto isSize = [](const PlanBuffer &buffer) { return buffer.kind == BufferKind::Size; };
    auto found = llvm::find_if(plan.buffers, isSize);
    if (found != plan.buffers.end())
      return found - plan.buffers.begin();
    PlanBuffer size{"size", ElementType::I64, {}, sizeof(int64_t), BufferKind::Size};
    plan.buffers.push_back(std::move(size));
    return plan.buffers.size() - 1;
  }

  Plan &plan;
  std::vector<std::pair<Key, std::optional<unsigned>>> ended;
};

} // namespace

void endLoopsAtSize(Plan &plan) {
  if (mayLeaveOut(plan))
    Ending(plan).run();
}

} // namespace kintsugi::orchestrate
