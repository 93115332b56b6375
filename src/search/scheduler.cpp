#include "search/scheduler.h"

#include "cost/block_seconds.h"
#include "cost/streams.h"
#include "cost/tile_seconds.h"
#include "cost/traffic.h"
#include "loops/block_registers.h"
#include "loops/bounds.h"
#include "loops/scratch.h"
#include "loops/tiling.h"
#include "search/block.h"
#include "search/choice_memo.h"
#include "search/matrix.h"
#include "search/registers.h"
#include "search/streamed_softmax.h"
#include "search/tile_search.h"
#include "search/transforms.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>
#include <numeric>

namespace kintsugi::search {

using namespace cost;
using namespace loops;
using namespace te;

namespace {

class Scheduler {
public:
  Scheduler(const Program &program, const Group &group, const ScheduleOptions &options)
      : program(program), values(program), group(group), options(options),
        memo(options.choiceMemo ? *options.choiceMemo : ownMemo),
        members(fuse(program, group, {.fillsAreFree = options.inBlocks()})) {
    unit.bits = options.scalar ? 0 : options.machine.vectorBits;
    unit.registers = options.machine.vectorRegisters;
    unit.multiplyAdds = options.machine.multiplyAdds;
    unit.nearestBytes = options.machine.levels.back().bytes;
    unit.nearBytes = options.machine.nearBytes();
    unit.nearRate = options.machine.near().bytesPerSecond / cyclesPerSecond(options.machine);
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
           llvm::all_of(llvm::zip_equal(point.sizes, members.back().parallel),
                        [](const auto &pair) {
                          const auto &[size, iterator] = pair;
                          return size >= 1 && size <= iterator.extent.constant();
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
      chooseStreams(*result.schedule, group.constants, options.machine);
    result.computeSeconds = best->computeSeconds;
    result.point = std::move(best->point);
    return result;
  }

  /// The best tiling of the members as they are.
  std::optional<Trial> search() {
    auto attempt = [&](const TileSizes &sizes, double most) { return this->attempt(sizes, most); };
    TileSearch search(options, members, {!packable.empty(), changesOrder}, !group.open.empty(),
                      attempt);
    return search.run(worthCutting);
  }

  /// The members and their tiling become `trial`'s if that is better, or if the point says so.
  void tryMembers(std::vector<Member> trial, TransformOffer offer, std::optional<Trial> &best) {
    std::swap(members, trial);
    taken.push_back(offer);
    bool isTaken = wanted && llvm::is_contained(wanted->transforms, offer);
    if (!wanted) {
      std::optional<Trial> tried = search();
      isTaken = isBetter(tried, best);
      if (isTaken)
        best = std::move(tried);
    }
    if (isTaken)
      return;
    taken.pop_back();
    std::swap(members, trial);
  }

  /// With the best number of threads, where a tile is a block's. Where it is a worker's: nothing,
  /// once it is known to take `most` seconds.
  std::optional<Trial> attempt(const TileSizes &sizes, double most = INFINITY) {
    std::optional<Tiling> tiling =
        tilingOf({values, members, group.constants, packable, transposed},
                 {options.scalar, options.inBlocks(), options.packing}, sizes, reason);
    if (!tiling)
      return std::nullopt;
    if (!options.inBlocks())
      return attemptWith(*tiling, sizes, 0, most);
    constexpr double enough = 0.98;
    std::optional<Trial> best;
    for (int threads : {128, 256, 512, 1024}) {
      if (wanted && wanted->threads && wanted->threads != threads)
        continue;
      std::optional<Trial> trial =
          attemptWith(*tiling, sizes, threads, best ? best->computeSeconds * enough : INFINITY);
      if (!trial && !best && mayStreamSoftmax(members))
        continue; // One loop may want more warps than these, and needs less scratch than nests.
      if (!trial)
        break;
      if (best && trial->computeSeconds >= best->computeSeconds * enough)
        break;
      best = std::move(trial);
    }
    return best;
  }

  /// What is known to take `most` seconds before all of it is chosen is of no interest, unless
  /// whoever asks wants to hear of it.
  std::optional<Trial> attemptWith(const Tiling &tiling, const TileSizes &sizes, int threads,
                                   double most) {
    bool mayStop = !choices && !allTried;
    Trial trial;
    Schedule &schedule = trial.schedule;
    schedule = tiling.schedule;
    schedule.threads = threads;
    if (choices)
      choices->clear();
    BlockCycles inBlock;
    BlockLimits limits = limitsOf(tiling);
    std::vector<LoopNest> parts = tiling.parts;
    llvm::SmallVector<double> cycles;
    if (!threads && !setRegisters(parts, schedule, cycles, mayStop ? most : INFINITY, sizes))
      return std::nullopt;
    for (size_t number = 0; number < tiling.parts.size(); ++number) {
      if (threads && appendStreamed(tiling, number, schedule, inBlock)) {
        number += 3;
        continue;
      }
      LoopNest &part = parts[number];
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
        if (mayStop && leastSecondsInBlocks(schedule.tiles(), tiling.parts.size(), threads, inBlock,
                                            options.machine) >= most)
          return std::nullopt;
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
      schedule.registers = registersOf(schedule);
      Traffic(schedule, options.machine).count(schedule, group.constants, options.coldConstants);
      trial.computeSeconds = secondsInBlocks(schedule, inBlock, options.machine);
      note(trial, sizes, {});
      return trial;
    }
    for (auto [nest, each] : llvm::zip_equal(schedule.nests, cycles))
      each *= schedule.runsOf(nest, options.machine.cores) / double(schedule.tiles());
    Traffic traffic(schedule, options.machine);
    traffic.count(schedule, group.constants, options.coldConstants);
    trial.computeSeconds =
        secondsInTiles(schedule, traffic, cycles, options.machine) * shareOfSizes(sizes, schedule);
    note(trial, sizes, cycles);
    return trial;
  }

  /// How many runs, of one of each size, need so many pieces of rows.
  using Pieces = std::map<int64_t, double>;

  /// What runs of the sizes take in the mean of what one of the greatest takes: tiles behind a size
  /// are left out.
  double shareOfSizes(const TileSizes &sizes, const Schedule &schedule) const {
    llvm::ArrayRef<Iterator> iterators = members.back().parallel;
    Pieces needed = {{1, 1}};
    int64_t others = schedule.tiles();
    for (const OpenRows &open : group.open) {
      if (changesOrder || open.dimension >= iterators.size() ||
          iterators[open.dimension].extent.constant() != open.each * open.high)
        continue;
      int64_t size = sizes[open.dimension];
      others /= llvm::divideCeil(open.each * open.high, size);
      // Of the second's sizes some are enough.
      const int64_t stride =
          needed.size() == 1 ? 1 : llvm::divideCeil(open.high - open.low + 1, int64_t(32));
      Pieces all;
      for (int64_t steps = open.high; steps >= open.low; steps -= stride)
        for (auto [pieces, runs] : needed)
          all[pieces * llvm::divideCeil(steps * open.each, size)] += runs;
      needed = std::move(all);
    }
    auto roundsOf = [&](int64_t pieces) {
      return double(llvm::divideCeil(others * pieces, options.machine.cores));
    };
    double sum = 0, runs = 0;
    for (auto [pieces, ofThem] : needed) {
      sum += ofThem * roundsOf(pieces);
      runs += ofThem;
    }
    return sum / runs / roundsOf(needed.rbegin()->first);
  }

  /// Blocks share a tile where nothing but the product is done for it.
  BlockLimits limitsOf(const Tiling &tiling) const {
    unsigned blocks = tiling.parts.size() == 1 ? options.clusterBlocks : 1;
    return {options.scratchLimit,  options.ringLimit,   options.bulk, blocks,
            options.machine.cores, options.machine.core};
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

  /// Chooses those of all nests, and says what each takes. False where the point names what none
  /// has, or where nests that no tile does for another take `most` seconds already: these are
  /// first.
  bool setRegisters(std::vector<LoopNest> &nests, const Schedule &schedule,
                    llvm::SmallVectorImpl<double> &cycles, double most, const TileSizes &sizes) {
    constexpr double rounding = 1e-9;
    auto isShared = [&](const LoopNest &nest) {
      return llvm::none_of(nest.destinations, [&](unsigned destination) {
        return schedule.buffers[destination].home == Home::Memory;
      });
    };
    if (choices)
      choices->resize(nests.size());
    cycles.assign(nests.size(), 0);
    for (bool shared : {false, true}) {
      for (auto [number, nest] : llvm::enumerate(nests)) {
        if (isShared(nest) != shared)
          continue;
        std::optional<double> each = setRegisters(nest, number, schedule);
        if (!each)
          return false;
        cycles[number] = *each;
      }
      if (!shared && most < INFINITY &&
          leastSecondsInTiles(schedule.tiles(), cycles, options.machine) *
                  shareOfSizes(sizes, schedule) * (1 - rounding) >=
              most)
        return false;
    }
    return true;
  }

  /// The cycles with the registers that the point names, or else the best.
  std::optional<double> setRegisters(LoopNest &nest, size_t number, const Schedule &schedule) {
    constexpr size_t mostChoices = 32;
    if (choices)
      llvm::append_range((*choices)[number].registers,
                         bestRegisters(nest, schedule.space, schedule.buffers, unit, mostChoices));
    if (wanted && number < wanted->registers.size() && wanted->registers[number]) {
      const auto *tile = std::get_if<RegisterTile>(&*wanted->registers[number]);
      return tile ? takeRegisters(nest, schedule.space, schedule.buffers, unit, *tile)
                  : std::nullopt;
    }
    return chooseRegisters(nest, schedule.space, schedule.buffers, unit, memo);
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

  const Program &program;
  GroupValues values;
  const Group &group;
  const ScheduleOptions &options;
  ChoiceMemo ownMemo, &memo;
  std::vector<Member> members;
  VectorUnit unit;
  llvm::SmallVector<ValueId> packable;   ///< Copies that may be packed.
  llvm::SmallVector<ValueId> transposed; ///< Copies that are read across their rows.
  bool changesOrder = false;             ///< As the transform that is tried says.
  std::optional<bool> worthCutting;
  std::string reason;

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
