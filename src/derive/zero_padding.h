//===- zero_padding.h - Factors that are zero beyond a tensor ---------------===//
//
// Sums of products run over padding, which is zero. Rules that leave such terms out, or make no
// products of them, find it here, whether a factor's read says what is outside or another
// definition has padded the tensor.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_ZERO_PADDING_H
#define KINTSUGI_DERIVE_ZERO_PADDING_H

#include "te/program.h"

namespace kintsugi::derive {

/// Whether the read gives floats, and zeros outside of its tensor.
bool hasZerosOutside(const te::Expr &read);

/// The definition of a value that pads another with zeros; null if it does something else.
const te::Definition *zeroPaddingOf(const te::Program &program, te::ValueId value);

/// A factor that reads, behind casts, what a definition pads, as a read of what is padded; others
/// as they are.
te::Expr withinPadding(const te::Expr &factor, const te::Program &program);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_ZERO_PADDING_H
