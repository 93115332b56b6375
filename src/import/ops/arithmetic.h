//===- arithmetic.h - Short names of scalar expressions ----------------------===//
//
// For operators that compute where they read: positions, weights, and what is inside of a tensor.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_ARITHMETIC_H
#define KINTSUGI_IMPORT_OPS_ARITHMETIC_H

#include "import/builder.h"

namespace kintsugi::import {

inline Expr number(ElementType type, double value) { return Expr::literal(type, value); }
inline Expr integer(int64_t value) { return Expr::literal(ElementType::I64, value); }
inline Expr less(Expr a, Expr b) {
  return Expr::binary(te::BinaryOp::Less, std::move(a), std::move(b));
}
inline Expr lessEqual(Expr a, Expr b) {
  return Expr::binary(te::BinaryOp::LessEqual, std::move(a), std::move(b));
}
inline Expr both(Expr a, Expr b) {
  return Expr::binary(te::BinaryOp::And, std::move(a), std::move(b));
}
/// Whether an index is below a bound.
inline Expr below(const Index &index, int64_t bound) {
  return less(Expr::index(index, ElementType::I64), integer(bound));
}
inline Expr floorOf(Expr x) { return Expr::unary(te::UnaryOp::Floor, std::move(x)); }

/// low <= x && x <= high, which a NaN is not.
inline Expr isWithin(Expr x, Expr low, Expr high) {
  return both(lessEqual(std::move(low), x), lessEqual(x, std::move(high)));
}

/// The nearest number in [low, high]; `low` for a NaN.
inline Expr clamped(Expr x, Expr low, Expr high) {
  return Expr::select(less(low, x), Expr::binary(te::BinaryOp::Min, x, std::move(high)), low);
}

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_ARITHMETIC_H
