#include "devices/cuda/code_cache.h"

#include <algorithm>

namespace kintsugi::devices::cuda {

CodeCache::CodeCache(const Driver &driver, const std::string &folder, std::string architecture)
    : driver(driver), architecture(std::move(architecture)) {
  if (folder.empty())
    return;
  auto opened = FileCache::open(folder);
  if (opened.ok())
    files.emplace(std::move(*opened));
}

std::optional<Digest> CodeCache::keyOf(std::span<const std::byte> text) const {
  int version = 0;
  if (!files || driver.driverVersion(&version) != 0)
    return std::nullopt;
  return Blake3()
      .update("code of a GPU 1\n" + architecture + "\n" + std::to_string(version) + "\n")
      .update(text)
      .finish();
}

Expected<Handle> CodeCache::load(std::span<const std::byte> text) const {
  if (std::optional<Digest> key = keyOf(text)) {
    if (Handle module = loadKept(*key))
      return module;
    if (Handle module = compileAndKeep(*key, text))
      return module;
  }
  return compile(text);
}

/// Null where there is no entry, or one that the driver does not take.
Handle CodeCache::loadKept(const Digest &key) const {
  auto entry = files->get(key);
  Handle module = nullptr;
  if (entry.ok() && *entry &&
      driver.loadModule(&module, (*entry)->bytes().data(), 0, nullptr, nullptr) == 0)
    return module;
  return nullptr;
}

/// Null where the driver gives no code: compile() then finds out why.
Handle CodeCache::compileAndKeep(const Digest &key, std::span<const std::byte> text) const {
  Handle state = nullptr, module = nullptr;
  if (driver.createLink(0, nullptr, nullptr, &state) != 0)
    return nullptr;
  void *code = nullptr;
  size_t bytes = 0;
  auto *source = const_cast<std::byte *>(text.data()); // Only read.
  if (driver.addToLink(state, inputIsPtx, source, text.size(), "", 0, nullptr, nullptr) == 0 &&
      driver.completeLink(state, &code, &bytes) == 0 &&
      driver.loadModule(&module, code, 0, nullptr, nullptr) == 0) {
    // What can't be kept is compiled again the next time.
    (void)files->put(key, {static_cast<const std::byte *>(code), bytes});
  }
  driver.destroyLink(state); // And the code with it.
  return module;
}

Expected<Handle> CodeCache::compile(std::span<const std::byte> text) const {
  Handle module = nullptr;
  char log[2048] = {};
  int options[] = {errorLog, errorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  Status loaded =
      driver.check(driver.loadModule(&module, text.data(), 2, options, values), "load the code");
  if (loaded.ok())
    return module;
  std::string said = log;
  std::ranges::replace(said, '\n', ' ');
  return machineError(loaded.error().message + (said.empty() ? "" : ": " + said));
}

} // namespace kintsugi::devices::cuda
