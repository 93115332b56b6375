//===- cancel.h - Asking long work to stop --------------------------------===//
//
// A flag that one thread raises and others look at between steps. Copies share the flag.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_CANCEL_H
#define KINTSUGI_BASE_CANCEL_H

#include <atomic>
#include <memory>

namespace kintsugi {

class CancelToken {
public:
  CancelToken() : flag(std::make_shared<std::atomic<bool>>(false)) {}

  void cancel() const { flag->store(true, std::memory_order_relaxed); }
  bool cancelled() const { return flag->load(std::memory_order_relaxed); }

private:
  std::shared_ptr<std::atomic<bool>> flag;
};

} // namespace kintsugi

#endif // KINTSUGI_BASE_CANCEL_H
