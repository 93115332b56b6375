//===- preparation.h - Schedules made ready while others are timed --------------===//
//
// A device that is not the host's processor times kernels undisturbed while the host compiles the
// next ones: searches propose batches and have them prepared on several threads. Where that would
// disturb, the one who waits for a batch does the work.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_PREPARATION_H
#define KINTSUGI_TUNE_PREPARATION_H

#include "tune/kernel_search.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace kintsugi::tune {

class Preparation {
public:
  struct Proposal {
    size_t job; ///< Whose it is.
    KernelSearch::Batch batch;
  };

  explicit Preparation(cost::Measurer &measurer);
  /// What was not begun is left.
  ~Preparation();
  Preparation(const Preparation &) = delete;
  Preparation &operator=(const Preparation &) = delete;

  /// How many batches should be under way, so that there is always something to do.
  size_t enough() const { return 1 + 2 * ((threads.size() + 7) / 8); }
  size_t underWay() const { return proposals; }

  /// `propose` is called by another thread, and no longer once the batch was taken.
  void start(size_t job, std::function<KernelSearch::Batch()> propose);
  /// The next one that is ready. Some must be under way.
  Proposal take();

private:
  using Task = std::function<void()>;

  void add(Task task);
  void prepare(const std::shared_ptr<Proposal> &proposal);
  void finish(const std::shared_ptr<Proposal> &proposal);
  void work();
  /// The first task, without the lock meanwhile.
  void runFirst(std::unique_lock<std::mutex> &lock);

  cost::Measurer &measurer;
  size_t proposals = 0; ///< That were started and not taken.
  std::mutex mutex;     ///< Of what follows.
  std::condition_variable changed;
  std::deque<Task> tasks;
  std::deque<std::shared_ptr<Proposal>> ready;
  bool stop = false;
  std::vector<std::thread> threads;
};

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_PREPARATION_H
