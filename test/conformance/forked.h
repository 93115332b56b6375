//===- forked.h - Work in child processes, under limits ---------------------===//
//
// Forks a child for each piece of work, so that a crash, a leak or an endless loop costs that piece
// alone, and what was initialized before the first fork is paid for once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_CONFORMANCE_FORKED_H
#define KINTSUGI_TEST_CONFORMANCE_FORKED_H

#include "base/status.h"

#include <cstdint>
#include <functional>
#include <string>

namespace kintsugi::conformance {

struct ChildLimits {
  /// Of processor time, so that other work on the machine changes no result; six times as many of
  /// wall clock, for those that wait for what never comes.
  double seconds = 10;
  uint64_t bytes = 0; ///< Of address space; 0 for no limit.
  unsigned jobs = 1;  ///< Children at a time.
};

struct ChildResult {
  /// What the work returned; an error where the child ended in any other way, with the first line
  /// that it wrote to standard error where there is one.
  Expected<std::string> outcome = std::string();
  double seconds = 0;
};

/// Runs work(0) to work(count - 1), each in a child of its own, and tells `done` of each as it
/// ends. The caller must have no other threads. A machine error where no child can be started.
Status runForked(size_t count, const ChildLimits &limits,
                 const std::function<std::string(size_t)> &work,
                 const std::function<void(size_t, const ChildResult &)> &done);

} // namespace kintsugi::conformance

#endif // KINTSUGI_TEST_CONFORMANCE_FORKED_H
