//===- tried.h - What running a program has told of it ----------------------===//
#ifndef KINTSUGI_SIMPLIFY_TRIED_H
#define KINTSUGI_SIMPLIFY_TRIED_H

#include <cstdint>
#include <vector>

namespace kintsugi::simplify {

struct Tried {
  /// By value, the greatest finite magnitude that was seen, 0 where none was; values that come near
  /// the end of the narrow type's range are divided by a power of two (scales.h). Empty: nothing is
  /// known, and nothing divided.
  std::vector<double> greatest;
  /// By node, whether it reads and stores f32, since rounding that moves the outputs too far.
  /// Empty: none does.
  std::vector<bool> kept;

  bool isKept(uint32_t node) const { return !kept.empty() && kept[node]; }
};

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_TRIED_H
