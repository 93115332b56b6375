//===- packing.h - Operands in the order in which a kernel reads them -------===//
//
// A sum that runs along vectors reads an operand panel by panel: a vector or more of neighbouring
// columns for each step of the reduction. A packed operand lies exactly so, one panel after the
// other, so that the innermost loop streams through it whatever the model's own order was. The
// constant program packs constants while linking (columns beyond the last are zeros); a tile packs
// what it copies.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_PACKING_H
#define KINTSUGI_LOOPS_PACKING_H

#include "te/program.h"

namespace kintsugi::loops {

struct LoopNest;
struct RegisterTile;
struct Schedule;
struct TileDimension;

struct Packing {
  struct Dimension {
    int64_t extent;
    int64_t stride; ///< In elements of the constant as the model has it.
    bool operator==(const Dimension &) const = default;
  };
  llvm::SmallVector<Dimension, 6> dimensions; ///< Outermost first; the last one is the lanes.
  unsigned panels = 0;                        ///< Which dimension counts the panels.
  int64_t columns = 0;                        ///< panel * lanes + lane from here on is padding.
  int64_t offset = 0;                         ///< Of the first element.

  int64_t lanes() const { return dimensions.back().extent; }
  int64_t elements() const;
  /// Whether it is what the model has already.
  bool isInOrder() const;
  /// Whether all that is no padding lies in a constant of so many elements: what a read guards by a
  /// fill may not.
  bool staysInside(int64_t constantElements) const;
  /// The packed tensor as an expression over `source`, which has the given shape and type.
  te::Definition define(te::ValueId source, llvm::ArrayRef<te::Extent> shape,
                        ElementType type) const;
  /// "[48x16, 768x3072, 16 lanes x1]": extents and strides.
  std::string print() const;

  bool operator==(const Packing &) const = default;
};

/// How a constant would lie for a nest that reads it at `position` (flat) with vectors of `lanes`
/// points of parallel iterator `vector`, and the position in it. nullopt where its elements don't
/// come in panels: the position is not affine, does not move with the vector or no reduction moves
/// it, tiles would cut panels, or the packed form would be much larger than the constant. Panels
/// are as wide as the widest vectors of any machine where tiles don't cut those, so that code for
/// several levels of the instruction set shares constants.
struct PackedRead {
  Packing packing;
  te::Index position;
};
std::optional<PackedRead> packRead(const LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                                   const te::Index &position, unsigned vector, unsigned lanes,
                                   int64_t elements);

/// Packs what a schedule's vectors read of packable buffers; a copy in scratch is stored as packed.
void packOperands(Schedule &schedule);

/// The same in the order of the nest's iterators: terms of its last sum side by side. nullopt also
/// where that is how it lies.
std::optional<PackedRead> packReadInOrder(const LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                                          const te::Index &position, int64_t elements);

/// Whether threads that share a sum have several terms in a row each, side by side: then constants
/// lie in the order of the nest's iterators (packInOrder).
bool readsPacked(const RegisterTile &tile);

/// Constants that nests read on matrix units, or threads that share a sum in rows of terms, lie in
/// the order of the nests' iterators.
void packInOrder(Schedule &schedule);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_PACKING_H
