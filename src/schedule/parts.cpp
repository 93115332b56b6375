#include "schedule/parts.h"

#include "schedule/visit.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::schedule {

using namespace te;

namespace {

/// iterator < place, with something on either side.
struct Place {
  unsigned iterator;
  int64_t place;
};

std::optional<Place> placeOf(const Expr &condition, const LoopNest &nest) {
  if (condition.kind() != ExprKind::Binary || condition.binaryOp() != BinaryOp::Less)
    return std::nullopt;
  const Expr &left = condition.operand(0), &right = condition.operand(1);
  if (left.kind() != ExprKind::Index || !right.isLiteral())
    return std::nullopt;
  Index moved = left.indexValue() - Index(left.indexValue().constantTerm());
  int iterator = moved.asIterator();
  if (iterator < 0 || iterator >= int(nest.parallel.size()) || nest.spanOf(iterator))
    return std::nullopt;
  int64_t place = right.literalInteger() - left.indexValue().constantTerm();
  if (place <= 0 || place >= nest.extentOf(iterator))
    return std::nullopt;
  return Place{unsigned(iterator), place};
}

/// The first such choice of the bodies.
std::optional<std::pair<Place, Expr>> findPlace(const LoopNest &nest) {
  std::optional<std::pair<Place, Expr>> found;
  auto look = [&](const Expr &e) {
    if (found || e.kind() != ExprKind::Select)
      return;
    if (std::optional<Place> place = placeOf(e.operand(0), nest))
      found = {*place, e.operand(0)};
  };
  for (const Expr &body : nest.bodies)
    body.walk(look);
  return found;
}

LoopNest side(const LoopNest &nest, const Place &place, const Expr &condition, bool before,
              llvm::ArrayRef<TileDimension> space) {
  LoopNest result = nest;
  for (Expr &body : result.bodies)
    body = rewrite(body, [&](const Expr &e) {
      bool isSame = e.kind() == ExprKind::Select && e.operand(0) == condition;
      return isSame ? e.operand(before ? 1 : 2) : e;
    });
  int64_t extent = nest.extentOf(place.iterator);
  result.parallel[place.iterator].extent = Extent(before ? place.place : extent - place.place);
  if (before)
    return result;
  llvm::SmallVector<Index> replacements;
  for (unsigned k = 0; k < nest.parallel.size() + space.size(); ++k)
    replacements.push_back(Index::iterator(k));
  replacements[place.iterator] = replacements[place.iterator] + Index(place.place);
  replaceIterators(result, replacements);
  return result;
}

} // namespace

llvm::SmallVector<LoopNest, 2> splitAtPlaces(LoopNest nest, llvm::ArrayRef<TileDimension> space) {
  constexpr size_t most = 8;
  llvm::SmallVector<LoopNest, 2> parts;
  parts.push_back(std::move(nest));
  for (size_t k = 0; k < parts.size() && parts.size() < most;) {
    auto found = parts[k].reduction ? std::nullopt : findPlace(parts[k]);
    if (!found) {
      ++k;
      continue;
    }
    auto &[place, condition] = *found;
    LoopNest after = side(parts[k], place, condition, false, space);
    parts[k] = side(parts[k], place, condition, true, space);
    parts.insert(parts.begin() + k + 1, std::move(after));
  }
  return parts;
}

} // namespace kintsugi::schedule
