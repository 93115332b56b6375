//===- registers.h - How a nest uses vectors and registers ------------------===//
//
// Chooses which iterator's points share a vector and how many vectors and rows are unrolled, by the
// cycles that each choice takes (cost/register_cycles.h).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_REGISTERS_H
#define KINTSUGI_SEARCH_REGISTERS_H

#include "cost/register_cycles.h"

#include <optional>

namespace kintsugi::search {

class ChoiceMemo;

/// Sets nest.registers, reorders the iterators (unrolled ones innermost among the parallel ones,
/// near ones innermost among the reduction's) and returns the cycles that one tile's run of the
/// nest takes on one core.
double chooseRegisters(loops::LoopNest &nest, llvm::ArrayRef<loops::TileDimension> space,
                       llvm::ArrayRef<loops::Buffer> buffers, const cost::VectorUnit &unit,
                       ChoiceMemo &memo);

/// The same with registers that the caller wants. nullopt, and nothing is changed, where they are
/// not among the choices.
std::optional<double> takeRegisters(loops::LoopNest &nest,
                                    llvm::ArrayRef<loops::TileDimension> space,
                                    llvm::ArrayRef<loops::Buffer> buffers,
                                    const cost::VectorUnit &unit,
                                    const loops::RegisterTile &wanted);

/// The choices of the least estimated cycles, the best first, at most `most`.
std::vector<loops::RegisterTile> bestRegisters(const loops::LoopNest &nest,
                                               llvm::ArrayRef<loops::TileDimension> space,
                                               llvm::ArrayRef<loops::Buffer> buffers,
                                               const cost::VectorUnit &unit, size_t most);

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_REGISTERS_H
