//===- approximations.h - The special units of NVIDIA's GPUs ---------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_APPROXIMATIONS_H
#define KINTSUGI_TARGETS_NVIDIA_APPROXIMATIONS_H

#include "targets/special_units.h"

namespace kintsugi::targets {

class Approximations final : public SpecialUnits {
public:
  mlir::Value inverse(Emit &emit, mlir::Value x) const override;
  mlir::Value quotient(Emit &emit, mlir::Value a, mlir::Value b) const override;
  mlir::Value exponential(Emit &emit, mlir::Value x) const override;
  mlir::Value extremum(Emit &emit, mlir::Value a, mlir::Value b, bool isMax) const override;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_APPROXIMATIONS_H
