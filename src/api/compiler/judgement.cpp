#include "api/compiler/judgement.h"

#include <algorithm>
#include <cmath>

namespace kintsugi::api {

using verify::Difference;
using verify::Limits;
using verify::Verdict;

namespace {

std::string describe(TensorView tensor) {
  return std::string(nameOf(tensor.type)) + shapeString(tensor.shape);
}

/// Differences that are infinite stand as null: JSON has no infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

bool areAlike(TensorView a, TensorView b) {
  return a.type == b.type && std::ranges::equal(a.shape, b.shape);
}

void addDifference(const Difference &found, Json &entry) {
  entry["max_abs"] = finite(found.maxAbsolute);
  entry["max_rel"] = finite(found.relative);
  entry["ulps"] = finite(found.ulps);
  entry["cosine"] = finite(found.cosine);
  entry["worst_element"] = found.worst;
  entry["slice_rel"] = finite(found.inSlices);
  if (found.inSlices > 0)
    entry["worst_slice"] = {{"axis", found.axis}, {"index", found.slice}};
  if (found.isNan)
    entry["nan"] = true;
}

/// Where the limits of every model are passed: those of this one, and what they say.
Expected<Verdict> judgeWidened(const Difference &found, ElementType type, const Judging &judging,
                               Limits &limits, Json &entry) {
  bool isF32 = verify::judgedBy(type, judging.exactness) == ElementType::F32;
  if (!(isF32 || judging.mayBeRounding))
    return Verdict::Outside;
  double share = isF32 ? judging.share : 1;
  Limits widest = share * verify::widestOf(type, judging.exactness);
  widest = {std::max(limits.whole, widest.whole), std::max(limits.inSlices, widest.inSlices)};
  if (!widest.allow(found)) { // Whatever rounding costs.
    limits = widest;
    return Verdict::Outside;
  }
  KINTSUGI_ASSIGN(std::optional<Difference> rounding,
                  judging.rounding(verify::leastShareOfSlice(type, judging.exactness)));
  if (!rounding) {
    entry["rounding"] = Json();
    return Verdict::Outside;
  }
  entry["rounding"] = finite(rounding->relative);
  entry["slice_rounding"] = finite(rounding->inSlices);
  limits = share * verify::widened((1 / share) * limits, *rounding, type, judging.exactness);
  if (!limits.allow(found))
    return Verdict::Outside;
  return isF32 ? Verdict::Inside : Verdict::Rounding;
}

} // namespace

void addVerdict(Verdict verdict, Json &entry) {
  entry["verdict"] = nameOf(verdict);
  entry["within"] = verdict != Verdict::Outside;
}

Verdict worstOf(const Json &entries) {
  Verdict worst = Verdict::Inside;
  for (Verdict verdict : {Verdict::Rounding, Verdict::Outside})
    for (const Json &entry : entries)
      if (entry["verdict"] == nameOf(verdict))
        worst = verdict;
  return worst;
}

Expected<Json> judge(TensorView actual, TensorView expected, const Judging &judging) {
  Limits limits = judging.share * verify::limitsOf(actual.type, judging.exactness);
  Json entry = {{"type", nameOf(actual.type)}, {"depth", judging.exactness.depth}};
  entry["shape"] = std::vector<int64_t>(actual.shape.begin(), actual.shape.end());
  Verdict verdict = Verdict::Outside;
  if (areAlike(actual, expected)) {
    Difference found = verify::difference(
        actual, expected, verify::leastShareOfSlice(actual.type, judging.exactness));
    addDifference(found, entry);
    verdict = Verdict::Inside;
    if (!limits.allow(found)) {
      KINTSUGI_ASSIGN(verdict, judgeWidened(found, actual.type, judging, limits, entry));
    }
  } else {
    entry["problem"] = "expected " + describe(expected) + ", got " + describe(actual);
  }
  entry["allowed"] = limits.whole;
  entry["slice_allowed"] = limits.inSlices;
  addVerdict(verdict, entry);
  return entry;
}

} // namespace kintsugi::api
