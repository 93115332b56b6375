//===- definition_costs.h - What a definition takes in given formats --------===//
//
// Prices one definition alone by its schedule, each distinct one once. Fusion comes later, so what
// only renames or combines elements in the order in which they are stored counts as free: it will
// be computed where it is read.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LAYOUT_DEFINITION_COSTS_H
#define KINTSUGI_LAYOUT_DEFINITION_COSTS_H

#include "layout/reorder.h"
#include "schedule/scheduler.h"
#include "schedule/thread_memo.h"

#include <map>

namespace kintsugi::layout {

class DefinitionCosts {
public:
  /// At most `fuel` definitions are scheduled.
  DefinitionCosts(const te::Program &program, const schedule::ScheduleOptions &schedule,
                  unsigned fuel);

  /// Seconds that a definition takes alone with its result and operands in the given orders;
  /// infinity where it has no schedule, or when the fuel is spent.
  double seconds(uint32_t node, OrderOf orderOf);

  bool outOfFuel() const { return fuel == 0; }
  unsigned scheduled() const { return known.size(); }

private:
  bool followsOperands(const te::Definition &definition, OrderOf orderOf) const;
  double schedule(const te::Program &alone, const schedule::Group &group);

  const te::Program &program;
  schedule::ThreadMemo threads;
  schedule::ScheduleOptions options;
  double cores;
  unsigned fuel;
  std::vector<bool> constant; ///< By node.
  std::map<std::string, double> known;
};

} // namespace kintsugi::layout

#endif // KINTSUGI_LAYOUT_DEFINITION_COSTS_H
