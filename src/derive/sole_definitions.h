//===- sole_definitions.h - Definitions that one other alone reads ------------===//
#ifndef KINTSUGI_DERIVE_SOLE_DEFINITIONS_H
#define KINTSUGI_DERIVE_SOLE_DEFINITIONS_H

#include "te/program.h"

namespace kintsugi::derive {

/// Definitions of f32 values that are no constants, and of which only one node has need: they are
/// not needed any more once it does without.
class SoleDefinitions {
public:
  /// `constant`: by node (te::constantNodes). Both outlive this.
  SoleDefinitions(const te::Program &program, const std::vector<bool> &constant);

  /// Null for other values.
  const te::Definition *at(te::ValueId id) const;
  /// Whether it sums nothing, so that its body can stand for a read of it.
  bool isMap(te::ValueId id) const;

private:
  const te::Program &program;
  const std::vector<bool> &constant;
  std::vector<unsigned> readers; ///< By value: nodes that read it, and outputs that it is.
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SOLE_DEFINITIONS_H
