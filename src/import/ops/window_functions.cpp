//===- window_functions.cpp - Windows that signals are multiplied with -------===//

#include "import/ops/families.h"

#include <numbers>

namespace kintsugi::import {
namespace {

using te::UnaryOp;

/// The window a0 - a1 cos(t) + a2 cos(2t), where t goes once around.
struct Cosines {
  double a0, a1, a2;
};

/// Which type the elements have.
Expected<ElementType> wantedType(OpContext &c) {
  KINTSUGI_ASSIGN(ElementType type, c.elementType("output_datatype", 1));
  if (!computes(type) || type == ElementType::Bool)
    return c.unsupported(type);
  return type;
}

Status windowOf(OpContext &c, const Cosines &cosines) {
  KINTSUGI_ASSIGN(ElementType type, wantedType(c));
  int64_t isPeriodic = c.integer("periodic", 1);
  if (isPeriodic != 0 && isPeriodic != 1)
    return c.error("its attribute 'periodic' is " + llvm::Twine(isPeriodic) +
                   ", but must be 0 or 1");
  KINTSUGI_ASSIGN(std::vector<int64_t> size, c.constantIntegers(0, "size"));
  if (size.size() != 1)
    return c.error("its size must be one number");
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(size));
  // In double, so that what is cut off for integers is no error of rounding.
  constexpr ElementType wide = ElementType::F64;
  double step = 2 * std::numbers::pi / double(isPeriodic ? size[0] : size[0] - 1);
  c.output(0, c.define(c.name(), shape, [&](Indices i) {
    auto cosine = [&](double factor, double speed) {
      Expr angle = Expr::index(i[0], wide) * Expr::literal(wide, step * speed);
      return Expr::literal(wide, factor) * Expr::unary(UnaryOp::Cos, angle);
    };
    Expr value = Expr::literal(wide, cosines.a0) - cosine(cosines.a1, 1);
    return Expr::cast(type, cosines.a2 == 0 ? value : value + cosine(cosines.a2, 2));
  }));
  return Status::success();
}

Status blackmanWindow(OpContext &c) { return windowOf(c, {0.42, 0.5, 0.08}); }
Status hannWindow(OpContext &c) { return windowOf(c, {0.5, 0.5, 0}); }
Status hammingWindow(OpContext &c) { return windowOf(c, {25.0 / 46, 21.0 / 46, 0}); }

} // namespace

OperatorTable windowFunctionOperators() {
  static const Operator table[] = {
      {"BlackmanWindow", 17, 1, blackmanWindow},
      {"HannWindow", 17, 1, hannWindow},
      {"HammingWindow", 17, 1, hammingWindow},
  };
  return table;
}

} // namespace kintsugi::import
