//===- control.cpp - Branches, waits and fences -----------------------------===//

#include "block.h"
#include "launch.h"
#include "steps.h"

namespace kintsugi::emulator {
namespace {

void nothingStep(Warp &, const Instruction &) {}

void branchStep(Warp &warp, const Instruction &of) { warp.branch(of.target); }

void exitStep(Warp &warp, const Instruction &) { warp.exit(); }

void trapStep(Warp &warp, const Instruction &) {
  warp.fail(Fault::Failed, unsigned(std::countr_zero(warp.mask)), "is a trap");
}

/// All threads of a warp come to a wait together; those that never do are what it fails of.
void barrierStep(Warp &warp, const Instruction &of) {
  if (!warp.meets(allLanes))
    return;
  if (warp.mask != warp.live)
    warp.fail(Fault::Failed, 0, "only some threads of the warp wait here");
  warp.mask = warp.active;
  auto id = warp.lanes<uint32_t>(of.a)[0];
  warp.block.arrive(warp, id, of.flags ? warp.lanes<uint32_t>(of.b)[0] : 0);
}

void warpBarrierStep(Warp &warp, const Instruction &of) {
  if (!warp.meets(warp.lanes<uint32_t>(of.a)[std::countr_zero(warp.mask)]))
    return;
  warp.clock.seen[warp.number] = warp.block.cluster.now++;
}

void decodeBarrier(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  if (suffixes.has("warp")) {
    to.a = decoder.value(0, 4);
    to.step = &warpBarrierStep;
    return;
  }
  if (!suffixes.has("sync"))
    return;
  to.a = decoder.value(0, 4);
  to.flags = decoder.has(1);
  if (to.flags)
    to.b = decoder.value(1, 4);
  to.step = &barrierStep;
}

void clusterArriveStep(Warp &warp, const Instruction &) { (void)warp.meets(allLanes); }

void clusterWaitStep(Warp &warp, const Instruction &) {
  if (warp.meets(allLanes))
    warp.block.cluster.arrive(warp);
}

void decodeClusterBarrier(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  if (!suffixes.has("cluster"))
    return decodeBarrier(decoder, to);
  to.step = suffixes.has("wait") ? &clusterWaitStep : &clusterArriveStep;
}

/// What threads wrote is there for units that read past the threads.
void proxyFenceStep(Warp &warp, const Instruction &) {
  forLanes(warp.mask, [&](unsigned lane) { ++warp.block.fences[warp.threadOf(lane)]; });
}

void decodeFence(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  bool isOfProxy =
      (suffixes.has("proxy") && suffixes.has("async")) || suffixes.has("mbarrier_init");
  to.step = isOfProxy ? &proxyFenceStep : &nothingStep;
}

void launchWaitStep(Warp &warp, const Instruction &) { warp.waited |= warp.mask; }

void decodeLaunchControl(Decoder &decoder, Instruction &to) {
  bool waits = decoder.suffixes->has("wait");
  decoder.program.waitsForLaunches |= waits;
  to.step = waits ? &launchWaitStep : &nothingStep;
}

void decodeBranch(Decoder &decoder, Instruction &to) {
  to.target = decoder.label(decoder.operand(0));
  to.step = &branchStep;
}

} // namespace

void addControl(DecodeTable &table) {
  table["bra"] = decodeBranch;
  table["ret"] = table["exit"] = [](Decoder &, Instruction &to) { to.step = &exitStep; };
  table["trap"] = [](Decoder &, Instruction &to) { to.step = &trapStep; };
  table["nanosleep"] = table["membar"] = [](Decoder &, Instruction &to) { to.step = &nothingStep; };
  table["bar"] = table["barrier"] = decodeClusterBarrier;
  table["fence"] = decodeFence;
  table["griddepcontrol"] = decodeLaunchControl;
}

} // namespace kintsugi::emulator
