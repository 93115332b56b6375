//===- progress.h - A line that says how far the work is --------------------===//
//
// On a terminal and for whatever takes over a second; nothing of it in a pipe.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TOOLS_KINTSUGI_PROGRESS_H
#define KINTSUGI_TOOLS_KINTSUGI_PROGRESS_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace kintsugi::tool {

/// Painted by a thread of its own: a step may take long and say nothing meanwhile.
class ProgressLine {
public:
  /// Shows nothing where `quiet`, or where the error stream is no terminal.
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;

  void show(const char *phase, uint64_t step, uint64_t steps);
  /// Takes the line away, for good; before anything else is printed.
  void finish();

private:
  void paintUntilFinished();
  void paint();

  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::mutex mutex; ///< Of what follows.
  std::condition_variable wake;
  std::string phase;
  uint64_t step = 0, steps = 0;
  bool finished = false, visible = false;
  std::thread painter;
};

} // namespace kintsugi::tool

#endif // KINTSUGI_TOOLS_KINTSUGI_PROGRESS_H
