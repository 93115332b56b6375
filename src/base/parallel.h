//===- parallel.h - Pieces of work on several threads -----------------------===//
#ifndef KINTSUGI_BASE_PARALLEL_H
#define KINTSUGI_BASE_PARALLEL_H

#include <cstddef>
#include <functional>

namespace kintsugi {

/// Calls `work` once with each number below `count`, on the calling thread and as many others as
/// make `threads` of them. Numbers are begun in their order; returns when all are done.
void inParallel(size_t count, unsigned threads, const std::function<void(size_t)> &work);

} // namespace kintsugi

#endif // KINTSUGI_BASE_PARALLEL_H
