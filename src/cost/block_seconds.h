//===- block_seconds.h - The time of a schedule's blocks --------------------===//
//
// What all blocks of threads of a schedule take on a machine, from the cycles of one.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_BLOCK_SECONDS_H
#define KINTSUGI_COST_BLOCK_SECONDS_H

#include "cost/block_cycles.h"
#include "loops/schedule.h"
#include "machine/machine.h"

namespace kintsugi::cost {

/// That clusters of so many blocks keep busy: large ones lie in one part of the chip each, and
/// parts hold no whole number of them. Of an H200's 132 cores, 120 (the driver's cluster
/// occupancy).
int coresOfClusters(unsigned blocks, int cores);

/// What blocks take less that start while another launch ends, as the first of a launch do.
double startSeconds(const machine::Machine &machine);

/// Of all blocks over all cores: a core runs several at once, as far as their threads, registers
/// and scratch fit, and their bytes come through its own share of the way to memory.
double secondsInBlocks(const loops::Schedule &schedule, const BlockCycles &cycles,
                       const machine::Machine &machine);

/// What a schedule of so many tiles and at most so many nests takes at the least, of which these
/// cycles are known: secondsInBlocks is never less.
double leastSecondsInBlocks(int64_t tiles, size_t nests, int threads, const BlockCycles &known,
                            const machine::Machine &machine);

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_BLOCK_SECONDS_H
