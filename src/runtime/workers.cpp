//===- workers.cpp - Threads that wait hot for the next stage -------------===//

#include "runtime/workers.h"

#include "machine/machine.h"

#include <algorithm>
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

/// Chunks for each thread: enough to even out tiles of unequal cost.
static constexpr uint64_t chunksPerThread = 4;

//===----------------------------------------------------------------------===//
// The word on offer: threads that may take part | chunks | chunks taken.
//===----------------------------------------------------------------------===//

static constexpr uint64_t chunkBits = 24;
static constexpr uint64_t chunkMask = (uint64_t(1) << chunkBits) - 1;

static uint64_t packOffer(uint64_t threads, uint64_t chunks) {
  return threads << 2 * chunkBits | chunks << chunkBits;
}
static uint64_t threadsOf(uint64_t offer) { return offer >> 2 * chunkBits; }
static uint64_t chunksOf(uint64_t offer) { return offer >> chunkBits & chunkMask; }
static uint64_t takenOf(uint64_t offer) { return offer & chunkMask; }

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

bool Workers::hasWorkFor(uint32_t worker) const {
  uint64_t word = offer.load(std::memory_order_seq_cst);
  return worker < threadsOf(word) && takenOf(word) < chunksOf(word);
}

/// Computes one chunk of what is on offer; false where there is none left for this worker.
bool Workers::takeChunk(uint32_t worker) {
  uint64_t word = offer.load(std::memory_order_acquire);
  do {
    if (worker >= threadsOf(word) || takenOf(word) >= chunksOf(word))
      return false;
  } while (!offer.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire));
  // From here until `unfinished` goes down the job stays as it is.
  uint64_t begin = takenOf(word) * job.chunk;
  job.function(job.argument, worker, begin, std::min(begin + job.chunk, job.count));
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

void Workers::run(uint32_t threads, uint64_t count, Function function, void *argument) {
  threads = std::min(threads, started.load(std::memory_order_acquire));
  if (threads <= 1 || count <= 1) {
    if (count != 0)
      function(argument, 0, 0, count);
    return;
  }
  uint64_t wanted = std::min(count, threads * chunksPerThread);
  job = {function, argument, count, (count + wanted - 1) / wanted};
  uint64_t chunks = (count + job.chunk - 1) / job.chunk;
  unfinished.store(static_cast<uint32_t>(chunks), std::memory_order_relaxed);
  offer.store(packOffer(threads, chunks), std::memory_order_seq_cst);
  wake(static_cast<uint32_t>(std::min<uint64_t>(threads, chunks)));
  while (takeChunk(0))
    ;
  awaitCompletion();
}
