//===- quantization.cpp - Numbers as multiples of a scale --------------------===//

#include "import/ops/conversion.h"
#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::UnaryOp;

/// Which element of a scale or zero point belongs to an element of the tensor: the only one, that
/// of its place along an axis, or that of its block along the axis.
struct Granularity {
  enum class Kind : uint8_t { Tensor, Axis, Block } kind = Kind::Tensor;
  unsigned axis = 0;
  int64_t block = 1;

  llvm::SmallVector<Index> indices(unsigned rank, Indices i) const {
    if (kind == Kind::Tensor)
      return llvm::SmallVector<Index>(rank);
    if (kind == Kind::Axis)
      return {i[axis]};
    llvm::SmallVector<Index> result(i.begin(), i.end());
    result[axis] = result[axis].floorDiv(block);
    return result;
  }
};

Error wrongScale(OpContext &c, ValueId x, ValueId scale) {
  return c.error("its scale has shape " + shapeString(c.dims(scale)) +
                 ", which fits neither the tensor, of shape " + shapeString(c.dims(x)) +
                 ", nor its axis, nor blocks along that");
}

Expected<Granularity> granularityOf(OpContext &c) {
  ValueId x = c.input(0), scale = c.input(1);
  Granularity result;
  int64_t block = c.opset() < 21 ? 0 : c.integer("block_size", 0);
  if (block < 0)
    return c.error("its attribute 'block_size' is " + llvm::Twine(block) + ", which is below 0");
  if (block == 0 && c.count(scale) == 1 && c.rank(scale) <= 1)
    return result;
  KINTSUGI_ASSIGN(result.axis, c.axis(c.integer("axis", 1), c.rank(x)));
  std::vector<int64_t> extents = c.dims(x);
  if (block == 0) {
    result.kind = Granularity::Kind::Axis;
    extents = {extents[result.axis]};
  } else {
    result.kind = Granularity::Kind::Block;
    result.block = block;
    extents[result.axis] = (extents[result.axis] + block - 1) / block;
  }
  return extents == c.dims(scale) ? Expected<Granularity>(result) : wrongScale(c, x, scale);
}

/// An optional zero point, which has the scale's shape; one number may be a list of one.
Status requireZeroPoint(OpContext &c, ElementType type) {
  if (!c.hasInput(2))
    return Status::success();
  if (c.type(c.input(2)) != type)
    return c.error(llvm::Twine("its zero point is ") + nameOf(c.type(c.input(2))) +
                   ", but what is quantized is " + nameOf(type));
  auto isOne = [&](ValueId tensor) { return c.count(tensor) == 1 && c.rank(tensor) <= 1; };
  if (isOne(c.input(1)) && isOne(c.input(2)))
    return Status::success();
  if (c.dims(c.input(2)) != c.dims(c.input(1)))
    return c.error("its zero point has shape " + shapeString(c.dims(c.input(2))) +
                   ", but its scale " + shapeString(c.dims(c.input(1))));
  return Status::success();
}

Expr readAt(OpContext &c, unsigned input, const Granularity &granularity, Indices i) {
  ValueId tensor = c.input(input);
  return c.read(tensor, granularity.indices(c.rank(tensor), i));
}

/// The type of the result: the zero point's, or what an attribute says.
Expected<ElementType> quantizedType(OpContext &c) {
  ElementType type = c.hasInput(2) ? c.type(c.input(2)) : ElementType::U8;
  if (int64_t given = c.integer("output_dtype", 0); given != 0) {
    KINTSUGI_ASSIGN(ElementType named, c.elementType("output_dtype", 0));
    if (c.hasInput(2) && named != type)
      return c.error("its attribute 'output_dtype' is not its zero point's type");
    type = named;
  }
  bool isSmall = isStorageOnly(type) || (isInteger(type) && bitsOf(type) <= 16);
  if (!isSmall)
    return c.error(llvm::Twine("nothing is quantized to ") + nameOf(type));
  return type;
}

/// round(x / scale) + zero point, within the type; to floats x / scale as it is.
Status quantizeLinear(OpContext &c) {
  ValueId x = c.input(0), scale = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(scale));
  KINTSUGI_ASSIGN(ElementType type, quantizedType(c));
  KINTSUGI_RETURN_IF_ERROR(requireZeroPoint(c, type));
  KINTSUGI_ASSIGN(Granularity granularity, granularityOf(c));
  KINTSUGI_ASSIGN(Conversion conversion, conversionTo(c, type));
  ElementType precision = c.type(scale);
  if (c.integer("precision", 0) != 0) {
    KINTSUGI_ASSIGN(precision, c.elementType("precision", 0));
  }
  if (!isFloat(precision) || isStorageOnly(precision))
    return c.error("its attribute 'precision' is no type that is divided in");
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr share =
        Expr::cast(precision, c.read(x, i)) / Expr::cast(precision, readAt(c, 1, granularity, i));
    if (isFloat(type))
      return converted(share, conversion);
    // Of a half's integers not all are that near to each other.
    Expr steps = Expr::cast(ElementType::F32, Expr::unary(UnaryOp::Round, share));
    if (c.hasInput(2))
      steps = steps + Expr::cast(ElementType::F32, readAt(c, 2, granularity, i));
    return Expr::cast(type, steps);
  }));
  return Status::success();
}

/// (x - zero point) * scale.
Status dequantizeLinear(OpContext &c) {
  ValueId x = c.input(0), scale = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(scale));
  KINTSUGI_RETURN_IF_ERROR(requireZeroPoint(c, c.type(x)));
  KINTSUGI_ASSIGN(Granularity granularity, granularityOf(c));
  ElementType type = c.type(scale);
  if (c.integer("output_dtype", 0) != 0) {
    KINTSUGI_ASSIGN(type, c.elementType("output_dtype", 0));
  }
  if (!isFloat(type) || !computes(type))
    return c.error(llvm::Twine("nothing is dequantized to ") + nameOf(type));
  ElementType whole = isFloat(c.type(x)) ? ElementType::F32 : ElementType::I32;
  ElementType wide = type == ElementType::F64 ? type : ElementType::F32;
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr steps = Expr::cast(whole, c.read(x, i));
    if (c.hasInput(2))
      steps = steps - Expr::cast(whole, readAt(c, 2, granularity, i));
    Expr by = Expr::cast(wide, readAt(c, 1, granularity, i));
    return Expr::cast(type, Expr::cast(wide, steps) * by);
  }));
  return Status::success();
}

/// The least or greatest of zero and all elements.
ValueId extremeOf(OpContext &c, const char *name, te::Combiner combiner, BinaryOp op) {
  ValueId x = c.input(0);
  Expr zero = Expr::literal(c.type(x), 0.0);
  return c.reduce(c.name() + name, c.type(x), {}, combiner, c.shape(x),
                  [&](Indices, Indices r) { return Expr::binary(op, c.read(x, r), zero); });
}

/// A scale by which the range of the elements, zero included, is that of u8.
Status dynamicQuantizeLinear(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  if (c.type(x) != ElementType::F32)
    return c.error("it needs elements of type f32");
  if (c.count(x) == 0)
    return c.error("an empty tensor has no range");
  auto number = [](double value) { return Expr::literal(ElementType::F32, value); };
  ValueId low = extremeOf(c, ".least", te::Combiner::Min, BinaryOp::Min);
  ValueId high = extremeOf(c, ".greatest", te::Combiner::Max, BinaryOp::Max);
  ValueId scale = c.define(c.name(1), Shape(), [&](Indices) {
    return (c.read(high, {}) - c.read(low, {})) / number(255);
  });
  ValueId zero = c.define(c.name(2), Shape(), [&](Indices) {
    Expr steps = Expr::unary(UnaryOp::Round, (number(0) - c.read(low, {})) / c.read(scale, {}));
    return Expr::cast(ElementType::U8, steps); // Which saturates.
  });
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr steps = Expr::unary(UnaryOp::Round, c.read(x, i) / c.read(scale, {}));
    return Expr::cast(ElementType::U8, steps + Expr::cast(ElementType::F32, c.read(zero, {})));
  }));
  c.output(1, scale);
  c.output(2, zero);
  return Status::success();
}

} // namespace

OperatorTable quantizationOperators() {
  static const Operator table[] = {
      {"QuantizeLinear", 10, 2, quantizeLinear, "", Elements::Any},
      {"DequantizeLinear", 10, 2, dequantizeLinear, "", Elements::Any},
      {"DynamicQuantizeLinear", 11, 1, dynamicQuantizeLinear},
  };
  return table;
}

} // namespace kintsugi::import
