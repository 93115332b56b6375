#include "tune/preparation.h"

#include <atomic>

namespace kintsugi::tune {

Preparation::Preparation(cost::Measurer &measurer) : measurer(measurer) {
  for (unsigned thread = 0; thread < measurer.preparers(); ++thread)
    threads.emplace_back([this] { work(); });
}

Preparation::~Preparation() {
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void Preparation::start(size_t job, std::function<KernelSearch::Batch()> propose) {
  ++proposals;
  auto proposal = std::make_shared<Proposal>(Proposal{job, {}});
  add([this, proposal, propose = std::move(propose)] {
    proposal->batch = propose();
    prepare(proposal);
  });
}

/// A task for each candidate; the last one hands the batch on.
void Preparation::prepare(const std::shared_ptr<Proposal> &proposal) {
  if (proposal->batch.empty())
    return finish(proposal);
  auto left = std::make_shared<std::atomic<size_t>>(proposal->batch.size());
  for (const std::shared_ptr<KernelSearch::Candidate> &candidate : proposal->batch)
    add([this, proposal, candidate, left] {
      candidate->prepare(measurer);
      if (--*left == 0)
        finish(proposal);
    });
}

void Preparation::finish(const std::shared_ptr<Proposal> &proposal) {
  std::lock_guard lock(mutex);
  ready.push_back(proposal);
  changed.notify_all();
}

void Preparation::add(Task task) {
  std::lock_guard lock(mutex);
  tasks.push_back(std::move(task));
  changed.notify_all();
}

Preparation::Proposal Preparation::take() {
  --proposals;
  std::unique_lock lock(mutex);
  while (ready.empty()) {
    if (!threads.empty() || tasks.empty()) {
      changed.wait(lock);
      continue;
    }
    runFirst(lock);
  }
  Proposal proposal = std::move(*ready.front());
  ready.pop_front();
  return proposal;
}

void Preparation::work() {
  std::unique_lock lock(mutex);
  while (!stop) {
    if (tasks.empty()) {
      changed.wait(lock);
      continue;
    }
    runFirst(lock);
  }
}

void Preparation::runFirst(std::unique_lock<std::mutex> &lock) {
  Task task = std::move(tasks.front());
  tasks.pop_front();
  lock.unlock();
  task();
  task = nullptr; // What it held goes while others work.
  lock.lock();
}

} // namespace kintsugi::tune
