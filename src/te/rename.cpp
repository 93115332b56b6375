#include "te/rename.h"

namespace kintsugi::te {

Expr renameReads(const Expr &expr, llvm::function_ref<ValueId(ValueId)> renamed) {
  return rewrite(expr, [&](const Expr &e) {
    if (e.kind() != ExprKind::Read)
      return e;
    std::optional<Expr> fill;
    if (const Expr *old = e.readFill())
      fill = *old;
    return Expr::read(renamed(e.readValue()), e.type(), e.readIndices(), std::move(fill));
  });
}

} // namespace kintsugi::te
