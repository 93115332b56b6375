//===- module.h - A text that was loaded ------------------------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_MODULE_H
#define KINTSUGI_TEST_EMULATOR_MODULE_H

#include "launch.h"

#include <map>
#include <memory>
#include <mutex>

namespace kintsugi::emulator {

/// Entries are decoded when they are asked for.
class Module {
public:
  /// Throws a Fault.
  Module(std::string text, Memory &memory);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  std::string_view architecture() const { return parsed.architecture; }
  const Program *find(const std::string &name); ///< Null: there is none.

private:
  const std::string text;
  ModuleText parsed;
  Memory &memory;
  Globals globals;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Program>> programs;
};

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_MODULE_H
