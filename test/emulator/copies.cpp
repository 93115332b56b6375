//===- copies.cpp - Asynchronous copies and who waits for them --------------===//

#include "block.h"
#include "launch.h"
#include "steps.h"

#include <cstring>

namespace kintsugi::emulator {
namespace {

uint32_t sharedAddress(Warp &warp, const Instruction &of, unsigned lane) {
  return uint32_t(warp.addressOf(of, lane) & ~windowMask);
}

/// A second address of an instruction, without its own fields.
struct Place {
  uint32_t base;
  uint8_t baseBytes;
  int64_t offset;
};

Place placeOf(Decoder &decoder, const Operand &operand) {
  Instruction other;
  decoder.address(operand, other);
  return {other.base, other.baseBytes, other.offset};
}

//===----------------------------------------------------------------------===//
// Copies of a thread
//===----------------------------------------------------------------------===//

/// From an address in register `a` with the offset `number`, `bytes` of which register `b` says
/// how many there are.
void stageStep(Warp &warp, const Instruction &of) {
  Block &block = warp.block;
  forLanes(warp.mask, [&](unsigned lane) {
    uint32_t to = sharedAddress(warp, of, lane), given = of.bytes;
    if (of.flags)
      given = std::min<uint32_t>(warp.lanes<uint32_t>(of.b)[lane], of.bytes);
    uint64_t from = warp.lanes<uint64_t>(of.a)[lane] + of.number;
    if (given == of.bytes)
      block.accessGlobal(warp, lane, from, given, false);
    else if (given > 0)
      for (uint32_t k = 0; k < given; ++k)
        block.accessGlobal(warp, lane, from + k, 1, false);
    block.complain(warp, lane, block.shared.checkPlace(to, of.bytes, of.bytes));
    block.complain(warp, lane, block.shared.startCopy(to, of.bytes, block.toucher(warp, lane)));
    warp.copies.add({lane, 0, to, from, of.bytes, given});
  });
}

void commitStep(Warp &warp, const Instruction &) {
  forLanes(warp.mask, [&](unsigned lane) { warp.copies.commit(lane); });
}

void waitStep(Warp &warp, const Instruction &of) {
  Block &block = warp.block;
  if (warp.copies.isEmpty())
    return;
  forLanes(warp.mask, [&](unsigned lane) {
    warp.copies.land(lane, uint32_t(of.number), of.flags, [&](const StagedCopies::Copy &copy) {
      std::byte *to = block.shared.at(copy.to);
      std::memcpy(to, reinterpret_cast<const void *>(copy.from), copy.given);
      std::memset(to + copy.given, 0, copy.bytes - copy.given);
      block.shared.endCopy(copy.to, copy.bytes, block.toucher(warp, lane));
    });
  });
}

void decodeStage(Decoder &decoder, Instruction &to) {
  decoder.address(decoder.operand(0), to);
  Place from = placeOf(decoder, decoder.operand(1));
  if (from.baseBytes != 8)
    decoder.fail("wants an address in a register");
  to.a = from.base;
  to.number = uint64_t(from.offset);
  to.bytes = uint8_t(decoder.integer(decoder.operand(2)));
  to.flags = decoder.has(3);
  if (to.flags)
    to.b = decoder.value(3, 4);
  to.step = &stageStep;
}

//===----------------------------------------------------------------------===//
// mbarrier
//===----------------------------------------------------------------------===//

constexpr uint32_t arrivalBytes = 8;
/// What its memory holds says nothing.
constexpr std::array<std::byte, arrivalBytes> started = {std::byte(1)}, ended = {};

/// What a thread does to one is ordered like an access of its bytes.
Arrival &touchArrival(Warp &warp, unsigned lane, uint32_t address) {
  Block &block = warp.block;
  block.complain(warp, lane, block.shared.checkPlace(address, arrivalBytes, arrivalBytes));
  block.complain(warp, lane, block.shared.read(address, arrivalBytes, block.toucher(warp, lane)));
  return block.arrivalAt(warp, lane, address);
}

void startArrivalStep(Warp &warp, const Instruction &of) {
  Block &block = warp.block;
  forLanes(warp.mask, [&](unsigned lane) {
    uint32_t address = sharedAddress(warp, of, lane);
    block.complain(warp, lane, block.shared.checkPlace(address, arrivalBytes, arrivalBytes));
    if (block.arrivals.contains(address))
      warp.fail(Fault::Failed, lane, "starts an mbarrier that is in use");
    block.complain(
        warp, lane,
        block.shared.write(address, started.data(), arrivalBytes, block.toucher(warp, lane)));
    Arrival &made = block.arrivals[address];
    made.expected = made.left = warp.lanes<uint32_t>(of.a)[lane];
  });
}

void endArrivalStep(Warp &warp, const Instruction &of) {
  forLanes(warp.mask, [&](unsigned lane) {
    uint32_t address = sharedAddress(warp, of, lane);
    if (touchArrival(warp, lane, address).bytes != 0)
      warp.fail(Fault::Failed, lane, "ends an mbarrier that still waits for bytes");
    warp.block.complain(warp, lane,
                        warp.block.shared.write(address, ended.data(), arrivalBytes,
                                                warp.block.toucher(warp, lane)));
    warp.block.arrivals.erase(address);
  });
}

void arriveStep(Warp &warp, const Instruction &of) {
  Block &block = warp.block;
  forLanes(warp.mask, [&](unsigned lane) {
    Arrival &arrival = touchArrival(warp, lane, sharedAddress(warp, of, lane));
    if (arrival.left == 0)
      warp.fail(Fault::Failed, lane, "more threads arrive than the mbarrier is for");
    warp.clock.seen[warp.number] = block.cluster.now++;
    arrival.clock.join(warp.clock);
    if (of.flags)
      arrival.bytes += warp.lanes<uint32_t>(of.a)[lane];
    --arrival.left;
    block.settle(arrival);
  });
}

/// Fails of a phase that still is on; then it is for others to go on.
void lookStep(Warp &warp, const Instruction &of) {
  uint32_t over = 0;
  forLanes(warp.mask, [&](unsigned lane) {
    Arrival &arrival = touchArrival(warp, lane, sharedAddress(warp, of, lane));
    if ((arrival.phase & 1) == (warp.lanes<uint32_t>(of.a)[lane] & 1))
      return;
    over |= uint32_t(1) << lane;
    warp.clock.join(arrival.ended);
  });
  uint32_t &to = warp.predicate(of.to);
  to = (to & ~warp.mask) | over;
  if (over != warp.mask)
    warp.yield();
}

void decodeArrival(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  if (suffixes.has("init") || suffixes.has("inval")) {
    decoder.address(decoder.operand(0), to);
    if (suffixes.has("init"))
      to.a = decoder.value(1, 4);
    to.step = suffixes.has("init") ? &startArrivalStep : &endArrivalStep;
  } else if (suffixes.has("arrive") && decoder.operand(0).kind == Operand::Kind::Sink) {
    decoder.address(decoder.operand(1), to);
    to.flags = suffixes.has("expect_tx");
    if (to.flags)
      to.a = decoder.value(2, 4);
    to.step = &arriveStep;
  } else if (suffixes.has("parity")) {
    to.to = decoder.predicate(decoder.operand(0));
    decoder.address(decoder.operand(1), to);
    to.a = decoder.value(2, 4);
    to.step = &lookStep;
  }
}

//===----------------------------------------------------------------------===//
// Copies in bulk
//===----------------------------------------------------------------------===//

TensorMap readMap(Warp &warp, unsigned lane, uint64_t address) {
  constexpr uint64_t alignment = 64, bytes = 128;
  const std::vector<std::byte> &parameters = warp.block.cluster.launch.parameters;
  auto begin = reinterpret_cast<uint64_t>(parameters.data());
  if (address < begin || address + bytes > begin + parameters.size())
    warp.fail(Fault::IllegalAddress, lane, "a tensor map that is no parameter");
  if ((address - begin) % alignment != 0)
    warp.fail(Fault::Misaligned, lane, "a tensor map at an odd address");
  TensorMap map;
  std::memcpy(&map, reinterpret_cast<const void *>(address), sizeof map);
  if (map.mark != TensorMap::isOne)
    warp.fail(Fault::InvalidValue, lane, "what it takes for a tensor map is none");
  return map;
}

/// The map's address in register `a` with the offset `number`, the mbarrier's in `b` with `offset`
/// of `target`, and the coordinates in the list.
void bulkStep(Warp &warp, const Instruction &of) {
  Block &block = warp.block;
  forLanes(warp.mask, [&](unsigned lane) {
    BulkCopy copy;
    copy.map = readMap(warp, lane, warp.lanes<uint64_t>(of.a)[lane] + of.number);
    if (copy.map.rank != of.count)
      warp.fail(Fault::InvalidValue, lane, "the tensor map is of another rank");
    if (!(warp.waited >> lane & 1))
      warp.fail(Fault::Failed, lane,
                "copies ahead of griddepcontrol.wait in a launch that starts early");
    const uint32_t *places = warp.program.lists.data() + of.list;
    for (unsigned d = 0; d < of.count; ++d)
      copy.corner[d] = warp.lanes<int32_t>(places[d])[lane];
    if (copy.map.beginsAmidChunk(copy.corner[0]))
      warp.fail(Fault::Misaligned, lane, "a box whose lines begin amid 16 bytes of the tensor's");
    copy.to = sharedAddress(warp, of, lane);
    copy.arrival = uint32_t(warp.read(of.b, of.fromBytes, lane) & ~windowMask) + of.target;
    constexpr uint32_t alignment = 128;
    uint32_t bytes = copy.map.boxBytes();
    block.complain(warp, lane, block.shared.checkPlace(copy.to, bytes, alignment));
    touchArrival(warp, lane, copy.arrival);
    block.complain(warp, lane, block.shared.startCopy(copy.to, bytes, block.toucher(warp, lane)));
    block.copies.push_back(copy);
  });
}

void nothingStep(Warp &, const Instruction &) {}

void decodeBulk(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  if (suffixes.has("prefetch")) {
    to.step = &nothingStep;
    return;
  }
  if (!suffixes.has("tensor") || !suffixes.has("mbarrier::complete_tx::bytes") ||
      suffixes.has("im2col") || suffixes.has("multicast::cluster"))
    return;
  decoder.address(decoder.operand(0), to);
  Place map = placeOf(decoder, decoder.operand(1));
  Place arrival = placeOf(decoder, decoder.operand(2));
  to.a = map.base;
  to.number = uint64_t(map.offset);
  to.b = arrival.base;
  to.fromBytes = arrival.baseBytes;
  to.target = uint32_t(arrival.offset);
  std::vector<uint32_t> places;
  for (const Operand &part : decoder.operand(1).parts)
    places.push_back(decoder.value(part, 4));
  decoder.list(places, to);
  to.step = &bulkStep;
}

void decodeCopy(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  if (suffixes.has("bulk")) {
    decodeBulk(decoder, to);
  } else if (suffixes.has("commit_group")) {
    to.step = &commitStep;
  } else if (suffixes.has("wait_group") || suffixes.has("wait_all")) {
    to.flags = suffixes.has("wait_all");
    to.number = to.flags ? 0 : decoder.integer(decoder.operand(0));
    to.step = &waitStep;
  } else if (suffixes.has("shared") && suffixes.has("global")) {
    decodeStage(decoder, to);
  }
}

/// The place in the shared memory of a block of the cluster.
void blockPlaceStep(Warp &warp, const Instruction &of) {
  forLanes(warp.mask, [&](unsigned lane) {
    uint64_t address = warp.read(of.a, of.bytes, lane);
    uint64_t rank = warp.lanes<uint32_t>(of.b)[lane];
    if (rank >= warp.block.cluster.blocks.size())
      warp.fail(Fault::Failed, lane, "there is no such block in the cluster");
    uint64_t own = address & ((1u << rankShift) - 1);
    warp.write(of.to, of.bytes, lane, (address & windowMask) | (rank + 1) << rankShift | own);
  });
}

void decodeBlockPlace(Decoder &decoder, Instruction &to) {
  to.bytes = uint8_t(bytesOf(decoder.suffixes->type()));
  to.to = decoder.result(0);
  to.a = decoder.value(1, to.bytes);
  to.b = decoder.value(2, 4);
  to.step = &blockPlaceStep;
}

} // namespace

void addCopies(DecodeTable &table) {
  table["cp"] = decodeCopy;
  table["mbarrier"] = decodeArrival;
  table["mapa"] = decodeBlockPlace;
}

} // namespace kintsugi::emulator
