//===- losses.cpp - How far predictions are from labels ----------------------===//
//
// A label is a position along the dimension of classes, so a sample's loss is a gather; what is
// ignored reads class 0 and counts nothing.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/softmax.h"

#include "base/checked.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;

enum class Reduction { None, Sum, Mean };

/// The negative logarithms of the probabilities [N, C, spatial...] of the classes that labels
/// [N, spatial...] name.
class LikelihoodLoss {
public:
  /// Checks all inputs and attributes.
  static Expected<LikelihoodLoss> read(OpContext &c);

  /// The loss where `logarithms` are those of the probabilities.
  ValueId result(ValueId logarithms);

private:
  explicit LikelihoodLoss(OpContext &c)
      : c(c), labels(c.input(1)), type(c.type(c.input(0))), wide(accumulatorFor(type)) {}

  Status readInputs();
  Status readAttributes();
  Status findClasses();

  Expr label(Indices sample) const { return Expr::cast(ElementType::I64, c.read(labels, sample)); }
  /// A sample's number, or 0 where it is ignored.
  Expr counted(Indices sample, Expr number) const;
  /// That of a sample's class, in `weights`.
  Expr weightOfClass(Indices sample) const;
  Expr lossOf(ValueId logarithms, Indices sample) const;

  OpContext &c;
  ValueId labels;
  ValueId classes; ///< The labels; those that are ignored are 0.
  std::optional<ValueId> weights;
  std::optional<int64_t> ignored;
  Reduction reduction = Reduction::Mean;
  ElementType type, wide;
};

Expected<LikelihoodLoss> LikelihoodLoss::read(OpContext &c) {
  LikelihoodLoss loss(c);
  KINTSUGI_RETURN_IF_ERROR(loss.readInputs());
  KINTSUGI_RETURN_IF_ERROR(loss.readAttributes());
  KINTSUGI_RETURN_IF_ERROR(loss.findClasses());
  return loss;
}

Status LikelihoodLoss::readInputs() {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  if (c.rank(x) < 2)
    return c.error("its input has shape " + shapeString(c.dims(x)) +
                   ", but needs a dimension of samples and one of classes");
  if (c.type(labels) != ElementType::I32 && c.type(labels) != ElementType::I64)
    return c.error(llvm::Twine("its labels must be i32 or i64, but are ") + nameOf(c.type(labels)));
  std::vector<int64_t> samples = c.dims(x);
  samples.erase(samples.begin() + 1);
  if (c.dims(labels) != samples)
    return c.error("its labels have shape " + shapeString(c.dims(labels)) +
                   ", but its input of shape " + shapeString(c.dims(x)) + " needs " +
                   shapeString(samples));
  if (c.extent(x, 1) == 0)
    return c.error("its dimension of classes has no elements to choose from");
  if (!c.hasInput(2))
    return Status::success();
  weights = c.input(2);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, *weights));
  if (c.dims(*weights) != std::vector{c.extent(x, 1)})
    return c.error("its weights have shape " + shapeString(c.dims(*weights)) + ", but there are " +
                   llvm::Twine(c.extent(x, 1)) + " classes");
  return Status::success();
}

Status LikelihoodLoss::readAttributes() {
  static const std::pair<const char *, Reduction> reductions[] = {
      {"none", Reduction::None}, {"sum", Reduction::Sum}, {"mean", Reduction::Mean}};
  std::string given = c.text("reduction", "mean");
  auto known = llvm::find_if(reductions, [&](auto &entry) { return given == entry.first; });
  if (known == std::end(reductions))
    return c.error("its reduction '" + given + "' is not known; it must be none, sum or mean");
  reduction = known->second;
  if (c.hasAttribute("ignore_index"))
    ignored = c.integer("ignore_index", 0);
  return Status::success();
}

Status LikelihoodLoss::findClasses() {
  classes = labels;
  if (ignored)
    classes = c.define(c.name() + ".classes", c.shape(labels),
                       [&](Indices i) { return counted(i, c.read(labels, i)); });
  return c.requireWithin(classes, 0, c.extent(c.input(0), 1), "label");
}

Expr LikelihoodLoss::counted(Indices sample, Expr number) const {
  if (!ignored)
    return number;
  // As i64, which any number that is to be ignored fits into.
  Expr isIgnored =
      Expr::binary(BinaryOp::Equal, label(sample), Expr::literal(ElementType::I64, *ignored));
  return Expr::select(isIgnored, Expr::literal(number.type(), int64_t(0)), number);
}

Expr LikelihoodLoss::weightOfClass(Indices sample) const {
  return Expr::cast(wide, c.read(*weights, {c.gather(classes, sample)}));
}

Expr LikelihoodLoss::lossOf(ValueId logarithms, Indices sample) const {
  llvm::SmallVector<Index> at(sample.begin(), sample.end());
  at.insert(at.begin() + 1, c.gather(classes, sample));
  Expr loss = -Expr::cast(wide, c.read(logarithms, at));
  if (weights)
    loss = loss * weightOfClass(sample);
  return counted(sample, loss);
}

ValueId LikelihoodLoss::result(ValueId logarithms) {
  Shape samples(c.shape(labels));
  if (reduction == Reduction::None)
    return c.define(c.name(), samples,
                    [&](Indices i) { return Expr::cast(type, lossOf(logarithms, i)); });
  bool isMean = reduction == Reduction::Mean;
  ValueId sum =
      c.reduce(isMean ? c.name() + ".sum" : c.name(), isMean ? wide : type, {}, Combiner::Sum,
               samples, [&](Indices, Indices r) { return lossOf(logarithms, r); });
  if (!isMean)
    return sum;
  if (!weights && !ignored) {
    Expr count = Expr::literal(wide, double(c.count(labels)));
    return c.define(c.name(), {},
                    [&](Indices) { return Expr::cast(type, c.read(sum, {}) / count); });
  }
  ValueId weight =
      c.reduce(c.name() + ".weight", wide, {}, Combiner::Sum, samples, [&](Indices, Indices r) {
        return counted(r, weights ? weightOfClass(r) : Expr::literal(wide, 1.0));
      });
  return c.define(c.name(), {},
                  [&](Indices) { return Expr::cast(type, c.read(sum, {}) / c.read(weight, {})); });
}

Status negativeLogLikelihoodLoss(OpContext &c) {
  KINTSUGI_ASSIGN(LikelihoodLoss loss, LikelihoodLoss::read(c));
  c.output(0, loss.result(c.input(0)));
  return Status::success();
}

Status softmaxCrossEntropyLoss(OpContext &c) {
  KINTSUGI_ASSIGN(LikelihoodLoss loss, LikelihoodLoss::read(c));
  ValueId x = c.input(0);
  ElementType type = c.type(x), wide = accumulatorFor(type);
  bool isNarrow = type != wide && c.hasOutput(1);
  ValueId logarithms = logSoftmaxAlong(c, isNarrow ? c.name(1) + ".wide" : c.name(1), x, 1, wide);
  c.output(0, loss.result(logarithms));
  if (c.hasOutput(1))
    c.output(1, c.castTo(c.name(1), logarithms, type));
  return Status::success();
}

} // namespace

OperatorTable lossOperators() {
  static const Operator table[] = {
      {"NegativeLogLikelihoodLoss", 12, 2, negativeLogLikelihoodLoss},
      {"SoftmaxCrossEntropyLoss", 12, 2, softmaxCrossEntropyLoss},
  };
  return table;
}

} // namespace kintsugi::import
