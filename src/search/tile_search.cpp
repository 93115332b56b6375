#include "search/tile_search.h"

#include "loops/streamed_softmax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <functional>

namespace kintsugi::search {

using namespace loops;
using namespace te;

static bool isLess(const std::optional<Trial> &a, const std::optional<Trial> &b, double factor) {
  return a && (!b || a->computeSeconds < b->computeSeconds * factor);
}

bool isBetter(const std::optional<Trial> &a, const std::optional<Trial> &b) {
  return isLess(a, b, better);
}

std::optional<Trial> TileSearch::run(std::optional<bool> &worthCutting) {
  TileSizes sizes = wholeSizes();
  std::optional<Trial> best = attempt(sizes);
  if (!worthCutting)
    worthCutting = !best || best->computeSeconds > 2 * options.machine.stageSeconds;
  if (!*worthCutting)
    return best;
  if (options.inBlocks())
    refineBlocks(best);
  else if (options.machine.cores > 1 || members.size() > 1 || isOpen)
    refine(sizes, best);
  return best;
}

std::optional<Trial> TileSearch::attempt(const TileSizes &sizes, double most) {
  auto [known, isNew] = leastSeconds.try_emplace({sizes.begin(), sizes.end()}, 0);
  if (!isNew && (options.inBlocks() || known->second >= most))
    return std::nullopt; // It was compared before.
  std::optional<Trial> trial = make(sizes, most);
  known->second = trial ? trial->computeSeconds : most;
  return trial;
}

std::optional<Trial> TileSearch::attemptBelow(const std::optional<Trial> &best, double factor,
                                              const TileSizes &sizes) {
  return attempt(sizes, best ? factor * best->computeSeconds : INFINITY);
}

void TileSearch::refineBlocks(std::optional<Trial> &best) {
  TileSizes bestSizes = wholeSizes();
  size_t count = bestSizes.size();
  if (mayStreamSoftmax(members) && count >= 2)
    for (int64_t rows : {16, 32, 64, 128}) {
      TileSizes few(count, 1);
      few.back() = extentOf(count - 1);
      few[count - 2] = std::min(rows, extentOf(count - 2));
      consider(few, bestSizes, best);
    }
  constexpr double forBlocks[] = {0.7, 1.5, 4, 16, 64, 256}, forClusters[] = {0.09, 0.17, 0.35};
  if (members.size() == 1 && options.clusterBlocks > 1 && members[0].reduction)
    cutEvenly(forClusters, count, bestSizes, best);
  cutEvenly(forBlocks, count, bestSizes, best);
  if (members.size() > 1 && count > 1)
    cutEvenly(forBlocks, count - 1, bestSizes, best);
  constexpr int rounds = 2;
  bool changed = true;
  for (int round = 0; round < rounds && changed; ++round) {
    changed = false;
    for (size_t k = 0; k < bestSizes.size(); ++k)
      changed |= doubleOrHalve(bestSizes, k, best);
    changed |= exchange(bestSizes, best);
  }
  changed = usesMatrixUnits(best) && stepTogether(bestSizes, best);
  for (size_t k = 0; k < bestSizes.size() && usesMatrixUnits(best); ++k)
    changed |= threeFourths(bestSizes, k, best);
  for (size_t k = 0; k < bestSizes.size() && changed; ++k)
    doubleOrHalve(bestSizes, k, best); // Another size may be better beside it.
}

bool TileSearch::usesMatrixUnits(const std::optional<Trial> &trial) {
  return trial && llvm::any_of(trial->schedule.nests,
                               [](const LoopNest &nest) { return nest.matrix.has_value(); });
}

bool TileSearch::threeFourths(TileSizes &sizes, size_t k, std::optional<Trial> &best) {
  constexpr int64_t least = 64;
  TileSizes before = sizes;
  for (int64_t size : {sizes[k] / 4 * 3, sizes[k] / 2 * 3}) {
    if (sizes[k] < least || extentOf(k) % size != 0)
      continue;
    TileSizes trial = sizes;
    trial[k] = size;
    consider(trial, sizes, best);
  }
  return sizes != before;
}

void TileSearch::consider(const TileSizes &sizes, TileSizes &bestSizes, std::optional<Trial> &best,
                          double enough) {
  std::optional<Trial> tried = attemptBelow(best, enough, sizes);
  if (!isLess(tried, best, enough))
    return;
  best = std::move(tried);
  bestSizes = sizes;
}

double TileSearch::tilesOf(const TileSizes &sizes) const {
  double tiles = 1;
  for (auto [k, size] : llvm::enumerate(sizes))
    tiles *= std::ceil(double(extentOf(k)) / double(size));
  return tiles;
}

void TileSearch::cutEvenly(llvm::ArrayRef<double> tilesACore, size_t count, TileSizes &bestSizes,
                           std::optional<Trial> &best) {
  TileSizes sizes = wholeSizes();
  for (double wanted : tilesACore) {
    while (tilesOf(sizes) < wanted * options.machine.cores) {
      auto *largest = std::max_element(sizes.begin(), sizes.begin() + count);
      if (count == 0 || *largest == 1)
        break;
      *largest = smaller(*largest, extentOf(largest - sizes.begin()));
    }
    consider(sizes, bestSizes, best);
  }
}

bool TileSearch::stepTogether(TileSizes &sizes, std::optional<Trial> &best) {
  constexpr size_t most = 4;
  constexpr double worthwhile = 0.9; // Of the best so far: prices of tiles far apart err by more.
  size_t first = sizes.size() - std::min(most, sizes.size());
  TileSizes from = sizes;
  TileSizes trial = from;
  std::function<void(size_t)> step = [&](size_t k) {
    if (k == sizes.size())
      return consider(trial, sizes, best, worthwhile);
    for (int64_t size :
         {from[k], smaller(from[k], extentOf(k)), std::min(extentOf(k), 2 * from[k])}) {
      trial[k] = size;
      step(k + 1);
    }
  };
  step(first);
  return sizes != from;
}

bool TileSearch::exchange(TileSizes &sizes, std::optional<Trial> &best) {
  bool changed = false;
  for (size_t less = 0; less < sizes.size(); ++less)
    for (size_t more = 0; more < sizes.size(); ++more) {
      TileSizes trial = sizes;
      trial[less] = smaller(sizes[less], extentOf(less));
      trial[more] = std::min(extentOf(more), 2 * sizes[more]);
      if (less == more || trial[less] == sizes[less] || trial[more] == sizes[more])
        continue;
      std::optional<Trial> tried = attemptBelow(best, better, trial);
      if (!isBetter(tried, best))
        continue;
      best = std::move(tried);
      sizes = trial;
      changed = true;
    }
  return changed;
}

TileSizes TileSearch::wholeSizes() const {
  TileSizes sizes;
  for (const Iterator &iterator : members.back().parallel)
    sizes.push_back(iterator.extent.constant());
  return sizes;
}

bool TileSearch::tooManyTiles(const TileSizes &sizes, const std::optional<Trial> &best) const {
  constexpr double worthStarting = 2e-6, enough = 32;
  double tiles = 1, cores = options.machine.cores;
  for (auto [iterator, size] : llvm::zip(members.back().parallel, sizes))
    tiles *= std::ceil(double(iterator.extent.constant()) / size);
  double each = best ? best->computeSeconds * cores / tiles : 0;
  return members.size() == 1 && tiles > enough * cores && each < worthStarting;
}

void TileSearch::refine(const TileSizes &sizes, std::optional<Trial> &best) {
  bool twice = copies.areMade || copies.changeOrder || transposesBlocks(best);
  std::optional<Trial> other = twice ? best : std::nullopt;
  TileSizes bestSizes = sizes, otherSizes = sizes;
  for (size_t k = 0; k < sizes.size(); ++k)
    sweep(bestSizes, k, best);
  for (size_t k = sizes.size(); twice && k-- > 0;)
    sweep(otherSizes, k, other);
  if (isBetter(other, best)) {
    best = std::move(other);
    bestSizes = otherSizes;
  }
  for (size_t k = 0; k < sizes.size() && transposesBlocks(best); ++k)
    fineStep(bestSizes, k, best);
  constexpr int rounds = 3;
  bool changed = members.size() > 1;
  for (int round = 0; round < rounds && changed; ++round) {
    changed = false;
    for (size_t k = 0; k < sizes.size(); ++k)
      changed |= doubleOrHalve(bestSizes, k, best);
  }
}

bool TileSearch::transposesBlocks(const std::optional<Trial> &trial) {
  return trial && llvm::all_of(trial->schedule.nests, [](const LoopNest &nest) {
           return !nest.reduction && nest.registers.rowIterator >= 0;
         });
}

void TileSearch::sweep(TileSizes &sizes, size_t k, std::optional<Trial> &best) {
  // Between two caches' sizes, halves of a tile may cost the same several times over.
  constexpr int patience = 6, same = 1, worse = 3;
  constexpr double asGood = 1.05;
  int64_t full = extentOf(k), chosen = sizes[k];
  int lost = 0;
  for (int64_t size = smaller(full, full); size >= 1; size = size == 1 ? 0 : smaller(size, full)) {
    TileSizes trial = sizes;
    trial[k] = size;
    if (tooManyTiles(trial, best))
      break;
    std::optional<Trial> tried = attemptBelow(best, asGood, trial);
    if (isBetter(tried, best)) {
      best = std::move(tried);
      chosen = size;
      lost = 0;
    } else if (!best) {
      chosen = size; // Nothing fits yet: the other iterators are cut besides.
    } else {
      bool isSame = tried && tried->computeSeconds < asGood * best->computeSeconds;
      lost += isSame ? same : worse;
      if (lost >= patience)
        break;
    }
  }
  sizes[k] = chosen;
}

void TileSearch::fineStep(TileSizes &sizes, size_t k, std::optional<Trial> &best) {
  constexpr double enough = 0.995;
  int64_t block = std::max(1u, vectorBits / 32), full = extentOf(k), chosen = sizes[k];
  for (int64_t size : {chosen - block, chosen + block}) {
    TileSizes trial = sizes;
    trial[k] = size;
    if (size < block || size >= full || chosen == full)
      continue;
    std::optional<Trial> tried = attemptBelow(best, enough, trial);
    if (!isLess(tried, best, enough))
      continue;
    best = std::move(tried);
    sizes = trial;
  }
}

bool TileSearch::doubleOrHalve(TileSizes &sizes, size_t k, std::optional<Trial> &best) {
  double enough = !copies.areMade ? 0.98 : 0.995; // Of copies, bytes are known well.
  int64_t full = extentOf(k);
  for (bool up : {false, true}) {
    bool changed = false;
    while (true) {
      TileSizes trial = sizes;
      trial[k] = up ? std::min(full, 2 * sizes[k]) : smaller(sizes[k], full);
      if (trial[k] == sizes[k] || tooManyTiles(trial, best))
        break;
      std::optional<Trial> tried = attemptBelow(best, enough, trial);
      if (!isLess(tried, best, enough))
        break;
      best = std::move(tried);
      sizes = trial;
      changed = true;
    }
    if (changed)
      return true;
  }
  return false;
}

int64_t TileSearch::extentOf(size_t k) const {
  return members.back().parallel[k].extent.constant();
}

int64_t TileSearch::smaller(int64_t size, int64_t extent) const {
  constexpr int64_t share = 16;
  if (options.inBlocks() && size > share)
    return int64_t(llvm::bit_floor(uint64_t(size - 1)));
  int64_t half = (size + 1) / 2, lanes = std::max<int64_t>(1, vectorBits / 32);
  int64_t rest = extent % lanes;
  return half > 2 * lanes ? int64_t(llvm::alignTo(half - rest, lanes)) + rest : half;
}

} // namespace kintsugi::search
