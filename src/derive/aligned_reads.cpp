#include "derive/aligned_reads.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// An index as what does not move with terms, and at most one term.
struct Along {
  Index fixed;
  int term = -1;
  int64_t each = 0;
};

std::optional<Along> alongOf(const Index &index, const Terms &terms) {
  Along along{index};
  for (unsigned k = 0; k < terms.iterators.size(); ++k) {
    unsigned iterator = terms.first + k;
    if (!index.uses(iterator))
      continue;
    along.each = index.coefficientOf(iterator);
    if (along.term >= 0 || along.each < 1)
      return std::nullopt;
    along.term = int(k);
    along.fixed = along.fixed - Index::iterator(iterator) * along.each;
    if (along.fixed.uses(iterator))
      return std::nullopt;
  }
  return along;
}

bool haveSameFill(const Expr &a, const Expr &b) {
  return !a.readFill() || !b.readFill() || *a.readFill() == *b.readFill();
}

/// In all of the other's terms, the first has one.
bool isWithin(const Alignment::Place &place, const Iterator &iterator, const Terms &other) {
  int64_t last = place.offset;
  if (place.other >= 0)
    last += place.each * (other.iterators[place.other].extent.constant() - 1);
  return place.offset >= 0 && last < iterator.extent.constant();
}

} // namespace

std::optional<Alignment> alignmentOf(const Expr &read, const Terms &terms, const Expr &other,
                                     const Terms &ofOther) {
  if (read.readValue() != other.readValue() || !haveSameFill(read, other))
    return std::nullopt;
  Alignment result;
  result.places.resize(terms.iterators.size());
  llvm::SmallVector<bool, 4> isPlaced(terms.iterators.size(), false),
      isFound(ofOther.iterators.size(), false);
  for (auto [a, b] : llvm::zip_equal(read.readIndices(), other.readIndices())) {
    std::optional<Along> its = alongOf(a, terms), others = alongOf(b, ofOther);
    if (!its || !others || !(others->fixed - its->fixed).isConstant())
      return std::nullopt;
    int64_t offset = (others->fixed - its->fixed).constantTerm();
    if (its->term < 0) {
      if (others->term >= 0 || offset != 0)
        return std::nullopt;
      continue;
    }
    if (isPlaced[its->term] || offset % its->each != 0 || others->each % its->each != 0 ||
        (others->term >= 0 && isFound[others->term]))
      return std::nullopt;
    isPlaced[its->term] = true;
    if (others->term >= 0)
      isFound[others->term] = true;
    result.places[its->term] = {others->term, others->term < 0 ? 1 : others->each / its->each,
                                offset / its->each};
  }
  auto isTrue = [](bool each) { return each; };
  if (!llvm::all_of(isPlaced, isTrue) || !llvm::all_of(isFound, isTrue))
    return std::nullopt;
  for (auto [place, iterator] : llvm::zip_equal(result.places, terms.iterators))
    if (!isWithin(place, iterator, ofOther))
      return std::nullopt;
  return result;
}

llvm::SmallVector<Index> Alignment::othersAt(const Terms &first, const Terms &other) const {
  llvm::SmallVector<Index> result(other.iterators.size(), Index(0));
  for (auto [k, place] : llvm::enumerate(places))
    if (place.other >= 0)
      result[place.other] = (Index::iterator(first.first + k) - place.offset).floorDiv(place.each);
  return result;
}

std::optional<Expr> Alignment::isOfOther(const Terms &first, const Terms &other) const {
  std::optional<Expr> all;
  auto require = [&](BinaryOp op, const Index &a, const Index &b) {
    Expr its = Expr::binary(op, Expr::index(a, ElementType::I64), Expr::index(b, ElementType::I64));
    all = all ? Expr::binary(BinaryOp::And, *all, its) : its;
  };
  for (auto [k, place] : llvm::enumerate(places)) {
    Index term = Index::iterator(first.first + k);
    int64_t extent = first.iterators[k].extent.constant();
    if (place.other < 0) {
      if (extent > 1)
        require(BinaryOp::Equal, term, place.offset);
      continue;
    }
    int64_t last = place.offset + place.each * (other.iterators[place.other].extent.constant() - 1);
    if (place.offset > 0)
      require(BinaryOp::Less, place.offset - 1, term);
    if (last < extent - 1)
      require(BinaryOp::Less, term, last + 1);
    if (place.each > 1)
      require(BinaryOp::Equal, (term - place.offset).mod(place.each), 0);
  }
  return all;
}

Expr readThroughMoves(const Expr &read, const Program &program) {
  Expr result = read;
  for (unsigned left = 8; left > 0; --left) {
    const Definition *move = program.definitionOf(result.readValue());
    if (!move || move->reduction || move->bodies.size() != 1 || result.readFill() ||
        move->bodies[0].kind() != ExprKind::Read)
      break;
    result = substitute(move->bodies[0], result.readIndices());
  }
  return result;
}

} // namespace kintsugi::derive
