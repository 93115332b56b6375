//===- plan_memo.h - What planning for one machine need not do twice --------===//
//
// A model is planned more than once where plans are compared: with rules before and after values
// are stored in 16 bits, in formats and row-major, of parts of forms. Equal programs have equal
// plans, equal groups equal schedules, and what a definition takes in a format is the same in all
// of them.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_PLAN_MEMO_H
#define KINTSUGI_PIPELINE_PLAN_MEMO_H

#include "orchestrate/orchestrate.h"
#include "search/price_list.h"
#include "space/space.h"

#include <map>
#include <mutex>

namespace kintsugi::pipeline {

/// A plan, and what was decided of it.
struct Planned {
  std::shared_ptr<const te::Program> program; ///< The plan points to it.
  orchestrate::Plan plan;
  orchestrate::OrchestrateTexts texts;
  explain::Log log;
};

/// Under options that are equal in all that plans and schedules depend on.
class PlanMemo {
public:
  /// Null where none was added.
  std::shared_ptr<const Planned> find(const Hash128 &key) const {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = plans.find(key);
    return found == plans.end() ? nullptr : found->second;
  }

  void add(const Hash128 &key, std::shared_ptr<const Planned> plan) {
    std::lock_guard<std::mutex> lock(mutex);
    plans.emplace(key, std::move(plan));
  }

  space::ScheduleMemo schedules;
  search::PriceMemo formats;

private:
  mutable std::mutex mutex; ///< Of what follows.
  std::map<Hash128, std::shared_ptr<const Planned>> plans;
};

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_PLAN_MEMO_H
