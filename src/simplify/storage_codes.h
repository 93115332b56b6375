//===- storage_codes.h - Numbers of storage-only types as arithmetic --------===//
//
// What a conversion from and to an 8-bit or 4-bit float, or a 4-bit or 2-bit integer, is on types
// that machines compute in: integer arithmetic on the bits of an f32 or f64. It gives what
// base/half.h gives, whatever the machine.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_STORAGE_CODES_H
#define KINTSUGI_SIMPLIFY_STORAGE_CODES_H

#include "te/expr.h"

namespace kintsugi::simplify {

/// The type that keeps an element of a storage-only type: of a float its bits (u8), of an integer
/// its value (u8 or i8).
ElementType codeType(ElementType storage);

/// The number that a code of the storage-only type stands for, exactly: an f32 of a float type's,
/// the code itself of an integer's.
te::Expr decoded(ElementType storage, const te::Expr &code);

/// The code for a number of any type that it is computed in: te::Expr::cast to the storage-only
/// type.
te::Expr encoded(ElementType storage, const te::Expr &number);

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_STORAGE_CODES_H
