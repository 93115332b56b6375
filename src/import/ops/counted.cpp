//===- counted.cpp - Results whose size data decide ---------------------------===//
//
// These become calls (calls/list.h) that give as many elements as there can be at most, and their
// count: import/counts.h says what becomes of that.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/gather.h"

namespace kintsugi::import {
namespace {

Status nonZero(OpContext &c) {
  KINTSUGI_ASSIGN(ValueId places, nonZeros(c, c.name(), c.input(0)));
  c.output(0, places);
  return Status::success();
}

Status unique(OpContext &c) {
  te::Call call;
  call.callee = "Unique";
  call.operands = {c.input(0)};
  call.attributes = {{"sorted", c.integer("sorted", 1) != 0}};
  if (c.hasAttribute("axis")) {
    KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", 0), c.rank(c.input(0))));
    call.attributes["axis"] = axis;
  }
  llvm::SmallVector<std::string> names;
  for (unsigned k = 0; k < 4; ++k)
    names.push_back(c.name(k));
  names.push_back(c.name() + ".count");
  KINTSUGI_ASSIGN(auto results, c.countedCall(names, std::move(call)));
  for (unsigned k = 0; k < 4; ++k)
    if (c.hasOutput(k))
      c.output(k, results[k]);
  return Status::success();
}

/// An input of one number, or a default where it is left out.
Expected<ValueId> limit(OpContext &c, unsigned number, const char *what, const Tensor &otherwise) {
  if (!c.hasInput(number)) {
    KINTSUGI_ASSIGN(Tensor copy, otherwise.clone());
    return c.constant(c.name() + "." + what, std::move(copy));
  }
  ValueId given = c.input(number);
  if (c.count(given) != 1 || c.type(given) != otherwise.type())
    return c.error(llvm::Twine("its ") + what + " must be one " + nameOf(otherwise.type()));
  return given;
}

/// How many boxes of one class there is room for.
Expected<int64_t> roomOf(OpContext &c, ValueId most, int64_t boxes) {
  const Tensor *known = c.constants.value(most);
  return known ? std::clamp<int64_t>(loadInteger(known->view(), 0), 0, boxes) : boxes;
}

Status nonMaxSuppression(OpContext &c) {
  ValueId boxes = c.input(0), scores = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(boxes, 3, "its boxes"));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(scores, 3, "its scores"));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(boxes, scores));
  int64_t none = 0;
  float always = 0;
  KINTSUGI_ASSIGN(Tensor noBoxes, Tensor::from<int64_t>({}, std::span(&none, 1)));
  KINTSUGI_ASSIGN(Tensor noOverlap, Tensor::from<float>({}, std::span(&always, 1)));
  KINTSUGI_ASSIGN(ValueId most, limit(c, 2, "greatest number of boxes", noBoxes));
  KINTSUGI_ASSIGN(ValueId overlap, limit(c, 3, "overlap", noOverlap));
  te::Call call;
  call.callee = "NonMaxSuppression";
  call.operands = {boxes, scores, most, overlap};
  if (c.hasInput(4)) {
    KINTSUGI_ASSIGN(ValueId score, limit(c, 4, "least score", noOverlap));
    call.operands.push_back(score);
  }
  KINTSUGI_ASSIGN(int64_t room, roomOf(c, most, c.extent(boxes, 1)));
  call.attributes = {{"room", room}, {"center", c.integer("center_point_box", 0) != 0}};
  KINTSUGI_ASSIGN(auto results, c.countedCall({c.name(), c.name() + ".count"}, std::move(call)));
  c.output(0, results[0]);
  return Status::success();
}

} // namespace

Expected<ValueId> nonZeros(OpContext &c, std::string name, ValueId x) {
  if (c.rank(x) == 0)
    x = c.reshape(name + ".row", x, {Extent(1)});
  te::Call call;
  call.callee = "NonZero";
  call.operands = {x};
  KINTSUGI_ASSIGN(auto results, c.countedCall({name, name + ".count"}, std::move(call)));
  return results[0];
}

OperatorTable countedOperators() {
  static const Operator table[] = {
      {"NonMaxSuppression", 10, 2, nonMaxSuppression},
      {"NonZero", 9, 1, nonZero},
      {"Unique", 11, 1, unique},
  };
  return table;
}

} // namespace kintsugi::import
