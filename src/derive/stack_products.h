//===- stack_products.h - Products of one value as one product ---------------===//
//
// Products that share a factor and whose other factors are constants are rows of one larger
// product, whose constants lie one behind the other:
//
//     q[i, j] = sum[k] x[i, k] * a[k, j]        s[i, j:2n] = sum[k] x[i, k] * c[k, j]
//     p[i, j] = sum[k] x[i, k] * b[k, j]   =>   q[i, j:n] = s[i, j],  p[i, j:n] = s[i, j + n]
//
// where c is a and b, side by side along j, and all that is done to each point of q and of p alike
// (a bias, an activation) is done to s. Where cores run blocks of threads, a launch is saved, and
// the blocks of one large product fill the machine evenly where those of several don't. The
// projections of attention are such products, and so are branches that begin with a convolution of
// the same kind (TASO, Jia et al. 2019, calls the rule a merge of matrix products).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_STACK_PRODUCTS_H
#define KINTSUGI_DERIVE_STACK_PRODUCTS_H

#include "cost/margins.h"
#include "explain/log.h"
#include "search/scheduler.h"

namespace kintsugi::derive {

struct StackOptions {
  search::ScheduleOptions schedule;
  unsigned fuel = 64; ///< Distinct stacks that are priced.
  double margin = cost::Margins().mergedProducts;
  /// Told which products were stacked, and what that saves.
  explain::Log *log = nullptr;
};

/// The program with products stacked where that costs less than their kernels side by side in one
/// launch. A product with a reader that would share its kernel and can't be stacked stays.
te::Program stackProducts(const te::Program &program, const StackOptions &options);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_STACK_PRODUCTS_H
