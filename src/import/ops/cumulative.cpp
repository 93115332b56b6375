//===- cumulative.cpp - Sums and products of all elements up to a place ------===//
//
// A long axis is cut into blocks of about the root of its length: what comes before a block is the
// sum of sums of blocks, so no element adds up more than two roots of terms, and all elements are
// independent of each other. Products are the same.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;

/// Axes up to this length are one block.
constexpr int64_t longestBlock = 64;

/// How elements are combined.
struct Kind {
  Combiner combiner;
  BinaryOp op;
  double neutral;
};

constexpr Kind sum{Combiner::Sum, BinaryOp::Add, 0};
constexpr Kind product{Combiner::Prod, BinaryOp::Mul, 1};

class Cumulative {
public:
  Cumulative(OpContext &c, const Kind &kind, unsigned axis)
      : c(c), kind(kind), x(c.input(0)), axis(axis), extent(c.extent(x, axis)), type(c.type(x)),
        wide(accumulatorFor(type)), isExclusive(c.integer("exclusive", 0)),
        isReverse(c.integer("reverse", 0)) {}

  ValueId result() {
    int64_t block = extent;
    if (extent > longestBlock)
      for (block = 1; block * block < extent; block *= 2)
        continue;
    if (block == extent)
      return inBlocks(c.name(), block, type);
    // What comes before a block may be 0, and must not meet an infinity that is none of a shorter
    // type's elements, but the product of a block that leaves its range.
    if (kind.combiner == Combiner::Prod && isFloat(type))
      wide = ElementType::F64;
    ValueId inner = inBlocks(c.name() + ".inside", block, wide);
    ValueId before = allBefore(block);
    return c.define(c.name(), c.shape(x), [&](Indices i) {
      auto at = llvm::SmallVector<Index>(i.begin(), i.end());
      at[axis] = position(i[axis]).floorDiv(block);
      return Expr::cast(type, Expr::binary(kind.op, c.read(before, at), c.read(inner, i)));
    });
  }

private:
  /// An index of the axis counted from where elements are first combined.
  Index position(const Index &index) const { return isReverse ? Index(extent - 1) - index : index; }

  /// The element at a position, or what changes nothing beyond the end.
  Expr element(Indices i, const Index &at) {
    llvm::SmallVector<Index> source(i.begin(), i.end());
    source[axis] = position(at);
    return Expr::cast(wide, c.readOr(x, source, Expr::literal(type, kind.neutral)));
  }

  Expr where(const Index &a, BinaryOp op, const Index &b, Expr value) const {
    return Expr::select(
        Expr::binary(op, Expr::index(a, ElementType::I64), Expr::index(b, ElementType::I64)),
        std::move(value), Expr::literal(wide, kind.neutral));
  }

  /// Of each element's own block.
  ValueId inBlocks(std::string name, int64_t block, ElementType stored) {
    BinaryOp op = isExclusive ? BinaryOp::Less : BinaryOp::LessEqual;
    return c.reduce(std::move(name), stored, c.shape(x), kind.combiner, {Extent(block)},
                    [&](Indices i, Indices r) {
                      Index mine = position(i[axis]);
                      Index first = mine.floorDiv(block) * block;
                      return where(r[0], op, mine.mod(block), element(i, first + r[0]));
                    });
  }

  /// Of the blocks before each block.
  ValueId allBefore(int64_t block) {
    Shape shape(c.shape(x));
    Extent blocks((extent + block - 1) / block);
    shape[axis] = blocks;
    ValueId whole =
        c.reduce(c.name() + ".blocks", wide, shape, kind.combiner, {Extent(block)},
                 [&](Indices i, Indices r) { return element(i, i[axis] * block + r[0]); });
    return c.reduce(c.name() + ".before", wide, shape, kind.combiner, {blocks},
                    [&](Indices i, Indices r) {
                      llvm::SmallVector<Index> at(i.begin(), i.end());
                      at[axis] = r[0];
                      return where(r[0], BinaryOp::Less, i[axis], c.read(whole, at));
                    });
  }

  OpContext &c;
  const Kind &kind;
  ValueId x;
  unsigned axis;
  int64_t extent;
  ElementType type, wide;
  bool isExclusive, isReverse;
};

Status cumulative(OpContext &c, const Kind &kind) {
  ValueId x = c.input(0);
  if (c.type(x) == ElementType::Bool)
    return c.error("booleans have no arithmetic");
  KINTSUGI_ASSIGN(std::vector<int64_t> given, c.constantIntegers(1, "axis"));
  if (given.size() != 1)
    return c.error("its axis must be one number");
  KINTSUGI_ASSIGN(unsigned axis, c.axis(given[0], c.rank(x)));
  c.output(0, c.extent(x, axis) == 0 ? x : Cumulative(c, kind, axis).result());
  return Status::success();
}

Status cumSum(OpContext &c) { return cumulative(c, sum); }
Status cumProd(OpContext &c) { return cumulative(c, product); }

} // namespace

OperatorTable cumulativeOperators() {
  static const Operator table[] = {
      {"CumSum", 11, 2, cumSum},
      {"CumProd", 26, 2, cumProd},
  };
  return table;
}

} // namespace kintsugi::import
