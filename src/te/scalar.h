//===- scalar.h - What operations on single elements mean -------------------===//
//
// The reference meaning of UnaryOp, BinaryOp and conversions, for the interpreter and for folding.
// Numbers are held in one of two forms: floats of every width as double, integers and booleans as
// int64_t that is sign- or zero-extended from the type's width (u64: its bits).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_SCALAR_H
#define KINTSUGI_TE_SCALAR_H

#include "te/program.h"

namespace kintsugi::te {

/// An integer wrapped around at the type's width; of a boolean whether it is not zero.
int64_t wrapInteger(ElementType type, int64_t value);

/// Float operations whose result is a float. The value is not rounded to a type.
double applyUnary(UnaryOp op, double value);
double applyBinary(BinaryOp op, double left, double right);
/// IsNaN, IsInf.
bool applyTest(UnaryOp op, double value);
/// Comparisons of floats.
bool applyComparison(BinaryOp op, double left, double right);

/// A number as a float type keeps it.
double roundedTo(ElementType type, double value);

/// Operations on integers or booleans of that type; comparisons give 0 or 1.
int64_t applyUnary(UnaryOp op, ElementType type, int64_t value);
int64_t applyBinary(BinaryOp op, ElementType type, int64_t left, int64_t right);

/// Conversions between the two forms (between integers it is wrapInteger). To an integer type:
/// truncates, saturating, NaN gives 0. To a boolean: not zero.
int64_t castToInteger(ElementType to, double value);
double castToFloat(ElementType from, int64_t value);

/// The least and the greatest number of an integer or boolean type, in the form above.
int64_t lowestInteger(ElementType type);
int64_t highestInteger(ElementType type);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_SCALAR_H
