#include "import/ops/rotation.h"

#include "import/ops/arithmetic.h"

namespace kintsugi::import {
namespace {

class Rotator {
public:
  Rotator(Builder &b, const Rotation &rotation)
      : b(b), r(rotation), wide(accumulatorFor(b.type(r.x))) {}

  ValueId result(std::string name) {
    return b.define(std::move(name), b.shape(r.x), [&](Indices i) {
      Index e = b.rank(r.x) == 4 ? i[3] : i[2].mod(r.headSize);
      Expr turned = r.isInterleaved
                        ? Expr::select(below(e.mod(2), 1), first(i, e.floorDiv(2), 1),
                                       second(i, e.floorDiv(2), 1))
                        : Expr::select(below(e, r.rotated / 2), first(i, e, r.rotated / 2),
                                       second(i, e - Index(r.rotated / 2), r.rotated / 2));
      if (r.rotated < r.headSize)
        turned = Expr::select(below(e, r.rotated), turned, element(i, 0));
      return Expr::cast(b.type(r.x), turned);
    });
  }

private:
  /// So many elements from the one at `i`.
  Expr element(Indices i, int64_t offset) const {
    llvm::SmallVector<Index> at(i.begin(), i.end());
    at.back() = at.back() + Index(offset);
    return Expr::cast(wide, b.read(r.x, at));
  }

  Expr angle(ValueId table, Indices i, const Index &pair) const {
    const Index &token = b.rank(r.x) == 4 ? i[2] : i[1];
    llvm::SmallVector<Index> at;
    if (r.positionOf)
      at = {r.positionOf(i[0], token), pair};
    else
      at = {i[0], token, pair};
    return Expr::cast(wide, b.read(table, at));
  }

  Expr first(Indices i, const Index &pair, int64_t apart) const {
    return angle(r.cosines, i, pair) * element(i, 0) - angle(r.sines, i, pair) * element(i, apart);
  }
  Expr second(Indices i, const Index &pair, int64_t apart) const {
    return angle(r.sines, i, pair) * element(i, -apart) + angle(r.cosines, i, pair) * element(i, 0);
  }

  Builder &b;
  const Rotation &r;
  ElementType wide;
};

} // namespace

ValueId rotated(Builder &b, std::string name, const Rotation &rotation) {
  return Rotator(b, rotation).result(std::move(name));
}

} // namespace kintsugi::import
