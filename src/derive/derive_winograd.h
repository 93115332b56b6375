//===- derive_winograd.h - Where bilinear algorithms pay --------------------===//
//
// Looks at every definition that slides a window over a value with constant weights, and replaces
// it by a bilinear algorithm's definitions (winograd.h) if those cost clearly less on the machine.
// Equal definitions are priced once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_DERIVE_WINOGRAD_H
#define KINTSUGI_DERIVE_DERIVE_WINOGRAD_H

#include "cost/margins.h"
#include "derive/assumptions.h"
#include "explain/log.h"
#include "search/scheduler.h"

namespace kintsugi::derive {

struct WinogradOptions {
  search::ScheduleOptions schedule;
  double margin = cost::Margins().winograd;
  unsigned fuel = 400; ///< Distinct definitions that are priced.
  /// Told which definitions were replaced, and what that saves.
  explain::Log *log = nullptr;
  Assumptions *assumed = nullptr; ///< Told what facts don't prove.
};

/// The program with each such definition in its cheapest form.
te::Program deriveWinograd(const te::Program &program, const WinogradOptions &options);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_DERIVE_WINOGRAD_H
