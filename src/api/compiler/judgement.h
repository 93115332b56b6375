//===- judgement.h - An output beside the right one, as a report says it ----===//
//
// Applies the error policy (verify/policy.h) to one output. What rounding costs the model takes a
// run of the reference to know, so it is asked for only where the limits of every model are passed.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_JUDGEMENT_H
#define KINTSUGI_API_COMPILER_JUDGEMENT_H

#include "base/json.h"
#include "base/status.h"
#include "verify/policy.h"

#include <functional>

namespace kintsugi::api {

struct Judging {
  verify::Exactness exactness;
  double share = 1;           ///< Of the limits: verify::shareOfOthers against another runtime.
  bool mayBeRounding = false; ///< Rounding to fewer bits than f32, at the user's word, may excuse.
  /// How far the model is off that is rounded as its values are judged; nothing where that can't be
  /// known. Takes verify::leastShareOfSlice.
  std::function<Expected<std::optional<verify::Difference>>(double)> rounding;
};

/// The fields of an output that docs/command-line.md lists, from "type" on.
Expected<Json> judge(TensorView actual, TensorView expected, const Judging &judging);

/// The verdict on all entries: the worst.
verify::Verdict worstOf(const Json &entries);

/// Adds "verdict", and "within", which is true inside the policy for whatever reason.
void addVerdict(verify::Verdict verdict, Json &entry);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_JUDGEMENT_H
