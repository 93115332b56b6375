//===- layout.h - Choosing the formats of values ----------------------------===//
//
// Stores values in the order of dimensions in which the definitions that write and read them are
// quickest, after He et al. Nothing here knows an operator: what a definition takes in given
// formats is its schedule's cost. Inputs, outputs and what scans and calls read or give stay
// row-major. A labelling with least total cost is searched: one variable for each definition, one
// factor for each definition that reads or writes such a value.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LAYOUT_LAYOUT_H
#define KINTSUGI_LAYOUT_LAYOUT_H

#include "explain/log.h"
#include "search/price_list.h"
#include "te/open_axis.h"

namespace kintsugi::layout {

struct LayoutOptions {
  search::ScheduleOptions schedule;
  unsigned fuel = 3000;       ///< Definitions that are priced.
  unsigned moveFuel = 200000; ///< Moves that are tried.
  /// Of one machine, whichever programs formats are chosen for; may be null.
  search::PriceMemo *memo = nullptr;
  /// Where a dimension is open it stays outside of the others: what lies behind a run's size is
  /// then apart, and left out.
  llvm::ArrayRef<te::OpenInputs> open = {};
  /// Told which values changed their format, and what that saves.
  explain::Log *log = nullptr;
};

/// The program with its values in the formats of least cost; nullopt where all stay row-major.
std::optional<te::Program> chooseFormats(const te::Program &program, const LayoutOptions &options);

} // namespace kintsugi::layout

#endif // KINTSUGI_LAYOUT_LAYOUT_H
