//===- constant.cpp - Tensors made from nothing ------------------------------===//

#include "import/ops/families.h"

#include "base/checked.h"
#include "import/sparse.h"

#include <cmath>

namespace kintsugi::import {
namespace {

template <typename T> Status outputValues(OpContext &c, bool isList, std::span<const T> values) {
  std::vector<int64_t> shape;
  if (isList)
    shape.push_back(values.size());
  KINTSUGI_ASSIGN(Tensor tensor, Tensor::from<T>(std::move(shape), values));
  c.output(0, c.constant(c.name(), std::move(tensor)));
  return Status::success();
}

Status outputStrings(OpContext &c, bool isList, std::vector<std::string> values) {
  auto tensor = std::make_shared<TensorData>();
  tensor->type = ElementType::Str;
  if (isList)
    tensor->dims.push_back(values.size());
  tensor->strings = std::move(values);
  c.outputBinding(0, {{}, {}, std::move(tensor)});
  return Status::success();
}

/// A sparse tensor becomes a dense one: the values at their positions, zero elsewhere.
Status outputSparse(OpContext &c, const SparseTensor &sparse) {
  KINTSUGI_ASSIGN(Tensor dense, denseOf(sparse));
  c.output(0, c.constant(c.name(), std::move(dense)));
  return Status::success();
}

Status constant(OpContext &c) {
  if (const Attribute *value = c.node().attribute("value"); value && value->tensor) {
    KINTSUGI_ASSIGN(Binding binding, c.importer.importTensor(*value->tensor));
    c.outputBinding(0, std::move(binding));
    return Status::success();
  }
  if (const Attribute *value = c.node().attribute("sparse_value"); value && value->sparse)
    return outputSparse(c, *value->sparse);
  if (const Attribute *value = c.node().attribute("value_float"))
    return outputValues<float>(c, false, std::span(&value->f, 1));
  if (const Attribute *value = c.node().attribute("value_floats"))
    return outputValues<float>(c, true, value->floats);
  if (const Attribute *value = c.node().attribute("value_int"))
    return outputValues<int64_t>(c, false, std::span(&value->i, 1));
  if (const Attribute *value = c.node().attribute("value_ints"))
    return outputValues<int64_t>(c, true, value->ints);
  if (const Attribute *value = c.node().attribute("value_string"))
    return outputStrings(c, false, {value->s});
  if (const Attribute *value = c.node().attribute("value_strings"))
    return outputStrings(c, true, value->strings);
  return c.error("it has no value");
}

Status constantOfShape(OpContext &c) {
  KINTSUGI_ASSIGN(std::vector<int64_t> extents, c.constantIntegers(0, "shape"));
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(extents));
  Expr value = Expr::literal(ElementType::F32, 0.0);
  if (const Attribute *given = c.node().attribute("value"); given && given->tensor) {
    const TensorData &data = *given->tensor;
    bool isNumber = computes(data.type) || isStorageOnly(data.type);
    if (data.external || !isNumber || elementCount(data.dims) != 1)
      return c.error("its value must be one number");
    value = OpContext::literalOf({data.type, data.dims, data.bytes.view});
  }
  c.output(0, c.define(c.name(), shape, [&](Indices) { return value; }));
  return Status::success();
}

/// start, start + delta, ... below limit; all three must be known.
Status range(OpContext &c) {
  KINTSUGI_ASSIGN(const Tensor *start, c.constantInput(0, "start"));
  KINTSUGI_ASSIGN(const Tensor *limit, c.constantInput(1, "limit"));
  KINTSUGI_ASSIGN(const Tensor *delta, c.constantInput(2, "delta"));
  ElementType type = start->type();
  if (limit->type() != type || delta->type() != type || type == ElementType::Bool)
    return c.error("its inputs must be numbers of one type");
  if (start->count() != 1 || limit->count() != 1 || delta->count() != 1)
    return c.error("its inputs must be scalars");
  double step = loadDouble(delta->view(), 0);
  double count = std::ceil((loadDouble(limit->view(), 0) - loadDouble(start->view(), 0)) / step);
  if (!(std::abs(count) < 1e12)) // NaN too.
    return c.error("its step must not be 0, nor its result too large");
  Expr first = OpContext::literalOf(start->view()), by = OpContext::literalOf(delta->view());
  c.output(0, c.define(c.name(), {Extent(std::max<int64_t>(0, count))},
                       [&](Indices i) { return first + Expr::index(i[0], type) * by; }));
  return Status::success();
}

Status eyeLike(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(x, 2, "its input"));
  auto type = c.hasAttribute("dtype")
                  ? elementTypeFromOnnx(static_cast<int32_t>(c.integer("dtype", 0)))
                  : std::optional(c.type(x));
  if (!type || !computes(*type))
    return c.error("elements of its dtype are not supported");
  int64_t diagonal = c.integer("k", 0);
  if (std::abs(diagonal) > int64_t(1) << 46)
    return c.error("its diagonal is too far out");
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr row = Expr::index(i[0] + Index(diagonal), ElementType::I64);
    Expr onDiagonal = Expr::binary(te::BinaryOp::Equal, row, Expr::index(i[1], ElementType::I64));
    return Expr::select(onDiagonal, Expr::literal(*type, 1.0), Expr::literal(*type, 0.0));
  }));
  return Status::success();
}

/// The identity when inferring; the mask says that everything was kept.
Status dropout(OpContext &c) {
  ValueId x = c.input(0);
  if (c.hasInput(2)) {
    KINTSUGI_ASSIGN(std::vector<int64_t> training, c.constantIntegers(2, "training_mode"));
    bool drops = !training.empty() && training[0];
    if (drops && c.hasInput(1)) {
      KINTSUGI_ASSIGN(std::vector<double> ratio, c.constantReals(1, "ratio"));
      drops = ratio.empty() || ratio[0] != 0;
    }
    if (drops)
      return c.error("it drops at random, as in training; export the model for inference");
  }
  c.output(0, x);
  if (c.hasOutput(1)) {
    bool isBool = c.opset() >= 10;
    c.output(1, c.define(c.name(1), c.shape(x), [&](Indices) {
      return isBool ? Expr::boolean(true) : Expr::literal(c.type(x), 1.0);
    }));
  }
  return Status::success();
}

} // namespace

OperatorTable constantOperators() {
  static const Operator table[] = {
      {"Constant", 1, 0, constant}, {"ConstantOfShape", 9, 1, constantOfShape, "", Elements::Any},
      {"Range", 11, 3, range},      {"EyeLike", 9, 1, eyeLike},
      {"Dropout", 1, 1, dropout},
  };
  return table;
}

} // namespace kintsugi::import
