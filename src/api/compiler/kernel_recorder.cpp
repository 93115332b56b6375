#include "api/compiler/kernel_recorder.h"

#include "runtime/binding.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::api {

using runtime::Home;
using runtime::Manifest;
using runtime::Plan;

namespace {

/// Finds the levels of a manifest's plan in the program.
class LevelFinder {
public:
  explicit LevelFinder(const Manifest &manifest) : manifest(manifest) {}

  Status visit(const Plan &plan, KernelLevel &level) {
    if (plan.kind == Plan::Kind::Stage) {
      addStage(plan.stage, level);
      return Status::success();
    }
    if (plan.kind == Plan::Kind::Repeat)
      return enter(scanOf(plan, *level.level.program), plan.children[0], level);
    if (plan.kind == Plan::Kind::Branch)
      return visitBranch(plan, level);
    for (const Plan &child : plan.children)
      KINTSUGI_RETURN_IF_ERROR(visit(child, level));
    return Status::success();
  }

  std::list<KernelLevel> levels;

private:
  void addStage(uint32_t number, KernelLevel &level) {
    const runtime::Stage &stage = manifest.stages[number];
    if (stage.kind == runtime::Stage::Kind::Call || !stage.call.empty())
      return;
    level.stages.push_back(number);
    for (uint32_t buffer : std::span(stage.buffers).last(stage.resultCount)) {
      level.level.stored.insert(manifest.buffers[buffer].name);
      level.buffers[manifest.buffers[buffer].name] = buffer;
    }
  }

  Status enter(const te::Scan *scan, const Plan &body, KernelLevel &level) {
    if (!scan)
      return internalError("a loop or branch of the plan is none of the program's scans");
    levels.push_back({{scan->body.get(), &level.level, scan, {}}, {}, {}, {}});
    KernelLevel &inner = levels.back();
    return visit(body, inner);
  }

  /// An arm may be the steps of several scans.
  Status visitBranch(const Plan &branch, KernelLevel &level) {
    for (const Plan &arm : branch.children)
      for (const Plan &part : arm.children) {
        std::string made = firstMade(part);
        if (!made.empty())
          KINTSUGI_RETURN_IF_ERROR(enter(branchThatMakes(*level.level.program, made), part, level));
      }
    return Status::success();
  }

  /// The name of what the first stage of a plan stores; empty where there is none.
  std::string firstMade(const Plan &plan) const {
    if (plan.kind == Plan::Kind::Stage) {
      const runtime::Stage &stage = manifest.stages[plan.stage];
      return manifest.buffers[stage.buffers[stage.buffers.size() - stage.resultCount]].name;
    }
    for (const Plan &child : plan.children)
      if (std::string made = firstMade(child); !made.empty())
        return made;
    return "";
  }

  static const te::Scan *branchThatMakes(const te::Program &program, const std::string &name) {
    for (const te::Node &node : program.nodes)
      if (const auto *scan = std::get_if<te::Scan>(&node);
          scan && scan->isBranch() && makes(*scan->body, name))
        return scan;
    return nullptr;
  }

  /// Whether a program makes a value of that name, in scans too.
  static bool makes(const te::Program &program, const std::string &name) {
    bool isHere = llvm::any_of(program.values, [&](const te::Value &value) {
      return value.kind == te::ValueKind::Result && value.name == name;
    });
    return isHere || llvm::any_of(program.nodes, [&](const te::Node &node) {
             const auto *scan = std::get_if<te::Scan>(&node);
             return scan && makes(*scan->body, name);
           });
  }

  /// The scan into whose results a loop copies.
  const te::Scan *scanOf(const Plan &repeat, const te::Program &program) const {
    const te::Scan *best = nullptr;
    size_t most = 0;
    for (const te::Node &node : program.nodes) {
      const auto *scan = std::get_if<te::Scan>(&node);
      size_t count =
          scan ? llvm::count_if(repeat.copies,
                                [&](const runtime::BufferCopy &copy) {
                                  return isResult(program, *scan, manifest.buffers[copy.to].name);
                                })
               : 0;
      if (count > most) {
        best = scan;
        most = count;
      }
    }
    return best;
  }

  static bool isResult(const te::Program &program, const te::Scan &scan, const std::string &name) {
    return llvm::any_of(scan.results,
                        [&](te::ValueId id) { return program.value(id).name == name; });
  }

  const Manifest &manifest;
};

/// What a branch's step makes, in whose buffer a stack of the one step is; else nothing.
const te::Value *madeInBranch(const te::Program &program, const te::Value &value) {
  if (value.kind != te::ValueKind::Result)
    return nullptr;
  const auto *scan = std::get_if<te::Scan>(&program.nodes[value.node]);
  if (!scan || !scan->isBranch() || value.result < scan->initial.size())
    return nullptr;
  const te::Value &made = scan->body->value(scan->body->outputs[value.result].value);
  return made.kind == te::ValueKind::Result ? &made : nullptr;
}

/// The name of the buffer behind a value: an input of a scan's body has the buffer of what it
/// stands for outside.
std::string bufferName(const verify::Level &level, te::ValueId id) {
  const te::Program &program = *level.program;
  const te::Value &value = program.value(id);
  if (const te::Value *made = madeInBranch(program, value))
    return made->name;
  if (value.kind != te::ValueKind::Input || !level.outer)
    return value.name;
  size_t index = llvm::find(program.inputs, id) - program.inputs.begin();
  size_t carried = level.scan->initial.size();
  if (index == 0)
    return value.name;
  if (index > carried)
    return bufferName(*level.outer, level.scan->captured[index - 1 - carried]);
  // The state of a loop lies where its results do; a branch reads what is there before it.
  return bufferName(*level.outer, level.scan->isBranch() ? level.scan->initial[index - 1]
                                                         : level.scan->results[index - 1]);
}

} // namespace

Expected<std::list<KernelLevel>> kernelLevels(const te::Program &program,
                                              const Manifest &manifest) {
  LevelFinder finder(manifest);
  finder.levels.push_back({{&program, nullptr, nullptr, {}}, {}, {}, {}});
  KINTSUGI_RETURN_IF_ERROR(finder.visit(manifest.plan, finder.levels.front()));
  return std::move(finder.levels);
}

KernelRecorder::KernelRecorder(const Manifest &manifest, std::list<KernelLevel> &levels)
    : manifest(manifest), levelOf(manifest.stages.size(), nullptr) {
  for (KernelLevel &level : levels)
    for (uint32_t stage : level.stages)
      levelOf[stage] = &level;
}

Status KernelRecorder::launched(uint32_t stage, std::span<void *const> buffers,
                                runtime::DeviceQueue &queue) {
  if (!levelOf[stage])
    return Status::success();
  std::map<uint32_t, Tensor> &seen = levelOf[stage]->seen;
  for (auto [number, address] : llvm::zip_equal(manifest.stages[stage].buffers, buffers)) {
    const runtime::Buffer &buffer = manifest.buffers[number];
    bool constant = runtime::originOf(manifest, buffer).home.kind == Home::Kind::Constant;
    if (constant || seen.count(number))
      continue;
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(buffer.type, buffer.shape));
    KINTSUGI_RETURN_IF_ERROR(queue.download(tensor.bytes().data(), address, tensor.bytes().size()));
    seen.emplace(number, std::move(tensor));
  }
  return Status::success();
}

Expected<const Tensor *> seenOf(const KernelLevel &level, const Manifest &manifest,
                                te::ValueId value) {
  std::string name = bufferName(level.level, value);
  auto stored = level.buffers.find(name);
  bool isInput = level.level.program->value(value).kind == te::ValueKind::Input;
  for (const auto &[number, tensor] : level.seen) {
    bool own = stored != level.buffers.end() && stored->second == number;
    if (manifest.buffers[number].name == name && own == (!isInput && stored != level.buffers.end()))
      return &tensor;
  }
  return internalError("no kernel touched '" + name + "'");
}

} // namespace kintsugi::api
