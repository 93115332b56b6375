//===- workers.cpp - Threads that wait hot for the next stage -------------===//

#include "runtime/workers.h"

#include "machine/machine.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace kintsugi::runtime;

/// How long a thread spins before it sleeps, where each has a core of its own. Longer than the gap
/// between two stages, much shorter than anyone would notice.
static constexpr std::chrono::microseconds spinTime{50};

/// Chunks of a share: enough to even out tiles of unequal cost, and workers of unequal speed.
static constexpr uint32_t mostChunks = 4;

//===----------------------------------------------------------------------===//
// The word on offer: job | workers that may take part | chunks | taken from the back | and front.
//===----------------------------------------------------------------------===//

static constexpr uint64_t oneFromFront = 1, oneFromBack = 1 << 8;

static uint64_t packShare(uint16_t job, uint64_t workers, uint64_t chunks) {
  return uint64_t(job) << 48 | workers << 32 | chunks << 16;
}
static uint16_t jobOf(uint64_t share) { return static_cast<uint16_t>(share >> 48); }
static uint32_t workersOf(uint64_t share) { return share >> 32 & 0xffff; }
static uint32_t chunksOf(uint64_t share) { return share >> 16 & 0xff; }
static uint32_t fromBack(uint64_t share) { return share >> 8 & 0xff; }
static uint32_t fromFront(uint64_t share) { return share & 0xff; }

static bool isOpen(uint64_t share) { return fromFront(share) + fromBack(share) < chunksOf(share); }

//===----------------------------------------------------------------------===//
// Shares and chunks
//===----------------------------------------------------------------------===//

/// The first item of a share; of the one past the last, the end.
static uint64_t shareBegin(uint64_t count, uint32_t shares, uint32_t number) {
  return count / shares * number + std::min<uint64_t>(number, count % shares);
}

/// Each chunk is half of what is left, so that the last ones are small.
static uint32_t chunksIn(uint64_t items) {
  return std::min<uint32_t>(mostChunks, std::bit_width(items));
}

static uint64_t chunkBegin(uint64_t items, uint32_t chunks, uint32_t number) {
  return number == chunks ? items : items - (items >> number);
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

static void futexWait(std::atomic<uint32_t> &word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

static void futexWakeOne(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

static void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Spins until `done()` or the time is over; returns whether it is done. With more threads than
/// cores spinning keeps the one that is waited for from its core, so there is none.
template <typename Done> static bool spinUntil(Done done, bool crowded) {
  if (done())
    return true;
  if (crowded)
    return false;
  auto end = std::chrono::steady_clock::now() + spinTime;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done())
        return true;
      pauseCpu();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

uint32_t kintsugi::runtime::usableCores() {
  static const int cores = machine::Machine::detect().cores;
  return static_cast<uint32_t>(std::max(cores, 1));
}

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

Workers::Workers() : workers(std::make_unique<Worker[]>(maxThreads)) {}

Workers::~Workers() {
  stopping.store(true, std::memory_order_seq_cst);
  uint32_t count = started.load(std::memory_order_acquire);
  wake(count);
  for (uint32_t i = 1; i < count; ++i)
    pthread_join(workers[i].thread, nullptr);
}

uint32_t Workers::grow(uint32_t threads) {
  std::lock_guard lock(growing);
  threads = std::min(threads, maxThreads);
  uint32_t count = started.load(std::memory_order_relaxed);
  if (count >= threads)
    return threads;
  sigset_t all, before; // Signals are for the program's own threads.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; count < threads; ++count) {
    Worker &worker = workers[count];
    worker.index = count;
    worker.owner = this;
    if (pthread_create(&worker.thread, nullptr, threadMain, &worker) != 0)
      break;
    pthread_setname_np(worker.thread, "kintsugi");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  started.store(count, std::memory_order_release);
  return count;
}

void *Workers::threadMain(void *argument) {
  auto &worker = *static_cast<Worker *>(argument);
  std::fesetenv(FE_DFL_ENV); // The starting thread may round or flush in its own way.
  worker.owner->workerLoop(worker);
  return nullptr;
}

void Workers::workerLoop(Worker &worker) {
  auto awake = [&] { return hasWorkFor(worker.index) || stopping.load(std::memory_order_relaxed); };
  while (true) {
    bool crowded = started.load(std::memory_order_relaxed) > usableCores();
    if (!spinUntil(awake, crowded))
      park(worker);
    if (stopping.load(std::memory_order_acquire))
      return;
    while (takeChunk(worker.index))
      ;
  }
}

/// The first share is offered last: with it all are.
bool Workers::hasWorkFor(uint32_t worker) const {
  if (unfinished.load(std::memory_order_seq_cst) == 0)
    return false;
  uint64_t first = workers[0].share.load(std::memory_order_seq_cst);
  for (uint32_t owner = 0; worker < workersOf(first) && owner < workersOf(first); ++owner) {
    uint64_t share = workers[owner].share.load(std::memory_order_seq_cst);
    if (jobOf(share) == jobOf(first) && isOpen(share))
      return true;
  }
  return false;
}

/// Computes one chunk of what is on offer, its own first; false where there is none left for it.
bool Workers::takeChunk(uint32_t worker) {
  uint64_t first = workers[0].share.load(std::memory_order_acquire);
  uint32_t shares = workersOf(first);
  for (uint32_t distance = 0; worker < shares && distance < shares; ++distance)
    if (takeChunkOf((worker + distance) % shares, worker, jobOf(first)))
      return true;
  return false;
}

bool Workers::takeChunkOf(uint32_t owner, uint32_t worker, uint16_t wanted) {
  std::atomic<uint64_t> &share = workers[owner].share;
  uint64_t word = share.load(std::memory_order_acquire);
  do {
    if (jobOf(word) != wanted || worker >= workersOf(word) || !isOpen(word))
      return false;
  } while (!share.compare_exchange_weak(word, word + (owner == worker ? oneFromFront : oneFromBack),
                                        std::memory_order_acq_rel, std::memory_order_acquire));
  // From here until `unfinished` goes down the job stays as it is.
  uint64_t first = shareBegin(job.count, job.shares, owner);
  uint64_t items = shareBegin(job.count, job.shares, owner + 1) - first;
  uint32_t chunks = chunksOf(word);
  uint32_t number = owner == worker ? fromFront(word) : chunks - 1 - fromBack(word);
  uint64_t begin = first + chunkBegin(items, chunks, number);
  uint64_t end = first + chunkBegin(items, chunks, number + 1);
  job.function(job.argument, worker, begin * job.together, end * job.together);
  if (unfinished.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
      holderSleeps.load(std::memory_order_seq_cst))
    futexWakeOne(unfinished);
  return true;
}

/// Sleeps until woken, unless there is work. Either the worker sees the offer after it has said
/// that it sleeps, or who makes the offer sees that it sleeps.
void Workers::park(Worker &worker) {
  worker.asleep.store(1, std::memory_order_seq_cst);
  while (worker.asleep.load(std::memory_order_seq_cst) == 1) {
    if (hasWorkFor(worker.index) || stopping.load(std::memory_order_seq_cst))
      break;
    futexWait(worker.asleep, 1);
  }
  worker.asleep.store(0, std::memory_order_relaxed);
}

void Workers::wake(uint32_t threads) {
  for (uint32_t i = 1; i < threads; ++i)
    if (workers[i].asleep.load(std::memory_order_seq_cst) == 1 &&
        workers[i].asleep.exchange(0, std::memory_order_seq_cst) == 1)
      futexWakeOne(workers[i].asleep);
}

void Workers::awaitCompletion() {
  auto complete = [&] { return unfinished.load(std::memory_order_acquire) == 0; };
  if (spinUntil(complete, started.load(std::memory_order_relaxed) > usableCores()))
    return;
  holderSleeps.store(true, std::memory_order_seq_cst);
  while (uint32_t left = unfinished.load(std::memory_order_seq_cst))
    futexWait(unfinished, left);
  holderSleeps.store(false, std::memory_order_relaxed);
}

void Workers::run(uint32_t threads, uint64_t count, Function function, void *argument,
                  uint64_t together) {
  threads = std::min(threads, started.load(std::memory_order_acquire));
  if (threads <= 1 || count <= together) {
    if (count != 0)
      function(argument, 0, 0, count);
    return;
  }
  count /= together;
  auto shares = static_cast<uint32_t>(std::min<uint64_t>(threads, count));
  job = {function, argument, count, together, shares};
  auto chunksOfShare = [&](uint32_t number) {
    return chunksIn(shareBegin(count, shares, number + 1) - shareBegin(count, shares, number));
  };
  uint32_t chunks = 0;
  for (uint32_t number = 0; number < shares; ++number)
    chunks += chunksOfShare(number);
  unfinished.store(chunks, std::memory_order_seq_cst);
  ++jobs;
  for (uint32_t number = shares; number-- > 0;)
    workers[number].share.store(packShare(jobs, shares, chunksOfShare(number)),
                                std::memory_order_seq_cst);
  wake(shares);
  while (takeChunk(0))
    ;
  awaitCompletion();
}
