//===- driver.cpp - NVIDIA's driver, found while the program runs ---------===//

#include "devices/cuda/driver.h"

#include <dlfcn.h>

using namespace kintsugi;
using namespace kintsugi::devices::cuda;

Driver::~Driver() { dlclose(library); }

Status Driver::check(Result result, const std::string &what) const {
  if (result == 0)
    return Status::success();
  const char *name = nullptr, *text = nullptr;
  errorName(result, &name);
  errorText(result, &text);
  return machineError("cannot " + what + ": " + (name ? name : std::to_string(result).c_str()) +
                      (text ? std::string(", ") + text : ""));
}

Expected<std::shared_ptr<const Driver>> Driver::load(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return machineError(std::string("there is no NVIDIA driver: ") + dlerror() +
                        "; install one for CUDA 12 or newer, or compile with --target cpu");
  std::shared_ptr<Driver> driver(new Driver(handle));
#define CUDA_SYMBOL(member, symbol, parameters)                                                    \
  driver->member = reinterpret_cast<Result(*) parameters>(dlsym(handle, #symbol));                 \
  if (!driver->member)                                                                             \
    return machineError("the NVIDIA driver is too old: it has no " #symbol                         \
                        "; install one for CUDA 12 or newer");
#include "devices/cuda/driver_symbols.def"
#undef CUDA_SYMBOL
  KINTSUGI_RETURN_IF_ERROR(driver->check(driver->init(0), "start the NVIDIA driver"));
  return std::shared_ptr<const Driver>(std::move(driver));
}
