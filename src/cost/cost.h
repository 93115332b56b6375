//===- cost.h - What a kernel takes on a machine ----------------------------===//
//
// A roofline over the machine description: the slowest worker's arithmetic against the bytes that
// have to come from memory, plus what starting a stage costs. It says nothing about what is legal,
// and chooses nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_COST_H
#define KINTSUGI_COST_COST_H

#include "loops/kernel.h"
#include "machine/machine.h"

namespace kintsugi::cost {

/// Of two things side by side, say moving and arithmetic: they overlap, but not perfectly.
double overlapped(double a, double b);

/// Seconds that one run of the candidate's kernel takes: those that were measured, or else what the
/// machine description says, by the bias of what was measured.
double predictSeconds(const loops::KernelShape &kernel, const machine::Machine &machine);

/// The same for one worker alone, which starts it without a barrier.
double predictAloneSeconds(const loops::KernelShape &kernel, const machine::Machine &machine);

/// What a kernel takes in a loop that no other work interrupts: one tile needs no barrier.
double predictStepSeconds(const loops::KernelShape &kernel, const machine::Machine &machine);

/// Seconds in which all cores together move what a kernel reads and writes, from memory.
double movingSeconds(const loops::KernelShape &kernel, const machine::Machine &machine);

/// Start, arithmetic and memory one after the other: enough to tell a good group from a bad one
/// while groups grow.
double roughSeconds(const loops::KernelShape &kernel, const machine::Machine &machine);

/// The same where a definition was scheduled for one core and any of so many may have a share of
/// it: how a nest uses registers does not depend on how it is cut for several.
double roughSharedSeconds(const loops::KernelShape &kernel, double cores,
                          const machine::Machine &machine);

/// Whether constants of so many bytes come from memory in each run: no cache holds them all beside
/// what else a model needs.
bool areCold(double bytes, const machine::Machine &machine);

/// How many bytes constants of so many may become in other forms of a program: what a user's memory
/// and disk have to hold beside what the model had.
double roomForConstants(double bytes);

/// Of pieces of work that take so long each, side by side on all cores.
double predictLanesSeconds(llvm::ArrayRef<double> seconds, const machine::Machine &machine);

/// Whether kernels of blocks of threads can share a launch. Up to so many threads of a block each
/// has as many registers as a thread can have; of larger ones each has less, which is enough only
/// for kernels that are made for blocks of that size.
bool mayShareLaunch(llvm::ArrayRef<const loops::KernelShape *> kernels);

/// Of kernels that share a launch and don't wait for each other, of blocks of threads.
double predictTogetherSeconds(llvm::ArrayRef<const loops::KernelShape *> kernels,
                              const machine::Machine &machine);

/// Kernels that don't wait for each other, in a launch whose phases do.
using Phase = llvm::SmallVector<const loops::KernelShape *, 2>;

/// Of phases that share a launch, on a machine whose blocks can wait for each other.
double predictPhasesSeconds(llvm::ArrayRef<Phase> phases, const machine::Machine &machine);

/// Seconds of a call that moves so many bytes on one thread.
double predictCallSeconds(double bytes, const machine::Machine &machine);

/// How many steps a run makes where data say ahead of each of so many whether it is made: no one
/// knows, and half of them, or of a few, is as good as any number.
double predictSteps(int64_t most);

/// Seconds in which a run waits for a boolean that decides what it does next.
double predictDecisionSeconds(const machine::Machine &machine);

/// Seconds of launches one after the other that move so many bytes in all.
double predictLaunchesSeconds(size_t launches, double bytes, const machine::Machine &machine);

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_COST_H
