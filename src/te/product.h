//===- product.h - Bodies that multiply matrices ----------------------------===//
#ifndef KINTSUGI_TE_PRODUCT_H
#define KINTSUGI_TE_PRODUCT_H

#include "te/program.h"

namespace kintsugi::te {

/// Whether a body multiplies two factors, each of which changes with one of the first `parallel`
/// iterators that the other does not change with: rows and columns. What sums it is a product of
/// matrices.
bool multipliesMatrices(const Expr &body, unsigned parallel);

/// A sum of products of two factors that neither say the same nor run along the same dimensions.
bool isContraction(const Definition &definition);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_PRODUCT_H
