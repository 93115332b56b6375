//===- linear_terms.h - A body as what it adds up -----------------------------===//
#ifndef KINTSUGI_DERIVE_LINEAR_TERMS_H
#define KINTSUGI_DERIVE_LINEAR_TERMS_H

#include "te/program.h"

namespace kintsugi::derive {

/// One of what is added: `scale` times `factor`, or less that.
struct LinearTerm {
  te::Expr factor;
  std::optional<te::Expr> scale; ///< Without one it is 1.
  bool isSubtracted = false;

  te::Expr value() const { return scale ? factor * *scale : factor; }
};

/// What an f32 expression adds up. Where it adds or scales what a read of `isOpened` reads, the
/// definition stands for the read. `isSum` says of which factors scales are told apart; whatever
/// has none is a term as it stands. Empty: there is more than fuel allows.
std::vector<LinearTerm> linearTermsOf(const te::Expr &expr, const te::Program &program,
                                      llvm::function_ref<bool(te::ValueId)> isOpened,
                                      llvm::function_ref<bool(te::ValueId)> isSum);

/// Their sum; there is at least one.
te::Expr sumOf(llvm::ArrayRef<LinearTerm> terms);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_LINEAR_TERMS_H
