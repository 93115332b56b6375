//===- list.h - Every call that there is device code for --------------------===//
//
// A new one is a constant in a file of its own, one line here and one in lower_call.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_CALLS_LIST_H
#define KINTSUGI_TARGETS_NVIDIA_CALLS_LIST_H

#include "targets/nvidia/calls/call_code.h"

#include <string_view>

namespace kintsugi::targets {

struct DeviceCode {
  std::string_view callee;
  /// For operands and attributes that the call's rule accepted, and results that have elements.
  CallCode (*codeOf)(const calls::Site &site);
};

extern const DeviceCode scatterNdCode;
extern const DeviceCode topKCode;

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_CALLS_LIST_H
