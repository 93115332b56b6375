//===- shape.cpp - Reshaping, transposing, repeating -------------------------===//
//
// Definitions whose body is a single read: maps on a value.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"

#include "base/checked.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace kintsugi::import {
namespace {

/// Reshapes after checking that the number of elements agrees.
Status outputReshaped(OpContext &c, const std::vector<int64_t> &wanted) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  if (*elementCount(wanted) != c.count(x))
    return c.error("a tensor of shape " + shapeString(c.dims(x)) + " can't be reshaped to " +
                   shapeString(wanted));
  c.output(0, c.reshape(c.name(), x, shape));
  return Status::success();
}

Status reshape(OpContext &c) {
  ValueId x = c.input(0);
  std::vector<int64_t> wanted;
  if (c.opset() < 5) {
    wanted = c.integers("shape");
  } else {
    if (!c.hasInput(1))
      return c.error("input 2 must be given");
    KINTSUGI_ASSIGN(wanted, c.constantIntegers(1, "shape"));
  }
  bool zeroCopies = c.integer("allowzero", 0) == 0;
  std::optional<size_t> inferred;
  int64_t known = 1;
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d] == 0 && zeroCopies) {
      if (d >= c.rank(x))
        return c.error("its shape copies dimension " + llvm::Twine(d) + " of a tensor with " +
                       llvm::Twine(c.rank(x)));
      wanted[d] = c.extent(x, d);
    }
    if (wanted[d] == -1) {
      if (inferred)
        return c.error("its shape leaves two dimensions open");
      inferred = d;
      continue;
    }
    auto product = checkedMul(known, wanted[d]);
    if (!product || wanted[d] < 0)
      return c.error("its shape " + shapeString(wanted) + " is negative or too large");
    known = *product;
  }
  if (inferred) {
    if (known == 0 || c.count(x) % known != 0)
      return c.error("a tensor of shape " + shapeString(c.dims(x)) + " can't be reshaped to " +
                     shapeString(wanted));
    wanted[*inferred] = c.count(x) / known;
  }
  return outputReshaped(c, wanted);
}

Status flatten(OpContext &c) {
  ValueId x = c.input(0);
  int64_t axis = c.integer("axis", 1), rank = c.rank(x);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis > rank)
    return c.error("axis " + llvm::Twine(axis) + " is outside of a tensor with " +
                   llvm::Twine(rank) + " dimensions");
  auto dims = c.dims(x);
  auto product = [&](int64_t from, int64_t to) {
    return *elementCount(std::span(dims).subspan(from, to - from));
  };
  return outputReshaped(c, {product(0, axis), product(axis, rank)});
}

/// The axes of Squeeze and Unsqueeze: an input since operator set 13.
Expected<std::vector<int64_t>> axesArgument(OpContext &c) {
  if (c.opset() < 13)
    return c.integers("axes");
  return c.constantIntegers(1, "axes");
}

Status squeeze(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(std::vector<int64_t> given, axesArgument(c));
  KINTSUGI_ASSIGN(auto axes, c.axes(given, c.rank(x)));
  bool all = c.opset() < 13 ? !c.hasAttribute("axes") : !c.hasInput(1);
  std::vector<int64_t> wanted;
  for (unsigned d = 0; d < c.rank(x); ++d) {
    bool named = llvm::is_contained(axes, d);
    if (named && c.extent(x, d) != 1)
      return c.error("axis " + llvm::Twine(d) + " of a tensor of shape " + shapeString(c.dims(x)) +
                     " can't be removed: its extent is not 1");
    if (!named && !(all && c.extent(x, d) == 1))
      wanted.push_back(c.extent(x, d));
  }
  return outputReshaped(c, wanted);
}

Status unsqueeze(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(std::vector<int64_t> given, axesArgument(c));
  unsigned rank = c.rank(x) + given.size();
  KINTSUGI_ASSIGN(auto axes, c.axes(given, rank));
  std::vector<int64_t> wanted;
  for (unsigned d = 0, next = 0; d < rank; ++d)
    wanted.push_back(llvm::is_contained(axes, d) ? 1 : c.extent(x, next++));
  return outputReshaped(c, wanted);
}

Status transpose(OpContext &c) {
  ValueId x = c.input(0);
  std::vector<int64_t> reversed(c.rank(x));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  std::vector<int64_t> given = c.integers("perm", reversed);
  KINTSUGI_ASSIGN(auto permutation, c.axes(given, c.rank(x)));
  if (permutation.size() != c.rank(x))
    return c.error("perm has " + llvm::Twine(permutation.size()) + " entries for a tensor with " +
                   llvm::Twine(c.rank(x)) + " dimensions");
  c.output(0, llvm::is_sorted(permutation) ? x : c.transpose(c.name(), x, permutation));
  return Status::success();
}

Status expand(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(std::vector<int64_t> wanted, c.constantIntegers(1, "shape"));
  if (wanted.size() < c.rank(x))
    wanted.insert(wanted.begin(), c.rank(x) - wanted.size(), 1);
  size_t offset = wanted.size() - c.rank(x);
  for (unsigned d = 0; d < c.rank(x); ++d) {
    int64_t mine = c.extent(x, d);
    int64_t &extent = wanted[offset + d];
    if (extent == 1)
      extent = mine;
    if (mine != 1 && mine != extent)
      return c.error("a tensor of shape " + shapeString(c.dims(x)) + " can't be expanded to " +
                     shapeString(wanted));
  }
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  // One element that data counts is expanded as several are: the model is compared at such sizes.
  if (Dims(shape) == c.shape(x) && !c.importer.hasCountedCalls()) {
    c.output(0, x);
    return Status::success();
  }
  c.output(0, c.define(c.name(), shape, [&](Indices i) { return c.readBroadcast(x, i); }));
  return Status::success();
}

Status tile(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(std::vector<int64_t> repeats, c.constantIntegers(1, "repeats"));
  if (repeats.size() != c.rank(x))
    return c.error("it has " + llvm::Twine(repeats.size()) + " repeats for a tensor with " +
                   llvm::Twine(c.rank(x)) + " dimensions");
  std::vector<int64_t> wanted;
  for (unsigned d = 0; d < c.rank(x); ++d) {
    std::optional<int64_t> extent = checkedMul(c.extent(x, d), repeats[d]);
    if (!extent)
      return c.error("its axis " + llvm::Twine(d) + " of " + llvm::Twine(c.extent(x, d)) +
                     " elements can't be repeated " + llvm::Twine(repeats[d]) +
                     " times: that is out of range");
    wanted.push_back(*extent);
  }
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  c.output(0, c.view(c.name(), x, shape, [&](Indices i) {
    llvm::SmallVector<Index> source;
    for (unsigned d = 0; d < c.rank(x); ++d)
      source.push_back(c.extent(x, d) > 1 ? i[d].mod(c.extent(x, d)) : Index(0));
    return source;
  }));
  return Status::success();
}

Expected<int64_t> blockSize(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(c.input(0), 4, "its input"));
  int64_t block = c.integer("blocksize", 0);
  if (block < 1 || block > 1 << 15)
    return c.error("blocksize must be a small positive number");
  return block;
}

Status depthToSpace(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(int64_t block, blockSize(c));
  std::string mode = c.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return c.error("mode must be DCR or CRD");
  if (c.extent(x, 1) % (block * block) != 0)
    return c.error("its channels can't be divided by blocksize squared");
  int64_t depth = c.extent(x, 1) / (block * block);
  KINTSUGI_ASSIGN(Shape shape,
                  c.makeShape(std::vector{c.extent(x, 0), depth, c.extent(x, 2) * block,
                                          c.extent(x, 3) * block}));
  c.output(0, c.view(c.name(), x, shape, [&](Indices i) {
    Index inBlock = i[2].mod(block) * block + i[3].mod(block);
    Index channel = mode == "DCR" ? inBlock * depth + i[1] : i[1] * (block * block) + inBlock;
    return llvm::SmallVector<Index>{i[0], channel, i[2].floorDiv(block), i[3].floorDiv(block)};
  }));
  return Status::success();
}

Status spaceToDepth(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(int64_t block, blockSize(c));
  int64_t depth = c.extent(x, 1);
  if (c.extent(x, 2) % block != 0 || c.extent(x, 3) % block != 0 || depth == 0)
    return c.error("its height and width can't be divided by blocksize");
  KINTSUGI_ASSIGN(Shape shape,
                  c.makeShape(std::vector{c.extent(x, 0), depth * block * block,
                                          c.extent(x, 2) / block, c.extent(x, 3) / block}));
  std::string mode = c.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return c.error("mode must be DCR or CRD");
  bool blockFirst = mode == "DCR";
  int64_t area = block * block;
  c.output(0, c.view(c.name(), x, shape, [&](Indices i) {
    Index inBlock = blockFirst ? i[1].floorDiv(depth) : i[1].mod(area);
    Index channel = blockFirst ? i[1].mod(depth) : i[1].floorDiv(area);
    return llvm::SmallVector<Index>{i[0], channel, i[2] * block + inBlock.floorDiv(block),
                                    i[3] * block + inBlock.mod(block)};
  }));
  return Status::success();
}

Status shapeOf(OpContext &c) {
  auto dims = c.dims(c.input(0));
  int64_t rank = dims.size();
  auto clamped = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + rank : position, 0, rank);
  };
  int64_t start = clamped(c.integer("start", 0)), end = clamped(c.integer("end", rank));
  std::vector<int64_t> part;
  if (start < end)
    part.assign(dims.begin() + start, dims.begin() + end);
  KINTSUGI_ASSIGN(Tensor value, Tensor::from<int64_t>({int64_t(part.size())}, part));
  c.output(0, c.constant(c.name(), std::move(value)));
  return Status::success();
}

Status sizeOf(OpContext &c) {
  int64_t count = c.count(c.input(0));
  KINTSUGI_ASSIGN(Tensor value, Tensor::from<int64_t>({}, std::span(&count, 1)));
  c.output(0, c.constant(c.name(), std::move(value)));
  return Status::success();
}

} // namespace

OperatorTable shapeOperators() {
  static const Operator table[] = {
      {"Reshape", 1, 1, reshape, "", Elements::Any},
      {"Flatten", 1, 1, flatten, "", Elements::Any},
      {"Squeeze", 1, 1, squeeze, "", Elements::Any},
      {"Unsqueeze", 1, 1, unsqueeze, "", Elements::Any},
      {"Transpose", 1, 1, transpose, "", Elements::Any},
      {"Expand", 8, 2, expand, "", Elements::Any},
      {"Tile", 6, 2, tile, "", Elements::Any},
      {"DepthToSpace", 1, 1, depthToSpace, "", Elements::Any},
      {"SpaceToDepth", 1, 1, spaceToDepth, "", Elements::Any},
      {"Shape", 1, 1, shapeOf, "", Elements::Any},
      {"Size", 1, 1, sizeOf, "", Elements::Any},
  };
  return table;
}

} // namespace kintsugi::import
