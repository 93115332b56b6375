//===- matrix_products.h - Schedules of products on matrix units ------------===//
#ifndef KINTSUGI_TEST_TARGETS_MATRIX_PRODUCTS_H
#define KINTSUGI_TEST_TARGETS_MATRIX_PRODUCTS_H

#include "nests.h"

namespace kintsugi::test {

inline schedule::MatrixTile byWarps() {
  schedule::MatrixTile tile;
  tile.rows = tile.columns = 64;
  tile.depth = 32;
  tile.down = tile.across = 2;
  tile.stages = 3;
  return tile;
}

inline schedule::MatrixTile byFourWarps() {
  schedule::MatrixTile tile;
  tile.rows = 128;
  tile.columns = tile.depth = 64;
  tile.down = 4;
  tile.stages = 3;
  tile.inFours = true;
  return tile;
}

inline schedule::MatrixTile inBulk(schedule::MatrixTile tile = byFourWarps()) {
  tile.inBulk = true;
  return tile;
}

/// c = a b^T on matrix units; the depth is no multiple of what is staged, nor are the rows.
inline ScheduleMaker onMatrixUnits(ElementType type, bool transposed, ElementType of,
                                   schedule::MatrixTile tile = byWarps()) {
  ScheduleMaker maker;
  maker.schedule.threads = int(tile.down * tile.across * tile.deep) * 32;
  constexpr int64_t rows = 40, columns = 64, depth = 72;
  unsigned a = maker.buffer(of, rows * depth), b = maker.buffer(type, columns * depth);
  unsigned c = maker.buffer(ElementType::F32, rows * columns, true);
  te::Index place = transposed ? it(1) * depth + it(2) : it(2) * columns + it(1);
  auto &product =
      maker.reduce({rows, columns}, {depth}, te::Combiner::Sum, c, it(0) * columns + it(1),
                   te::Expr::cast(ElementType::F32, maker.read(a, it(0) * depth + it(2))) *
                       te::Expr::cast(ElementType::F32, maker.read(b, place)));
  tile.element = type;
  product.matrix = tile;
  maker.schedule.scratchBytes = tile.ringBytes();
  return maker;
}

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_TARGETS_MATRIX_PRODUCTS_H
