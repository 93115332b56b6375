//===- definition_price.h - What definitions take as kernels of their own ----===//
//
// Rules that write a definition as several compare what either form takes. Both are scheduled as
// kernels that share nothing with others, in a program that has nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_DEFINITION_PRICE_H
#define KINTSUGI_DERIVE_DEFINITION_PRICE_H

#include "schedule/scheduler.h"

namespace kintsugi::derive {

/// A definition of one result as a program, whose output that is. What it reads is inputs, and
/// constants without bytes where that is constant (`constant`: by node, see space/constants.h).
te::Program alone(const te::Program &program, const std::vector<bool> &constant, uint32_t node);

/// Predicted seconds of a definition of one result as a kernel; infinite where it can't be one.
/// `moving`: seconds that its bytes take.
double kernelSeconds(const te::Program &program, uint32_t node,
                     const schedule::ScheduleOptions &options, double *moving = nullptr);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_DEFINITION_PRICE_H
