#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

void kintsugi::inParallel(size_t count, unsigned threads, const std::function<void(size_t)> &work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t number; (number = next++) < count;)
      work(number);
  };
  std::vector<std::thread> helpers;
  for (size_t thread = 1; thread < std::min<size_t>(threads, count); ++thread)
    helpers.emplace_back(run);
  run();
  for (std::thread &helper : helpers)
    helper.join();
}
