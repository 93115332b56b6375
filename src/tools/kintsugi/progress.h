//===- progress.h - A line that says how far the work is --------------------===//
//
// On a terminal and for whatever takes over a second; nothing of it in a pipe.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TOOLS_KINTSUGI_PROGRESS_H
#define KINTSUGI_TOOLS_KINTSUGI_PROGRESS_H

#include <chrono>
#include <cstdint>

namespace kintsugi::tool {

class ProgressLine {
public:
  /// Shows nothing where `quiet`, or where the error stream is no terminal.
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;

  void show(const char *phase, uint64_t step, uint64_t steps);
  /// Takes the line away; before anything else is printed.
  void clear();

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  Clock::time_point shown = start;
  bool enabled;
  bool visible = false;
};

} // namespace kintsugi::tool

#endif // KINTSUGI_TOOLS_KINTSUGI_PROGRESS_H
