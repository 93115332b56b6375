//===- work.cpp - Programs compiled at the same time ----------------------===//

#include "targets/work.h"

#include <atomic>
#include <mutex>
#include <thread>

namespace kintsugi::targets {

namespace {

/// Programs are taken in order by whichever worker is free; results keep their places.
struct Work {
  const std::vector<const tile::TileProgram *> &programs;
  const CompileOptions &options;
  const std::function<Expected<std::string>(const tile::TileProgram &)> &compile;
  std::vector<std::string> results{programs.size()};
  std::atomic<size_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex; ///< Of what follows.
  size_t done = 0;
  Status status;

  void run() {
    for (size_t index; !stop && (index = next++) < programs.size();) {
      auto result = compile(*programs[index]);
      std::lock_guard<std::mutex> lock(mutex);
      if (result.ok())
        results[index] = std::move(*result);
      else
        fail(result.takeError());
      if (!stop && options.progress && !options.progress(++done, programs.size()))
        fail(usageError("the compilation was stopped"));
    }
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
  std::vector<std::thread> helpers;
  for (size_t thread = 1; thread < std::min<size_t>(options.threads, programs.size()); ++thread)
    helpers.emplace_back([&] { work.run(); });
  work.run();
  for (std::thread &helper : helpers)
    helper.join();
  KINTSUGI_RETURN_IF_ERROR(work.status);
  return std::move(work.results);
}

} // namespace kintsugi::targets
