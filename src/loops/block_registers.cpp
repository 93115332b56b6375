#include "loops/block_registers.h"

#include "loops/scratch.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

int registersOf(const RegisterTile &tile, bool isSum) {
  int results = int(tile.rows * tile.columns);
  if (tile.lanes == 1)
    return (isSum ? 40 : 32) + (isSum ? 2 : 1) * results * int(tile.vectors);
  return 28 + 2 * results + int(tile.vectors * stepsTogether(tile.vectors, results)) * results / 2;
}

int registersOf(const MatrixTile &tile, int threads, const FactorMoves &moves) {
  int warpRows = tile.rows / tile.down, warpColumns = tile.columns / tile.across;
  int subgroup = threads / int(tile.down * tile.across * tile.warpsK);
  int results = warpRows * warpColumns / subgroup;
  int most = tile.inFours ? 64 + results : 56 + results + warpRows / 4 + warpColumns / 4;
  // Elements that come one by one are all on their way at once, each with its place.
  constexpr double ofElement = 1.5;
  int mostAlone = 64;
  int alone = (moves.rows.isAlone * tile.rows + moves.columns.isAlone * tile.columns) * tile.depth;
  return most + int(ofElement * std::min(mostAlone, alone / threads));
}

int registersOf(const LoopNest &nest, const Schedule &schedule) {
  std::optional<MatrixProduct> product = matrixProductOf(nest);
  assert(product && "a nest with a matrix tile is a product");
  return registersOf(*nest.matrix, schedule.threads, factorMovesOf(nest, *product, schedule));
}

/// What a thread reads for each score while that is made; not what many columns share.
static unsigned readsAhead(const LoopNest &scores, const LoopNest &stats) {
  unsigned reads = 0;
  auto moves = [](const Index &index, unsigned column) {
    return index.uses(column) && !llvm::all_of(index.terms(), [&](const Term &term) {
             return term.atom.kind == AtomKind::FloorDiv ||
                    (term.atom.kind == AtomKind::Iterator && term.atom.iterator != column);
           });
  };
  auto count = [&](const Expr &expr, unsigned column) {
    expr.walk([&](const Expr &e) {
      reads += e.kind() == ExprKind::Read && llvm::any_of(e.readIndices(), [&](const Index &index) {
                 return moves(index, column);
               });
    });
  };
  count(scores.epilogue[0], scores.parallel.size() - 1);
  count(stats.bodies[0], stats.parallel.size());
  return reads - 1; // Of which one is the score.
}

int registersOfStream(const LoopNest &scores, const LoopNest &stats, const MatrixTile &ofScores,
                      const MatrixTile &ofWeighted) {
  int64_t own = ofScores.columns / ofScores.across;
  int sums = int(own / 2 * (1 + readsAhead(scores, stats)) + ofWeighted.columns / 2);
  // Powers take the place of scores where four warps multiply together.
  return ofScores.inFours ? 40 + sums : 72 + sums + int(own / 4);
}

/// Of all that a point may be, the parts of a concatenation for one, something is asked for before
/// it is known which it is.
static int registersOfAlternatives(const LoopNest &nest) {
  constexpr int bytesOfRegister = 4;
  if (nest.reduction)
    return 0;
  llvm::SmallVector<Expr> reads;
  bool chooses = false;
  for (const Expr &body : nest.bodies)
    body.walk([&](const Expr &e) {
      chooses |= e.kind() == ExprKind::Select;
      if (e.kind() == ExprKind::Read && !llvm::is_contained(reads, e))
        reads.push_back(e);
    });
  if (!chooses || reads.empty())
    return 0;
  const RegisterTile &tile = nest.registers;
  int points = int(tile.rows * tile.columns * tile.vectors);
  int bytes = int(bytesOfElement(reads.front().type()));
  return int(reads.size() - 1) * points * bytes / bytesOfRegister;
}

int registersOf(const Schedule &schedule) {
  int most = 0;
  const std::vector<LoopNest> &nests = schedule.nests;
  for (auto [number, nest] : llvm::enumerate(nests)) {
    most = std::max(most, nest.matrix ? registersOf(nest, schedule)
                                      : registersOf(nest.registers, nest.reduction.has_value()) +
                                            registersOfAlternatives(nest));
    if (nest.streamed)
      most = std::max(most, registersOfStream(nest, nests[number + 1], *nest.matrix,
                                              *nests[number + 3].matrix));
  }
  return most;
}

} // namespace kintsugi::loops
