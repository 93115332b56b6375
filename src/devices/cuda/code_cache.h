//===- code_cache.h - What the driver made of PTX, kept ---------------------===//
//
// The driver compiles a module's PTX for the device at hand, which takes seconds for a model of
// many kernels. What it gives is kept in the folder of artifacts (base/file_cache.h), under a
// digest of the text, the device's architecture and the driver's version. Nothing there is trusted:
// an entry that is damaged, or that the driver does not take, is compiled anew; and where nothing
// can be kept, code is compiled each time.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_CODE_CACHE_H
#define KINTSUGI_DEVICES_CUDA_CODE_CACHE_H

#include "base/file_cache.h"
#include "devices/cuda/driver.h"

namespace kintsugi::devices::cuda {

class CodeCache {
public:
  /// Of code for devices of an architecture ("9.0") under a driver; `folder` is empty where nothing
  /// is to be kept.
  CodeCache(const Driver &driver, const std::string &folder, std::string architecture);

  /// A module of the text, which ends in a zero byte. A machine error says what the driver says of
  /// the text.
  Expected<Handle> load(std::span<const std::byte> text) const;

private:
  std::optional<Digest> keyOf(std::span<const std::byte> text) const;
  Handle loadKept(const Digest &key) const;
  Handle compileAndKeep(const Digest &key, std::span<const std::byte> text) const;
  Expected<Handle> compile(std::span<const std::byte> text) const;

  const Driver &driver;
  std::string architecture;
  std::optional<FileCache> files; ///< None where nothing is kept.
};

} // namespace kintsugi::devices::cuda

#endif // KINTSUGI_DEVICES_CUDA_CODE_CACHE_H
