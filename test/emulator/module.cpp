#include "module.h"

#include <cstring>

namespace kintsugi::emulator {

Module::Module(std::string from, Memory &memory)
    : text(std::move(from)), parsed(parse(text)), memory(memory) {
  for (const Variable &each : parsed.global) {
    uint64_t place = memory.allocate(std::max<uint64_t>(each.bytes, 1));
    if (place == 0)
      throw Fault{Fault::InvalidValue, "there is no room for a variable"};
    std::memset(reinterpret_cast<void *>(place), 0, each.bytes);
    std::memcpy(reinterpret_cast<void *>(place), each.start.data(), each.start.size());
    globals[each.name] = place;
  }
}

Module::~Module() {
  for (auto [name, place] : globals)
    memory.release(place);
}

const Program *Module::find(const std::string &name) {
  std::lock_guard lock(mutex);
  std::unique_ptr<Program> &known = programs[name];
  if (known)
    return known.get();
  for (const EntryText &entry : parsed.entries)
    if (entry.name == name)
      known = std::make_unique<Program>(decode(entry, parsed, globals));
  return known.get();
}

} // namespace kintsugi::emulator
