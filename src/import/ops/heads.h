//===- heads.h - Vectors of several heads ------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_HEADS_H
#define KINTSUGI_IMPORT_OPS_HEADS_H

#include "import/op_context.h"

namespace kintsugi::import {

/// A tensor [batch, head, token, element] or [batch, token, head * element].
struct Heads {
  ValueId tensor;
  int64_t batch = 0, heads = 0, tokens = 0, size = 0;
  bool areSideBySide = false; ///< In the last dimension.

  Expr read(const Builder &b, const Index &sample, const Index &head, const Index &token,
            const Index &element) const;
  /// The same elements as [batch, head, token, element].
  Heads apart(Builder &b, std::string name) const;
  /// [batch, head, token, element] as [batch, token, head * element].
  static ValueId sideBySide(Builder &b, std::string name, ValueId apart);
};

/// The elements of a head where the last dimension of `x` holds `heads` of them, which `attribute`
/// says (0: it does not); errors where it has to, or where they are no heads of one size.
Expected<int64_t> headSizeOf(OpContext &c, ValueId x, int64_t heads, llvm::StringRef attribute);

/// `heads` of them side by side in a tensor [batch, token, head * element]; errors likewise.
Expected<Heads> headsSideBySide(OpContext &c, ValueId x, int64_t heads, llvm::StringRef attribute);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_HEADS_H
