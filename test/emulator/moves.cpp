//===- moves.cpp - Copies of registers, special registers, addresses --------===//

#include "block.h"
#include "launch.h"
#include "steps.h"

#include <chrono>

namespace kintsugi::emulator {
namespace {

template <typename T> void moveStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a);
  compute<T>(warp, of.to, [=](unsigned lane) { return a[lane]; });
  if constexpr (sizeof(T) == 4)
    if (!warp.products.isEmpty() && PendingProducts::isMark(a[0]))
      warp.products.noteMove(a[0], of.to);
}

void movePredicateStep(Warp &warp, const Instruction &of) {
  uint32_t &to = warp.predicate(of.to);
  uint32_t from = of.flags ? uint32_t(of.number) : warp.predicate(of.a);
  to = (to & ~warp.mask) | (from & warp.mask);
}

/// Registers of a list, of `fromBytes` each, to one; or one to those.
void packStep(Warp &warp, const Instruction &of) {
  const uint32_t *parts = warp.program.lists.data() + of.list;
  forLanes(warp.mask, [&](unsigned lane) {
    uint64_t value = 0;
    for (unsigned k = 0; k < of.count; ++k)
      value |= warp.read(parts[k], of.fromBytes, lane) << (8 * of.fromBytes * k);
    warp.write(of.to, of.bytes, lane, value);
  });
}

void unpackStep(Warp &warp, const Instruction &of) {
  const uint32_t *parts = warp.program.lists.data() + of.list;
  forLanes(warp.mask, [&](unsigned lane) {
    uint64_t value = warp.read(of.a, of.fromBytes, lane);
    for (unsigned k = 0; k < of.count; ++k)
      warp.write(parts[k], of.bytes, lane, value >> (8 * of.bytes * k));
  });
}

enum class Special : uint8_t {
  Thread,
  Threads,
  Block,
  Blocks,
  Lane,
  Warp,
  RankInCluster,
  BlocksInCluster,
  Cluster,
  Clusters,
  LanesBelow,
  LanesUpTo,
  LanesAbove,
  Time,
  Zero,
  One
};

const std::unordered_map<std::string_view, Special> specials = {
    {"%tid.x", Special::Thread},
    {"%ntid.x", Special::Threads},
    {"%ctaid.x", Special::Block},
    {"%nctaid.x", Special::Blocks},
    {"%laneid", Special::Lane},
    {"%warpid", Special::Warp},
    {"%cluster_ctarank", Special::RankInCluster},
    {"%cluster_ctaid.x", Special::RankInCluster},
    {"%cluster_nctarank", Special::BlocksInCluster},
    {"%cluster_nctaid.x", Special::BlocksInCluster},
    {"%clusterid.x", Special::Cluster},
    {"%nclusterid.x", Special::Clusters},
    {"%lanemask_lt", Special::LanesBelow},
    {"%lanemask_le", Special::LanesUpTo},
    {"%lanemask_gt", Special::LanesAbove},
    {"%globaltimer", Special::Time},
    {"%clock", Special::Time},
    {"%clock64", Special::Time},
    {"%tid.y", Special::Zero},
    {"%tid.z", Special::Zero},
    {"%ctaid.y", Special::Zero},
    {"%ctaid.z", Special::Zero},
    {"%ntid.y", Special::One},
    {"%ntid.z", Special::One},
    {"%nctaid.y", Special::One},
    {"%nctaid.z", Special::One}};

uint64_t valueOf(Warp &warp, Special special, unsigned lane) {
  const Block &block = warp.block;
  const Launch &launch = block.cluster.launch;
  auto width = unsigned(block.cluster.blocks.size());
  switch (special) {
  case Special::Thread:
    return warp.threadOf(lane);
  case Special::Threads:
    return launch.threads;
  case Special::Block:
    return block.number;
  case Special::Blocks:
    return launch.blocks;
  case Special::Lane:
    return lane;
  case Special::Warp:
    return warp.number;
  case Special::RankInCluster:
    return block.rank;
  case Special::BlocksInCluster:
    return width;
  case Special::Cluster:
    return block.number / width;
  case Special::Clusters:
    return launch.blocks / width;
  case Special::LanesBelow:
    return (uint32_t(1) << lane) - 1;
  case Special::LanesUpTo:
    return (uint64_t(2) << lane) - 1;
  case Special::LanesAbove:
    return uint32_t(-(uint64_t(2) << lane));
  case Special::Time:
    return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
  case Special::Zero:
    return 0;
  case Special::One:
    return 1;
  }
  return 0;
}

void specialStep(Warp &warp, const Instruction &of) {
  forLanes(warp.mask, [&](unsigned lane) {
    warp.write(of.to, of.bytes, lane, valueOf(warp, Special(of.way), lane));
  });
}

/// The address of a parameter, which is the host's.
void parameterAddressStep(Warp &warp, const Instruction &of) {
  auto begin = reinterpret_cast<uint64_t>(warp.block.cluster.launch.parameters.data());
  forLanes(warp.mask, [&](unsigned lane) { warp.write(of.to, 8, lane, begin + of.number); });
}

void decodePack(Decoder &decoder, Instruction &to, unsigned bytes) {
  const std::vector<Operand> &parts = decoder.operand(1).parts;
  to.bytes = uint8_t(bytes);
  to.fromBytes = uint8_t(bytes / parts.size());
  to.to = decoder.result(0);
  std::vector<uint32_t> places;
  for (const Operand &part : parts)
    places.push_back(decoder.value(part, to.fromBytes));
  decoder.list(places, to);
  to.step = &packStep;
}

void decodeUnpack(Decoder &decoder, Instruction &to, unsigned bytes) {
  const std::vector<Operand> &parts = decoder.operand(0).parts;
  to.fromBytes = uint8_t(bytes);
  to.bytes = uint8_t(bytes / parts.size());
  to.a = decoder.value(1, bytes);
  std::vector<uint32_t> places;
  for (const Operand &part : parts)
    places.push_back(decoder.result(part));
  decoder.list(places, to);
  to.step = &unpackStep;
}

void decodePredicateMove(Decoder &decoder, Instruction &to) {
  to.to = decoder.predicate(decoder.operand(0));
  to.step = &movePredicateStep;
  if (decoder.operand(1).kind != Operand::Kind::Number) {
    to.a = decoder.predicate(decoder.operand(1));
    return;
  }
  to.flags = 1;
  to.number = decoder.operand(1).bits ? allLanes : 0;
}

void decodeMove(Decoder &decoder, Instruction &to) {
  Type type = decoder.suffixes->type();
  if (type == Type::Pred)
    return decodePredicateMove(decoder, to);
  unsigned bytes = bytesOf(type);
  const Operand &from = decoder.operand(1);
  if (decoder.operand(0).kind == Operand::Kind::Vector)
    return decodeUnpack(decoder, to, bytes);
  if (from.kind == Operand::Kind::Vector)
    return decodePack(decoder, to, bytes);
  uint32_t parameter = 0;
  if (auto special = specials.find(from.name);
      from.kind == Operand::Kind::Name && special != specials.end()) {
    to.to = decoder.result(0);
    to.bytes = uint8_t(bytes);
    to.way = uint8_t(special->second);
    to.step = &specialStep;
  } else if (from.kind == Operand::Kind::Name && decoder.isParameter(from, parameter)) {
    to.to = decoder.result(0);
    to.number = parameter;
    to.step = &parameterAddressStep;
  } else {
    setOperands(decoder, to, bytes, 1);
    to.step = bytes == 2   ? &moveStep<uint16_t>
              : bytes == 4 ? &moveStep<uint32_t>
                           : &moveStep<uint64_t>;
  }
}

/// Between an address of a space and a generic one.
void windowStep(Warp &warp, const Instruction &of) {
  const auto *a = warp.lanes<uint64_t>(of.a);
  compute<uint64_t>(warp, of.to, [=](unsigned lane) {
    return of.flags ? a[lane] & ~windowMask : a[lane] | of.number;
  });
}

void decodeWindow(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  bool isShared = suffixes.has("shared"), isLocal = suffixes.has("local");
  uint32_t parameter = 0;
  if (suffixes.has("param") && decoder.isParameter(decoder.operand(1), parameter)) {
    to.to = decoder.result(0);
    to.number = parameter;
    to.step = &parameterAddressStep;
    return;
  }
  setOperands(decoder, to, 8, 1);
  if (!isShared && !isLocal) {
    to.step = &moveStep<uint64_t>;
    return;
  }
  to.flags = suffixes.has("to");
  to.number = isShared ? sharedWindow : localWindow;
  to.step = &windowStep;
}

} // namespace

void addMoves(DecodeTable &table) {
  table["mov"] = decodeMove;
  table["cvta"] = decodeWindow;
}

} // namespace kintsugi::emulator
