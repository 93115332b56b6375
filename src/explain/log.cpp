#include "explain/log.h"

namespace kintsugi::explain {

void Log::add(Record record) {
  std::lock_guard lock(mutex);
  entries.push_back(std::move(record));
}

std::vector<Record> Log::records() const {
  std::lock_guard lock(mutex);
  return entries;
}

size_t Log::size() const {
  std::lock_guard lock(mutex);
  return entries.size();
}

} // namespace kintsugi::explain
