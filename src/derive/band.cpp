#include "derive/band.h"

#include "derive/finite.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::derive {

using namespace te;

namespace {

class BandFinder {
public:
  explicit BandFinder(const Definition &definition) : definition(definition) {}

  std::optional<Band> find() const {
    const Expr &body = definition.bodies[0];
    if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
      return std::nullopt;
    for (unsigned factor : {0, 1}) {
      const Expr *banded = readBehindCasts(body.operand(factor));
      const Expr *other = readBehindCasts(body.operand(1 - factor));
      if (!banded || !other || !isFilledWithNumber(*banded) || !isFilledWithNumber(*other))
        continue;
      for (unsigned rows = 0; rows < definition.parallel.size(); ++rows)
        for (unsigned window = 0; window < definition.numIterators(); ++window)
          if (std::optional<Band> band = bandOf(*banded, *other, rows, window)) {
            band->factor = factor;
            return band;
          }
    }
    return std::nullopt;
  }

private:
  static constexpr int64_t leastWindow = 8, leastRows = 64;

  static bool isFilledWithNumber(const Expr &read) {
    const Expr *fill = read.readFill();
    return !fill || (fill->isLiteral() && std::isfinite(fill->literalFloat()));
  }

  int64_t extentOf(unsigned iterator) const { return definition.ranges()[iterator].size(); }

  static unsigned dimensionsWith(const Expr &read, unsigned iterator) {
    return llvm::count_if(read.readIndices(),
                          [&](const Index &index) { return index.uses(iterator); });
  }

  std::optional<Band> bandOf(const Expr &banded, const Expr &other, unsigned rows,
                             unsigned window) const {
    bool isSummed = window >= definition.parallel.size();
    if (rows == window || extentOf(rows) < leastRows || extentOf(window) < leastWindow ||
        dimensionsWith(banded, rows) != 1 || dimensionsWith(banded, window) != 1 ||
        dimensionsWith(other, rows) == 0 || (dimensionsWith(other, window) > 0) != isSummed)
      return std::nullopt;
    for (const Index &index : other.readIndices())
      if ((index.uses(rows) && (index.uses(window) || !index.isAffine())) ||
          (index.uses(window) && !index.isAffine()))
        return std::nullopt;
    for (const Index &index : banded.readIndices()) {
      int64_t each = index.coefficientOf(rows), along = index.coefficientOf(window);
      if (each >= 1 && along >= 1 && index.isAffine() && along % each == 0)
        return isMatrix(banded, other, rows, window)
                   ? std::optional(Band{rows, window, 0, each, along / each})
                   : std::nullopt;
    }
    return std::nullopt;
  }

  /// Whether blocks have columns: the window's rows, or else what only the banded factor has.
  bool isMatrix(const Expr &banded, const Expr &other, unsigned rows, unsigned window) const {
    if (window < definition.parallel.size())
      return true;
    for (unsigned k = 0; k < definition.parallel.size(); ++k)
      if (k != rows && dimensionsWith(banded, k) > 0 && dimensionsWith(other, k) == 0)
        return true;
    return false;
  }

  const Definition &definition;
};

} // namespace

std::optional<Band> findBand(const Definition &definition) { return BandFinder(definition).find(); }

} // namespace kintsugi::derive
