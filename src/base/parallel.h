//===- parallel.h - Pieces of work on several threads -----------------------===//
#ifndef KINTSUGI_BASE_PARALLEL_H
#define KINTSUGI_BASE_PARALLEL_H

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

namespace kintsugi {

/// Calls `work` once with each number below `count`, on the calling thread and as many others as
/// make `threads` of them. Numbers are begun in their order; returns when all are done.
void inParallel(size_t count, unsigned threads, const std::function<void(size_t)> &work);

/// What `make` makes of each number below `count`, in the order of the numbers; otherwise likewise.
template <typename Make> auto makeInParallel(size_t count, unsigned threads, const Make &make) {
  using Made = std::invoke_result_t<const Make &, size_t>;
  std::vector<std::optional<Made>> each(count);
  inParallel(count, threads, [&](size_t number) { each[number].emplace(make(number)); });
  std::vector<Made> all;
  for (std::optional<Made> &one : each)
    all.push_back(std::move(*one));
  return all;
}

/// How many threads each of `count` pieces of work may have where they are done side by side.
inline unsigned threadsOfEach(unsigned threads, size_t count) {
  return std::max(1u, threads / unsigned(count));
}

} // namespace kintsugi

#endif // KINTSUGI_BASE_PARALLEL_H
