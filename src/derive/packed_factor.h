//===- packed_factor.h - What windows leave of a constant factor ------------===//
//
// The elements of a constant that sums still use, row by row, loaded when they are needed.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_PACKED_FACTOR_H
#define KINTSUGI_DERIVE_PACKED_FACTOR_H

#include "derive/factor_elements.h"
#include "derive/sum_window.h"

namespace kintsugi::derive {

/// [rows, steps of each window]: of each step the element that it is at, or zero where a window
/// leaves the range of its iterator.
class PackedFactor : public te::ConstantSource {
public:
  /// `windows` are those of the summed iterators, in their order.
  PackedFactor(FactorElements elements, llvm::ArrayRef<SumWindow> windows);

  Status load(std::byte *destination) const override;
  std::string identity() const override { return name; }

private:
  FactorElements elements;
  llvm::SmallVector<SumWindow, 3> windows;
  std::string name;
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_PACKED_FACTOR_H
