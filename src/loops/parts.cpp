#include "loops/parts.h"

#include "loops/visit.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

namespace {

/// A comparison that holds on one side of a place of an iterator, and not on the other.
struct Place {
  unsigned iterator;
  int64_t place; ///< The first point of the side after it.
  bool holdsBefore;
};

/// Where a comparison of one of the nest's iterators with a number changes, be it outside of the
/// iterator's extent.
std::optional<Place> anyPlaceOf(const Expr &comparison, const LoopNest &nest) {
  if (comparison.kind() != ExprKind::Binary ||
      (comparison.binaryOp() != BinaryOp::Less && comparison.binaryOp() != BinaryOp::LessEqual))
    return std::nullopt;
  bool holdsBefore = comparison.operand(0).kind() == ExprKind::Index;
  const Expr &moving = comparison.operand(holdsBefore ? 0 : 1);
  const Expr &number = comparison.operand(holdsBefore ? 1 : 0);
  bool isExact = moving.type() == ElementType::I32 || moving.type() == ElementType::I64;
  if (moving.kind() != ExprKind::Index || !number.isLiteral() || !isExact)
    return std::nullopt;
  constexpr int64_t most = 1 << 30; // Nothing wraps.
  int64_t literal = number.literalInteger();
  int64_t constant = moving.indexValue().constantTerm();
  int iterator = (moving.indexValue() - Index(constant)).asIterator();
  if (iterator < 0 || iterator >= int(nest.parallel.size()) || nest.spanOf(iterator) ||
      nest.extentOf(iterator) > most || std::abs(constant) > most || literal < -most ||
      literal > most)
    return std::nullopt;
  bool isStrict = comparison.binaryOp() == BinaryOp::Less;
  int64_t place = literal - constant + (isStrict != holdsBefore);
  return Place{unsigned(iterator), place, holdsBefore};
}

std::optional<Place> placeOf(const Expr &comparison, const LoopNest &nest) {
  std::optional<Place> place = anyPlaceOf(comparison, nest);
  bool isInside = place && place->place > 0 && place->place < nest.extentOf(place->iterator);
  return isInside ? place : std::nullopt;
}

/// The first place that decides a choice, or of which lanes of a vector would say different things.
std::optional<Place> findPlace(const LoopNest &nest) {
  std::optional<Place> found;
  auto look = [&](const Expr &e) {
    if (found || e.kind() != ExprKind::Select)
      return;
    if ((found = placeOf(e.operand(0), nest)))
      return;
    e.operand(0).walk([&](const Expr &part) {
      std::optional<Place> place = found ? std::nullopt : placeOf(part, nest);
      if (place && nest.destinationIndex.coefficientOf(place->iterator) == 1)
        found = place;
    });
  };
  for (const Expr &body : nest.bodies)
    body.walk(look);
  return found;
}

/// With a condition's parts known.
Expr folded(const Expr &e) {
  if (e.kind() == ExprKind::Select && e.operand(0).isLiteral())
    return e.operand(e.operand(0).literalInteger() ? 1 : 2);
  if (e.kind() != ExprKind::Binary ||
      (e.binaryOp() != BinaryOp::And && e.binaryOp() != BinaryOp::Or))
    return e;
  for (unsigned known : {0, 1}) {
    if (!e.operand(known).isLiteral() || e.type() != ElementType::Bool)
      continue;
    bool decides = bool(e.operand(known).literalInteger()) == (e.binaryOp() == BinaryOp::Or);
    return e.operand(decides ? known : 1 - known);
  }
  return e;
}

/// Without comparisons that are the same at all points.
void foldComparisons(LoopNest &nest) {
  for (Expr &body : nest.bodies)
    body = rewrite(body, [&](const Expr &e) {
      std::optional<Place> place = anyPlaceOf(e, nest);
      if (place && place->place <= 0)
        return Expr::boolean(!place->holdsBefore);
      if (place && place->place >= nest.extentOf(place->iterator))
        return Expr::boolean(place->holdsBefore);
      return folded(e);
    });
}

LoopNest side(const LoopNest &nest, const Place &place, bool before,
              llvm::ArrayRef<TileDimension> space) {
  LoopNest result = nest;
  int64_t extent = nest.extentOf(place.iterator);
  result.parallel[place.iterator].extent = Extent(before ? place.place : extent - place.place);
  if (!before) {
    llvm::SmallVector<Index> replacements;
    for (unsigned k = 0; k < nest.parallel.size() + space.size(); ++k)
      replacements.push_back(Index::iterator(k));
    replacements[place.iterator] = replacements[place.iterator] + Index(place.place);
    replaceIterators(result, replacements);
  }
  foldComparisons(result);
  return result;
}

} // namespace

llvm::SmallVector<LoopNest, 2> splitAtPlaces(LoopNest nest, llvm::ArrayRef<TileDimension> space) {
  constexpr size_t most = 32; // Of a concatenation of many, each is a copy.
  llvm::SmallVector<LoopNest, 2> parts;
  parts.push_back(std::move(nest));
  for (size_t k = 0; k < parts.size() && parts.size() < most;) {
    std::optional<Place> found;
    if (!parts[k].reduction)
      found = findPlace(parts[k]);
    if (!found) {
      ++k;
      continue;
    }
    LoopNest after = side(parts[k], *found, false, space);
    parts[k] = side(parts[k], *found, true, space);
    parts.insert(parts.begin() + k + 1, std::move(after));
  }
  return parts;
}

} // namespace kintsugi::loops
