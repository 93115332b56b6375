//===- scheduler.h - The schedules of a group -------------------------------===//
//
// scheduleGroup places a group of definitions on a machine: it tries tilings of the last member and
// keeps the one that the machine description says is quickest. Legality comes first: where a group
// has no schedule, the result says why, and the space loses one candidate, never the model.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_SCHEDULER_H
#define KINTSUGI_SEARCH_SCHEDULER_H

#include "loops/fuse.h"
#include "loops/point.h"
#include "machine/machine.h"

#include <string>

namespace kintsugi::search {

class ChoiceMemo;

struct ScheduleOptions {
  machine::Machine machine;
  bool scalar = false;            ///< No vectors (the reference target).
  int64_t scratchLimit = 4 << 20; ///< Bytes of scratch that a worker may have.
  /// The same with rings of attention, or of operands that four warps multiply together, which
  /// other devices do with in `scratchLimit`, by fewer stages. 0: the machine has no instructions
  /// for it.
  int64_t ringLimit = 0;
  bool bulk = true;                 ///< Those operands may come as boxes.
  unsigned clusterBlocks = 1;       ///< That may share a tile: 1, 2, 4, ...
  bool packing = true;              ///< Constants may be packed.
  bool copies = true;               ///< Tiles may copy operands and results on the way.
  bool coldConstants = false;       ///< They come from memory in each run.
  ChoiceMemo *choiceMemo = nullptr; ///< Read and added to; may be null.

  /// Whether a tile is the work of a block of threads; else a worker's own.
  bool inBlocks() const { return machine.threads > 0 && !scalar; }
};

struct ScheduleResult {
  std::optional<loops::Schedule> schedule;
  double computeSeconds = 0; ///< Arithmetic and near memory of the slowest worker.
  loops::Point point;        ///< What was decided; scheduleAt gives the same schedule for it.
  std::string reason;        ///< Why there is none.
};

/// A point that the search looked at.
struct Tried {
  loops::Point point;
  double computeSeconds = 0;
};

ScheduleResult scheduleGroup(const te::Program &program, const loops::Group &group,
                             const ScheduleOptions &options, std::vector<Tried> *tried = nullptr);

/// What a nest could do, the best estimate first.
struct NestChoices {
  double share = 0; ///< Of the kernel's cycles.
  std::vector<loops::NestChoice> registers;
};

/// The schedule of a point, which may come from anywhere: none where the group has no such point.
ScheduleResult scheduleAt(const te::Program &program, const loops::Group &group,
                          const ScheduleOptions &options, const loops::Point &point,
                          std::vector<NestChoices> *choices = nullptr);

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_SCHEDULER_H
