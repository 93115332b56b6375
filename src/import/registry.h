//===- registry.h - Which operators can be imported --------------------------===//
//
// A table from an operator's domain, name and version to the function that imports it. Adding an
// operator is writing that function in the file of its family (ops/) and one line in that file's
// table.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_REGISTRY_H
#define KINTSUGI_IMPORT_REGISTRY_H

#include "import/op_context.h"

namespace kintsugi::import {

/// Versions of ONNX's own operator set that models may use.
constexpr int64_t oldestOpset = 1, newestOpset = 28;

/// Which elements an operator's tensors have.
enum class Elements : uint8_t {
  Computed, ///< Numbers that are computed with.
  Any,      ///< Those of storage-only types too: it moves or converts them.
};

struct Operator {
  const char *name;
  /// The first version of the operator set that the function understands; an entry holds until the
  /// next one of the same name. The function looks at opset() for smaller differences.
  int since;
  /// Leading inputs that must be there and be tensors.
  unsigned requiredInputs;
  Status (*import)(OpContext &);
  const char *domain = "";
  Elements elements = Elements::Computed;
};

/// The entry for an operator, or null.
const Operator *findOperator(llvm::StringRef domain, llvm::StringRef name, int64_t opset);

/// Every entry, in the order of the families.
std::vector<const Operator *> allOperators();

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_REGISTRY_H
