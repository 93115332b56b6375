//===- memo.h - What is made once for each key ------------------------------===//
//
// For one thread or several: whoever asks for a key first makes what belongs to it. What that is
// has to follow from the key alone, so that it does not matter who that is.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_MEMO_H
#define KINTSUGI_BASE_MEMO_H

#include <condition_variable>
#include <mutex>
#include <string>
#include <unordered_map>

namespace kintsugi {

template <typename Value> class Memo {
public:
  /// The value of a key, which `make()` makes where there is none; where another thread is at it,
  /// waits for that.
  template <typename Make> const Value &at(const std::string &key, Make make) {
    return *look(key, make, true);
  }
  /// The same without waiting: null where another thread is at it.
  template <typename Make> const Value *atIfFree(const std::string &key, Make make) {
    return look(key, make, false);
  }

  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex);
    return slots.size();
  }

private:
  struct Slot {
    bool isMade = false;
    Value value;
  };

  template <typename Make> const Value *look(const std::string &key, Make &make, bool waits) {
    std::unique_lock<std::mutex> lock(mutex);
    auto [position, isNew] = slots.try_emplace(key);
    Slot &slot = position->second; // Stays where it is when others are added.
    if (isNew) {
      lock.unlock();
      Value value = make();
      lock.lock();
      slot.value = std::move(value);
      slot.isMade = true;
      made.notify_all();
    } else if (waits) {
      made.wait(lock, [&] { return slot.isMade; });
    }
    return slot.isMade ? &slot.value : nullptr;
  }

  mutable std::mutex mutex; ///< Of all below.
  std::condition_variable made;
  std::unordered_map<std::string, Slot> slots;
};

} // namespace kintsugi

#endif // KINTSUGI_BASE_MEMO_H
