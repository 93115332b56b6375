//===- plan.h - What runs, in which order, on which buffers -----------------===//
//
// The result of the search and the input of linking: a tree of stages over a table of buffers. The
// tree is there from the first day: sequences, repeats (a scan's body) and branches. Stages whose
// operands are all constant form a tree of their own, the constant program, which runs once at link
// time.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_PLAN_H
#define KINTSUGI_ORCHESTRATE_PLAN_H

#include "base/element_range.h"
#include "calls/device_call.h"
#include "space/space.h"
#include "te/open_axis.h"
#include "llvm/ADT/StringRef.h"

namespace kintsugi::orchestrate {

enum class BufferKind : uint8_t {
  Input,     ///< The model's input `port`.
  Size,      ///< The size of the open dimension.
  Source,    ///< A constant of the model, with its bytes.
  Derived,   ///< A result of the constant program.
  Temporary, ///< Lives in the arena while the model runs.
};

struct PlanBuffer {
  std::string name;
  ElementType type;
  te::Shape shape;
  uint64_t bytes = 0;
  BufferKind kind = BufferKind::Temporary;
  unsigned port = 0;
  std::shared_ptr<const te::ConstantSource> source;
  uint64_t arenaOffset = 0; ///< Temporary: set by assignArena.
  /// At sizes below the greatest, by open dimension.
  std::array<te::Validity, mostOpenDimensions> validity;
};

/// A generated kernel; stages of equal groups share it.
struct Kernel {
  std::string symbol;
  Hash128 key;                                     ///< Of its group.
  std::shared_ptr<const loops::KernelShape> shape; ///< None in a plan that was read from text.
  double predictedSeconds = 0;
  /// The first group that it computes, of a program that outlives the plan (it may be a loop's
  /// body); null for kernels of the constant program and in a plan that was read from text.
  const te::Program *program = nullptr;
  loops::Group group;
};

struct Stage {
  enum class Kind : uint8_t { Kernel, Call };
  Kind kind = Kind::Kernel;
  unsigned kernel = 0; ///< Kernel
  std::string callee;  ///< Call
  Json attributes = Json::object();
  llvm::SmallVector<unsigned, 6> operands; ///< Buffer numbers; the last `results` are written.
  unsigned results = 1;
  std::vector<std::string> origins; ///< ONNX nodes.
  std::vector<uint64_t> operations; ///< Of each of them, in a launch: te/operations.h.
  unsigned definitions = 0;         ///< How many expressions it computes.
  double predictedSeconds = 0;
  uint64_t movedBytes = 0;
  std::string expressions; ///< The definitions it computes, a line each.
  /// Call: its launches, where the device does it itself, and the buffers of their memory. None in
  /// a plan that was read from text.
  std::optional<calls::DeviceCall> device;
  llvm::SmallVector<unsigned, 2> memory;

  /// The buffer at a place of calls::Launch.
  unsigned bufferAt(unsigned place) const {
    return place < operands.size() ? operands[place] : memory[place - operands.size()];
  }
  /// Adds operations that it does for a node of the model.
  void addOperations(const std::string &origin, uint64_t count);
};

struct BufferCopy {
  unsigned from, to;
};

struct PlanNode {
  enum class Kind : uint8_t { Stage, Sequence, Repeat, Branch, Copy, Lanes, Joined };
  Kind kind = Kind::Sequence;
  unsigned stage = 0;             ///< Stage
  std::vector<PlanNode> children; ///< Sequence: all; Repeat: the body; Branch: then, otherwise;
                                  ///< Lanes: all, each the work of one worker alone;
                                  ///< Joined: phases of one launch, each a stage or a sequence
                                  ///< of stages that don't wait for each other.
  int64_t count = 0;              ///< Repeat
  unsigned step = ~0u;            ///< Repeat: a scalar i64 that holds the step.
  std::vector<BufferCopy> copies; ///< Copy; Repeat: carried tensors, after each step.
  std::vector<BufferCopy> stacks; ///< Repeat: each step's tensor into its place of the stack.
  unsigned condition = ~0u;    ///< Branch: a scalar boolean. Repeat: it ends where that is false.
  double predictedSeconds = 0; ///< Joined: of the launch.

  /// Repeat: whether all steps are made in each run.
  bool isCounted() const { return condition == ~0u; }
  /// How often a run is taken to come to each child when it comes here.
  double predictedTimes() const;
};

struct Plan {
  std::string model;
  std::vector<PlanBuffer> buffers;
  std::vector<Kernel> kernels;
  std::vector<Stage> stages;
  PlanNode constants; ///< The constant program.
  PlanNode root;
  /// A scalar i64 is the extent of a dimension: what lies behind is none of the output's.
  struct Count {
    unsigned dimension;
    unsigned buffer;
  };
  struct Output {
    std::string name;
    unsigned buffer;
    llvm::SmallVector<Count, 1> counts = {};
  };
  /// A report, to be looked at when all is done (see calls::DeviceCall, te/check.h), or elements of
  /// an input, to be looked at before a run.
  struct Check {
    unsigned buffer;
    std::string node; ///< Of the model, which its message begins with; or "".
    std::string text;
    std::optional<ElementRange> range = std::nullopt; ///< Of an input's elements.
  };
  std::vector<calls::Site> sites; ///< Whose code the device's calls share.
  std::vector<Check> checks;
  std::vector<unsigned> inputs; ///< Buffer of each port.
  std::vector<Output> outputs;
  /// What users take the bytes of a port for, of which its buffer may know less.
  struct Declared {
    ElementType type;
    te::Shape shape;
    std::array<te::Validity, mostOpenDimensions> validity;
  };
  std::vector<Declared> declaredInputs, declaredOutputs; ///< Of all; none: as buffers are.
  uint64_t arenaBytes = 0;
  std::vector<OpenDimension> open;

  double objectiveSeconds = 0; ///< Of the root: what the solver minimized.
  double gap = 0;
  unsigned candidates = 0;

  /// Calls `visit` on each stage number below a node, in order; the body of a repeat once.
  static void forEachStage(const PlanNode &node, llvm::function_ref<void(unsigned)> visit);
  /// The text form, which orchestrate/plan_text.h describes and reads.
  std::string print() const;
};

/// Gives each Temporary an offset: buffers that are never alive together may overlap.
void assignArena(Plan &plan);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_PLAN_H
