//===- exchanges.cpp - What lanes of a warp tell each other -----------------===//

#include "block.h"
#include "steps.h"

#include <cstring>

namespace kintsugi::emulator {
namespace {

/// The lanes that an operand names; false where they have to come first.
bool lanesMeet(Warp &warp, uint32_t place, uint32_t &lanes) {
  unsigned first = unsigned(std::countr_zero(warp.mask));
  lanes = warp.lanes<uint32_t>(place)[first];
  if (!(lanes >> first & 1))
    warp.fail(Fault::Failed, first, "a lane exchanges that is not among those it names");
  if (!warp.meets(lanes))
    return false;
  if ((warp.mask & lanes) != (lanes & warp.live))
    warp.fail(Fault::Failed, first, "some of the lanes that exchange are not here");
  return true;
}

enum class Way : uint8_t { up, down, butterfly, index };

/// The lane that another reads from; `inside`: whether it is of the same segment.
unsigned sourceOf(Way way, unsigned lane, uint32_t by, uint32_t bounds, bool &inside) {
  unsigned segments = bounds >> 8 & 31, clamp = bounds & 31;
  unsigned last = (lane & segments) | (clamp & ~segments), first = lane & segments;
  unsigned from = lane;
  switch (way) {
  case Way::up:
    inside = int(lane) - int(by) >= int(last);
    from = lane - by;
    break;
  case Way::down:
    inside = lane + by <= last;
    from = lane + by;
    break;
  case Way::butterfly:
    from = lane ^ by;
    inside = from <= last;
    break;
  case Way::index:
    from = first | (by & ~segments);
    inside = from <= last;
    break;
  }
  return inside ? from : lane;
}

void shuffleStep(Warp &warp, const Instruction &of) {
  uint32_t lanes = 0;
  if (!lanesMeet(warp, of.d, lanes))
    return;
  uint32_t values[warpLanes], found = 0;
  std::memcpy(values, warp.lanes<uint32_t>(of.a), sizeof values);
  forLanes(warp.mask, [&](unsigned lane) {
    bool inside = false;
    unsigned from = sourceOf(Way(of.way), lane, warp.lanes<uint32_t>(of.b)[lane] & 31,
                             warp.lanes<uint32_t>(of.c)[lane], inside);
    if (!(lanes & warp.live) || !((lanes & warp.live) >> from & 1))
      warp.fail(Fault::Failed, lane,
                "reads lane " + std::to_string(from) + ", which takes no part");
    warp.lanes<uint32_t>(of.to)[lane] = values[from];
    found |= uint32_t(inside) << lane;
  });
  if (of.second != noRegister) {
    uint32_t &second = warp.predicate(of.second);
    second = (second & ~warp.mask) | found;
  }
}

void decodeShuffle(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  const Operand &result = decoder.operand(0);
  to.to = decoder.result(result);
  if (!result.second.empty()) {
    Operand second = result;
    second.name = result.second;
    to.second = decoder.predicate(second);
  }
  to.a = decoder.value(1, 4);
  to.b = decoder.value(2, 4);
  to.c = decoder.value(3, 4);
  to.d = decoder.value(4, 4);
  to.isFloating = true;
  to.way = uint8_t(suffixes.has("up")     ? Way::up
                   : suffixes.has("down") ? Way::down
                   : suffixes.has("bfly") ? Way::butterfly
                                          : Way::index);
  to.step = suffixes.has("sync") ? &shuffleStep : nullptr;
}

enum class Vote : uint8_t { all, any, uniform, ballot };

void voteStep(Warp &warp, const Instruction &of) {
  uint32_t lanes = 0;
  if (!lanesMeet(warp, of.b, lanes))
    return;
  uint32_t taking = lanes & warp.live, holds = warp.predicate(of.a);
  if (of.flags)
    holds = ~holds;
  holds &= taking;
  if (Vote(of.way) == Vote::ballot) {
    forLanes(warp.mask, [&](unsigned lane) { warp.write(of.to, 4, lane, holds); });
    return;
  }
  bool result = Vote(of.way) == Vote::all   ? holds == taking
                : Vote(of.way) == Vote::any ? holds != 0
                                            : holds == taking || holds == 0;
  uint32_t &to = warp.predicate(of.to);
  to = (to & ~warp.mask) | (result ? warp.mask : 0);
}

void decodeVote(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  to.way = uint8_t(suffixes.has("ballot") ? Vote::ballot
                   : suffixes.has("all")  ? Vote::all
                   : suffixes.has("any")  ? Vote::any
                                          : Vote::uniform);
  to.to = decoder.result(0);
  to.a = decoder.predicate(decoder.operand(1));
  to.flags = decoder.operand(1).isNegated;
  to.b = decoder.value(2, 4);
  to.step = suffixes.has("sync") ? &voteStep : nullptr;
}

/// Lanes with the same value.
template <typename T> void matchStep(Warp &warp, const Instruction &of) {
  uint32_t lanes = 0;
  if (!lanesMeet(warp, of.b, lanes))
    return;
  T values[warpLanes];
  std::memcpy(values, warp.lanes<T>(of.a), sizeof values);
  forLanes(warp.mask, [&](unsigned lane) {
    uint32_t same = 0;
    forLanes(lanes & warp.live,
             [&](unsigned other) { same |= uint32_t(values[other] == values[lane]) << other; });
    warp.write(of.to, 4, lane, same);
  });
}

void decodeMatch(Decoder &decoder, Instruction &to) {
  unsigned bytes = bytesOf(decoder.suffixes->type());
  to.to = decoder.result(0);
  to.a = decoder.value(1, bytes);
  to.b = decoder.value(2, 4);
  if (decoder.suffixes->has("any"))
    to.step = bytes == 8 ? &matchStep<uint64_t> : &matchStep<uint32_t>;
}

enum class Joining : uint8_t { add, min, max, bitAnd, bitOr, bitXor };

template <typename T> void reduceStep(Warp &warp, const Instruction &of) {
  uint32_t lanes = 0;
  if (!lanesMeet(warp, of.b, lanes))
    return;
  const T *values = warp.lanes<T>(of.a);
  T result = values[std::countr_zero(lanes & warp.live)];
  uint32_t others = lanes & warp.live;
  forLanes(others & (others - 1), [&](unsigned lane) {
    T value = values[lane];
    switch (Joining(of.way)) {
    case Joining::add:
      result = T(uint32_t(result) + uint32_t(value));
      break;
    case Joining::min:
      result = std::min(result, value);
      break;
    case Joining::max:
      result = std::max(result, value);
      break;
    case Joining::bitAnd:
      result &= value;
      break;
    case Joining::bitOr:
      result |= value;
      break;
    case Joining::bitXor:
      result ^= value;
      break;
    }
  });
  forLanes(warp.mask, [&](unsigned lane) { warp.write(of.to, 4, lane, uint32_t(result)); });
}

void decodeReduce(Decoder &decoder, Instruction &to) {
  constexpr std::string_view ways[] = {"add", "min", "max", "and", "or", "xor"};
  to.to = decoder.result(0);
  to.a = decoder.value(1, 4);
  to.b = decoder.value(2, 4);
  while (to.way < std::size(ways) && !decoder.suffixes->has(ways[to.way]))
    ++to.way;
  if (to.way < std::size(ways))
    to.step = isSigned(decoder.suffixes->type()) ? &reduceStep<int32_t> : &reduceStep<uint32_t>;
}

void electStep(Warp &warp, const Instruction &of) {
  uint32_t lanes = 0;
  if (!lanesMeet(warp, of.a, lanes))
    return;
  auto leader = unsigned(std::countr_zero(lanes & warp.live));
  uint32_t &to = warp.predicate(of.second);
  to = (to & ~warp.mask) | (uint32_t(1) << leader & warp.mask);
  if (of.to != noRegister)
    forLanes(warp.mask, [&](unsigned lane) { warp.write(of.to, 4, lane, leader); });
}

void decodeElect(Decoder &decoder, Instruction &to) {
  Operand second = decoder.operand(0);
  second.kind = Operand::Kind::Name;
  second.name = second.second;
  to.to = decoder.result(0);
  to.second = decoder.predicate(second);
  to.a = decoder.value(1, 4);
  to.step = &electStep;
}

void activeStep(Warp &warp, const Instruction &of) {
  forLanes(warp.mask, [&](unsigned lane) { warp.write(of.to, 4, lane, warp.active); });
}

} // namespace

void addExchanges(DecodeTable &table) {
  table["shfl"] = decodeShuffle;
  table["vote"] = decodeVote;
  table["match"] = decodeMatch;
  table["redux"] = decodeReduce;
  table["elect"] = decodeElect;
  table["activemask"] = [](Decoder &decoder, Instruction &to) {
    to.to = decoder.result(0);
    to.step = &activeStep;
  };
}

} // namespace kintsugi::emulator
