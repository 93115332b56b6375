//===- cumulative.cpp - Sums and products of all elements up to a place ------===//
//
// A long axis is cut into blocks of about the root of its length: what comes before a block is the
// sum of sums of blocks, so no element adds up more than two roots of terms, and all elements are
// independent of each other. Products of integers are the same. Those of floats are taken one by
// one: the product of a block may leave the range of floats where that of all before is 0.
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
    bool isWhole = block == extent;
    if (!isWhole && kind.combiner == Combiner::Prod && isFloat(type))
      return inOrder();
    if (isWhole && !isExclusive && !isReverse && type == wide)
      return ofAxis(c.name());
    ValueId sums = isWhole ? ofAxis(c.name() + ".all") : ofBlocks(block);
    return c.define(c.name(), c.shape(x), [&](Indices i) {
      auto at = llvm::SmallVector<Index>(i.begin(), i.end());
      at[axis] = position(i[axis]) - Index(isExclusive);
      return Expr::cast(type, isExclusive ? c.readOr(sums, at, Expr::literal(wide, kind.neutral))
                                          : c.read(sums, at));
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

  /// Of all elements up to each position.
  ValueId ofAxis(std::string name) {
    return c.reduce(std::move(name), wide, c.shape(x), kind.combiner, {Extent(extent)},
                    [&](Indices i, Indices r) {
                      return where(r[0], BinaryOp::LessEqual, i[axis], element(i, r[0]));
                    });
  }

  /// The same, from sums of blocks and those in each block, which have dimensions of both.
  ValueId ofBlocks(int64_t block) {
    Shape blocks(c.shape(x));
    blocks[axis] = Extent((extent + block - 1) / block);
    blocks.insert(blocks.begin() + axis + 1, Extent(block));
    ValueId inner = c.reduce(c.name() + ".inside", wide, blocks, kind.combiner, {Extent(block)},
                             [&](Indices i, Indices r) {
                               llvm::SmallVector<Index> outer(i.begin(), i.end());
                               outer.erase(outer.begin() + axis + 1);
                               return where(r[0], BinaryOp::LessEqual, i[axis + 1],
                                            element(outer, i[axis] * block + r[0]));
                             });
    ValueId before = allBefore(block);
    return c.define(c.name() + ".all", c.shape(x), [&](Indices i) {
      auto at = llvm::SmallVector<Index>(i.begin(), i.end());
      at[axis] = i[axis].floorDiv(block);
      Expr others = c.read(before, at);
      at.insert(at.begin() + axis + 1, i[axis].mod(block));
      return Expr::binary(kind.op, others, c.read(inner, at));
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

  /// By a loop along the axis, which carries what all elements so far give.
  ValueId inOrder() {
    Shape others(c.shape(x));
    others.erase(others.begin() + axis);
    auto at = [&](Indices i, const Index &place) {
      llvm::SmallVector<Index> source(i.begin(), i.end());
      source.insert(source.begin() + axis, place);
      return source;
    };
    auto body = std::make_shared<te::Program>();
    body->name = "cumulative";
    Builder b(*body);
    ValueId step = body->addInput("step", ElementType::I64, {});
    ValueId state = body->addInput("state", wide, others);
    ValueId elements = body->addInput("elements", type, Shape(c.shape(x)));
    ValueId next = b.define("next", others, [&](Indices i) {
      Index place = position(Index::data(b.read(step, {})));
      Expr element = Expr::cast(wide, b.read(elements, at(i, place)));
      return Expr::binary(kind.op, b.read(state, i), element);
    });
    body->addOutput("next", next);
    body->addOutput("result", b.define("result", others, [&](Indices i) {
      return Expr::cast(type, b.read(isExclusive ? state : next, i));
    }));
    ValueId first = c.define(c.name() + ".first", others,
                             [&](Indices) { return Expr::literal(wide, kind.neutral); });
    te::Scan scan{Extent(extent), std::move(body), {first}, {x}, {}};
    auto results = c.program.addScan({c.name() + ".last", c.name() + ".steps"}, std::move(scan));
    return c.view(c.name(), results[1], c.shape(x), [&](Indices i) {
      llvm::SmallVector<Index> source{position(i[axis])};
      source.append(i.begin(), i.begin() + axis);
      source.append(i.begin() + axis + 1, i.end());
      return source;
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
