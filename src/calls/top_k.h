//===- top_k.h - What TopK's attributes say ---------------------------------===//
#ifndef KINTSUGI_CALLS_TOP_K_H
#define KINTSUGI_CALLS_TOP_K_H

#include "base/json.h"
#include "base/status.h"

namespace kintsugi::calls {

struct TopKAttributes {
  int64_t k;
  size_t axis;
  bool largest;

  /// For an operand of that rank.
  static Expected<TopKAttributes> read(const Json &attributes, size_t rank);
};

} // namespace kintsugi::calls

#endif // KINTSUGI_CALLS_TOP_K_H
