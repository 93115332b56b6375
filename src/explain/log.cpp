#include "explain/log.h"

namespace kintsugi::explain {

void Log::add(Record record) {
  std::lock_guard lock(mutex);
  entries.push_back(std::move(record));
}

void Log::add(Choice choice) {
  std::lock_guard lock(mutex);
  told.push_back(std::move(choice));
}

std::vector<Choice> Log::choices() const {
  std::lock_guard lock(mutex);
  return told;
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
