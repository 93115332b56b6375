#include "explain/log.h"

#include "explain/step.h"

namespace kintsugi::explain {

Log::Log() = default;

Log::~Log() = default;

void Log::add(Record record) {
  std::lock_guard lock(mutex);
  entries.push_back(std::move(record));
}

void Log::add(Choice choice) {
  std::lock_guard lock(mutex);
  told.push_back(std::move(choice));
}

void Log::addStep(Step step) {
  std::lock_guard lock(mutex);
  derived.push_back(std::move(step));
}

std::vector<Step> Log::steps() const {
  std::lock_guard lock(mutex);
  return derived;
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
