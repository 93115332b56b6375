//===- workers.h - Threads that wait hot for the next stage ---------------===//
//
// Persistent threads that share the tiles of one stage at a time. Between the stages of a run they
// spin, for a stage lasts microseconds; when nothing comes they sleep. One run at a time holds
// them; others compute inline, which under load is the better use of the cores anyway.
//
// Each worker has a share of neighbouring items, the same in each run and in each stage of as many:
// what it stored for one stage its cache still has when the next reads it. A share is taken chunk
// by chunk, large ones first, from the front by its worker and from the back by those who are done
// with theirs.
//
// A share on offer is one 64-bit word: of which job, how many workers may take part, how many
// chunks there are, how many are taken at either end. A worker takes a chunk by compare-and-swap of
// that word, and reads the job only while it has an unfinished chunk, when the job can't change. So
// a stage costs no lock, one publication for each share and one wait, and a worker that sleeps
// through it delays nobody.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_WORKERS_H
#define KINTSUGI_RUNTIME_WORKERS_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <pthread.h>

namespace kintsugi::runtime {

/// Cores that this process may keep busy (affinity, control groups); at least 1.
uint32_t usableCores();

class Workers {
public:
  /// Computes items [begin, end) as worker number `worker`; 0 is the thread that called run().
  using Function = void (*)(void *argument, uint32_t worker, uint64_t begin, uint64_t end);

  /// That can work together; more are never started.
  static constexpr uint32_t maxThreads = 512;

  Workers();
  ~Workers(); ///< No run may be under way.
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;

  /// Starts threads until `threads` can work together, the caller's included. Returns how many
  /// can, which is fewer where the system refuses.
  uint32_t grow(uint32_t threads);

  /// Tries to hold the workers for the stages of one run; false where another run has them.
  bool tryHold() { return !held.test_and_set(std::memory_order_acquire); }
  void letGo() { held.clear(std::memory_order_release); }

  /// Splits [0, count) over at most `threads` workers and returns when all of it is done. Only for
  /// who holds the workers. So many items in a row are given out together, a divisor of `count`.
  void run(uint32_t threads, uint64_t count, Function function, void *argument,
           uint64_t together = 1);

private:
  static constexpr size_t cacheLine = 64;

  struct Job {
    Function function = nullptr;
    void *argument = nullptr;
    uint64_t count = 0;    ///< Of rows of items that are given out together,
    uint64_t together = 1; ///< so many each.
    uint32_t shares = 0;
  };

  struct alignas(cacheLine) Worker {
    std::atomic<uint32_t> asleep{0}; ///< 1 while it sleeps or is about to; the futex it sleeps on.
    std::atomic<uint64_t> share{0};  ///< On offer.
    uint32_t index = 0;
    Workers *owner = nullptr;
    pthread_t thread{};
  };

  static void *threadMain(void *worker);
  void workerLoop(Worker &worker);
  bool hasWorkFor(uint32_t worker) const;
  bool takeChunk(uint32_t worker);
  bool takeChunkOf(uint32_t owner, uint32_t worker, uint16_t wanted);
  void park(Worker &worker);
  void wake(uint32_t threads);
  void awaitCompletion();

  alignas(cacheLine) std::atomic<uint32_t> unfinished{
      0}; ///< Chunks; the futex the holder sleeps on.
  std::atomic<bool> holderSleeps{false};
  alignas(cacheLine) Job job; ///< Changes only while `unfinished` is 0.
  uint16_t jobs = 0;          ///< So far, for who holds the workers.
  std::atomic<bool> stopping{false};
  std::atomic<uint32_t> started{1}; ///< The caller's thread counts.
  std::atomic_flag held;
  std::mutex growing;
  std::unique_ptr<Worker[]> workers; ///< By index; the first is the caller's, without a thread.
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_WORKERS_H
