#include "tools/kintsugi/progress.h"

#include <cstdio>
#include <unistd.h>

namespace kintsugi::tool {

ProgressLine::ProgressLine(bool quiet) : enabled(!quiet && ::isatty(STDERR_FILENO)) {}

void ProgressLine::show(const char *phase, uint64_t step, uint64_t steps) {
  using namespace std::chrono_literals;
  Clock::time_point now = Clock::now();
  if (!enabled || now - start < 1s || (visible && now - shown < 50ms))
    return;
  double seconds = std::chrono::duration<double>(now - start).count();
  std::fprintf(stderr, "\r\033[K%s", phase);
  if (steps)
    std::fprintf(stderr, " %llu/%llu", static_cast<unsigned long long>(step),
                 static_cast<unsigned long long>(steps));
  std::fprintf(stderr, "  %.0f s", seconds);
  std::fflush(stderr);
  visible = true;
  shown = now;
}

void ProgressLine::clear() {
  if (!visible)
    return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  visible = false;
}

} // namespace kintsugi::tool
