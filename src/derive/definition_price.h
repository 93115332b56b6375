//===- definition_price.h - What definitions take as kernels of their own ----===//
//
// Rules that write a definition as several compare what either form takes. Both are scheduled as
// kernels that share nothing with others, in a program that has nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_DEFINITION_PRICE_H
#define KINTSUGI_DERIVE_DEFINITION_PRICE_H

#include "schedule/scheduler.h"
#include "space/space.h"

namespace kintsugi::derive {

/// Definitions as a kernel that shares nothing with others, and is told which operands are
/// constants.
schedule::Group kernelGroup(const te::Program &program, const std::vector<bool> &constant,
                            llvm::ArrayRef<uint32_t> nodes, llvm::ArrayRef<te::ValueId> outputs);

/// The kernel of a group as the cost model sees it; none where it can't be one.
std::optional<space::KernelShape> kernelShape(const te::Program &program,
                                              const schedule::Group &group,
                                              const schedule::ScheduleOptions &options);

/// Predicted seconds of a definition of one result as a kernel; infinite where it can't be one.
/// `moving`: seconds that its bytes take.
double kernelSeconds(const te::Program &program, const std::vector<bool> &constant, uint32_t node,
                     const schedule::ScheduleOptions &options, double *moving = nullptr);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_DEFINITION_PRICE_H
