#include "tools/kintsugi/progress.h"

#include <cinttypes>
#include <cstdio>
#include <unistd.h>

namespace kintsugi::tool {

using namespace std::chrono_literals;

ProgressLine::ProgressLine(bool quiet) {
  if (!quiet && ::isatty(STDERR_FILENO))
    painter = std::thread([this] { paintUntilFinished(); });
}

void ProgressLine::show(const char *nextPhase, uint64_t nextStep, uint64_t nextSteps) {
  std::lock_guard lock(mutex);
  phase = nextPhase;
  step = nextStep;
  steps = nextSteps;
}

void ProgressLine::finish() {
  {
    std::lock_guard lock(mutex);
    finished = true;
  }
  wake.notify_all();
  if (painter.joinable())
    painter.join();
  if (visible)
    std::fputs("\r\033[K", stderr);
  visible = false;
}

void ProgressLine::paintUntilFinished() {
  std::unique_lock lock(mutex);
  auto isFinished = [this] { return finished; };
  for (auto pause = 1000ms; !wake.wait_for(lock, pause, isFinished); pause = 100ms)
    paint();
}

void ProgressLine::paint() {
  if (phase.empty())
    return;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::fprintf(stderr, "\r\033[K%s", phase.c_str());
  if (steps)
    std::fprintf(stderr, " %" PRIu64 "/%" PRIu64, step, steps);
  std::fprintf(stderr, "  %.0f s", seconds);
  std::fflush(stderr);
  visible = true;
}

} // namespace kintsugi::tool
