//===- nest_transpose.cpp - Square blocks turned in registers -------------===//

#include "targets/nest_emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace kintsugi::targets {

/// Whether the row iterator's points lie side by side where the lanes do not.
bool NestEmitter::isTransposed(tile::ReadOp op, const Position &where, Point point) {
  bool isNear = where.lanes || (where.stride >= -1 && where.stride <= 2);
  if (isNear || rowIterator < 0 || rows % lanes != 0 || !dependsOn(op.getElement(), rowIterator))
    return false;
  // Within a block of as many rows as lanes, none is at the end of all.
  unsigned other = point.row % lanes == lanes - 1 ? point.row - 1 : point.row + 1;
  Position beside = position(op.getMap(), op.getIndices(), {other, point.vector});
  return !beside.lanes && beside.base.value == where.base.value &&
         beside.constant - where.constant == int64_t(other) - int64_t(point.row);
}

/// A square block is loaded along the rows and turned in registers: in each step, pairs of vectors
/// swap halves, quarters, ... (Eklundh 1972). Serves all rows of the block at once.
Value NestEmitter::readTransposed(tile::ReadOp op, Point point, unsigned level) {
  unsigned first = point.row / lanes * lanes;
  Position where = position(op.getMap(), op.getIndices(), {first, point.vector});
  Type element = op.getElement().getType();
  Value pointer = scope.pointers.lookup(op.getBuffer());
  SmallVector<Value> block;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (op.getAhead())
      askAhead(op, where, {first + lane, point.vector}, level, where.stride * lane);
    Value place = address(pointer, where, element, where.stride * lane);
    levels.place(level);
    block.push_back(LLVM::LoadOp::create(make.builder, make.location,
                                         VectorType::get({lanes}, element), place,
                                         element.getIntOrFloatBitWidth() / 8));
  }
  for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
    SmallVector<int32_t> upper, lower;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      upper.push_back(lane & distance ? lanes + lane - distance : lane);
      lower.push_back(lane & distance ? lanes + lane : lane + distance);
    }
    for (unsigned row = 0; row < lanes; ++row) {
      if (row & distance)
        continue;
      Value a = block[row], b = block[row + distance];
      block[row] = make.shuffle(a, b, upper);
      block[row + distance] = make.shuffle(a, b, lower);
    }
  }
  for (unsigned row = 0; row < lanes; ++row)
    levels.know(level, keyOf(op.getElement(), {first + row, point.vector}), block[row]);
  return block[point.row - first];
}

} // namespace kintsugi::targets
