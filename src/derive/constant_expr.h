//===- constant_expr.h - The values of an expression over constants ---------===//
//
// A mask may be a constant of the model, or what nodes made of constants, or of positions alone
// (`column <= row`): it is evaluated, whatever it is written as.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_CONSTANT_EXPR_H
#define KINTSUGI_DERIVE_CONSTANT_EXPR_H

#include "te/program.h"

namespace kintsugi::derive {

/// Whether all that an expression reads depends on constants alone (`constantNodes`: see
/// te/constant_nodes.h), through definitions.
bool isConstantExpr(const te::Expr &expr, const te::Program &program,
                    const std::vector<bool> &constantNodes);

/// The values over iterators of the given extents, row-major; nullopt where a constant's bytes are
/// not at hand or there would be more than `most` elements of a definition to compute on the way,
/// or many times as many in all.
std::optional<std::vector<double>> valuesOf(const te::Expr &expr, const te::Program &program,
                                            llvm::ArrayRef<te::Extent> extents,
                                            int64_t most = int64_t(1) << 24);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_CONSTANT_EXPR_H
