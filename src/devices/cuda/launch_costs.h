//===- launch_costs.h - What a launch costs, and a wait of all blocks -------===//
//
// Two figures that the cost model compares where it has the choice: another kernel in a recorded
// run, which the device starts while the one before it ends where it can, or another phase of one
// kernel, before which all blocks wait for each other. Both are measured by the device's clock with
// kernels that do nothing else, in as many blocks as the device has room for twice over.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_LAUNCH_COSTS_H
#define KINTSUGI_DEVICES_CUDA_LAUNCH_COSTS_H

#include "devices/cuda/cuda_device.h"

namespace kintsugi::devices {

struct LaunchCosts {
  double launchSeconds = 0;
  double barrierSeconds = 0;
};

/// Takes some milliseconds.
Expected<LaunchCosts> measureLaunchCosts(CudaDevice &device);

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CUDA_LAUNCH_COSTS_H
