//===- machine.h - What a machine offers, as data ---------------------------===//
//
// The one description that schedules, costs and targets read; `kintsugi doctor` writes it for the
// machine at hand, and a compile for another machine takes it from a file. It has no words of one
// target: memory levels go from the outermost (shared by all, large, slow) inwards, and scopes of
// parallel work from the whole grid inwards to one lane.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_MACHINE_MACHINE_H
#define KINTSUGI_MACHINE_MACHINE_H

#include "base/status.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi::machine {

/// Of the instruction set: those of the x86-64 psABI supplement, each with all before it.
enum class Level : uint8_t {
  V1, ///< SSE2.
  V2, ///< SSE4.2.
  V3, ///< AVX2, FMA.
  V4, ///< AVX-512 F, BW, CD, DQ, VL.
};

const char *nameOf(Level level);
/// nullopt for another word.
std::optional<Level> levelOf(std::string_view name);

/// A machine error that names both levels where a processor that has one can't run code for the
/// other.
Status checkRuns(Level has, Level needs);

struct MemoryLevel {
  std::string name;             ///< "memory", "L3", "L2", "L1"
  int64_t bytes = 0;            ///< Capacity of one instance.
  int sharedBy = 1;             ///< Cores that share one instance.
  double bytesPerSecond = 0;    ///< What one core reads from it alone.
  double bytesPerSecondAll = 0; ///< What all cores together read from it.

  bool operator==(const MemoryLevel &) const = default;
};

/// What a core has that runs blocks of threads, and how many of its cycles data are on their way.
struct BlockCore {
  int subgroup = 32;               ///< Threads that run in step and hand values on without memory.
  int blocks = 32;                 ///< That may be under way at once.
  int registers = 65536;           ///< Of 32 bits, for all threads.
  int schedulers = 4;              ///< Each starts an instruction of a subgroup in a cycle.
  int multiplyAdds = 128;          ///< In f32 in a cycle, of all threads,
  int matrixMultiplyAdds = 640;    ///< and of matrix units on 16-bit factors, as kernels reach it.
  int exponentials = 16;           ///< Of special units in a cycle.
  int scratchBytesACycle = 128;    ///< To scratch and from it.
  double memoryCycles = 700;       ///< From asking memory to having,
  double sharedCycles = 350;       ///< it or the cache of all cores, as kernels find data,
  double cacheCycles = 60;         ///< the nearest cache,
  double scratchCycles = 30;       ///< or scratch.
  int64_t scratchBytes = 96 << 10; ///< That a block may have wherever the level's code runs.
  /// The same for rings of operands that four subgroups multiply together; 0: they can't.
  int64_t ringBytes = 0;
  int clusterBlocks = 1; ///< That may share a tile: 1, 2, 4, ...

  /// That of a level, "sm_80" or "sm_90a"; of another, what every level has.
  static BlockCore of(std::string_view level);

  bool operator==(const BlockCore &) const = default;
};

struct Machine {
  std::string name;  ///< The processor's own name.
  std::string level; ///< Instruction set level: "x86-64-v3", "x86-64-v4", "sm_90a", ...
  int cores = 1;     ///< Workers that can run at the same time.
  int vectorBits = 256;
  int vectorRegisters = 16;
  int multiplyAdds = 2; ///< Of a whole vector, that a core starts in a cycle.
  /// Threads that a core keeps under way at once, to work while others wait; a tile is then the
  /// work of a block of them. 0: a core is one worker.
  int threads = 0;
  BlockCore core;             ///< Where there are threads.
  double flopsPerSecond = 0;  ///< One core, f32 multiply-adds counted as two.
  double stageSeconds = 2e-6; ///< Start and barrier of one stage over all cores.
  /// Where tiles are the work of blocks: between two stages of one launch; 0: blocks can't wait for
  /// each other.
  double barrierSeconds = 0;
  std::vector<MemoryLevel> levels; ///< From memory inwards; at least one.

  const MemoryLevel &memory() const { return levels.front(); }
  /// How many of a level's there are for all cores.
  int instancesOf(const MemoryLevel &level) const {
    return std::max(1, cores / std::max(1, level.sharedBy));
  }
  /// What one core has to itself and its working set stays in: the level before the innermost.
  int64_t nearBytes() const { return near().bytes; }
  const MemoryLevel &near() const;

  /// JSON; parse(print(m)) == m.
  std::string print() const;
  static Expected<Machine> parse(std::string_view text);
  /// Looks at the machine that this runs on.
  static Machine detect();
  /// The same as code of a level of the instruction set sees it, which the machine has or not.
  static Machine detectAt(Level level);
  /// The same for each level from x86-64-v3 on that the machine has, the highest first. Empty on
  /// older machines.
  static std::vector<Machine> detectLevels();
  /// Names the kind of machine that this runs on: processor, cores that may be used and caches.
  static std::string identity();
  /// A fixed description of a given level ("x86-64-v3", "x86-64-v4", "sm_90a"), for compiles that
  /// must not depend on where they run.
  static Expected<Machine> forLevel(std::string_view level);

  bool operator==(const Machine &) const = default;
};

} // namespace kintsugi::machine

#endif // KINTSUGI_MACHINE_MACHINE_H
