//===- work.cpp - Programs compiled at the same time ----------------------===//

#include "targets/work.h"

#include "base/parallel.h"

#include <atomic>
#include <mutex>

namespace kintsugi::targets {

namespace {

/// Results keep their places.
struct Work {
  const std::vector<const tile::TileProgram *> &programs;
  const CompileOptions &options;
  const std::function<Expected<std::string>(const tile::TileProgram &)> &compile;
  std::vector<std::string> results{programs.size()};
  std::atomic<bool> stop = false;
  std::mutex mutex; ///< Of what follows.
  size_t done = 0;
  Status status;

  void run(size_t index) {
    if (stop)
      return;
    auto result = compile(*programs[index]);
    std::lock_guard<std::mutex> lock(mutex);
    if (result.ok())
      results[index] = std::move(*result);
    else
      fail(result.takeError());
    if (!stop && options.progress && !options.progress(++done, programs.size()))
      fail(usageError("the compilation was stopped"));
  }

  void fail(Error error) {
    if (status.ok())
      status = std::move(error);
    stop = true;
  }
};

} // namespace

Expected<std::vector<std::string>>
compileEach(const std::vector<const tile::TileProgram *> &programs, const CompileOptions &options,
            const std::function<Expected<std::string>(const tile::TileProgram &)> &compile) {
  Work work{programs, options, compile};
  inParallel(programs.size(), options.threads, [&](size_t index) { work.run(index); });
  KINTSUGI_RETURN_IF_ERROR(work.status);
  return std::move(work.results);
}

} // namespace kintsugi::targets
