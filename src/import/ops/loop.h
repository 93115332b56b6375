//===- loop.h - Loop -----------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_LOOP_H
#define KINTSUGI_IMPORT_OPS_LOOP_H

#include "import/op_context.h"

namespace kintsugi::import {

/// Loops of so many nodes, all trips counted, are unrolled: rules and fusion look across trips
/// then. Others are scans, which are compiled in the time of one trip.
inline bool isUnrolled(int64_t trips, size_t nodes) {
  constexpr double most = 512;
  return double(trips) * double(nodes) <= most;
}

/// Of loops that are unrolled, however few nodes a trip has.
inline constexpr int64_t mostTrips = 1024;

Status loop(OpContext &c);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_LOOP_H
