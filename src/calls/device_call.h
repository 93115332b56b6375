//===- device_call.h - A call as launches on a device -----------------------===//
//
// What compiler and targets say to each other of a call that a device does itself: the call with
// what decides its code, and the launches that a target makes of it. Nothing here knows the code.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_CALLS_DEVICE_CALL_H
#define KINTSUGI_CALLS_DEVICE_CALL_H

#include "calls/call.h"

#include <string>

namespace kintsugi::calls {

/// Calls of equal sites share their code.
struct Site {
  std::string symbol; ///< What the names of its launches begin with.
  std::string callee;
  Json attributes = Json::object();
  std::vector<TensorType> operands;

  bool sameCode(const Site &other) const {
    return callee == other.callee && attributes == other.attributes && operands == other.operands;
  }
};

/// One launch of blocks of threads. Places count the call's operands, then its results, then its
/// memory. What it writes it writes as a whole, of its own memory perhaps a part, and does not
/// read.
struct Launch {
  std::string symbol;
  uint64_t blocks = 0;
  uint32_t threads = 0;
  uint64_t sharedBytes = 0; ///< For each block.
  std::vector<unsigned> reads, writes;
};

struct DeviceCall {
  std::string reason;           ///< Why the host has to do it; empty where it has not to, and then:
  std::vector<Launch> launches; ///< One after the other.
  std::vector<uint64_t> memory; ///< Bytes of each buffer between them, of the call's own.
  /// Among the memory, where operands can be wrong: i64 numbers, of which the first is not 0 where
  /// they are; those that follow belong into the call's `failure`.
  std::optional<unsigned> report;
};

} // namespace kintsugi::calls

#endif // KINTSUGI_CALLS_DEVICE_CALL_H
