#include "orchestrate/open_loops.h"

#include "loops/end_at_size.h"
#include "orchestrate/plan_buffers.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::orchestrate {

namespace {

class Ending {
public:
  Ending(Plan &plan, unsigned number) : plan(plan), number(number) {}

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
      operands.push_back({buffer.shape, buffer.validity[number]});
      key.second.push_back(buffer.validity[number]);
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

  std::optional<unsigned> endedKernel(unsigned kernelNumber,
                                      llvm::ArrayRef<loops::OpenBuffer> operands) {
    auto shape = std::make_shared<loops::KernelShape>(*plan.kernels[kernelNumber].shape);
    std::optional<loops::Schedule> schedule = loops::endAtSize(shape->schedule, operands);
    if (!schedule)
      return std::nullopt;
    shape->schedule = std::move(*schedule);
    Kernel kernel = plan.kernels[kernelNumber];
    kernel.symbol = "k" + std::to_string(plan.kernels.size());
    kernel.shape = std::move(shape);
    plan.kernels.push_back(std::move(kernel));
    return plan.kernels.size() - 1;
  }

  unsigned sizeBuffer() {
    auto isSize = [&](const PlanBuffer &buffer) {
      return buffer.kind == BufferKind::Size && buffer.port == number;
    };
    auto found = llvm::find_if(plan.buffers, isSize);
    if (found != plan.buffers.end())
      return found - plan.buffers.begin();
    PlanBuffer size{"size", ElementType::I64, {}, sizeof(int64_t), BufferKind::Size, number};
    plan.buffers.push_back(std::move(size));
    return plan.buffers.size() - 1;
  }

  Plan &plan;
  unsigned number; ///< Of the open dimension.
  std::vector<std::pair<Key, std::optional<unsigned>>> ended;
};

} // namespace

void endLoopsAtSize(Plan &plan, llvm::ArrayRef<te::OpenInputs> open) {
  if (mayLeaveOut(plan))
    for (const te::OpenInputs &each : open)
      Ending(plan, each.number).run();
}

} // namespace kintsugi::orchestrate
