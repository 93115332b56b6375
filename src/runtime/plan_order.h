//===- plan_order.h - When inputs are read last and outputs written first -===//
//
// An output may be given an input's memory, as a cache is that a step reads and writes anew. Where
// all of the input is read before any of the output is written that costs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_PLAN_ORDER_H
#define KINTSUGI_RUNTIME_PLAN_ORDER_H

#include "runtime/manifest.h"

#include <cstdint>
#include <vector>

namespace kintsugi::runtime {

class PlanOrder {
public:
  /// Of a manifest that is valid.
  explicit PlanOrder(const Manifest &manifest);

  /// Whether stages write an output's own memory only when nothing reads the input any more, at the
  /// end of a run included.
  bool isWrittenBehind(size_t output, size_t input) const {
    return lastRead[input] < firstWritten[output];
  }

private:
  void walk(const Plan &plan);
  void read(int64_t buffer);
  void write(int64_t buffer);

  const Manifest &manifest;
  uint64_t step = 1;              ///< What is done at the same time, or again and again, is one.
  unsigned depthOfOne = 0;        ///< Nodes around, all of which is one step.
  std::vector<uint64_t> lastRead; ///< By input; 0 where it is not read.
  std::vector<uint64_t> firstWritten; ///< By output.
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_PLAN_ORDER_H
