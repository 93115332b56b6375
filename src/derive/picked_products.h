//===- picked_products.h - Sums of picked elements of a product -------------===//
//
// Where some of what a sum of products runs along only says which elements of the factors meet, it
// is a sum of elements of a product that has all of them meet:
//
//     y[p] = sum[c, w] a[c, f(p, w)] * b[c, g(p, w)]
//       =>  t[u, v] = sum[c] a[c, u] * b[c, v]
//           y[p] = sum[w] t[f(p, w), g(p, w)]
//
// The window of a convolution is such a picker (f is p + w, g is w), and so are the taps of a
// transposed convolution (EinNet, Zheng et al. 2023: a product of matrices and a selective
// addition). Nothing is multiplied for what lies in zero padding.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_PICKED_PRODUCTS_H
#define KINTSUGI_DERIVE_PICKED_PRODUCTS_H

#include "te/program.h"

namespace kintsugi::derive {

struct PickedProducts {
  te::Definition products; ///< t, its dimensions in the order that was asked for.
  /// What zeros were multiplied with that are no terms any more.
  llvm::SmallVector<te::Expr, 2> multipliedWithZeros;

  /// y, given t.
  te::Definition sumOf(te::ValueId products) const;

  te::Definition sum; ///< y without a body.
  llvm::SmallVector<te::Index> picks;
  bool leaves = false; ///< Whether picks may lie outside of t, where zeros are.
};

/// In which order t's dimensions are stored.
enum class PickedOrder : uint8_t { RowsFirst, ColumnsFirst, LastRowLast };

struct Picking {
  llvm::SmallVector<unsigned, 3> pickers; ///< Numbers of reduction iterators.
  unsigned columns = 1;                   ///< The number of the factor that gives columns of t.
  PickedOrder order = PickedOrder::RowsFirst;
};

/// A sum of products with all pickers summed behind the products; nullopt where one of them does
/// more than to pick, or nothing is left to sum in products.
std::optional<PickedProducts> pickedProducts(const te::Program &program,
                                             const te::Definition &whole, const Picking &picking);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_PICKED_PRODUCTS_H
