#include "import/ops/join.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {

ValueId inGroups(std::string name, llvm::ArrayRef<ValueId> tensors,
                 llvm::function_ref<ValueId(std::string, llvm::ArrayRef<ValueId>)> join) {
  constexpr size_t most = 32;
  llvm::SmallVector<ValueId> joined(tensors.begin(), tensors.end());
  while (joined.size() > most) {
    llvm::SmallVector<ValueId> next;
    for (llvm::ArrayRef<ValueId> left = joined; !left.empty();) {
      llvm::ArrayRef<ValueId> group = left.take_front(most);
      next.push_back(group.size() == 1 ? group[0] : join(name + ".part", group));
      left = left.drop_front(group.size());
    }
    joined = std::move(next);
  }
  return join(std::move(name), joined);
}

/// By a choice for each tensor, the first one outermost.
static ValueId chosenByPlace(Builder &b, std::string name, llvm::ArrayRef<ValueId> tensors,
                             unsigned axis) {
  Shape shape(b.shape(tensors[0]).begin(), b.shape(tensors[0]).end());
  int64_t end = 0;
  for (ValueId tensor : tensors)
    end += b.extent(tensor, axis);
  shape[axis] = end;
  return b.define(std::move(name), shape, [&](Indices i) {
    int64_t start = end;
    std::optional<Expr> result;
    for (ValueId tensor : llvm::reverse(tensors)) {
      Expr bound = Expr::literal(ElementType::I64, start);
      start -= b.extent(tensor, axis);
      llvm::SmallVector<Index> at(i.begin(), i.end());
      at[axis] = i[axis] - Index(start);
      Expr mine = b.read(tensor, at);
      Expr isBefore =
          Expr::binary(te::BinaryOp::Less, Expr::index(i[axis], ElementType::I64), bound);
      result = result ? Expr::select(isBefore, mine, *result) : mine;
    }
    return *result;
  });
}

ValueId concatenated(Builder &b, std::string name, llvm::ArrayRef<ValueId> tensors, unsigned axis) {
  return inGroups(std::move(name), tensors, [&](std::string part, llvm::ArrayRef<ValueId> group) {
    return chosenByPlace(b, std::move(part), group, axis);
  });
}

Expected<ValueId> joined(OpContext &c, std::string name, llvm::ArrayRef<ValueId> tensors,
                         unsigned axis) {
  std::vector<int64_t> wanted = c.dims(tensors[0]);
  wanted[axis] = 0;
  for (ValueId part : tensors) {
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(tensors[0], part));
    bool fits = c.rank(part) == wanted.size();
    for (unsigned d = 0; fits && d < wanted.size(); ++d)
      fits = d == axis || c.extent(part, d) == wanted[d];
    if (!fits)
      return c.error("tensors of shapes " + shapeString(c.dims(tensors[0])) + " and " +
                     shapeString(c.dims(part)) + " can't be joined along axis " +
                     llvm::Twine(axis));
    wanted[axis] = std::min(wanted[axis] + c.extent(part, axis), int64_t(1) << 50);
  }
  KINTSUGI_RETURN_IF_ERROR(c.makeShape(wanted).status());
  llvm::SmallVector<ValueId> parts;
  llvm::copy_if(tensors, std::back_inserter(parts),
                [&](ValueId part) { return c.extent(part, axis) != 0; });
  if (parts.size() <= 1)
    return parts.empty() ? tensors[0] : parts[0];
  return concatenated(c, std::move(name), parts, axis);
}

Expected<ValueId> stacked(OpContext &c, std::string name, llvm::ArrayRef<ValueId> tensors,
                          unsigned axis) {
  for (ValueId tensor : tensors)
    if (c.shape(tensor) != c.shape(tensors[0]) || c.type(tensor) != c.type(tensors[0]))
      return c.error("what it stacks changes shape or type from step to step");
  Shape shape(c.shape(tensors[0]).begin(), c.shape(tensors[0]).end());
  shape.insert(shape.begin() + axis, Extent(1));
  llvm::SmallVector<ValueId> layers;
  for (ValueId tensor : tensors)
    layers.push_back(c.reshape(name + ".layer", tensor, shape));
  return concatenated(c, std::move(name), layers, axis);
}

} // namespace kintsugi::import
