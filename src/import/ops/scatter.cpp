//===- scatter.cpp - Writes at positions that are data -----------------------===//
//
// A definition says what each element of the result is, so a scatter is turned around: each element
// looks for the updates that name it. Where the positions are known, a table gives each element its
// update. Where they are not, each element goes through all updates: exact, in the updates' order,
// and meant for few of them.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/gather.h"

#include "base/checked.h"
#include "te/constant.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;

/// Products of updates and elements above this are refused.
constexpr int64_t largestSearch = int64_t(1) << 28;

/// What the kinds of scatters have in common. The updates are numbered; update k has coordinates in
/// a space of `updateSpace`, and goes to the element of the searched dimensions that `matches`
/// says.
struct Scatter {
  ValueId data, updates;
  Shape updateSpace; ///< What an element searches through.
  /// Where the update that coordinates `u` name is, for the element at `i`.
  std::function<llvm::SmallVector<Index>(Indices i, Indices u)> updateAt;
  /// Whether that update goes to the element.
  std::function<Expr(Indices i, Indices u)> matches;
  std::string reduction;
};

Expr equal(const Index &index, Expr position, int64_t extent) {
  if (position.type() != ElementType::I64)
    position = Expr::cast(ElementType::I64, position);
  return Expr::binary(BinaryOp::Equal, Expr::index(index, ElementType::I64),
                      Builder::wrapped(std::move(position), extent));
}

Status checkSearch(OpContext &c, const Scatter &s) {
  std::vector<int64_t> space{c.count(s.data)};
  for (Extent extent : s.updateSpace)
    space.push_back(extent.constant());
  auto work = elementCount(space);
  if (work && *work <= largestSearch)
    return Status::success();
  return c.error(
      "its indices are not known when compiling, and its tensors are too large for that");
}

/// The last update that names an element replaces it.
ValueId replacing(OpContext &c, const Scatter &s) {
  auto flat = [&](Indices u) { return te::linearize(u, s.updateSpace); };
  auto key = [&](Indices i, Indices u) {
    // One more than the update's number, or 0: the greatest is the last that matches.
    Expr number = Expr::index(flat(u) + Index(1), ElementType::I64);
    return Expr::select(s.matches(i, u), number, Expr::literal(ElementType::I64, int64_t(0)));
  };
  ValueId last = c.reduce(c.name() + ".last", ElementType::I64, c.shape(s.data), Combiner::Max,
                          s.updateSpace, key);
  return c.define(c.name(), c.shape(s.data), [&](Indices i) {
    Expr number = c.read(last, i);
    Expr any = Expr::binary(BinaryOp::Less, Expr::literal(ElementType::I64, int64_t(0)), number);
    auto u = te::delinearize(Index::data(number) - Index(1), s.updateSpace);
    return Expr::select(any, c.read(s.updates, s.updateAt(i, u)), c.read(s.data, i));
  });
}

ValueId combining(OpContext &c, const Scatter &s) {
  static const std::tuple<const char *, Combiner, BinaryOp> kinds[] = {
      {"add", Combiner::Sum, BinaryOp::Add},
      {"mul", Combiner::Prod, BinaryOp::Mul},
      {"max", Combiner::Max, BinaryOp::Max},
      {"min", Combiner::Min, BinaryOp::Min}};
  auto kind = llvm::find_if(kinds, [&](auto &k) { return s.reduction == std::get<0>(k); });
  auto [name, combiner, op] = *kind;
  ElementType type = c.type(s.data);
  bool isSum = combiner == Combiner::Sum, isProduct = combiner == Combiner::Prod;
  ElementType wide = isSum || isProduct ? accumulatorFor(type) : type;
  ValueId combined = c.reduce(c.name() + "." + name, wide, c.shape(s.data), combiner, s.updateSpace,
                              [&](Indices i, Indices u) {
                                // What changes nothing stands where an update goes elsewhere.
                                Expr neutral = isSum       ? Expr::literal(wide, 0.0)
                                               : isProduct ? Expr::literal(wide, 1.0)
                                                           : c.read(s.data, i);
                                return Expr::select(
                                    s.matches(i, u),
                                    Expr::cast(wide, c.read(s.updates, s.updateAt(i, u))), neutral);
                              });
  return c.define(c.name(), c.shape(s.data), [&](Indices i) {
    return Expr::cast(type,
                      Expr::binary(op, Expr::cast(wide, c.read(s.data, i)), c.read(combined, i)));
  });
}

Status checkReduction(OpContext &c, const Scatter &s) {
  static const char *const known[] = {"none", "add", "mul", "max", "min"};
  if (!llvm::is_contained(known, s.reduction))
    return c.error("its reduction '" + s.reduction + "' is not known");
  if (s.reduction != "none" && c.type(s.data) == ElementType::Bool)
    return c.error("booleans can't be combined by '" + s.reduction + "'");
  return c.requireSameType(s.data, s.updates);
}

Status outputSearched(OpContext &c, const Scatter &s) {
  if (c.count(s.updates) == 0) {
    c.output(0, s.data);
    return Status::success();
  }
  KINTSUGI_RETURN_IF_ERROR(checkSearch(c, s));
  c.output(0, s.reduction == "none" ? replacing(c, s) : combining(c, s));
  return Status::success();
}

Status scatterElements(OpContext &c) {
  ValueId data = c.input(0), positions = c.input(1);
  Scatter s{data, c.input(2), {}, {}, {}, c.text("reduction", "none")};
  KINTSUGI_RETURN_IF_ERROR(checkReduction(c, s));
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", 0), c.rank(data)));
  bool fits = isInteger(c.type(positions)) && c.rank(positions) == c.rank(data) &&
              c.shape(positions) == c.shape(s.updates);
  for (unsigned d = 0; fits && d < c.rank(data); ++d)
    fits = d == axis || c.extent(positions, d) <= c.extent(data, d);
  if (!fits)
    return c.error("its indices " + shapeString(c.dims(positions)) + " and updates " +
                   shapeString(c.dims(s.updates)) + " don't fit its data " +
                   shapeString(c.dims(data)));
  KINTSUGI_RETURN_IF_ERROR(c.requirePositions(positions, c.extent(data, axis)));
  // An element searches the updates of its own row; rows beyond the updates have none.
  s.updateSpace = {c.shape(positions)[axis]};
  s.updateAt = [axis](Indices i, Indices u) {
    llvm::SmallVector<Index> at(i.begin(), i.end());
    at[axis] = u[0];
    return at;
  };
  s.matches = [&](Indices i, Indices u) {
    auto at = s.updateAt(i, u);
    Expr nowhere = Expr::literal(c.type(positions), c.extent(data, axis));
    bool covers = true;
    for (unsigned d = 0; d < c.rank(data); ++d)
      covers &= d == axis || c.extent(positions, d) == c.extent(data, d);
    if (covers)
      return equal(i[axis], c.read(positions, at), c.extent(data, axis));
    return equal(i[axis], c.readOr(positions, at, nowhere), c.extent(data, axis));
  };
  return outputSearched(c, s);
}

/// The table of a scatter whose positions are known: for each place that rows of updates go to, one
/// more than the number of the last row, or 0.
Expected<Tensor> lastRows(OpContext &c, const Tensor &positions, Dims places) {
  int64_t depth = positions.shape().back();
  KINTSUGI_ASSIGN(Tensor table, Tensor::create(ElementType::I64, te::plainShape(places)));
  for (int64_t row = 0; row * depth < positions.count(); ++row) {
    int64_t place = 0;
    for (int64_t k = 0; k < depth; ++k) {
      int64_t extent = places[k].constant();
      int64_t position = loadInteger(positions.view(), row * depth + k);
      place = place * extent + (position < 0 ? position + extent : position);
    }
    table.as<int64_t>()[place] = row + 1;
  }
  return table;
}

Status scatterByTable(OpContext &c, const Scatter &s, const Tensor &positions, unsigned depth) {
  Dims places = c.shape(s.data).take_front(depth);
  KINTSUGI_ASSIGN(Tensor table, lastRows(c, positions, places));
  ValueId last = c.constant(c.name() + ".last", std::move(table));
  c.output(0, c.define(c.name(), c.shape(s.data), [&](Indices i) {
    Expr number = c.read(last, i.take_front(depth));
    Expr any = Expr::binary(BinaryOp::Less, Expr::literal(ElementType::I64, int64_t(0)), number);
    auto u = te::delinearize(Index::data(number) - Index(1), s.updateSpace);
    return Expr::select(any, c.read(s.updates, s.updateAt(i, u)), c.read(s.data, i));
  }));
  return Status::success();
}

Status scatterND(OpContext &c) {
  ValueId data = c.input(0), positions = c.input(1);
  Scatter s{data, c.input(2), {}, {}, {}, c.text("reduction", "none")};
  KINTSUGI_RETURN_IF_ERROR(checkReduction(c, s));
  if (!isInteger(c.type(positions)) || c.rank(positions) == 0)
    return c.error("its indices must be integers, in at least one dimension");
  unsigned rows = c.rank(positions) - 1;
  int64_t depth = c.extent(positions, rows);
  Shape expected(c.shape(positions).begin(), c.shape(positions).end() - 1);
  if (depth <= c.rank(data))
    expected.append(c.shape(data).begin() + depth, c.shape(data).end());
  if (depth > c.rank(data) || Dims(expected) != c.shape(s.updates))
    return c.error("its indices " + shapeString(c.dims(positions)) + " and updates " +
                   shapeString(c.dims(s.updates)) + " don't fit its data " +
                   shapeString(c.dims(data)));
  s.updateSpace.assign(c.shape(positions).begin(), c.shape(positions).end() - 1);
  s.updateAt = [depth](Indices i, Indices u) {
    llvm::SmallVector<Index> at(u.begin(), u.end());
    at.append(i.begin() + depth, i.end());
    return at;
  };
  s.matches = [&](Indices i, Indices u) {
    Expr result = Expr::boolean(true);
    for (int64_t k = 0; k < depth; ++k) {
      llvm::SmallVector<Index> row(u.begin(), u.end());
      row.push_back(Index(k));
      Expr one = equal(i[k], c.read(positions, row), c.extent(data, k));
      result = k == 0 ? one : Expr::binary(BinaryOp::And, result, one);
    }
    return result;
  };
  KINTSUGI_RETURN_IF_ERROR(requireTuples(c, positions, c.shape(data).take_front(depth)));
  const Tensor *known = s.reduction == "none" && depth > 0 ? c.knownValue(1) : nullptr;
  if (known && known->count() > 0)
    return scatterByTable(c, s, *known, depth);
  return outputSearched(c, s);
}

} // namespace

OperatorTable scatterOperators() {
  static const Operator table[] = {
      {"Scatter", 9, 3, scatterElements},
      {"ScatterElements", 11, 3, scatterElements},
      {"ScatterND", 11, 3, scatterND},
  };
  return table;
}

} // namespace kintsugi::import
