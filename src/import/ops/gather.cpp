//===- gather.cpp - Reads at positions that are data -------------------------===//

#include "import/ops/gather.h"

#include "import/ops/families.h"

#include "base/checked.h"
#include "te/constant.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

/// Positions along a dimension that come from an integer tensor. Known ones are checked here, and
/// become plain indices where they are equally spaced.
class Positions {
public:
  static Expected<Positions> read(OpContext &c, unsigned input, int64_t extent) {
    Positions result(c, c.input(input), extent);
    if (!isInteger(c.type(result.tensor)))
      return c.error("its indices must be integers");
    const Tensor *known = c.knownValue(input);
    KINTSUGI_RETURN_IF_ERROR(c.requirePositions(result.tensor, extent));
    if (!known)
      return result;
    std::vector<int64_t> values;
    bool wraps = false;
    for (int64_t k = 0; k < known->count(); ++k) {
      int64_t value = loadInteger(known->view(), k);
      wraps |= value < 0;
      values.push_back(value < 0 ? value + extent : value);
    }
    result.neverNegative = !wraps;
    result.findSpacing(values);
    return result;
  }

  /// Known ones, none of which is counted from the end.
  static Expected<Positions> of(OpContext &c, std::string name, llvm::ArrayRef<int64_t> values,
                                int64_t extent) {
    KINTSUGI_ASSIGN(Tensor table, Tensor::from<int64_t>({int64_t(values.size())}, values));
    Positions result(c, c.constant(std::move(name), std::move(table)), extent);
    result.neverNegative = true;
    result.findSpacing(values);
    return result;
  }

  /// Those in a tensor of one row, all of them in [0, extent).
  static Positions ofRow(OpContext &c, ValueId row, int64_t extent) {
    Shape shape(c.shape(row).drop_front());
    std::string name = c.program.value(row).name + ".row";
    ValueId flat = c.view(name, row, shape,
                          [&](Indices i) { return llvm::SmallVector<Index>{Index(0), i[0]}; });
    Positions result(c, flat, extent);
    result.neverNegative = true;
    return result;
  }

  Dims shape() const { return c->shape(tensor); }

  /// The position at coordinates `i` of the tensor of positions.
  Index at(Indices i) const {
    if (spacing)
      return Index(start) + te::linearize(i, c->shape(tensor)) * *spacing;
    Expr value = c->read(tensor, i);
    return neverNegative ? Index::data(value) : c->gatherWrapped(value, extent);
  }

private:
  Positions(OpContext &c, ValueId tensor, int64_t extent) : c(&c), tensor(tensor), extent(extent) {}

  void findSpacing(llvm::ArrayRef<int64_t> values) {
    if (values.empty())
      return;
    int64_t step = values.size() > 1 ? values[1] - values[0] : 0;
    for (size_t k = 1; k < values.size(); ++k)
      if (values[k] - values[k - 1] != step)
        return;
    start = values[0];
    spacing = step;
  }

  OpContext *c;
  ValueId tensor;
  int64_t extent;
  bool neverNegative = false;
  int64_t start = 0;
  std::optional<int64_t> spacing;
};

/// The slices of x that stand at the positions along an axis.
Expected<ValueId> slicesAt(OpContext &c, std::string name, ValueId x, unsigned axis,
                           const Positions &at) {
  std::vector<int64_t> wanted = c.dims(x), inner = te::plainShape(at.shape());
  wanted.erase(wanted.begin() + axis);
  wanted.insert(wanted.begin() + axis, inner.begin(), inner.end());
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  return c.view(std::move(name), x, shape, [&](Indices i) {
    llvm::SmallVector<Index> source(i.begin(), i.begin() + axis);
    source.push_back(at.at(i.slice(axis, inner.size())));
    source.append(i.begin() + axis + inner.size(), i.end());
    return source;
  });
}

Status gather(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", 0), c.rank(x)));
  KINTSUGI_ASSIGN(Positions at, Positions::read(c, 1, c.extent(x, axis)));
  KINTSUGI_ASSIGN(ValueId slices, slicesAt(c, c.name(), x, axis, at));
  c.output(0, slices);
  return Status::success();
}

/// The slices, or elements where no axis is given, of which the condition says so.
Status compress(OpContext &c) {
  ValueId x = c.input(0);
  if (c.type(c.input(1)) != ElementType::Bool)
    return c.error("its condition must be booleans");
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(c.input(1), 1, "its condition"));
  unsigned axis = 0;
  if (c.hasAttribute("axis")) {
    KINTSUGI_ASSIGN(axis, c.axis(c.integer("axis", 0), c.rank(x)));
  } else {
    x = c.reshape(c.name() + ".flat", x, {Extent(c.count(x))});
  }
  if (c.count(c.input(1)) > c.extent(x, axis))
    return c.error("its condition has " + llvm::Twine(c.count(c.input(1))) +
                   " elements, but there are " + llvm::Twine(c.extent(x, axis)) +
                   " to choose from");
  KINTSUGI_ASSIGN(ValueId slices, slicesWhere(c, c.name(), x, axis, c.input(1)));
  c.output(0, slices);
  return Status::success();
}

Status gatherElements(OpContext &c) {
  ValueId x = c.input(0), positions = c.input(1);
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", 0), c.rank(x)));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(positions, c.rank(x), "indices"));
  for (unsigned d = 0; d < c.rank(x); ++d)
    if (d != axis && c.extent(positions, d) > c.extent(x, d))
      return c.error("its indices of shape " + shapeString(c.dims(positions)) +
                     " are larger than its input of shape " + shapeString(c.dims(x)));
  KINTSUGI_ASSIGN(Positions at, Positions::read(c, 1, c.extent(x, axis)));
  c.output(0, c.view(c.name(), x, c.shape(positions), [&](Indices i) {
    llvm::SmallVector<Index> source(i.begin(), i.end());
    source[axis] = at.at(i);
    return source;
  }));
  return Status::success();
}

Status gatherND(OpContext &c) {
  ValueId x = c.input(0), positions = c.input(1);
  int64_t batch = c.integer("batch_dims", 0);
  if (!isInteger(c.type(positions)) || c.rank(positions) == 0)
    return c.error("its indices must be integers, in at least one dimension");
  unsigned rows = c.rank(positions) - 1;
  int64_t depth = c.extent(positions, rows);
  if (batch < 0 || batch > rows || depth < 0 || batch + depth > c.rank(x))
    return c.error("its indices of shape " + shapeString(c.dims(positions)) +
                   " don't fit its input of shape " + shapeString(c.dims(x)));
  for (int64_t d = 0; d < batch; ++d)
    if (c.extent(positions, d) != c.extent(x, d))
      return c.error("its batch dimensions differ");
  Shape shape(c.shape(positions).begin(), c.shape(positions).end() - 1);
  shape.append(c.shape(x).begin() + batch + depth, c.shape(x).end());
  KINTSUGI_RETURN_IF_ERROR(requireTuples(c, positions, c.shape(x).slice(batch, depth)));
  c.output(0, c.view(c.name(), x, shape, [&](Indices i) {
    llvm::SmallVector<Index> source(i.begin(), i.begin() + batch);
    for (int64_t k = 0; k < depth; ++k) {
      llvm::SmallVector<Index> row(i.begin(), i.begin() + rows);
      row.push_back(Index(k));
      source.push_back(c.gatherWrapped(c.read(positions, row), c.extent(x, batch + k)));
    }
    source.append(i.begin() + rows, i.end());
    return source;
  }));
  return Status::success();
}

} // namespace

Expected<ValueId> slicesWhere(OpContext &c, std::string name, ValueId x, unsigned axis,
                              ValueId flags) {
  const Tensor *known = c.constants.value(flags);
  if (!known) {
    KINTSUGI_ASSIGN(ValueId places, nonZeros(c, name + ".positions", flags));
    Positions at = Positions::ofRow(c, places, c.extent(x, axis));
    return slicesAt(c, std::move(name), x, axis, at);
  }
  std::vector<int64_t> wanted;
  for (int64_t k = 0; k < known->count(); ++k)
    if (loadInteger(known->view(), k))
      wanted.push_back(k);
  KINTSUGI_ASSIGN(Positions at, Positions::of(c, name + ".positions", wanted, c.extent(x, axis)));
  return slicesAt(c, std::move(name), x, axis, at);
}

Status requireTuples(OpContext &c, ValueId positions, Dims extents) {
  if (llvm::all_equal(extents))
    return extents.empty() ? Status::success()
                           : c.requirePositions(positions, extents.front().constant());
  Shape rows(c.shape(positions).drop_back());
  // A view adds a value to the program, whose shapes may move then.
  Shape sizes(extents);
  for (auto [k, size] : llvm::enumerate(sizes)) {
    std::string name = c.program.value(positions).name + "." + std::to_string(k);
    ValueId column = c.view(name, positions, rows, [&, k = k](Indices i) {
      llvm::SmallVector<Index> at(i.begin(), i.end());
      at.push_back(Index(int64_t(k)));
      return at;
    });
    KINTSUGI_RETURN_IF_ERROR(c.requirePositions(column, size.constant()));
  }
  return Status::success();
}

OperatorTable gatherOperators() {
  static const Operator table[] = {
      {"Gather", 1, 2, gather, "", Elements::Any},
      {"GatherElements", 11, 2, gatherElements, "", Elements::Any},
      {"GatherND", 11, 2, gatherND, "", Elements::Any},
      {"Compress", 9, 2, compress},
  };
  return table;
}

} // namespace kintsugi::import
