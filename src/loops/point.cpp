#include "loops/point.h"

namespace kintsugi::loops {

MatrixTile chosenOf(const MatrixTile &tile) {
  MatrixTile chosen = tile;
  const MatrixTile none;
  chosen.element = none.element;
  chosen.columnsFactor = none.columnsFactor;
  chosen.inBulk = none.inBulk;
  chosen.ring = none.ring;
  return chosen;
}

} // namespace kintsugi::loops
