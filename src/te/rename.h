//===- rename.h - The same expression over other values ----------------------===//
#ifndef KINTSUGI_TE_RENAME_H
#define KINTSUGI_TE_RENAME_H

#include "te/expr.h"

namespace kintsugi::te {

/// The expression with each value that it reads, in gathers and fills too, in place of which
/// `renamed` names another, of the same type and shape.
Expr renameReads(const Expr &expr, llvm::function_ref<ValueId(ValueId)> renamed);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_RENAME_H
