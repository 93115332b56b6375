//===- winograd.h - Correlations by bilinear algorithms ---------------------===//
//
// Replaces one definition that slides a window by several that multiply less: the input and the
// kernel are brought to points, dimension by dimension, their products are summed over what the
// window does not slide along, and the sums are brought back:
//
//   v[x, .., t, .., c] = sum[i] input[x, i] * (in[.., m t + i, .., c] | 0)
//   u[x, k..]          = sum[r] kernel[x, r] * k[.., r, ..]           (a constant)
//   p[x, .., t, .., o] = sum[c] v[x, .., t, .., c] * u[x, ..]
//   z[.., t, i, .., o] = sum[x] output[i, x] * p[x, .., t, .., o]
//   y[.., h, .., o]    = z[.., h // m, h % m, .., o]
//
// A window of dilation d slides over each of d phases of the input. Where the kernel is read by
// other iterators too along a tap's dimension (k[.., p - 2 r, ..]), its points have these. All are
// ordinary definitions: the search joins them with others, and with each other, like any.
//
// Sums are reassociated, and an infinity or NaN of the input reaches a whole tile of the output.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_WINOGRAD_H
#define KINTSUGI_DERIVE_WINOGRAD_H

#include "derive/bilinear.h"
#include "derive/correlation.h"
#include "simplify/rebuild.h"

#include <map>

namespace kintsugi::derive {

/// A window and the algorithm for it.
struct Step {
  Window window;
  const BilinearAlgorithm *algorithm;
};

/// What derivations in one program have in common: windows that slide alike over one input bring it
/// to the same points.
struct SharedPoints {
  std::map<const int64_t *, te::ValueId> matrices; ///< Constants, by their numbers.
  std::vector<std::pair<te::Definition, te::ValueId>> inputs;
};

/// Adds the definitions that compute old node `node`, whose correlation is given, by `steps`: one
/// for each window that takes part. The input's read may name another value than the definition's,
/// of the rebuilder's old program. `shared` is of all that is added to it.
void addBilinear(simplify::Rebuilder &rebuilder, uint32_t node, const Correlation &correlation,
                 llvm::ArrayRef<Step> steps, SharedPoints &shared);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_WINOGRAD_H
