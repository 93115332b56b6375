//===- record.h - Work for a stream as a graph ------------------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_RECORD_H
#define KINTSUGI_DEVICES_CUDA_RECORD_H

#include "devices/cuda/driver.h"

#include <functional>

namespace kintsugi::devices::cuda {

/// What `ask` asks the stream for, none of it done yet: a graph that is ready to start, and the
/// caller's to destroy.
Expected<Handle> record(const Driver &driver, Handle stream, const std::function<Status()> &ask);

} // namespace kintsugi::devices::cuda

#endif // KINTSUGI_DEVICES_CUDA_RECORD_H
