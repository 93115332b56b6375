#include "import/ops/decisions.h"

namespace kintsugi::import {

Expected<std::optional<bool>> knownCondition(OpContext &c, ValueId condition) {
  if (c.type(condition) != ElementType::Bool || c.count(condition) != 1)
    return c.error("its condition must be one boolean");
  const Tensor *known = c.constants.value(condition);
  if (!known)
    return std::optional<bool>();
  return std::optional(loadInteger(known->view(), 0) != 0);
}

ValueId scalarOf(OpContext &c, ValueId tensor) {
  if (c.rank(tensor) == 0)
    return tensor;
  return c.define(c.name() + ".scalar", {}, [&](Indices) {
    return c.read(tensor, llvm::SmallVector<Index>(c.rank(tensor)));
  });
}

Expected<ValueId> chosen(OpContext &c, std::string name, ValueId condition, const Binding &yes,
                         const Binding &no, llvm::StringRef of) {
  if (!yes.tensor || !no.tensor)
    return c.error("its condition depends on data, and its results are not tensors");
  ValueId a = *yes.tensor, b = *no.tensor;
  if (c.type(a) != c.type(b) || c.shape(a) != c.shape(b))
    return c.error("its condition depends on data, and its " + of.str() +
                   " give results of different shapes or types");
  return c.define(std::move(name), c.shape(a), [&](Indices i) {
    Expr decides = c.read(condition, llvm::SmallVector<Index>(c.rank(condition)));
    return Expr::select(decides, c.read(a, i), c.read(b, i));
  });
}

} // namespace kintsugi::import
