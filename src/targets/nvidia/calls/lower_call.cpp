#include "targets/nvidia/calls/lower_call.h"

#include "targets/nvidia/calls/list.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::targets {

static CallCode codeOf(const calls::Site &site) {
  static constexpr const DeviceCode *all[] = {&scatterNdCode, &topKCode};
  for (const DeviceCode *each : all)
    if (each->callee == site.callee) {
      CallCode code = each->codeOf(site);
      for (auto [number, kernel] : llvm::enumerate(code.kernels))
        kernel.launch.symbol = site.symbol + "_" + std::to_string(number);
      return code;
    }
  CallCode none(site, 0);
  none.reason = "there is no device code for it";
  return none;
}

calls::DeviceCall launchesOfCall(const calls::Site &site) {
  CallCode code = codeOf(site);
  calls::DeviceCall call;
  call.reason = code.reason;
  if (!call.reason.empty())
    return call;
  for (CallKernel &kernel : code.kernels)
    call.launches.push_back(std::move(kernel.launch));
  call.memory = std::move(code.memory);
  call.report = code.report;
  return call;
}

void emitCall(const calls::Site &site, bool waits, llvm::Module &module) {
  for (const CallKernel &kernel : codeOf(site).kernels) {
    BlockBuilder builder(module, kernel.launch, waits);
    kernel.emit(builder);
    builder.finish();
  }
}

} // namespace kintsugi::targets
