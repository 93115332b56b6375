#include "loops/split.h"

#include "loops/visit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace kintsugi::loops {

using namespace te;

namespace {

struct Cut {
  unsigned iterator;
  int64_t radix; ///< Extent of the lower digit.
};

/// Whether vectors go along an iterator whose elements are stored side by side and read side by
/// side, each several times: their lanes are picked from one vector.
bool isSpread(const LoopNest &nest, unsigned iterator) {
  constexpr int64_t mostTimes = 8, leastLanes = 16;
  if (nest.reduction || nest.destinationIndex.coefficientOf(iterator) != 1 ||
      nest.extentOf(iterator) < leastLanes)
    return false;
  bool isSpread = true;
  forEachIndex(nest, [&](const Index &index) {
    for (const Term &term : index.terms())
      if (const Atom &atom = term.atom; atom.operand.asIterator() == int(iterator))
        isSpread &= atom.kind == AtomKind::FloorDiv && term.factor == 1 &&
                    llvm::isPowerOf2_64(atom.divisor) && atom.divisor <= mostTimes;
  });
  return isSpread;
}

/// A division or remainder of exactly one iterator, by a divisor of its extent; the least of them.
std::optional<Cut> findCut(const LoopNest &nest, bool inVectors) {
  std::optional<Cut> cut;
  unsigned iterators = nest.parallel.size() + nest.numReductions();
  forEachIndex(nest, [&](const Index &index) {
    for (const Term &term : index.terms()) {
      const Atom &atom = term.atom;
      if (atom.kind != AtomKind::FloorDiv && atom.kind != AtomKind::Mod)
        continue;
      int iterator = atom.operand.asIterator();
      if (iterator < 0 || unsigned(iterator) >= iterators ||
          nest.extentOf(iterator) % atom.divisor != 0 || (inVectors && isSpread(nest, iterator)))
        continue;
      if (!cut || atom.divisor < cut->radix)
        cut = Cut{unsigned(iterator), atom.divisor};
    }
  });
  return cut;
}

template <typename List> void cutAt(List &list, unsigned position, int64_t radix) {
  Iterator lower = list[position];
  list[position].extent = Extent(lower.extent.constant() / radix);
  list[position].name += "o";
  lower.extent = Extent(radix);
  lower.name += "i";
  list.insert(list.begin() + position + 1, lower);
}

} // namespace

void splitIterators(LoopNest &nest, llvm::ArrayRef<TileDimension> space, bool inVectors) {
  constexpr unsigned most = 8;
  for (unsigned round = 0; round < most; ++round) {
    std::optional<Cut> cut = findCut(nest, inVectors);
    if (!cut)
      return;
    unsigned iterators = nest.parallel.size() + nest.numReductions() + space.size();
    llvm::SmallVector<Index> replacements;
    for (unsigned k = 0; k < iterators; ++k)
      replacements.push_back(Index::iterator(k > cut->iterator ? k + 1 : k));
    replacements[cut->iterator] =
        Index::iterator(cut->iterator) * cut->radix + Index::iterator(cut->iterator + 1);
    if (cut->iterator < nest.parallel.size())
      cutAt(nest.parallel, cut->iterator, cut->radix);
    else
      cutAt(nest.reduction->iterators, cut->iterator - nest.parallel.size(), cut->radix);
    replaceIterators(nest, replacements);
    llvm::SmallVector<Interval> ranges = nest.ranges(space);
    for (Expr &body : nest.bodies)
      body = simplifyIndices(body, ranges, nullptr);
    for (Expr &finish : nest.epilogue)
      finish = simplifyIndices(finish, ranges, nullptr);
    nest.destinationIndex = simplify(nest.destinationIndex, ranges);
    for (Kept &kept : nest.kept)
      kept = {simplifyIndices(kept.value, ranges, nullptr), kept.buffer,
              simplify(kept.index, ranges)};
  }
}

} // namespace kintsugi::loops
