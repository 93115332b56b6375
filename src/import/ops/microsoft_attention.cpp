#include "import/ops/microsoft_attention.h"

#include "import/ops/arithmetic.h"

#include <cmath>

namespace kintsugi::import {

Status refuseInputs(OpContext &c, llvm::ArrayRef<RefusedInput> inputs) {
  for (const RefusedInput &input : inputs)
    if (c.hasInput(input.number))
      return c.error(llvm::Twine("its ") + input.name + " is not supported; " + input.remedy);
  return Status::success();
}

double scaleOf(OpContext &c, int64_t size) {
  double given = c.real("scale", 0);
  return given != 0 ? given : 1 / std::sqrt(double(size));
}

std::optional<int64_t> knownNumber(OpContext &c, unsigned input) {
  const Tensor *known = c.knownValue(input);
  return known ? std::optional(loadInteger(known->view(), 0)) : std::nullopt;
}

Status requireOneInteger(OpContext &c, unsigned input, llvm::StringRef role) {
  ValueId given = c.input(input);
  if (isInteger(c.type(given)) && c.rank(given) <= 1 && c.count(given) == 1)
    return Status::success();
  return c.error("its " + role + " must be one integer, but is " + nameOf(c.type(given)) +
                 " of shape " + shapeString(c.dims(given)));
}

Status requireNumberWithin(OpContext &c, unsigned input, int64_t low, int64_t high,
                           const char *what) {
  ValueId given = c.input(input);
  if (low == 0 || c.knownValue(input))
    return c.requireWithin(given, low, high, what);
  ValueId more = c.define(c.name() + ".excess", c.shape(given), [&](Indices i) {
    return Expr::cast(ElementType::I64, c.read(given, i)) - integer(low);
  });
  return c.requireWithin(more, 0, high - low, what);
}

Expected<std::optional<ValueId>> readScoreBias(OpContext &c, unsigned input, ValueId query,
                                               llvm::ArrayRef<int64_t> scores) {
  using Bias = std::optional<ValueId>;
  if (!c.hasInput(input))
    return Bias();
  ValueId bias = c.input(input);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(query, bias));
  std::vector<int64_t> shape = c.dims(bias);
  bool fits = shape.size() == scores.size();
  for (size_t d = 0; fits && d < scores.size(); ++d)
    fits = shape[d] == scores[d] || scores[d] < 0 || (d < 2 && shape[d] == 1);
  if (fits)
    return Bias(bias);
  return c.error("its attention_bias of shape " + shapeString(shape) +
                 " does not fit scores of shape " + shapeString(scores));
}

Expr withScoreBias(const Builder &b, ValueId bias, Indices i, const Expr &score) {
  ElementType wide = accumulatorFor(score.type());
  Expr more = Expr::cast(wide, b.readBroadcast(bias, i));
  return Expr::stored(score.type(), Expr::cast(wide, score) + more);
}

} // namespace kintsugi::import
