//===- non_max_suppression.cpp - The best of boxes that overlap --------------===//

#include "calls/checks.h"
#include "calls/list.h"

#include <algorithm>
#include <cmath>

using namespace kintsugi;
using namespace kintsugi::calls;

namespace {

/// How many a class has room for, of `boxes`, and how boxes are given.
struct Attributes {
  int64_t room = 0;
  bool isCenter = false;

  static Expected<Attributes> read(const Json &attributes, int64_t boxes) {
    Attributes read;
    KINTSUGI_ASSIGN(read.room, jsonInteger(attributes, "room"));
    if (read.room < 0 || read.room > boxes)
      return inputError("has room for " + std::to_string(read.room) + " boxes of " +
                        std::to_string(boxes));
    KINTSUGI_ASSIGN(read.isCenter, boolOr(attributes, "center", false));
    return read;
  }
};

/// By its corners, the lesser coordinates first.
template <typename Real> struct Box {
  Real top, left, bottom, right;

  static Box of(std::span<const Real> given, bool isCenter) {
    if (isCenter) {
      Real x = given[0], y = given[1], width = given[2] / 2, height = given[3] / 2;
      return {y - height, x - width, y + height, x + width};
    }
    return {std::min(given[0], given[2]), std::min(given[1], given[3]),
            std::max(given[0], given[2]), std::max(given[1], given[3])};
  }

  Real area() const { return (bottom - top) * (right - left); }

  /// Whether what two have in common is more than `share` of what they cover.
  bool overlaps(const Box &other, Real share) const {
    Real height = std::min(bottom, other.bottom) - std::max(top, other.top);
    Real width = std::min(right, other.right) - std::max(left, other.left);
    if (!(height > 0) || !(width > 0))
      return false;
    Real common = height * width;
    return common / (area() + other.area() - common) > share;
  }
};

template <typename Real> struct Limits {
  int64_t most;
  Real overlap;
  std::optional<Real> score;
};

} // namespace

static Status checkScalar(const TensorType &operand, ElementType type) {
  if (operand.type == type && elementCount(operand.shape) == 1)
    return Status::success();
  return inputError("a limit is " + std::string(nameOf(operand.type)) + shapeString(operand.shape) +
                    ", it must be one " + std::string(nameOf(type)));
}

static Expected<std::vector<ResultType>> infer(std::span<const TensorType> operands,
                                               const Json &attributes) {
  constexpr size_t all = 5;
  if (operands.size() + 1 != all)
    KINTSUGI_RETURN_IF_ERROR(expectOperands(operands, all));
  const TensorType &boxes = operands[0], &scores = operands[1];
  bool isReal = boxes.type == ElementType::F32 || boxes.type == ElementType::F64;
  if (!isReal || scores.type != boxes.type)
    return inputError("boxes and scores must both be f32 or f64");
  if (boxes.shape.size() != 3 || boxes.shape[2] != 4 || scores.shape.size() != 3 ||
      scores.shape[0] != boxes.shape[0] || scores.shape[2] != boxes.shape[1])
    return inputError("boxes have the shape " + shapeString(boxes.shape) + " and scores " +
                      shapeString(scores.shape) +
                      ", they must be [batches, boxes, 4] and [batches, classes, boxes]");
  KINTSUGI_RETURN_IF_ERROR(checkScalar(operands[2], ElementType::I64));
  for (const TensorType &limit : operands.subspan(3))
    KINTSUGI_RETURN_IF_ERROR(checkScalar(limit, boxes.type));
  KINTSUGI_ASSIGN(Attributes read, Attributes::read(attributes, boxes.shape[1]));
  int64_t rows[] = {scores.shape[0], scores.shape[1], read.room};
  std::optional<int64_t> bound = elementCount(rows);
  if (!bound)
    return inputError("the operands are too large");
  int64_t below = std::max({scores.shape[0], scores.shape[1], scores.shape[2]});
  return std::vector<ResultType>{{{ElementType::I64, {*bound, 3}}, {{0, 1}}, below},
                                 {{ElementType::I64, {}}, {}, *bound + 1}};
}

/// The boxes of one class that are chosen, the best first; of equal scores the first box.
template <typename Real>
static std::vector<int64_t> chosenOf(std::span<const Box<Real>> boxes, std::span<const Real> scores,
                                     const Limits<Real> &limits) {
  std::vector<int64_t> candidates, chosen;
  for (int64_t box = 0; box < int64_t(scores.size()); ++box)
    if (!limits.score || scores[box] > *limits.score)
      candidates.push_back(box);
  auto isBetter = [&](int64_t a, int64_t b) { // What is no number is the worst.
    if (std::isnan(scores[a]) || std::isnan(scores[b]))
      return std::isnan(scores[b]) && (!std::isnan(scores[a]) || a < b);
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  std::ranges::sort(candidates, isBetter);
  for (int64_t box : candidates) {
    if (int64_t(chosen.size()) >= limits.most)
      break;
    bool isLeftOut = std::ranges::any_of(
        chosen, [&](int64_t better) { return boxes[box].overlaps(boxes[better], limits.overlap); });
    if (!isLeftOut)
      chosen.push_back(box);
  }
  return chosen;
}

template <typename Real>
static void choose(std::span<const TensorView> operands, Attributes attributes,
                   std::span<const ResultView> results) {
  int64_t batches = operands[1].shape[0], classes = operands[1].shape[1];
  int64_t count = operands[1].shape[2], found = 0;
  std::span<const Real> corners = operands[0].as<Real>(), scores = operands[1].as<Real>();
  Limits<Real> limits{
      std::min(loadInteger(operands[2], 0), attributes.room), operands[3].as<Real>()[0], {}};
  if (operands.size() > 4)
    limits.score = operands[4].as<Real>()[0];
  std::ranges::fill(results[0].bytes, std::byte(0));
  std::vector<Box<Real>> boxes(count);
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t box = 0; box < count; ++box)
      boxes[box] =
          Box<Real>::of(corners.subspan((batch * count + box) * 4, 4), attributes.isCenter);
    for (int64_t label = 0; label < classes; ++label)
      for (int64_t box : chosenOf<Real>(
               boxes, scores.subspan((batch * classes + label) * count, count), limits)) {
        for (auto [column, value] : {std::pair(0, batch), {1, label}, {2, box}})
          storeInteger(ElementType::I64, results[0].bytes, found * 3 + column, value);
        ++found;
      }
  }
  storeInteger(ElementType::I64, results[1].bytes, 0, found);
}

static Status body(std::span<const TensorView> operands, const Json &attributes,
                   std::span<const ResultView> results) {
  KINTSUGI_ASSIGN(Attributes read, Attributes::read(attributes, operands[0].shape[1]));
  if (operands[0].type == ElementType::F32)
    choose<float>(operands, read, results);
  else
    choose<double>(operands, read, results);
  return Status::success();
}

const Call kintsugi::calls::nonMaxSuppression = {"NonMaxSuppression", infer, body};
