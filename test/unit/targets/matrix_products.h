//===- matrix_products.h - Schedules of products on matrix units ------------===//
#ifndef KINTSUGI_TEST_TARGETS_MATRIX_PRODUCTS_H
#define KINTSUGI_TEST_TARGETS_MATRIX_PRODUCTS_H

#include "nests.h"

namespace kintsugi::test {

inline loops::MatrixTile byWarps() {
  loops::MatrixTile tile;
  tile.rows = tile.columns = 64;
  tile.depth = 32;
  tile.down = tile.across = 2;
  tile.stages = 3;
  return tile;
}

inline loops::MatrixTile byFourWarps() {
  loops::MatrixTile tile;
  tile.rows = 128;
  tile.columns = tile.depth = 64;
  tile.down = 4;
  tile.stages = 3;
  tile.inFours = true;
  return tile;
}

inline loops::MatrixTile inBulk(loops::MatrixTile tile = byFourWarps()) {
  tile.inBulk = true;
  return tile;
}

/// c = a b^T on matrix units; the depth is no multiple of what is staged, nor are the rows.
inline ScheduleMaker onMatrixUnits(ElementType type, bool transposed, ElementType of,
                                   loops::MatrixTile tile = byWarps()) {
  ScheduleMaker maker;
  maker.schedule.threads = int(tile.down * tile.across * tile.warpsK) * 32;
  constexpr int64_t rows = 40, columns = 64, depth = 72;
  unsigned a = maker.buffer(of, rows * depth), b = maker.buffer(type, columns * depth);
  unsigned c = maker.buffer(ElementType::F32, rows * columns, true);
  te::Index place = transposed ? it(1) * depth + it(2) : it(2) * columns + it(1);
  auto &product =
      maker.reduce({rows, columns}, {depth}, te::Combiner::Sum, c, it(0) * columns + it(1),
                   te::Expr::cast(ElementType::F32, maker.read(a, it(0) * depth + it(2))) *
                       te::Expr::cast(ElementType::F32, maker.read(b, place)));
  tile.element = type;
  product.factors = type;
  product.matrix = tile;
  maker.schedule.scratchBytes = tile.ringBytes();
  return maker;
}

/// A product whose second factor has columns of several iterators, the last of 32, and is read from
/// `apart` elements on with each of two taps; its columns are those of seven halves of a pass.
inline ScheduleMaker cutColumns(int64_t apart) {
  using namespace te;
  constexpr int64_t rows = 64, places = 7, inner = 32, pitch = 64, depth = 64, taps = 2;
  ScheduleMaker maker;
  loops::MatrixTile tile = inBulk();
  tile.rows = 64;
  maker.schedule.threads = 128;
  unsigned a = maker.buffer(ElementType::F16, rows * taps * depth),
           b = maker.buffer(ElementType::F16, places * depth * pitch),
           c = maker.buffer(ElementType::F32, rows * places * inner, true);
  Expr left = maker.read(a, (it(0) * taps + it(3)) * depth + it(4));
  Expr right = maker.read(b, (it(1) * depth + it(4)) * pitch + it(2) + it(3) * apart);
  auto &nest =
      maker.reduce({rows, places, inner}, {taps, depth}, Combiner::Sum, c,
                   (it(0) * places + it(1)) * inner + it(2),
                   Expr::cast(ElementType::F32, left) * Expr::cast(ElementType::F32, right));
  nest.factors = ElementType::F16;
  nest.matrix = tile;
  maker.schedule.scratchBytes = tile.ringBytes();
  return maker;
}

/// A tile of a convolution of so many channels, whose border is zero.
inline ScheduleMaker convolution(int64_t channels, int64_t step) {
  ScheduleMaker maker;
  using namespace te;
  loops::MatrixTile tile = inBulk();
  maker.schedule.threads = 128;
  constexpr int64_t height = 16, width = 24, filters = 64;
  unsigned x = maker.buffer(ElementType::F16, height * width * channels),
           f = maker.buffer(ElementType::F16, filters * 9 * channels),
           y = maker.buffer(ElementType::F32, height * width * filters, true);
  maker.tile(height / step, 4);
  Index row = it(0) * step + it(3) + it(6) * step - 1, column = it(1) * step + it(4) - 1;
  auto isIn = [](Index index, int64_t end) {
    Expr place = Expr::index(index, ElementType::I32);
    auto less = [](Expr a, Expr b) { return Expr::binary(BinaryOp::LessEqual, a, b); };
    return Expr::binary(BinaryOp::And, less(Expr::literal(ElementType::I32, int64_t(0)), place),
                        Expr::binary(BinaryOp::Less, place, Expr::literal(ElementType::I32, end)));
  };
  Expr inside = Expr::binary(BinaryOp::And, isIn(row, height), isIn(column, width));
  Expr read = Expr::select(inside, maker.read(x, (row * width + column) * channels + it(5)),
                           Expr::literal(ElementType::F16, 0.0));
  Expr weight = maker.read(f, ((it(2) * 3 + it(3)) * 3 + it(4)) * channels + it(5));
  auto &nest =
      maker.reduce({4, 24 / step, filters}, {3, 3, channels}, Combiner::Sum, y,
                   ((it(0) + it(6)) * (24 / step) + it(1)) * filters + it(2),
                   Expr::cast(ElementType::F32, read) * Expr::cast(ElementType::F32, weight));
  nest.factors = ElementType::F16;
  nest.matrix = tile;
  maker.schedule.scratchBytes = tile.ringBytes();
  return maker;
}

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_TARGETS_MATRIX_PRODUCTS_H
