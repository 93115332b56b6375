//===- shared_object.h - Machine code made callable -----------------------===//
//
// An ELF shared object's bytes, loaded by the system's own loader from a file in memory, so that
// nothing is written to disk and debuggers and profilers see it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CPU_SHARED_OBJECT_H
#define KINTSUGI_DEVICES_CPU_SHARED_OBJECT_H

#include "base/files.h"
#include "base/status.h"

#include <cstddef>
#include <span>
#include <string>

namespace kintsugi::devices {

class SharedObject {
public:
  /// An input error where the bytes are not a shared object for this architecture, need a library
  /// or a symbol from outside, or do not load; a machine error where the system has no memory
  /// files.
  static Expected<SharedObject> load(std::span<const std::byte> bytes);

  SharedObject(SharedObject &&other);
  ~SharedObject();

  /// The address of an exported function; null where there is none.
  void *symbol(const std::string &name) const;

private:
  SharedObject(FileDescriptor file, void *handle) : file(std::move(file)), handle(handle) {}

  FileDescriptor file; ///< Stays open: the loader tells objects apart by the path of it.
  void *handle;
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CPU_SHARED_OBJECT_H
