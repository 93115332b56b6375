#include "explain/render.h"

#include <cmath>

namespace kintsugi::explain {

namespace {

Json milliseconds(double seconds) { return std::isfinite(seconds) ? Json(seconds * 1e3) : Json(); }

Json describe(const ChoosableKernel &kernel) {
  return {{"stores", kernel.stores},
          {"definitions", kernel.definitions},
          {"nodes", kernel.nodes},
          {"forms", kernel.forms},
          {"predicted_ms", milliseconds(kernel.seconds)}};
}

} // namespace

Json renderJson(const Choice &choice) {
  Json chosen = Json::array(), alternatives = Json::array();
  for (const ChoosableKernel &kernel : choice.chosen)
    chosen.push_back(describe(kernel));
  for (const Alternative &alternative : choice.alternatives) {
    Json entry = describe(alternative.kernel);
    entry["expressions"] = alternative.kernel.expressions;
    entry["instead_of"] = alternative.insteadOf;
    entry["more_at_least_ms"] = milliseconds(alternative.moreAtLeast);
    entry["more_ms"] = alternative.more ? milliseconds(*alternative.more) : Json();
    entry["proven"] = alternative.isProven;
    entry["with"] = alternative.with;
    alternatives.push_back(std::move(entry));
  }
  return {{"program", choice.program},
          {"among", choice.among},
          {"forms", choice.forms},
          {"margin", choice.margin},
          {"definitions", choice.definitions},
          {"candidates", choice.candidates},
          {"objective_ms", milliseconds(choice.objective)},
          {"bound_ms", milliseconds(choice.bound)},
          {"gap", choice.gap},
          {"chosen", std::move(chosen)},
          {"alternatives", std::move(alternatives)},
          {"not_told", choice.notTold}};
}

} // namespace kintsugi::explain
