#include "simplify/read_boxes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace kintsugi::simplify {

using namespace te;

ReadBoxes::ReadBoxes(const Program &program)
    : program(program), isWhole(program.numValues(), false), boxes(program.numValues()) {
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    const auto *definition = std::get_if<Definition>(&program.nodes[node]);
    if (!definition) {
      for (ValueId operand : program.operandsOf(node))
        isWhole[operand.number] = true;
      continue;
    }
    llvm::SmallVector<Interval> ranges = definition->ranges();
    for (const Expr &body : definition->bodies)
      body.walk([&](const Expr &e) {
        if (e.kind() == ExprKind::Read)
          note(e, ranges);
      });
  }
  for (const Program::Output &output : program.outputs)
    isWhole[output.value.number] = true;
}

void ReadBoxes::note(const Expr &read, llvm::ArrayRef<Interval> ranges) {
  uint32_t number = read.readValue().number;
  bool isKnown = !read.readFill();
  Box box;
  for (const Index &index : read.readIndices()) {
    index.forEachData([&](const Expr &) { isKnown = false; });
    if (!isKnown)
      break;
    box.push_back(rangeOf(index, ranges));
  }
  if (!isKnown)
    isWhole[number] = true;
  else if (boxes[number].empty())
    boxes[number] = std::move(box);
  else
    for (auto [all, one] : llvm::zip_equal(boxes[number], box))
      all = {std::min(all.low, one.low), std::max(all.high, one.high)};
}

ReadBoxes::Box ReadBoxes::of(ValueId id) const {
  Box whole;
  for (Extent extent : program.shape(id))
    whole.push_back(Interval::of(extent));
  const Box &box = boxes[id.number];
  if (isWhole[id.number] || box.empty())
    return whole;
  double share = 1;
  for (auto [range, all] : llvm::zip_equal(box, whole)) {
    if (range.empty() || !range.within(all))
      return whole;
    share *= double(range.size()) / double(all.size());
  }
  return share <= 0.5 ? box : whole;
}

} // namespace kintsugi::simplify
