//===- manifest.h - What an artifact says about itself --------------------===//
//
// The description by which the runtime binds buffers and runs stages: plain values, printed as JSON
// into the artifact. The linker fills it, validate() judges it, and whatever passes is safe to lay
// out and to walk. (That the code behind a stage keeps to its operands nobody can check: see
// abi/artifact.h.)
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_MANIFEST_H
#define KINTSUGI_RUNTIME_MANIFEST_H

#include "base/element_range.h"
#include "base/element_type.h"
#include "base/json.h"
#include "base/status.h"
#include "runtime/open_dimension.h"
#include "runtime/tensor_maps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kintsugi::runtime {

/// Grows with every change of the manifest that an old reader would misunderstand.
inline constexpr uint32_t manifestVersion = 5;

/// Names no buffer or port.
inline constexpr int64_t none = -1;

/// Where the bytes of a buffer are.
struct Home {
  enum class Kind : uint8_t {
    Input,    ///< The caller's input `index`.
    Output,   ///< The caller's output `index`.
    Constant, ///< At `offset` in the constants section; never written.
    Arena, ///< At `offset` in the context's arena; buffers may overlap where never live together.
    Size,  ///< The size of the open dimension `index`, an i64.
    Alias, ///< At `offset` in buffer `index`, which is no alias itself.
  };
  Kind kind = Kind::Arena;
  uint32_t index = 0;
  uint64_t offset = 0; ///< In bytes; a multiple of KIN_BUFFER_ALIGNMENT in constants and arena.

  static Home input(uint32_t index) { return {Kind::Input, index, 0}; }
  static Home output(uint32_t index) { return {Kind::Output, index, 0}; }
  static Home constant(uint64_t offset) { return {Kind::Constant, 0, offset}; }
  static Home arena(uint64_t offset) { return {Kind::Arena, 0, offset}; }
  static Home size(uint32_t number = 0) { return {Kind::Size, number, 0}; }
  static Home alias(uint32_t buffer, uint64_t offset = 0) { return {Kind::Alias, buffer, offset}; }

  bool operator==(const Home &) const = default;
};

/// A run of bytes that stages read and write. `bytes` may exceed what the shape needs (padded or
/// packed formats), except for those of the caller.
struct Buffer {
  std::string name;
  ElementType type = ElementType::Invalid;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  Home home;

  bool operator==(const Buffer &) const = default;
};

/// A dimension whose extent is only known at run time: `shape` has its bound, and after the run
/// the i64 in `buffer` says how much of it is valid.
struct DynamicDimension {
  uint32_t dimension = 0;
  uint32_t buffer = 0;

  bool operator==(const DynamicDimension &) const = default;
};

/// An input or output of the model. An input's buffer is at home in that input. An output's may be
/// anywhere: where it is not at home in the output itself, it is copied there when all is done.
struct Port {
  std::string name;
  ElementType type = ElementType::Invalid;
  std::vector<int64_t> shape;
  uint32_t buffer = 0;
  std::vector<DynamicDimension> dynamic; ///< Outputs only.
  int64_t mayAlias = none;         ///< Outputs only: the input in whose memory stages may write it.
  std::vector<OpenAxis> open = {}; ///< At most one of each open dimension.

  bool operator==(const Port &) const = default;
};

/// What a stage computes, or a part of one.
struct Work {
  std::string symbol;
  std::vector<std::string> nodes;   ///< The model's nodes it serves, for profiles and errors.
  std::vector<uint64_t> operations; ///< For each of them in a launch (a multiply-add is two), or
                                    ///< empty where that is not known.
  double predictedSeconds = 0;
  uint64_t movedBytes = 0; ///< That it reads and writes at the least, for roofline figures.

  bool operator==(const Work &) const = default;
};

/// One step of work: `tiles` independent tiles of a generated kernel, or a call of a host function.
struct Stage : Work {
  enum class Kind : uint8_t {
    Kernel, ///< A function of the code object, by `symbol`: see abi/stage.h and abi/launch.h.
    Call,   ///< The function of calls/ named `symbol`, with `attributes`.
  };
  Kind kind = Kind::Kernel;
  std::string call;              ///< Of a kernel: the call that it is a part of, or "".
  std::vector<uint32_t> buffers; ///< Operands; those that are only read come first,
  uint32_t resultCount = 0;      ///< and the last so many are written.
  uint64_t tiles = 1;
  uint64_t together = 1; ///< So many in a row share what one of them computes, a divisor of tiles.
  /// Of different open dimensions, each in what the one before cuts; none: every size needs all.
  std::vector<Trim> trims;
  uint64_t scratchBytes = 0; ///< For each worker or block of threads.
  uint32_t threads = 0;      ///< Of the block that works on a tile; 0 where workers are single.
  bool meets = false;        ///< Blocks wait for each other; any number of them does the work.
  uint32_t registers = 0;    ///< That each of them is thought to need, for checks of the code.
  Json attributes = Json::object();
  std::string expressions; ///< The text form of what it computes.
  std::vector<Work>
      parts; ///< Kernels that share the launch, which notes when each was under way
             ///< (abi/launch.h): its nodes are all of theirs. Empty: it is one kernel.

  bool operator==(const Stage &) const = default;
};

/// Of a stage's tiles, the part that runs of such sizes need.
double neededPart(const Stage &stage, const OpenSizes &sizes);

/// What a run has to look at. When all is done: a report, i64 numbers of which the first is not 0
/// where an operand was wrong. Or elements of an input that must lie in a range: before anything is
/// done, or when all is done where they are in the device's memory.
struct Check {
  uint32_t buffer = 0; ///< The report's, or the input's.
  std::string node;    ///< Of the model, for the message; or "".
  /// The message (base/fill_numbers.h), with the numbers behind a report's first one, or a report's
  /// only one, or the element.
  std::string text;
  std::optional<ElementRange> range = std::nullopt; ///< Of an input's elements.

  bool operator==(const Check &) const = default;
};

/// Copies the bytes of one buffer over another of as many. In a repeat either may be a slice of its
/// buffer that moves by so many bytes with each iteration, and as many bytes as the smaller buffer
/// has are copied: so a loop takes its input and stacks its output step by step.
struct BufferCopy {
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t fromStep = 0;
  uint64_t toStep = 0;

  bool operator==(const BufferCopy &) const = default;
};

/// What to run in which order. The copies of a node happen one after another, in order.
struct Plan {
  enum class Kind : uint8_t {
    Stage,    ///< Stage number `stage`.
    Sequence, ///< All `children`.
    Repeat,   ///< `children[0]`, at most `count` times, each time followed by `copies`.
    Branch,   ///< `children[0]` where the condition holds, otherwise `children[1]`.
    Copy,     ///< `copies`.
    Lanes,    ///< All `children`, in any order or side by side: none waits for another.
  };
  Kind kind = Kind::Sequence;
  uint32_t stage = 0;
  uint64_t count = 0;
  int64_t step = none;      ///< Repeat: an i64 that gets 0, 1, ... before each iteration.
  int64_t condition = none; ///< Branch, Repeat: a bool; a repeat ends where it is false ahead of an
                            ///< iteration, and has none for a fixed count.
  std::vector<BufferCopy> copies;
  std::vector<Plan> children;

  static Plan ofStage(uint32_t stage);
  static Plan sequence(std::vector<Plan> children);
  static Plan repeat(uint64_t count, Plan body, std::vector<BufferCopy> copies = {},
                     int64_t step = none, int64_t condition = none);
  static Plan branch(uint32_t condition, Plan then, Plan otherwise);
  static Plan copy(std::vector<BufferCopy> copies);
  static Plan lanes(std::vector<Plan> children);

  bool operator==(const Plan &) const = default;
};

/// A code object of the artifact and what it asks of the machine.
struct CodeObject {
  std::string section;               ///< The name of its code section.
  std::vector<std::string> features; ///< As in /proc/cpuinfo ("avx2", "fma"), or "sm_80", ...
  bool kernelsWait = false;          ///< See abi/launch.h.
  std::vector<StageMaps> maps;       ///< Of the stages that take any.
  /// Of the section with machine code made of it, for devices that run that; or "".
  std::string machineCode = {};

  bool operator==(const CodeObject &) const = default;
};

struct Manifest {
  std::string compilerVersion;
  std::string modelName;
  std::string target;    ///< "cpu", "reference" or "cuda".
  std::string precision; ///< "f32", "f16", "bf16".
  uint64_t arenaBytes = 0;
  std::vector<Buffer> buffers;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<OpenDimension> open;
  /// Variants of the artifact that are quicker at some of the sizes.
  std::vector<std::string> smaller;
  std::vector<Stage> stages;
  std::vector<Check> checks; ///< Of stages that run exactly once.
  Plan plan;
  std::vector<CodeObject> code; ///< Best first: the first one that the machine can run is loaded.

  /// The input or output with that name; `none` where there is none.
  static int64_t find(const std::vector<Port> &ports, std::string_view name);

  Json toJson() const;

  /// Reads what toJson() wrote; an input error that says where in the manifest it is for anything
  /// else. Numbers may still be inconsistent: see validate().
  static Expected<Manifest> fromJson(const Json &json);

  /// Whether every index, offset, size and kind fits the others and `constantBytes` of constants;
  /// the error names the buffer, port or stage.
  Status validate(uint64_t constantBytes) const;

  bool operator==(const Manifest &) const = default;
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_MANIFEST_H
