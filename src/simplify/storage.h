//===- storage.h - Which values are stored in fewer bits --------------------===//
//
// The decisions of store_narrow.h, value by value; the rewriting stands there.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_STORAGE_H
#define KINTSUGI_SIMPLIFY_STORAGE_H

#include "simplify/magnitude.h"
#include "simplify/scales.h"
#include "simplify/tried.h"

namespace kintsugi::simplify {

/// What is decided about an f32 value.
struct Storage {
  bool narrow = false; ///< A result that is stored in the narrow type.
  /// A constant, an input or a result that stays f32 and that contractions and what repeats its
  /// elements read as a narrow copy; other readers take the copy of a constant too.
  bool copied = false;
  const char *reason = ""; ///< Why it stays f32.
};

/// Why a node that is kept reads and stores f32.
inline constexpr const char *movesTooFar =
    "rounding it moves the outputs further than --max-error allows";

/// Whether a scan's body hands on what it captures as `captured[number]` as it is: to a call, as
/// the first value of what an inner scan carries, or out.
bool handsOn(const te::Scan &scan, size_t number);

class StorageChoice {
public:
  /// `inputs`: what is known of the program's inputs. A scan's body makes no copies of its own.
  /// `tried` has nothing to say of a scan's body.
  StorageChoice(const te::Program &program, ElementType narrow, llvm::ArrayRef<Magnitude> inputs,
                const Tried &tried, bool isScanBody);

  const Storage &of(te::ValueId id) const { return chosen[id.number]; }
  bool isConstantNode(uint32_t node) const { return constantNodes[node]; }
  bool isKept(uint32_t node) const { return tried.isKept(node); }
  Magnitude magnitudeOf(te::ValueId id) const { return magnitudes.of(id); }
  const Scales &scales() const { return powers; }

private:
  void findExact();
  void findFixed();
  void findFactors();
  void findRepeated();
  void findFills();
  std::vector<bool> findUnread() const;
  bool isKeptResult(te::ValueId id) const;
  std::vector<bool> keptResults() const;
  void choose(te::ValueId id);
  bool isSmall(te::ValueId id) const;
  bool isFinishedByReader(te::ValueId id) const;

  const te::Program &program;
  ElementType narrow;
  Tried tried;
  bool isScanBody;
  std::vector<bool> constantNodes;
  Magnitudes magnitudes;
  std::vector<Storage> chosen;
  std::vector<llvm::SmallVector<uint32_t, 2>> readers; ///< Nodes, by value.
  std::vector<bool> exact;    ///< Integers, steps or waves are made from it.
  std::vector<bool> fixed;    ///< Its type is told by an output, a scan or a call.
  std::vector<bool> factor;   ///< A product of matrices outside of the constant program reads it.
  std::vector<bool> repeated; ///< A definition does nothing but read its elements several times.
  Scales powers;
  std::vector<bool> filled; ///< It is read with a fill that the narrow type does not have.
};

/// The reads that are a factor of a contraction's products as they stand, if these are products of
/// matrices: either factor has a dimension of the result to itself.
llvm::SmallVector<te::Expr, 2> bareFactorsOf(const te::Definition &definition);

/// The read that a definition is, where nothing else is done to what it reads.
const te::Expr *copiedReadOf(const te::Definition &definition);

/// A literal of the narrow type for a number divided by 2^exponent, where the type has that one.
std::optional<te::Expr> sameLiteral(const te::Expr &literal, ElementType narrow, int exponent = 0);

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_STORAGE_H
