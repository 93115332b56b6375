//===- factor_elements.h - A constant factor of a sum, and where it lies ----===//
//
// What is asked of constants that products have as factors: which iterators they use, and how their
// elements lie in memory along those. A factor may also be what definitions make of constants.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_FACTOR_ELEMENTS_H
#define KINTSUGI_DERIVE_FACTOR_ELEMENTS_H

#include "te/program.h"

namespace kintsugi::derive {

/// A factor of a sum, and which iterators it uses.
struct SumFactor {
  te::Expr factor;
  llvm::SmallVector<unsigned, 4> rows, summed; ///< Parallel iterators, and the reduction's.

  /// Operand `number` of a sum of products.
  static SumFactor of(const te::Definition &sum, unsigned number);
  /// The read of a stored constant that the factor is, behind casts; null if it is something else,
  /// of which elements are its values.
  const te::Expr *stored(const te::Program &program) const;
  /// The factor with elements of another constant, behind the same casts.
  te::Expr withStored(const te::Program &program, const te::Expr &elements) const;
};

/// An iterator as a loop over memory.
struct MemoryAxis {
  int64_t extent = 0, stride = 0;
  auto operator<=>(const MemoryAxis &) const = default;
};

/// How the elements of a factor lie in a constant.
struct FactorElements {
  std::shared_ptr<const te::ConstantSource> source;
  ElementType type = ElementType::Invalid;
  int64_t all = 0;   ///< Elements of the constant.
  int64_t first = 0; ///< Where all iterators are 0.
  std::vector<MemoryAxis> rows, summed;

  auto operator<=>(const FactorElements &) const = default;

  int64_t numRows() const;
  int64_t points() const; ///< Elements of the factor, not of the constant.
  double bytes() const { return double(all) * bitsOf(type) / 8; }
  /// Calls `visit` with the constant's bytes, which are loaded if they are not in memory.
  Status withBytes(llvm::function_ref<void(const std::byte *)> visit) const;
};

/// Elements that are computed from other constants: few, since they are interpreted.
inline constexpr int64_t mostComputed = 1 << 16;

/// Those of a factor that reads a stored constant.
FactorElements elementsInPlace(const SumFactor &factor, const te::Expr &stored,
                               llvm::ArrayRef<te::Interval> ranges, const te::Program &program);
/// Those of any other factor that reads constants alone, as a constant of its values; nullopt where
/// they can't be had.
std::optional<FactorElements> elementsComputed(const SumFactor &factor,
                                               llvm::ArrayRef<te::Interval> ranges,
                                               const te::Program &program);
/// Whether elements of the type can be looked at.
bool isLookedAt(ElementType type);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_FACTOR_ELEMENTS_H
