#include "import/ops/padding_mask.h"

#include "import/ops/arithmetic.h"
#include "import/ops/microsoft_attention.h"

#include <cmath>

namespace kintsugi::import {

/// Scores of models are nearer to zero than this by far.
static constexpr double farFromScores = -1e4;

/// No key has such a number.
static constexpr int64_t behindAll = int64_t(1) << 40;

/// The least number that sums with scores do not leave the type's range from.
static double leastFilter(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return -32752;
  case ElementType::F64:
    return -8e307;
  default:
    return -1.5e38;
  }
}

Expected<PaddingMask> PaddingMask::read(OpContext &c, unsigned mask, unsigned bias, ValueId query,
                                        const ScoreSizes &sizes, bool showsScores) {
  PaddingMask result(c, sizes);
  result.filter = std::max(c.real("mask_filter_value", farFromScores), leastFilter(c.type(query)));
  result.showsScores = showsScores;
  KINTSUGI_RETURN_IF_ERROR(result.readMask(mask));
  std::vector<int64_t> scores{sizes.batch, sizes.heads, sizes.queries, sizes.keys};
  KINTSUGI_ASSIGN(result.bias, readScoreBias(c, bias, query, scores));
  bool isAhead = c.integer("unidirectional", 0) != 0;
  result.isCausal = isAhead && sizes.queries == sizes.fresh;
  // One query is the last one.
  if (isAhead && !result.isCausal && sizes.queries != 1)
    return c.error("it is unidirectional, and has " + llvm::Twine(sizes.queries) + " queries for " +
                   llvm::Twine(sizes.fresh) +
                   " keys; it must have as many, or unidirectional be 0");
  bool hasLengths =
      result.kind == Kind::Lengths || (result.kind == Kind::Ranges && !result.isCausal);
  result.isChosen = hasLengths && !showsScores && result.filter <= farFromScores;
  return result;
}

bool PaddingMask::isNeeded() const {
  return kind != Kind::None || bias || isCausal || n.past.bySample;
}

Error PaddingMask::unfit(ValueId given) const {
  return c.error("its mask of shape " + shapeString(c.dims(given)) +
                 " does not fit scores of shape " +
                 shapeString(std::vector{n.batch, n.heads, n.queries, n.keys}) +
                 "; it must have a number for each sample, key, or query and key");
}

/// Lengths, lengths with the places of tokens behind, or ends and starts.
Status PaddingMask::readList(ValueId given) {
  int64_t count = c.count(given);
  kind = count == 2 * n.batch ? Kind::Ranges : Kind::Lengths;
  if (count != n.batch && count != 2 * n.batch && count != 3 * n.batch + 2)
    return unfit(given);
  int64_t taken = kind == Kind::Ranges ? 2 : 1;
  mask = c.define(c.name() + ".lengths", {taken, n.batch}, [&](Indices i) {
    Index place = taken == 1 ? i[1] : i[0] * n.batch + i[1];
    return Expr::cast(ElementType::I64, c.read(given, {place}));
  });
  return Status::success();
}

Status PaddingMask::readMask(unsigned input) {
  if (!c.hasInput(input))
    return Status::success();
  ValueId given = c.input(input);
  if (!isInteger(c.type(given)))
    return c.error(llvm::Twine("its mask must be integers, but is ") + nameOf(c.type(given)));
  if (c.rank(given) == 1)
    return readList(given);
  std::vector<int64_t> shape = c.dims(given);
  bool isSame =
      n.keys != 1 && shape.size() == 2 && shape[1] == 1 && (shape[0] == 1 || shape[0] == n.batch);
  if (isSame) // For all keys.
    return Status::success();
  bool fits = shape == std::vector{n.batch, n.keys} ||
              shape == std::vector{n.batch, n.queries, n.keys} ||
              (shape.size() == 4 && shape[0] == n.batch && shape[1] == 1 && shape[2] == shape[3] &&
               shape[3] >= n.keys && !n.past.bySample);
  if (!fits)
    return unfit(given);
  kind = Kind::Elements;
  mask = given;
  return Status::success();
}

Expr PaddingMask::shownElement(Indices i) const {
  llvm::SmallVector<Index> at{i[0], i[3]};
  if (c.rank(mask) == 3)
    at = {i[0], i[2], i[3]};
  if (c.rank(mask) == 4)
    at = {i[0], 0, i[2] + Index(n.past.known), i[3]};
  return less(Expr::literal(c.type(mask), int64_t(0)), c.read(mask, at));
}

/// In the accumulator's type, to which the number is exact enough.
Expr PaddingMask::filtered(const Expr &isSeen, const Expr &score) const {
  ElementType wide = accumulatorFor(score.type());
  Expr less = Expr::stored(score.type(), Expr::cast(wide, score) + number(wide, filter));
  return Expr::select(isSeen, score, less);
}

Expr PaddingMask::withPadding(Indices i, Expr score) const {
  if (kind == Kind::None)
    return score;
  if (kind == Kind::Elements)
    return filtered(shownElement(i), score);
  Expr key = Expr::index(i[3], ElementType::I64);
  Expr end = c.read(mask, {0, i[0]}), start = integer(0);
  if (kind == Kind::Ranges)
    start = c.read(mask, {1, i[0]});
  if (!isChosen) {
    Expr isBefore = less(key, end);
    return filtered(kind == Kind::Ranges ? both(lessEqual(start, key), isBefore) : isBefore, score);
  }
  Expr isEmpty = lessEqual(end, start);
  Expr low = number(score.type(), -INFINITY);
  Expr isSeen = less(key, Expr::select(isEmpty, integer(behindAll), end));
  if (kind == Kind::Ranges)
    isSeen = both(lessEqual(Expr::select(isEmpty, integer(0), start), key), isSeen);
  return Expr::select(isSeen, score, low);
}

std::optional<Expr> PaddingMask::byPosition(Indices i) const {
  Expr key = Expr::index(i[3], ElementType::I64);
  if (isCausal)
    return lessEqual(key, positionOf(c, n.past, i));
  if (n.past.bySample)
    return less(key, n.past.of(c, i[0]) + integer(n.fresh));
  return std::nullopt;
}

Expr PaddingMask::applied(Indices i, Expr score) const {
  if (bias)
    score = withScoreBias(c, *bias, i, score);
  ElementType type = score.type();
  Expr hidden = showsScores ? number(type, type == ElementType::F16 ? -65504 : -3.4028235e38)
                            : number(type, -INFINITY);
  Expr result = withPadding(i, std::move(score));
  std::optional<Expr> isSeen = byPosition(i);
  return isSeen ? Expr::select(*isSeen, result, hidden) : result;
}

} // namespace kintsugi::import
