//===- matrix_staging.cpp - Factors on their way to the matrix units ------===//

#include "targets/elementwise.h"
#include "targets/nvidia/matrix_nest.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kintsugi::targets {

static constexpr int64_t chunk = 8;

void MatrixNest::stage(Value step, Value place, unsigned level) {
  if (hasBoxes())
    return stageBoxes(step, place, level);
  for (Operand *operand : {&rows, &columns})
    stageWindow(*operand, wholeOf(*operand), step, place, level);
}

Value MatrixNest::termNumber(Value step, Value within, int64_t further) {
  Value start = termStart ? termStart : make.mul(step, i32(matrix.getDepth()));
  Value at = make.add(start, within);
  return further ? make.add(at, i32(further)) : at;
}

Value MatrixNest::pointNumber(Group group, Value within, int64_t further) {
  Value start = group == Rows ? rowStart : columnStart;
  Value at = start ? make.add(start, within) : within;
  return further ? make.add(at, i32(further)) : at;
}

/// The coordinates of the sum's terms `step` * depth + `within` (null: 0) + `further`. Where steps
/// are whole parts of the last iterator, the others are the same for all threads.
Coordinates MatrixNest::termAt(Value step, Value within, int64_t further, int64_t multiple,
                               unsigned level, unsigned number) {
  const IteratorGroup &group = groups[Depth];
  int64_t depth = matrix.getDepth(), last = group.extents.back(), points = group.points();
  levels.place(level);
  if (termStart || group.extents.size() == 1 || last % depth != 0) {
    bool wraps = group.extents.size() > 1 || points % depth != 0;
    Value at = termNumber(step, within, wraps ? further : 0);
    if (points % depth != 0)
      at = least(at, points - multiple);
    return values->shifted(values->split(group, at, multiple, level, number), wraps ? 0 : further,
                           number);
  }
  Value parts = i32(last / depth);
  Value outer = arith::DivUIOp::create(make.builder, make.location, step, parts);
  Value part = arith::RemUIOp::create(make.builder, make.location, step, parts);
  IteratorGroup others = group;
  others.iterators.pop_back();
  others.extents.pop_back();
  Coordinates coordinates = values->split(others, outer, 1, level, number);
  levels.place(level);
  IteratorGroup inner{{group.iterators.back()}, {last}};
  Coordinates ofLast = values->split(inner, termNumber(part, within, 0), multiple, level, number);
  coordinates.values.push_back(ofLast.values[0]);
  return values->shifted(coordinates, further, number);
}

/// The coordinates of a point of a pass, the first of `multiple` in a row. What is past the last
/// points is they: its results are not stored.
Coordinates MatrixNest::pointAt(Group group, Value within, int64_t further, int64_t multiple,
                                unsigned number, unsigned level) {
  levels.place(level);
  int64_t points = groups[group].points();
  bool isCut = points % operandOf(group).size != 0;
  bool wraps = isCut || groups[group].extents.size() > 1;
  Value at = pointNumber(group, within, wraps ? further : 0);
  if (isCut)
    at = least(at, (points - 1) / multiple * multiple);
  return values->shifted(values->split(groups[group], at, multiple, level, number),
                         wraps ? 0 : further, number);
}

void MatrixNest::stageWindow(Operand &operand, const Window &window, Value step, Value offset,
                             unsigned level) {
  constexpr unsigned ofOperand = 4096, ofMove = 16;
  int64_t moves = window.lines * window.chunks / threads, apart = threads / window.chunks;
  assert(llvm::isPowerOf2_64(window.chunks) && "a thread's chunk is some bits of its number");
  auto isInTurn = [&](int64_t lines) { return lines * operand.pitch % turnedBytes == 0; };
  bool staysInTurn = !matrix.getInFours() || (isInTurn(apart) && isInTurn(window.firstLine));
  for (int64_t move = 0; move < moves; ++move) {
    levels.place(0);
    Move each;
    each.line = make.shiftRight(thread, llvm::Log2_64(window.chunks));
    each.element = make.shiftLeft(make.bitAnd(thread, i32(window.chunks - 1)), 3);
    if (window.firstElement)
      each.element = make.add(each.element, i32(window.firstElement));
    each.further = window.firstLine + move * apart;
    each.id = (operand.group == Columns ? ofOperand : 0) +
              (window.number * unsigned(moves) + unsigned(move)) * ofMove;
    each.step = step;
    each.level = level;
    Value line = staysInTurn ? each.line : make.add(each.line, i32(each.further));
    Value at = placeIn(operand, line, each.element);
    levels.place(level);
    each.place = units.atByte(units.atByte(units.atByte(ring, offset), at),
                              operand.offset + (staysInTurn ? each.further * operand.pitch : 0));
    if (!operand.direct || !copyChunk(operand, each))
      computeChunk(operand, each);
  }
}

/// The point of a chunk's element.
void MatrixNest::locate(const Operand &operand, const Move &move, int64_t element,
                        Coordinates &point, Coordinates &term) {
  unsigned number = move.id + unsigned(element);
  bool alongDepth = operand.alongDepth, whole = operand.inChunks;
  Value ofPoint = alongDepth ? move.line : move.element;
  Value ofTerm = alongDepth ? move.element : move.line;
  int64_t multiple = whole ? chunk : 1;
  if (alongDepth) {
    point = pointAt(operand.group, ofPoint, move.further, 1, move.id, passLevel);
    term = whole ? values->shifted(termAt(move.step, ofTerm, 0, multiple, move.level, move.id),
                                   element, number)
                 : termAt(move.step, ofTerm, element, 1, move.level, number);
    return;
  }
  term = termAt(move.step, ofTerm, move.further, 1, move.level, move.id);
  point = whole ? values->shifted(pointAt(operand.group, ofPoint, 0, multiple, move.id, passLevel),
                                  element, number)
                : pointAt(operand.group, ofPoint, element, 1, number, passLevel);
}

/// Whether a term is one of the sum's; null: all are.
Value MatrixNest::isTerm(const Operand &operand, const Move &move, int64_t element) {
  int64_t depth = matrix.getDepth(), points = groups[Depth].points();
  if (points % depth == 0)
    return {};
  levels.place(move.level);
  Value within = operand.alongDepth ? move.element : move.line;
  int64_t ofElement = operand.inChunks ? 0 : element;
  int64_t further = operand.alongDepth ? ofElement : move.further;
  return make.lessUnsigned(termNumber(move.step, within, further), i32(points));
}

PointValues::Point MatrixNest::pointOf(const Operand &operand, const Coordinates &point,
                                       const Coordinates &term) const {
  PointValues::Point all{};
  all[Batch] = &batch;
  all[operand.group] = &point;
  all[Depth] = &term;
  return all;
}

/// False: its place in memory may not be a multiple of 16 bytes.
bool MatrixNest::copyChunk(const Operand &operand, const Move &move) {
  Coordinates point, term;
  locate(operand, move, 0, point, term);
  PointValues::Point at = pointOf(operand, point, term);
  tile::ReadOp read = operand.direct;
  Position where = values->position(read.getMap(), read.getIndices(), at);
  if (alignmentAt(where, matrix.getElement()) < 16)
    return false;
  Value mask = read.getMask() ? values->evaluate(read.getMask(), at) : Value();
  Value valid = isTerm(operand, move, 0);
  Value isOne = isPoint(operand.group, operand.alongDepth ? move.line : move.element,
                        operand.alongDepth ? move.further : 0, passLevel);
  Value from = values->address(scope.pointers.lookup(read.getBuffer()), where, matrix.getElement());
  levels.place(move.level);
  for (Value also : {valid, isOne}) // What is past the last is zero, and nobody waits for it.
    if (also)
      mask = mask ? make.bitAnd(mask, also) : also;
  units.copy(move.place, from, mask ? make.select(mask, i32(16), i32(0)) : Value());
  return true;
}

void MatrixNest::computeChunk(const Operand &operand, const Move &move) {
  SmallVector<Value> elements;
  for (int64_t element = 0; element < chunk; ++element) {
    Coordinates point, term;
    locate(operand, move, element, point, term);
    Value value = values->evaluate(operand.factor, pointOf(operand, point, term));
    Value valid = isTerm(operand, move, element);
    levels.place(move.level);
    if (value.getType().isF32()) // Which has an instruction, for either type.
      value = make.narrow(value, matrix.getElement());
    else if (value.getType() != matrix.getElement())
      value = Elementwise(make.builder, scope.imports, scope.units())
                  .roundTo(value, matrix.getElement());
    if (valid)
      value = make.select(valid, value, make.number(matrix.getElement(), 0));
    elements.push_back(value);
  }
  levels.place(move.level);
  Value vector = make.undefined(VectorType::get({chunk}, matrix.getElement()));
  for (auto [number, element] : llvm::enumerate(elements))
    vector = make.withLane(vector, element, number);
  LLVM::StoreOp::create(make.builder, make.location, vector, move.place, 16);
}

/// Null: all are.
Value MatrixNest::isPoint(Group group, Value within, int64_t further, unsigned level) {
  int64_t points = groups[group].points();
  if (points % operandOf(group).size == 0)
    return {};
  levels.place(level);
  return make.lessUnsigned(pointNumber(group, within, further), i32(points));
}

} // namespace kintsugi::targets
