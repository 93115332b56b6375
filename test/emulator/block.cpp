#include "block.h"

#include "launch.h"

#include <cstring>

namespace kintsugi::emulator {

static uint32_t step(uint32_t &random) {
  random ^= random << 13;
  random ^= random >> 17;
  return random ^= random << 5;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static uint32_t sharedBytesOf(const Program &program, const Launch &launch) {
  uint32_t declared = program.declaredBytes;
  if (program.usesOpen)
    declared =
        (declared + program.openAlignment - 1) / program.openAlignment * program.openAlignment;
  return declared + launch.openBytes;
}

Block::Block(Cluster &cluster, const Program &program, unsigned number, unsigned rank)
    : cluster(cluster), number(number), rank(rank), shared(sharedBytesOf(program, cluster.launch)),
      fences(cluster.launch.threads) {
  unsigned threads = cluster.launch.threads;
  for (unsigned first = 0; first < threads; first += warpLanes) {
    unsigned lanes = std::min(warpLanes, threads - first);
    uint32_t present = lanes == warpLanes ? allLanes : (uint32_t(1) << lanes) - 1;
    warps.push_back(std::make_unique<Warp>(*this, program, first / warpLanes, present));
  }
}

void Block::arrive(Warp &warp, unsigned id, unsigned threads) {
  if (id >= barriers.size())
    warp.fail(Fault::Failed, 0, "there is no barrier " + std::to_string(id));
  Barrier &barrier = barriers[id];
  if (barrier.warps && barrier.counted != threads)
    warp.fail(Fault::Failed, 0, "others wait at this barrier for another count of threads");
  barrier.counted = threads;
  barrier.threads += unsigned(std::popcount(warp.mask));
  barrier.warps |= uint32_t(1) << warp.number;
  warp.state = Warp::State::AtBarrier;
  warp.barrier = id;
  if (barrier.threads > wantedAt(barrier))
    warp.fail(Fault::Failed, 0, "more threads are at the barrier than it is for");
  settle(barrier);
}

unsigned Block::wantedAt(const Barrier &barrier) const {
  if (barrier.counted)
    return barrier.counted;
  unsigned all = 0;
  for (const auto &warp : warps)
    all += unsigned(std::popcount(warp->live));
  return all;
}

void Block::settle(Barrier &barrier) {
  if (barrier.threads < wantedAt(barrier))
    return;
  Clock all;
  forLanes(barrier.warps, [&](unsigned k) {
    warps[k]->clock.seen[k] = cluster.now;
    all.join(warps[k]->clock);
  });
  forLanes(barrier.warps, [&](unsigned k) {
    warps[k]->clock = all;
    warps[k]->state = Warp::State::Running;
  });
  ++cluster.now;
  barrier = {};
}

void Block::noteExit() {
  for (Barrier &barrier : barriers)
    if (barrier.warps && barrier.counted == 0)
      settle(barrier);
}

Arrival &Block::arrivalAt(Warp &warp, unsigned lane, uint32_t address) {
  auto found = arrivals.find(address);
  if (found == arrivals.end())
    warp.fail(Fault::Failed, lane, "there is no mbarrier at " + std::to_string(address));
  return found->second;
}

void Block::settle(Arrival &arrival) {
  if (arrival.left > 0 || arrival.bytes != 0)
    return;
  ++arrival.phase;
  arrival.left = arrival.expected;
  arrival.ended = arrival.clock;
  ++cluster.now;
}

Toucher Block::toucher(const Warp &warp, unsigned lane) const {
  unsigned thread = warp.threadOf(lane);
  return {warp.clock, thread, cluster.now, fences[thread]};
}

void Block::complain(Warp &warp, unsigned lane, const SharedMemory::Complaint &complaint) const {
  if (complaint)
    warp.fail(Fault::Failed, lane, *complaint);
}

static bool isShared(uint64_t address) { return (address & windowMask) == sharedWindow; }
static bool isLocal(uint64_t address) { return (address & windowMask) == localWindow; }

const std::byte *Block::load(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes) {
  if (isShared(address))
    return loadShared(warp, lane, address & ~windowMask, bytes);
  return isLocal(address) ? accessLocal(warp, lane, address, bytes)
                          : accessGlobal(warp, lane, address, bytes, false);
}

void Block::store(Warp &warp, unsigned lane, uint64_t address, const std::byte *data,
                  uint32_t bytes) {
  if (isShared(address)) {
    uint32_t own = ownShared(warp, lane, address & ~windowMask, bytes);
    complain(warp, lane, shared.write(own, data, bytes, toucher(warp, lane)));
    return;
  }
  std::memcpy(isLocal(address) ? accessLocal(warp, lane, address, bytes)
                               : accessGlobal(warp, lane, address, bytes, true),
              data, bytes);
}

std::byte *Block::change(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes) {
  if (!isShared(address))
    return accessGlobal(warp, lane, address, bytes, true);
  uint32_t own = ownShared(warp, lane, address & ~windowMask, bytes);
  shared.change(own, bytes, toucher(warp, lane));
  return shared.at(own);
}

std::byte *Block::accessLocal(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes) const {
  uint64_t place = address & ~windowMask, all = warp.program.localBytes;
  if (place > all || bytes > all - place)
    warp.fail(Fault::IllegalAddress, lane, "reaches past the end of local memory");
  if (place % bytes != 0)
    warp.fail(Fault::Misaligned, lane, "the address is no multiple of " + std::to_string(bytes));
  return warp.local.data() + all * lane + place;
}

uint32_t Block::ownShared(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes) {
  uint64_t place = address >> rankShift; // 0: this block.
  if (place != 0 && place != rank + 1)
    warp.fail(Fault::Failed, lane, "changes another block's shared memory");
  auto own = uint32_t(address & ((1u << rankShift) - 1));
  complain(warp, lane, shared.checkPlace(own, bytes, bytes));
  return own;
}

std::byte *Block::accessGlobal(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes,
                               bool writes) {
  auto *place = reinterpret_cast<std::byte *>(address);
  auto fails = [&](Fault::Code code, const std::string &what) {
    warp.fail(code, lane, std::to_string(bytes) + " bytes at an address that " + what);
  };
  if (address % bytes != 0)
    fails(Fault::Misaligned, "is no multiple of that");
  const std::vector<std::byte> &parameters = cluster.launch.parameters;
  Range own{reinterpret_cast<uint64_t>(parameters.data()),
            reinterpret_cast<uint64_t>(parameters.data() + parameters.size())};
  if (own.holds(address, bytes))
    return place;
  if (!(warp.waited >> lane & 1))
    warp.fail(Fault::Failed, lane,
              "touches memory ahead of griddepcontrol.wait in a launch that starts early");
  constexpr uint64_t chunk = 16;
  auto holds = [&](Range range) {
    if (!writes)
      range.end = (range.end + chunk - 1) / chunk * chunk;
    return range.begin != 0 && range.holds(address, bytes);
  };
  for (const Range &range : known)
    if (holds(range))
      return place;
  Range found = cluster.launch.memory.find(address);
  if (!holds(found))
    fails(Fault::IllegalAddress, cluster.launch.memory.describe(address));
  known[nextKnown++ % known.size()] = found;
  return place;
}

const std::byte *Block::loadShared(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes) {
  auto own = uint32_t(address & ((1u << rankShift) - 1));
  uint64_t place = address >> rankShift; // 0: this block.
  if (place > cluster.blocks.size())
    warp.fail(Fault::IllegalAddress, lane, "there is no such block in the cluster");
  Block &from = place == 0 ? *this : *cluster.blocks[place - 1];
  complain(warp, lane, from.shared.checkPlace(own, bytes, bytes));
  Toucher by = toucher(warp, lane);
  complain(warp, lane,
           &from == this ? shared.read(own, bytes, by) : from.shared.readFromAfar(own, bytes, by));
  return from.shared.at(own);
}

bool Block::isDone() const {
  return std::all_of(warps.begin(), warps.end(),
                     [](const auto &warp) { return warp->state == Warp::State::Done; });
}

std::string Block::describe() const {
  std::string text;
  for (const auto &warp : warps) {
    text += "; warp " + std::to_string(warp->number) + " ";
    switch (warp->state) {
    case Warp::State::Done:
      text += "has ended";
      break;
    case Warp::State::AtBarrier: {
      const Barrier &barrier = barriers[warp->barrier];
      text += "waits at barrier " + std::to_string(warp->barrier) + " with " +
              std::to_string(barrier.threads) + " of " + std::to_string(wantedAt(barrier)) +
              " threads";
      break;
    }
    case Warp::State::AtCluster:
      text += "waits for the cluster";
      break;
    case Warp::State::Running:
      text += "is at " + warp->describe();
    }
  }
  for (const auto &[address, arrival] : arrivals)
    if (arrival.bytes != 0)
      text += "; the mbarrier at " + std::to_string(address) + " expects " +
              std::to_string(arrival.bytes) + " bytes more than come";
  return text;
}

void Block::checkEnd() const {
  auto fails = [&](const Warp &warp, const char *what) {
    warp.fail(Fault::Failed, 0, std::string("ends while ") + what);
  };
  if (!copies.empty())
    fails(*warps.front(), "bulk copies are under way");
  for (const auto &warp : warps) {
    if (!warp->copies.isEmpty())
      fails(*warp, "asynchronous copies are under way");
    if (!warp->products.isEmpty())
      fails(*warp, "products are under way");
  }
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

Cluster::Cluster(Launch &launch, unsigned first, unsigned width)
    : launch(launch), random(launch.habits.seed * 2654435761u + first * 40503u + 1) {
  for (unsigned rank = 0; rank < width; ++rank)
    blocks.push_back(std::make_unique<Block>(*this, launch.program, first + rank, rank));
}

bool Cluster::isDone() const {
  return std::all_of(blocks.begin(), blocks.end(),
                     [](const auto &block) { return block->isDone(); });
}

void Cluster::arrive(Warp &warp) {
  warp.state = Warp::State::AtCluster;
  unsigned all = 0;
  for (const auto &block : blocks)
    all += unsigned(block->warps.size());
  if (++warpsThatWait < all)
    return;
  warpsThatWait = 0;
  for (const auto &block : blocks) {
    Clock joined;
    for (const auto &each : block->warps) {
      each->clock.seen[each->number] = now;
      joined.join(each->clock);
    }
    joined.cluster = now;
    for (const auto &each : block->warps) {
      each->clock = joined;
      each->state = Warp::State::Running;
    }
  }
  ++now;
}

bool Cluster::runRound() {
  constexpr uint64_t share = 4096, few = 64;
  bool progress = false;
  idle = true;
  size_t turn = step(random);
  for (size_t i = 0; i < blocks.size(); ++i) {
    Block &block = *blocks[(i + turn) % blocks.size()];
    for (size_t k = 0; k < block.warps.size(); ++k) {
      Warp &warp = *block.warps[(k + turn) % block.warps.size()];
      if (warp.state != Warp::State::Running)
        continue;
      uint64_t executed = warp.run(1 + step(random) % share);
      bool looked = warp.hasYielded() && executed < few;
      progress = true;
      idle &= looked;
    }
  }
  if (progress && !idle)
    return true;
  // Copies come as late as they may: when nobody has anything else to do.
  for (const auto &block : blocks)
    if (block->land(step(random))) {
      idle = false;
      return true;
    }
  return progress;
}

} // namespace kintsugi::emulator
