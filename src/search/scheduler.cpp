#include "search/scheduler.h"

#include "cost/block_seconds.h"
#include "cost/streams.h"
#include "cost/traffic.h"
#include "loops/bounds.h"
#include "loops/nest.h"
#include "loops/parts.h"
#include "loops/scratch.h"
#include "loops/split.h"
#include "loops/visit.h"
#include "loops/warp_moves.h"
#include "search/block.h"
#include "search/matrix.h"
#include "search/registers.h"
#include "search/streamed_softmax.h"
#include "search/thread_memo.h"
#include "search/transforms.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace kintsugi::search {

using namespace cost;
using namespace loops;
using namespace te;

namespace {

/// Of any vector: a byte in each lane.
constexpr int64_t mostLanes = 64;

struct Trial {
  Schedule schedule;
  double computeSeconds = 0;
  Point point;
};

class Scheduler {
public:
  Scheduler(const Program &program, const Group &group, const ScheduleOptions &options)
      : program(program), values(program), group(group), options(options),
        memo(options.threadMemo ? *options.threadMemo : ownMemo),
        members(fuse(program, group, {.fillsAreFree = options.inBlocks()})) {
    unit.bits = options.scalar ? 0 : options.machine.vectorBits;
    unit.registers = options.machine.vectorRegisters;
    unit.nearBytes = options.machine.nearBytes();
    unit.allBytes = cachedBytes(options.machine);
  }

  /// What the search finds, and all that it looks at on its way.
  ScheduleResult run(std::vector<Tried> *tried) {
    allTried = tried;
    endLoopsEarly();
    std::optional<Trial> best = search();
    tryTransforms(best);
    return resultOf(std::move(best));
  }

  /// One point.
  ScheduleResult runAt(const Point &point, std::vector<NestChoices> *nestChoices) {
    wanted = &point;
    choices = nestChoices;
    endLoopsEarly();
    std::optional<Trial> best;
    tryTransforms(best);
    if (isOfMembers(point))
      best = attempt(TileSizes(point.sizes.begin(), point.sizes.end()));
    if (best && point.registers.size() > best->schedule.nests.size())
      best.reset();
    if (!best && reason.empty())
      reason = "there is no such schedule";
    return resultOf(std::move(best));
  }

private:
  void endLoopsEarly() {
    std::vector<Member> whole = members;
    if (!options.scalar && boundLoops(members))
      unbounded = std::move(whole);
  }

  void tryTransforms(std::optional<Trial> &best) {
    TransformSite site{program, group, options, values, members, unbounded, packable, transposed};
    for (auto [number, transform] : llvm::enumerate(transforms())) {
      if (!transform.appliesTo(options))
        continue;
      Offers offers = transform.offers();
      changesOrder = transform.changesOrder;
      for (unsigned offer = 0; std::optional<std::vector<Member>> next = offers(site); ++offer)
        tryMembers(std::move(*next), {unsigned(number), offer}, best);
    }
    changesOrder = false;
  }

  /// Whether its transforms were all on offer, and its tiles are tiles of the last member.
  bool isOfMembers(const Point &point) const {
    return point.transforms == taken && point.sizes.size() == members.back().parallel.size() &&
           llvm::all_of(llvm::enumerate(point.sizes), [&](const auto &entry) {
             return entry.value() >= 1 && entry.value() <= extentOf(entry.index());
           });
  }

  ScheduleResult resultOf(std::optional<Trial> best) {
    ScheduleResult result;
    if (!best) {
      result.reason = reason.empty() ? "no tiling keeps every output whole" : reason;
      return result;
    }
    result.schedule = std::move(best->schedule);
    if (!options.scalar && !options.inBlocks())
      chooseStreams(*result.schedule, options.machine);
    result.computeSeconds = best->computeSeconds;
    result.point = std::move(best->point);
    return result;
  }

  /// By so much that the estimate can be believed.
  static bool better(const std::optional<Trial> &a, const std::optional<Trial> &b) {
    return isLess(a, b, 0.98);
  }

  static bool isLess(const std::optional<Trial> &a, const std::optional<Trial> &b, double factor) {
    return a && (!b || a->computeSeconds < b->computeSeconds * factor);
  }

  /// The best tiling of the members as they are.
  std::optional<Trial> search() {
    seen.clear();
    TileSizes sizes = wholeSizes();
    std::optional<Trial> best = attempt(sizes);
    if (!worthCutting) // Said once, so that ways with and without copies compare.
      worthCutting = !best || best->computeSeconds > 2 * options.machine.stageSeconds;
    if (!*worthCutting)
      return best;
    if (options.inBlocks())
      refineBlocks(best);
    else if (options.machine.cores > 1 || members.size() > 1)
      refine(sizes, best);
    return best;
  }

  /// Tiles of about as many points along each iterator, from few of them to many, and of whole
  /// rows, which share what is summed along those; from the best of them, steps to either side.
  void refineBlocks(std::optional<Trial> &best) {
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
        changed |= step(bestSizes, k, best);
      changed |= trade(bestSizes, best);
    }
    changed = false;
    for (size_t k = 0; k < bestSizes.size() && usesMatrixUnits(best); ++k)
      changed |= threefold(bestSizes, k, best);
    for (size_t k = 0; k < bestSizes.size() && changed; ++k)
      step(bestSizes, k, best); // Another size may be better beside it.
  }

  static bool usesMatrixUnits(const std::optional<Trial> &trial) {
    return trial && llvm::any_of(trial->schedule.nests,
                                 [](const LoopNest &nest) { return nest.matrix.has_value(); });
  }

  /// Of tiles whose sizes double, the best may leave a third of the cores idle: so one between two
  /// of them, where it cuts the extent evenly.
  bool threefold(TileSizes &sizes, size_t k, std::optional<Trial> &best) {
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

  void consider(const TileSizes &sizes, TileSizes &bestSizes, std::optional<Trial> &best) {
    std::optional<Trial> tried = attempt(sizes);
    if (!better(tried, best))
      return;
    best = std::move(tried);
    bestSizes = sizes;
  }

  double tilesOf(const TileSizes &sizes) const {
    double tiles = 1;
    for (auto [k, size] : llvm::enumerate(sizes))
      tiles *= std::ceil(double(extentOf(k)) / double(size));
    return tiles;
  }

  /// Cuts the first `count` iterators, each time the one of the most points, until there are so
  /// many tiles for each core.
  void cutEvenly(llvm::ArrayRef<double> tilesACore, size_t count, TileSizes &bestSizes,
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

  /// As many tiles of another shape: less along one iterator, more along another.
  bool trade(TileSizes &sizes, std::optional<Trial> &best) {
    bool changed = false;
    for (size_t less = 0; less < sizes.size(); ++less)
      for (size_t more = 0; more < sizes.size(); ++more) {
        TileSizes trial = sizes;
        trial[less] = smaller(sizes[less], extentOf(less));
        trial[more] = std::min(extentOf(more), 2 * sizes[more]);
        if (less == more || trial[less] == sizes[less] || trial[more] == sizes[more])
          continue;
        std::optional<Trial> tried = attempt(trial);
        if (!better(tried, best))
          continue;
        best = std::move(tried);
        sizes = trial;
        changed = true;
      }
    return changed;
  }

  TileSizes wholeSizes() const {
    TileSizes sizes;
    for (const Iterator &iterator : members.back().parallel)
      sizes.push_back(iterator.extent.constant());
    return sizes;
  }

  /// The members and their tiling become `trial`'s if that is better, or if the point says so.
  void tryMembers(std::vector<Member> trial, TransformOffer offer, std::optional<Trial> &best) {
    std::swap(members, trial);
    taken.push_back(offer);
    bool isTaken = wanted && llvm::is_contained(wanted->transforms, offer);
    if (!wanted) {
      std::optional<Trial> tried = search();
      isTaken = better(tried, best);
      if (isTaken)
        best = std::move(tried);
    }
    if (isTaken)
      return;
    taken.pop_back();
    std::swap(members, trial);
  }

  /// Enough tiles to keep every core busy to the end; more, if each is still worth its start.
  bool tooManyTiles(const TileSizes &sizes, const std::optional<Trial> &best) const {
    constexpr double worthStarting = 2e-6, enough = 32;
    double tiles = 1, cores = options.machine.cores;
    for (auto [iterator, size] : llvm::zip(members.back().parallel, sizes))
      tiles *= std::ceil(double(iterator.extent.constant()) / size);
    double each = best ? best->computeSeconds * cores / tiles : 0;
    return members.size() == 1 && tiles > enough * cores && each < worthStarting;
  }

  /// Coordinate descent from whole tiles: each iterator in turn by halving; then, where members
  /// share scratch, steps to either side. Which iterator is cut first decides how often a copy is
  /// made, and whether what is turned is read or written in long runs: there both orders are tried.
  void refine(const TileSizes &sizes, std::optional<Trial> &best) {
    bool twice = !packable.empty() || changesOrder || transposesBlocks(best);
    std::optional<Trial> other = twice ? best : std::nullopt;
    TileSizes bestSizes = sizes, otherSizes = sizes;
    for (size_t k = 0; k < sizes.size(); ++k)
      sweep(bestSizes, k, best);
    for (size_t k = sizes.size(); twice && k-- > 0;)
      sweep(otherSizes, k, other);
    if (better(other, best)) {
      best = std::move(other);
      bestSizes = otherSizes;
    }
    for (size_t k = 0; k < sizes.size() && transposesBlocks(best); ++k)
      nudge(bestSizes, k, best);
    constexpr int rounds = 3;
    bool changed = members.size() > 1;
    for (int round = 0; round < rounds && changed; ++round) {
      changed = false;
      for (size_t k = 0; k < sizes.size(); ++k)
        changed |= step(bestSizes, k, best);
    }
  }

  /// Whether it does nothing but transpose blocks in registers.
  static bool transposesBlocks(const std::optional<Trial> &trial) {
    return trial && llvm::all_of(trial->schedule.nests, [](const LoopNest &nest) {
             return !nest.reduction && nest.registers.rowIterator >= 0;
           });
  }

  void sweep(TileSizes &sizes, size_t k, std::optional<Trial> &best) {
    // Between two caches' sizes, halves of a tile may cost the same several times over.
    constexpr int patience = 6, same = 1, worse = 3;
    int64_t full = extentOf(k), chosen = sizes[k];
    int lost = 0;
    for (int64_t size = smaller(full, full); size >= 1;
         size = size == 1 ? 0 : smaller(size, full)) {
      TileSizes trial = sizes;
      trial[k] = size;
      if (tooManyTiles(trial, best))
        break;
      std::optional<Trial> tried = attempt(trial);
      if (better(tried, best)) {
        best = std::move(tried);
        chosen = size;
        lost = 0;
      } else if (!best) {
        chosen = size; // Nothing fits yet: the other iterators are cut besides.
      } else {
        bool isSame = tried && tried->computeSeconds < 1.05 * best->computeSeconds;
        lost += isSame ? same : worse;
        if (lost >= patience)
          break;
      }
    }
    sizes[k] = chosen;
  }

  /// Of blocks that are turned, one more or less may be better than twice or half as many.
  void nudge(TileSizes &sizes, size_t k, std::optional<Trial> &best) {
    constexpr double enough = 0.995;
    int64_t block = std::max(1u, unit.bits / 32), full = extentOf(k), chosen = sizes[k];
    for (int64_t size : {chosen - block, chosen + block}) {
      TileSizes trial = sizes;
      trial[k] = size;
      if (size < block || size >= full || chosen == full)
        continue;
      std::optional<Trial> tried = attempt(trial);
      if (!isLess(tried, best, enough))
        continue;
      best = std::move(tried);
      sizes = trial;
    }
  }

  bool step(TileSizes &sizes, size_t k, std::optional<Trial> &best) {
    double enough = packable.empty() ? 0.98 : 0.995; // Of copies, bytes are known well.
    int64_t full = extentOf(k);
    for (bool up : {false, true}) {
      bool changed = false;
      while (true) {
        TileSizes trial = sizes;
        trial[k] = up ? std::min(full, 2 * sizes[k]) : smaller(sizes[k], full);
        if (trial[k] == sizes[k] || tooManyTiles(trial, best))
          break;
        std::optional<Trial> tried = attempt(trial);
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

  int64_t extentOf(size_t k) const { return members.back().parallel[k].extent.constant(); }

  /// About half; so that tiles start at whole vectors where there are several of them, and those of
  /// blocks are whole warps' shares.
  int64_t smaller(int64_t size, int64_t extent) const {
    constexpr int64_t share = 16;
    if (options.inBlocks() && size > share)
      return int64_t(llvm::bit_floor(uint64_t(size - 1)));
    int64_t half = (size + 1) / 2, lanes = std::max<int64_t>(1, unit.bits / 32);
    int64_t rest = extent % lanes;
    return half > 2 * lanes ? int64_t(llvm::alignTo(half - rest, lanes)) + rest : half;
  }

  /// With the best number of threads, where a tile is a block's.
  std::optional<Trial> attempt(const TileSizes &sizes) {
    if (options.inBlocks() && !wanted && !seen.insert({sizes.begin(), sizes.end()}).second)
      return std::nullopt; // It was compared before.
    std::optional<Tiling> tiling = tilingOf(sizes);
    if (!tiling)
      return std::nullopt;
    if (!options.inBlocks())
      return attemptWith(*tiling, sizes, 0);
    std::optional<Trial> best;
    for (int threads : {128, 256, 512, 1024}) {
      if (wanted && wanted->threads && wanted->threads != threads)
        continue;
      std::optional<Trial> trial = attemptWith(*tiling, sizes, threads);
      if (!trial && !best && mayStreamSoftmax(members))
        continue; // One loop may want more warps than these, and needs less scratch than nests.
      if (!trial)
        break;
      if (best && trial->computeSeconds >= best->computeSeconds * 0.98)
        break;
      best = std::move(trial);
    }
    return best;
  }

  /// A tiling's buffers and nests, whose registers are to be chosen.
  struct Tiling {
    Schedule schedule;
    std::vector<LoopNest> parts;
  };

  std::optional<Tiling> tilingOf(const TileSizes &sizes) {
    std::optional<llvm::SmallVector<Box>> boxes = inferBoxes(values, members, sizes);
    if (!boxes)
      return std::nullopt;
    Tiling tiling;
    Schedule &schedule = tiling.schedule;
    schedule.space = tileSpace(members.back(), sizes);
    placements.clear();
    placeMemory(schedule);
    placeScratch(schedule, *boxes);
    for (auto [member, box] : llvm::zip(members, *boxes)) {
      LoopNest nest =
          makeNest(values, member, box, schedule.space,
                   [&](ValueId id) -> const Placement & { return placements.at(id.number); });
      for (LoopNest &part : partsOf(std::move(nest), member, schedule)) {
        if (!areSpansUniform(part)) {
          reason = "a loop's bound differs inside of its tiles";
          return std::nullopt;
        }
        setShares(part, schedule.buffers, values);
        tiling.parts.push_back(std::move(part));
      }
    }
    return tiling;
  }

  std::optional<Trial> attemptWith(const Tiling &tiling, const TileSizes &sizes, int threads) {
    Trial trial;
    Schedule &schedule = trial.schedule;
    schedule = tiling.schedule;
    schedule.threads = threads;
    if (choices)
      choices->clear();
    llvm::SmallVector<double> cycles;
    BlockCycles inBlock;
    BlockLimits limits = limitsOf(tiling);
    for (size_t number = 0; number < tiling.parts.size(); ++number) {
      if (threads && appendStreamed(tiling, number, schedule, inBlock)) {
        number += 3;
        continue;
      }
      LoopNest part = tiling.parts[number];
      if (threads) {
        std::vector<RankedChoice> ranked;
        if (choices) {
          LoopNest other = part;
          chooseInBlock(other, schedule, limits, memo, {nullptr, &ranked});
        }
        std::optional<BlockCycles> own =
            chooseInBlock(part, schedule, limits, memo, wishFor(schedule));
        if (!own)
          return std::nullopt;
        inBlock += *own;
        noteChoices(std::move(ranked), *own, 1);
      } else {
        std::optional<double> each = setRegisters(part, schedule);
        if (!each)
          return std::nullopt;
        cycles.push_back(*each);
      }
      schedule.nests.push_back(std::move(part));
    }
    if (threads) {
      packInOrder(schedule);
    } else { // Blocks come to their tiles in no order.
      packOperands(schedule);
      shareAmongTiles(schedule);
    }
    assignScratch(schedule);
    if (threads) {
      placeRings(schedule, limits.core.subgroup);
      placeStandIns(schedule);
    }
    if (threads ? !memoryOf(schedule, limits.core.subgroup).isWithin(limits)
                : schedule.scratchBytes > options.scratchLimit) {
      reason = "its intermediate results do not fit in scratch memory";
      return std::nullopt;
    }
    if (threads) {
      shareChoices();
      Traffic(schedule, options.machine).count(schedule);
      trial.computeSeconds = secondsInBlocks(schedule, inBlock, options.machine);
      note(trial, sizes, {});
      return trial;
    }
    for (auto [nest, each] : llvm::zip_equal(schedule.nests, cycles))
      each *= schedule.runsOf(nest, options.machine.cores) / double(schedule.tiles());
    account(trial, cycles);
    note(trial, sizes, cycles);
    return trial;
  }

  /// Blocks share a tile where nothing but the product is done for it.
  BlockLimits limitsOf(const Tiling &tiling) const {
    unsigned blocks = tiling.parts.size() == 1 ? options.clusterBlocks : 1;
    return {
        storageOf(options.precision), options.scratchLimit, options.ringLimit, options.bulk, blocks,
        options.machine.cores,        options.machine.core};
  }

  /// The four nests from `number` on as one loop, where they are attention.
  bool appendStreamed(const Tiling &tiling, size_t number, Schedule &schedule,
                      BlockCycles &cycles) {
    if (number + 4 > tiling.parts.size())
      return false;
    std::vector<LoopNest> nests(tiling.parts.begin() + number, tiling.parts.begin() + number + 4);
    std::vector<RankedChoice> ranked;
    BlockLimits limits = limitsOf(tiling);
    if (choices) {
      std::vector<LoopNest> others = nests;
      Schedule scratch = schedule;
      streamSoftmax(others, scratch, limits, memo, {nullptr, &ranked});
    }
    std::optional<BlockCycles> all =
        streamSoftmax(nests, schedule, limits, memo, wishFor(schedule));
    if (!all)
      return false;
    cycles += *all;
    noteChoices(std::move(ranked), *all, nests.size());
    llvm::append_range(schedule.nests, std::move(nests));
    return true;
  }

  std::optional<MatrixProduct> productOf(const LoopNest &nest) const {
    return options.inBlocks() ? matrixProductOf(nest, storageOf(options.precision)) : std::nullopt;
  }

  /// What the next nest of a schedule is to do.
  Wish wishFor(const Schedule &schedule) const {
    size_t number = schedule.nests.size();
    bool isNamed = wanted && number < wanted->registers.size() && wanted->registers[number];
    return {isNamed ? &*wanted->registers[number] : nullptr, nullptr};
  }

  /// Of a nest, or of several that are one loop.
  void noteChoices(std::vector<RankedChoice> ranked, const BlockCycles &cycles, size_t nests) {
    constexpr size_t most = 256;
    if (!choices)
      return;
    std::vector<std::pair<double, size_t>> order; ///< Cost and number.
    for (auto [number, each] : llvm::enumerate(ranked))
      order.emplace_back(each.cost, number);
    llvm::sort(order);
    order.resize(std::min(most, order.size()));
    NestChoices &own = choices->emplace_back();
    own.share = cycles.cost();
    for (auto [cost, number] : order)
      own.registers.push_back(ranked[number].choice);
    choices->resize(choices->size() + nests - 1);
  }

  void shareChoices() {
    double total = 0;
    if (!choices)
      return;
    for (const NestChoices &choice : *choices)
      total += choice.share;
    for (NestChoices &choice : *choices)
      choice.share /= total;
  }

  /// A nest for each side of what it chooses by its iterators.
  llvm::SmallVector<LoopNest, 2> partsOf(LoopNest nest, const Member &member,
                                         const Schedule &schedule) const {
    llvm::SmallVector<LoopNest, 2> all, sides{std::move(nest)};
    if (!options.scalar)
      sides = splitAtPlaces(std::move(sides[0]), schedule.space);
    for (LoopNest &part : sides) {
      splitIterators(part, schedule.space);
      // What may be packed is stored coordinate by coordinate.
      if (!llvm::is_contained(packable, member.results[0]))
        collapseIterators(part, schedule.space.size());
      if (options.scalar || !areSpansUniform(part) || productOf(part))
        all.push_back(std::move(part));
      else
        llvm::append_range(all, splitAtConditions(std::move(part)));
    }
    return all;
  }

  /// The cycles with the registers that the point names, or else the best.
  std::optional<double> setRegisters(LoopNest &nest, const Schedule &schedule) {
    constexpr size_t mostChoices = 32;
    size_t number = schedule.nests.size();
    if (choices) {
      NestChoices &own = choices->emplace_back();
      llvm::append_range(own.registers,
                         bestRegisters(nest, schedule.space, schedule.buffers, unit, mostChoices));
    }
    if (wanted && number < wanted->registers.size() && wanted->registers[number]) {
      const auto *tile = std::get_if<RegisterTile>(&*wanted->registers[number]);
      return tile ? takeRegisters(nest, schedule.space, schedule.buffers, unit, *tile)
                  : std::nullopt;
    }
    return chooseRegisters(nest, schedule.space, schedule.buffers, unit);
  }

  /// `cycles`: of a tile, by nest.
  void note(Trial &trial, const TileSizes &sizes, llvm::ArrayRef<double> cycles) {
    double total = std::accumulate(cycles.begin(), cycles.end(), 0.0);
    if (choices && !trial.schedule.threads)
      for (auto [choice, each] : llvm::zip_equal(*choices, cycles))
        choice.share = each / total;
    Point &point = trial.point;
    point.transforms = taken;
    point.sizes.assign(sizes.begin(), sizes.end());
    point.threads = trial.schedule.threads;
    if (wanted)
      point.registers = wanted->registers;
    if (allTried)
      allTried->push_back({point, trial.computeSeconds});
  }

  /// A nest that only fills scratch, from what does not change with the last tile dimensions.
  static void shareAmongTiles(Schedule &schedule) {
    unsigned dimensions = schedule.space.size();
    llvm::SmallVector<unsigned> moves(schedule.buffers.size(), 0); ///< By buffer: how many do.
    auto movedBy = [&](const LoopNest &nest) {
      unsigned moved = 0;
      forEachIndex(nest, [&](const Index &index) {
        for (unsigned d = moved; d < dimensions; ++d)
          if (index.uses(nest.originIterator(d)))
            moved = d + 1;
      });
      for (unsigned buffer : buffersRead(nest))
        moved = std::max(moved, moves[buffer]);
      for (unsigned destination : nest.destinations)
        moved = schedule.buffers[destination].home == Home::Memory
                    ? dimensions
                    : std::max(moved, moves[destination]);
      for (const Kept &kept : nest.kept)
        moved = std::max(moved, moves[kept.buffer]);
      return moved;
    };
    for (int round = 0; round < 2; ++round) // Parts of one buffer have a nest each.
      for (LoopNest &nest : schedule.nests) {
        unsigned moved = movedBy(nest);
        for (unsigned destination : nest.destinations)
          moves[destination] = moved;
        for (const Kept &kept : nest.kept)
          moves[kept.buffer] = moved;
        nest.sharedDimensions = dimensions - moved;
      }
  }

  void placeMemory(Schedule &schedule) {
    auto place = [&](ValueId id, bool written) {
      if (placements.count(id.number))
        return;
      const Value &value = values.value(id);
      int64_t elements = 1;
      for (Extent extent : value.shape)
        elements *= extent.constant();
      placements[id.number] = {static_cast<unsigned>(schedule.buffers.size()), Home::Memory, {}};
      schedule.buffers.push_back({id, value.type, elements, Home::Memory, written});
      schedule.buffers.back().packable =
          options.packing && llvm::is_contained(group.constants, id) && isReadInOneWay(id);
    };
    auto isMember = [&](ValueId id) {
      return llvm::any_of(members, [&](const Member &m) { return m.stores(id); });
    };
    for (const Member &member : members)
      for (const Expr &expr : member.expressions())
        for (ValueId id : readsOf(expr))
          if (!LoopNest::isAccumulator(id) && !isMember(id))
            place(id, false);
    for (const Member &member : members)
      if (member.isOutput)
        for (ValueId id : member.results)
          place(id, true);
  }

  bool isReadInOneWay(ValueId id) const {
    size_t ways = 0;
    for (const Member &member : members) { // Iterators of two members are not the same.
      llvm::SmallVector<Expr> reads;
      for (const Expr &expr : member.expressions())
        expr.walk([&](const Expr &e) {
          if (e.kind() == ExprKind::Read && e.readValue() == id && !llvm::is_contained(reads, e))
            reads.push_back(e);
        });
      ways += reads.size();
    }
    return ways == 1;
  }

  /// The part of a value that a tile holds: what its member iterates over, or all of it where the
  /// member's iterators are not the value's dimensions.
  Box heldBox(const Member &member, ValueId id, const Box &iterated) const {
    bool isIdentity = llvm::all_of(llvm::enumerate(member.resultIndices), [](const auto &entry) {
      return entry.value().asIterator() == static_cast<int>(entry.index());
    });
    if (isIdentity)
      return iterated;
    Box whole;
    for (Extent extent : values.shape(id))
      whole.push_back({Index(0), extent.constant()});
    return whole;
  }

  void placeScratch(Schedule &schedule, llvm::ArrayRef<Box> boxes) {
    for (auto [member, iterated] : llvm::zip(members, boxes)) {
      for (const KeptValue &kept : member.kept)
        placeKept(schedule, kept, iterated);
      if (member.isOutput)
        continue;
      for (ValueId id : member.results) {
        bool mayPack = llvm::is_contained(packable, id);
        Box box = heldBox(member, id, iterated);
        int64_t pitch = 0, elements = box.empty() ? 1 : box.back().extent; // Of a row.
        if (mayPack)                                                       // Panels are full.
          elements = llvm::alignTo(elements, mostLanes);
        if (llvm::is_contained(transposed, id))
          elements = pitch = rowPitch(elements, bytesOfElement(values.value(id).type));
        for (const Side &side : llvm::ArrayRef(box).drop_back(!box.empty()))
          elements *= side.extent;
        placements[id.number] = {static_cast<unsigned>(schedule.buffers.size()), Home::Scratch, box,
                                 pitch};
        schedule.buffers.push_back(
            {id, values.value(id).type, elements, Home::Scratch, true, 0, mayPack});
      }
    }
  }

  /// What iterators of a reduction keep is there as a whole.
  void placeKept(Schedule &schedule, const KeptValue &kept, const Box &iterated) {
    Box box;
    int64_t elements = 1;
    for (auto [iterator, extent] : llvm::zip_equal(kept.iterators, values.shape(kept.value))) {
      box.push_back(iterator < iterated.size() ? iterated[iterator]
                                               : Side{Index(0), extent.constant()});
      elements *= box.back().extent;
    }
    placements[kept.value.number] = {unsigned(schedule.buffers.size()), Home::Scratch, box};
    schedule.buffers.push_back(
        {kept.value, values.value(kept.value).type, elements, Home::Scratch, true});
  }

  /// Fills in what the cost model reads, and the estimate that compares tilings. `cycles`: of a
  /// tile, by nest.
  void account(Trial &trial, llvm::ArrayRef<double> cycles) {
    const machine::Machine &machine = options.machine;
    Traffic traffic(trial.schedule, machine);
    traffic.count(trial.schedule);
    double lanes = std::max(1, machine.vectorBits / 32);
    double cyclesPerSecond = std::max(1e9, machine.flopsPerSecond / (4 * lanes));
    llvm::SmallVector<double> seconds;
    // Loads run ahead of the arithmetic of their own nest, but not perfectly.
    for (auto [each, moving] : llvm::zip_equal(cycles, traffic.movingSeconds())) {
      double arithmetic = each / cyclesPerSecond;
      seconds.push_back(std::max(arithmetic, moving) + 0.3 * std::min(arithmetic, moving));
    }
    double tile = 10e-9 + 5e-9 * double(trial.schedule.nests.size()) +
                  std::accumulate(seconds.begin(), seconds.end(), 0.0) +
                  traffic.secondsInTurns(seconds);
    trial.computeSeconds = std::ceil(double(trial.schedule.tiles()) / machine.cores) * tile;
  }

  const Program &program;
  GroupValues values;
  const Group &group;
  const ScheduleOptions &options;
  ThreadMemo ownMemo, &memo;
  std::vector<Member> members;
  VectorUnit unit;
  llvm::SmallVector<ValueId> packable;   ///< Copies that may be packed.
  llvm::SmallVector<ValueId> transposed; ///< Copies that are read across their rows.
  bool changesOrder = false;             ///< As the transform that is tried says.
  std::optional<bool> worthCutting;
  std::map<uint32_t, Placement> placements;
  std::string reason;
  std::set<std::vector<int64_t>> seen; ///< Tiles of blocks that a search has tried.

  std::optional<std::vector<Member>> unbounded; ///< Members whose loops end at their extents.
  const Point *wanted = nullptr;                ///< What to do, where the search is not asked.
  llvm::SmallVector<TransformOffer, 4> taken;
  std::vector<Tried> *allTried = nullptr;      ///< Told what the search looks at.
  std::vector<NestChoices> *choices = nullptr; ///< Told what a point could do otherwise.
};

} // namespace

ScheduleResult scheduleGroup(const Program &program, const Group &group,
                             const ScheduleOptions &options, std::vector<Tried> *tried) {
  return Scheduler(program, group, options).run(tried);
}

ScheduleResult scheduleAt(const Program &program, const Group &group,
                          const ScheduleOptions &options, const Point &point,
                          std::vector<NestChoices> *choices) {
  return Scheduler(program, group, options).runAt(point, choices);
}

} // namespace kintsugi::search
