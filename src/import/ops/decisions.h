//===- decisions.h - What a boolean of a model decides -------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_DECISIONS_H
#define KINTSUGI_IMPORT_OPS_DECISIONS_H

#include "import/op_context.h"

namespace kintsugi::import {

/// Whether a name stands for a tensor, no sequence or strings.
inline bool isTensor(const Binding &binding) { return binding.tensor.has_value(); }

/// A condition, one boolean, where it is known.
Expected<std::optional<bool>> knownCondition(OpContext &c, ValueId condition);

/// The one element of a tensor, without dimensions.
ValueId scalarOf(OpContext &c, ValueId tensor);

/// One of two results, by a boolean that depends on data; `of`: what gives them.
Expected<ValueId> chosen(OpContext &c, std::string name, ValueId condition, const Binding &yes,
                         const Binding &no, llvm::StringRef of);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_DECISIONS_H
