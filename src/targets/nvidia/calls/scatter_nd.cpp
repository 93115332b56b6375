//===- scatter_nd.cpp - Writing slices at indices given as data -----------===//
//
// Updates are sorted by the slice that they go to, those of a slice in their order, so that each
// element of the result finds its own and takes them one after the other: nothing depends on which
// thread comes first. Updates whose indices are outside go to a slice behind all; the first of them
// is reported.
//
//===----------------------------------------------------------------------===//

#include "calls/scatter_nd.h"
#include "abi/launch.h"
#include "targets/nvidia/calls/list.h"
#include "targets/nvidia/calls/row_sort.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace kintsugi::targets {

using calls::ScatterReduction;
using llvm::ArrayRef;
using llvm::Value;

namespace {

/// Places among the call's operands and results.
constexpr unsigned dataPlace = 0, indicesPlace = 1, updatesPlace = 2, resultPlace = 3;

struct Scatter {
  ElementType type;
  ScatterReduction reduction;
  std::vector<int64_t> extents; ///< That indices name.
  uint64_t slices = 1, updates = 1;
  /// What a thread works on: an element, or where nothing is reduced as many bytes as are moved at
  /// once.
  unsigned unitBits = 0;
  uint64_t unitsOfSlice = 1;
  ItemFormat format;

  bool reduces() const { return reduction != ScatterReduction::None; }
  llvm::Type *unitType(BlockBuilder &b) const { return b.integerType(unitBits); }
};

uint64_t countOf(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t(1), std::multiplies<>());
}

Scatter scatterOf(const calls::Site &site) {
  const calls::TensorType &data = site.operands[dataPlace];
  ArrayRef<int64_t> shape = data.shape, indices = site.operands[indicesPlace].shape;
  auto depth = size_t(indices.back());
  Scatter scatter{data.type, *calls::readScatterReduction(site.attributes), {}, 1, 1, 0, 1, {}};
  scatter.extents = shape.take_front(depth).vec();
  scatter.slices = countOf(scatter.extents);
  scatter.updates = countOf(indices.drop_back());
  uint64_t bytes = countOf(shape.drop_front(depth)) * bitsOf(data.type) / 8;
  uint64_t unit = bitsOf(data.type) / 8;
  if (!scatter.reduces())
    unit = std::gcd(bytes, uint64_t(KIN_LAUNCH_ALIGNMENT));
  scatter.unitBits = unsigned(unit * 8);
  scatter.unitsOfSlice = bytes / unit;
  return scatter;
}

/// The index of an update along a dimension, as it stands and from the front, and whether it is
/// outside.
struct Coordinate {
  Value *given, *fromFront, *isOutside;
};

Coordinate coordinateOf(BlockBuilder &b, const Scatter &s, Value *indices, Value *update,
                        size_t d) {
  auto extent = uint64_t(s.extents[d]);
  Value *place = b.add(b.mul(update, s.extents.size()), d);
  Value *given = b.load(b.ir.getInt64Ty(), indices, place);
  Value *isNegative = b.ir.CreateICmpSLT(given, b.ir.getInt64(0));
  Value *fromFront = b.ir.CreateSelect(isNegative, b.add(given, extent), given);
  return {given, fromFront, b.ir.CreateICmpUGE(fromFront, b.ir.getInt64(extent))};
}

/// The slice that an update goes to, or the one behind all.
Value *sliceOf(BlockBuilder &b, const Scatter &s, Value *indices, Value *update) {
  Value *slice = b.ir.getInt64(0), *isOutside = b.ir.getFalse();
  for (size_t d = 0; d < s.extents.size(); ++d) {
    Coordinate coordinate = coordinateOf(b, s, indices, update, d);
    slice = b.ir.CreateAdd(b.mul(slice, uint64_t(s.extents[d])), coordinate.fromFront);
    isOutside = b.ir.CreateOr(isOutside, coordinate.isOutside);
  }
  return b.ir.CreateSelect(isOutside, b.ir.getInt64(s.slices), slice);
}

/// The arithmetic of the host's body on elements given as their bits.
class Combiner {
public:
  Combiner(BlockBuilder &b, const Scatter &s) : b(b), s(s) {}

  Value *combine(Value *a, Value *c) {
    if (isFloat(s.type))
      return bitsOfReal(combineReals(real(a), real(c)));
    auto &ir = b.ir;
    Value *isGreater = isSigned(s.type) ? ir.CreateICmpSGT(a, c) : ir.CreateICmpUGT(a, c);
    switch (s.reduction) {
    case ScatterReduction::Add:
      return ir.CreateAdd(a, c);
    case ScatterReduction::Mul:
      return ir.CreateMul(a, c);
    case ScatterReduction::Max:
      return ir.CreateSelect(isGreater, a, c);
    case ScatterReduction::Min:
      return ir.CreateSelect(isGreater, c, a);
    case ScatterReduction::None:
      break;
    }
    return c;
  }

private:
  /// NaN wins, the first one.
  Value *combineReals(Value *a, Value *c) {
    auto &ir = b.ir;
    switch (s.reduction) {
    case ScatterReduction::Add:
      return ir.CreateFAdd(a, c);
    case ScatterReduction::Mul:
      return ir.CreateFMul(a, c);
    case ScatterReduction::Max:
      return ir.CreateSelect(ir.CreateOr(ir.CreateFCmpUNO(a, a), ir.CreateFCmpOGT(a, c)), a, c);
    case ScatterReduction::Min:
      return ir.CreateSelect(ir.CreateOr(ir.CreateFCmpUNO(a, a), ir.CreateFCmpOLT(a, c)), a, c);
    case ScatterReduction::None:
      break;
    }
    return c;
  }

  /// In f32, where a sum or product of two narrow numbers, rounded twice, is rounded as once.
  Value *real(Value *bits) {
    auto &ir = b.ir;
    switch (s.type) {
    case ElementType::F64:
      return ir.CreateBitCast(bits, ir.getDoubleTy());
    case ElementType::F16:
      return ir.CreateFPExt(ir.CreateBitCast(bits, ir.getHalfTy()), ir.getFloatTy());
    case ElementType::BF16:
      return ir.CreateBitCast(ir.CreateShl(ir.CreateZExt(bits, ir.getInt32Ty()), 16),
                              ir.getFloatTy());
    default:
      return ir.CreateBitCast(bits, ir.getFloatTy());
    }
  }

  Value *bitsOfReal(Value *real) {
    auto &ir = b.ir;
    if (s.type == ElementType::F16)
      real = ir.CreateFPTrunc(real, ir.getHalfTy());
    if (s.type == ElementType::BF16)
      return bitsOfBfloat(real);
    return ir.CreateBitCast(real, b.integerType(bitsOf(s.type)));
  }

  /// Rounded to the nearest, ties to even; NaN stays NaN.
  Value *bitsOfBfloat(Value *real) {
    auto &ir = b.ir;
    Value *bits = ir.CreateBitCast(real, ir.getInt32Ty());
    Value *odd = ir.CreateAnd(ir.CreateLShr(bits, 16), 1);
    Value *rounded = ir.CreateAdd(ir.CreateAdd(bits, ir.getInt32(0x7fff)), odd);
    Value *quiet = ir.CreateOr(bits, 0x00400000);
    Value *all = ir.CreateSelect(ir.CreateFCmpUNO(real, real), quiet, rounded);
    return ir.CreateTrunc(ir.CreateLShr(all, 16), ir.getInt16Ty());
  }

  BlockBuilder &b;
  const Scatter &s;
};

/// The last kernel: each thread makes a unit of the result, from the sorted updates.
class Application {
public:
  Application(BlockBuilder &b, const Scatter &s) : b(b), s(s), first(b.operands) {}

  static constexpr uint32_t threads = 256;
  /// In the order of the launch's operands.
  enum Operand { Data, Updates, Items, Indices, Result, Report };

  void run() {
    Value *number = b.ir.CreateAdd(b.mul(b.wide(b.block), threads), b.wide(b.thread));
    b.ifThen(b.less(number, s.slices * s.unitsOfSlice), [&] { makeUnit(number); });
    if (s.updates > 0)
      b.ifThen(b.ir.CreateICmpEQ(number, b.ir.getInt64(0)), [&] { report(); });
  }

private:
  Value *item(Value *number) { return b.load(s.format.type(b), first[Items], number); }

  /// How many updates go to slices ahead of one.
  Value *updatesAhead(Value *slice) {
    Value *wanted = s.format.item(b, slice, b.ir.getInt64(0));
    return b.firstNot(b.ir.getInt64(0), b.ir.getInt64(s.updates),
                      [&](Value *number) { return b.ir.CreateICmpULT(item(number), wanted); });
  }

  Value *update(Value *item, Value *offset) {
    Value *place = b.ir.CreateAdd(b.mul(s.format.index(b, item), s.unitsOfSlice), offset);
    return b.load(s.unitType(b), first[Updates], place);
  }

  void makeUnit(Value *number) {
    Value *slice = b.div(number, s.unitsOfSlice), *offset = b.rem(number, s.unitsOfSlice);
    Value *value = b.load(s.unitType(b), first[Data], number);
    if (s.updates > 0)
      value = s.reduces() ? withAll(value, slice, offset) : withLast(value, slice, offset);
    b.store(value, first[s.updates > 0 ? Result : 1], number);
  }

  Value *withAll(Value *value, Value *slice, Value *offset) {
    Value *begin = updatesAhead(slice), *end = updatesAhead(b.add(slice, 1));
    return b.loopWhile(
        {value, begin}, [&](auto now) { return b.ir.CreateICmpULT(now[1], end); },
        [&](auto now) -> BlockBuilder::Values {
          Value *next = update(item(now[1]), offset);
          return {Combiner(b, s).combine(now[0], next), b.add(now[1], 1)};
        })[0];
  }

  /// The last one that goes to the slice, if any.
  Value *withLast(Value *value, Value *slice, Value *offset) {
    Value *end = updatesAhead(b.add(slice, 1));
    Value *hasOne = b.ir.CreateICmpNE(end, b.ir.getInt64(0));
    Value *last = item(b.ir.CreateSelect(hasOne, b.ir.CreateSub(end, b.ir.getInt64(1)), end));
    Value *isHere = b.ir.CreateAnd(hasOne, b.ir.CreateICmpEQ(s.format.key(b, last), slice));
    return b.valueOr(b.ir.CreateNot(isHere), value, [&] { return update(last, offset); });
  }

  /// 1, the index, its dimension and that one's extent, for the first index that is outside of the
  /// first update that has one; or zeros.
  void report() {
    Value *place = updatesAhead(b.ir.getInt64(s.slices)), *zero = b.ir.getInt64(0);
    Value *isWrong = b.less(place, s.updates);
    Value *wrong = s.format.index(b, item(b.ir.CreateSelect(isWrong, place, zero)));
    Value *numbers[] = {b.ir.CreateZExt(isWrong, b.ir.getInt64Ty()), zero, zero, zero};
    for (size_t d = s.extents.size(); d-- > 0;) {
      Coordinate coordinate = coordinateOf(b, s, first[Indices], wrong, d);
      Value *isThis = b.ir.CreateAnd(isWrong, coordinate.isOutside);
      Value *these[] = {coordinate.given, b.ir.getInt64(d), b.ir.getInt64(s.extents[d])};
      for (unsigned i = 0; i < std::size(these); ++i)
        numbers[i + 1] = b.ir.CreateSelect(isThis, these[i], numbers[i + 1]);
    }
    for (unsigned i = 0; i < std::size(numbers); ++i)
      b.store(numbers[i], first[Report], b.ir.getInt64(i));
  }

  BlockBuilder &b;
  const Scatter &s;
  ArrayRef<Value *> first;
};

constexpr uint64_t reportBytes = 4 * sizeof(int64_t);

/// Adds the sort of the updates by slice; the place of the sorted items.
unsigned addSort(CallCode &code, const Scatter &s) {
  unsigned items = code.addMemory(s.updates * s.format.bytes());
  auto item = [s](BlockBuilder &b, ArrayRef<Value *> operands, Value *, Value *number) {
    return s.format.item(b, sliceOf(b, s, operands[0], number), number);
  };
  RowSort sort;
  sort.rows = 1;
  sort.length = sort.kept = s.updates;
  sort.format = s.format;
  addRowSort(code, sort, {{indicesPlace}, item}, itemsIn(items, s.updates));
  return items;
}

CallCode codeOf(const calls::Site &site) {
  CallCode code(site, 1);
  Scatter s = scatterOf(site);
  if (s.reduces() && isFloat(s.type) && bitsOf(s.type) < 16) {
    code.reason = "there is no arithmetic on " + std::string(nameOf(s.type)) + " there";
    return code;
  }
  auto format = ItemFormat::of(llvm::Log2_64(s.slices) + 1, s.updates);
  if (!format) {
    code.reason = "its tensors are too large";
    return code;
  }
  s.format = *format;
  calls::Launch launch;
  launch.threads = Application::threads;
  launch.blocks = llvm::divideCeil(s.slices * s.unitsOfSlice, launch.threads);
  if (launch.blocks > KIN_LAUNCH_MAX_BLOCKS)
    code.reason = "its tensors are too large for one launch";
  launch.reads = {dataPlace};
  launch.writes = {resultPlace};
  if (s.updates > 0) {
    unsigned items = addSort(code, s), report = code.addMemory(reportBytes);
    code.report = report - code.firstMemory;
    launch.reads = {dataPlace, updatesPlace, items, indicesPlace};
    launch.writes = {resultPlace, report};
  }
  code.kernels.push_back({launch, [s](BlockBuilder &b) { Application(b, s).run(); }});
  return code;
}

} // namespace

const DeviceCode scatterNdCode = {"ScatterND", codeOf};

} // namespace kintsugi::targets
