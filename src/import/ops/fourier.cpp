//===- fourier.cpp - Discrete Fourier transforms ------------------------------===//
//
// A transform is a product with a table of cosines and sines. Real and imaginary parts are the last
// dimension, so that one product makes both of both. A long signal whose length has two factors A
// and B is transformed in two steps (Cooley and Tukey): places B a + b by products over a, and what
// comes of these, of frequencies k1 + A k2, by products over b.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numbers>

namespace kintsugi::import {
namespace {

using te::Combiner;

/// Elements of a table.
constexpr int64_t largestTable = int64_t(1) << 24;
constexpr int64_t longestSignal = 1 << 20;
/// Signals from this length on are transformed in two steps.
constexpr int64_t longSignal = 512;

struct Transform {
  unsigned axis = 0;
  int64_t length = 0;      ///< Of the whole signal.
  int64_t terms = 0;       ///< Elements of the input that are read: the others are zeros.
  int64_t parts = 1;       ///< 2 where the input is complex.
  int64_t results = 0;     ///< Elements along the axis that are wanted,
  int64_t resultParts = 2; ///< and parts of each.
  bool isInverse = false, isOneSided = false;

  /// From the one-sided spectrum of a real signal.
  bool isToReal() const { return isInverse && isOneSided; }
};

/// exp(2 pi i turn / turns), as the products of parts that a multiplication by it is made of.
class Waves {
public:
  Waves(int64_t turns, bool isInverse) {
    for (int64_t turn = 0; turn < turns; ++turn) {
      cosines.push_back(cosineOf(turn, turns));
      sines.push_back((isInverse ? 1 : -1) * sineOf(turn, turns));
    }
  }

  double factor(int64_t turn, int64_t part, int64_t resultPart) const {
    turn %= int64_t(cosines.size());
    return part == resultPart ? cosines[turn] : part == 0 ? sines[turn] : -sines[turn];
  }

private:
  /// Exact for quarters.
  static double cosineOf(int64_t turn, int64_t turns) {
    const double quarters[] = {1, 0, -1, 0};
    return turn * 4 % turns == 0 ? quarters[turn * 4 / turns]
                                 : std::cos(2 * std::numbers::pi * double(turn) / double(turns));
  }
  static double sineOf(int64_t turn, int64_t turns) {
    const double quarters[] = {0, 1, 0, -1};
    return turn * 4 % turns == 0 ? quarters[turn * 4 / turns]
                                 : std::sin(2 * std::numbers::pi * double(turn) / double(turns));
  }

  std::vector<double> cosines, sines;
};

class Fourier {
public:
  Fourier(OpContext &c, const Transform &t)
      : c(c), t(t), type(c.type(c.input(0))), wide(accumulatorFor(type)) {}

  /// Fails where a table is too large.
  Expected<ValueId> result() {
    ValueId x = t.isToReal() ? doubled(c.input(0)) : c.input(0);
    for (int64_t b = 1; t.length >= longSignal && b * b <= t.length; ++b)
      if (t.length % b == 0)
        factor = b;
    return factor >= smallestFactor ? inTwoSteps(x) : inOneStep(x);
  }

private:
  static constexpr int64_t smallestFactor = 8;

  /// Of a one-sided spectrum all but the ends stand for two frequencies.
  ValueId doubled(ValueId x) {
    return c.define(c.name() + ".doubled", c.shape(x), [&](Indices i) {
      Expr k = Expr::index(i[t.axis], ElementType::I64), element = Expr::cast(wide, c.read(x, i));
      Expr isDouble = isWithin(k, integer(1), integer((t.length - 1) / 2));
      return Expr::select(isDouble, number(wide, 2) * element, element);
    });
  }

  double scale() const { return t.isInverse ? 1.0 / double(t.length) : 1.0; }

  /// The numbers in the order of the extents.
  Expected<ValueId> table(llvm::StringRef name, std::vector<int64_t> extents,
                          llvm::function_ref<double(llvm::ArrayRef<int64_t>)> entry) {
    auto size = elementCount(extents);
    if (!size || *size > largestTable)
      return c.error("its signals of length " + llvm::Twine(t.length) +
                     " are too long: a table of their cosines and sines would have more than " +
                     llvm::Twine(largestTable) + " elements; take the transform out of the model");
    KINTSUGI_ASSIGN(Tensor result, Tensor::create(wide, extents));
    std::vector<int64_t> at(extents.size());
    for (int64_t place = 0; place < *size; ++place) {
      storeDouble(wide, result.bytes(), place, entry(at));
      for (size_t d = at.size(); d > 0 && ++at[d - 1] == extents[d - 1]; --d)
        at[d - 1] = 0;
    }
    return c.constant(c.name() + "." + name.str(), std::move(result));
  }

  Expected<ValueId> inOneStep(ValueId x) {
    Waves waves(t.length, t.isInverse);
    KINTSUGI_ASSIGN(ValueId factors, table("table", {t.terms, t.parts, t.results, t.resultParts},
                                           [&](llvm::ArrayRef<int64_t> at) {
                                             return scale() *
                                                    waves.factor(at[0] * at[2], at[1], at[3]);
                                           }));
    return c.reduce(c.name(), type, output(), Combiner::Sum, {Extent(t.terms), Extent(t.parts)},
                    [&](Indices i, Indices r) {
                      llvm::SmallVector<Index> at(i.begin(), i.end());
                      at[t.axis] = r[0];
                      at.back() = r[1];
                      return Expr::cast(wide, c.read(x, at)) *
                             c.read(factors, {r[0], r[1], i[t.axis], i.back()});
                    });
  }

  Expected<ValueId> inTwoSteps(ValueId x) {
    const int64_t b = factor, a = t.length / factor, blocks = (t.results + a - 1) / a;
    Waves inner(a, t.isInverse), outer(t.length, t.isInverse);
    KINTSUGI_ASSIGN(ValueId first,
                    table("first", {a, t.parts, a, 2}, [&](llvm::ArrayRef<int64_t> at) {
                      return inner.factor(at[0] * at[2], at[1], at[3]);
                    }));
    KINTSUGI_ASSIGN(ValueId second, table("second", {a, b, 2, blocks, t.resultParts},
                                          [&](llvm::ArrayRef<int64_t> at) {
                                            int64_t turn = at[1] * (at[0] + a * at[3]);
                                            return scale() * outer.factor(turn, at[2], at[4]);
                                          }));
    // [..., b, k1, ..., part]
    ValueId middle = c.reduce(
        c.name() + ".middle", wide, divided(c.shape(x), b, a, 2), Combiner::Sum,
        {Extent(a), Extent(t.parts)}, [&](Indices i, Indices r) {
          Expr factors = c.read(first, {r[0], r[1], i[t.axis + 1], i.back()});
          return Expr::cast(wide, element(x, joined(i, r[0] * b + i[t.axis], r[1]))) * factors;
        });
    // [..., k2, k1, ..., part]
    ValueId parted =
        c.reduce(c.name() + ".parted", type, divided(c.shape(x), blocks, a, t.resultParts),
                 Combiner::Sum, {Extent(b), Extent(2)}, [&](Indices i, Indices r) {
                   llvm::SmallVector<Index> at(i.begin(), i.end());
                   at[t.axis] = r[0];
                   at.back() = r[1];
                   return c.read(middle, at) *
                          c.read(second, {i[t.axis + 1], r[0], r[1], i[t.axis], i.back()});
                 });
    return c.view(c.name(), parted, output(), [&](Indices i) {
      llvm::SmallVector<Index> at(i.begin(), i.end());
      at[t.axis] = i[t.axis].floorDiv(a);
      at.insert(at.begin() + t.axis + 1, i[t.axis].mod(a));
      return at;
    });
  }

  Shape output() const {
    Shape shape(c.shape(c.input(0)));
    shape[t.axis] = t.results;
    shape.back() = t.resultParts;
    return shape;
  }

  /// The shape with two dimensions instead of the axis.
  Shape divided(Dims shape, int64_t outer, int64_t inner, int64_t parts) const {
    Shape result(shape);
    result[t.axis] = outer;
    result.insert(result.begin() + t.axis + 1, Extent(inner));
    result.back() = parts;
    return result;
  }

  /// Coordinates with one for the axis instead of the two at `i`.
  llvm::SmallVector<Index> joined(Indices i, Index place, Index part) const {
    llvm::SmallVector<Index> at(i.begin(), i.end());
    at.erase(at.begin() + t.axis);
    at[t.axis] = std::move(place);
    at.back() = std::move(part);
    return at;
  }

  /// The input's element; zero beyond what is read of it.
  Expr element(ValueId x, Indices at) const {
    if (t.terms == t.length)
      return c.read(x, at);
    Expr zero = number(c.type(x), 0);
    Expr isRead = less(Expr::index(at[t.axis], ElementType::I64), integer(t.terms));
    return Expr::select(isRead, c.readOr(x, at, zero), zero);
  }

  OpContext &c;
  const Transform &t;
  ElementType type, wide;
  int64_t factor = 1; ///< The greatest up to the root of the length.
};

/// A scalar that is known when compiling.
Expected<int64_t> scalarInput(OpContext &c, unsigned number, llvm::StringRef role,
                              int64_t otherwise) {
  if (!c.hasInput(number))
    return otherwise;
  KINTSUGI_ASSIGN(std::vector<int64_t> values, c.constantIntegers(number, role));
  if (values.size() != 1)
    return c.error("its " + role + " must be one number");
  return values[0];
}

Expected<unsigned> signalAxis(OpContext &c) {
  unsigned rank = c.rank(c.input(0));
  int64_t given = c.integer("axis", 1);
  if (c.opset() >= 20) {
    KINTSUGI_ASSIGN(given, scalarInput(c, 2, "axis", -2));
  }
  KINTSUGI_ASSIGN(unsigned axis, c.axis(given, rank));
  if (axis + 1 == rank)
    return c.error("its axis is the last one, which holds real and imaginary parts");
  return axis;
}

Expected<Transform> readTransform(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  Transform t;
  t.parts = c.rank(x) == 0 ? 0 : c.dims(x).back();
  if (c.rank(x) < 2 || (t.parts != 1 && t.parts != 2))
    return c.error("its input of shape " + shapeString(c.dims(x)) +
                   " must end in a dimension of 1 (real numbers) or 2 (complex ones)");
  KINTSUGI_ASSIGN(t.axis, signalAxis(c));
  t.isInverse = c.integer("inverse", 0) != 0;
  t.isOneSided = c.integer("onesided", 0) != 0;
  if (t.isOneSided && t.isInverse != (t.parts == 2))
    return c.error(t.isInverse ? "an inverse transform with onesided=1 is of complex numbers, but "
                                 "its input is real"
                               : "a transform with onesided=1 is of real numbers, but its input is "
                                 "complex");
  int64_t extent = c.extent(x, t.axis), whole = t.isToReal() ? 2 * (extent - 1) : extent;
  KINTSUGI_ASSIGN(t.length, scalarInput(c, 1, "dft_length", whole));
  if (t.length < 1 || t.length > longestSignal)
    return c.error("it can't transform signals of length " + llvm::Twine(t.length));
  t.terms = std::min(extent, t.isToReal() ? t.length / 2 + 1 : t.length);
  t.results = t.isOneSided && !t.isInverse ? t.length / 2 + 1 : t.length;
  t.resultParts = t.isToReal() ? 1 : 2;
  return t;
}

Status dft(OpContext &c) {
  KINTSUGI_ASSIGN(Transform t, readTransform(c));
  std::vector<int64_t> wanted = c.dims(c.input(0));
  wanted[t.axis] = t.results;
  wanted.back() = t.resultParts;
  KINTSUGI_RETURN_IF_ERROR(c.makeShape(wanted).status());
  KINTSUGI_ASSIGN(ValueId result, Fourier(c, t).result());
  c.output(0, result);
  return Status::success();
}

} // namespace

OperatorTable fourierOperators() {
  static const Operator table[] = {
      {"DFT", 17, 1, dft},
  };
  return table;
}

} // namespace kintsugi::import
