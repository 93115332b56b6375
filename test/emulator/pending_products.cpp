#include "pending_products.h"

#include "warp.h"

#include <cstring>

namespace kintsugi::emulator {

PendingProducts::Sums *PendingProducts::find(uint32_t bits) {
  uint32_t mark = bits & ((1u << markShift) - 1);
  for (const auto &each : sums)
    if (mark - each->firstMark < each->count)
      return each.get();
  return nullptr;
}

void PendingProducts::mark(Warp &warp, Sums &target, const uint32_t *registers) {
  for (unsigned k = 0; k < target.count; ++k) {
    uint32_t bits = markBits << markShift | (target.firstMark + k);
    std::fill_n(warp.lanes<uint32_t>(registers[k]), warpLanes, bits);
    target.holders.push_back({registers[k], k});
  }
}

void PendingProducts::add(Warp &warp, WideProduct product, const uint32_t *registers) {
  unsigned count = product.columns / 2;
  auto bitsOf = [&](unsigned k) { return *warp.lanes<uint32_t>(registers[k]); };
  Sums *target = product.adds && isMark(bitsOf(0)) ? find(bitsOf(0)) : nullptr;
  if (target) {
    for (unsigned k = 0; k < count; ++k)
      if (bitsOf(k) != (markBits << markShift | (target->firstMark + k)))
        warp.fail(Fault::Failed, 0, "adds to sums that are under way in other registers");
  } else {
    if (!isFenced)
      warp.fail(Fault::Failed, 0, "no wgmma.fence is between the registers and the product");
    auto made = std::make_unique<Sums>();
    made->firstMark = nextMark;
    made->count = count;
    made->values.resize(size_t(count) * warpLanes);
    nextMark = (nextMark + count) % ((1u << markShift) - 1024);
    for (unsigned k = 0; k < count; ++k) {
      if (product.adds && isMark(bitsOf(k)))
        warp.fail(Fault::Failed, 0, "adds to some sums that are under way and some that aren't");
      std::memcpy(&made->values[size_t(k) * warpLanes], warp.lanes<float>(registers[k]),
                  sizeof(float) * warpLanes);
    }
    target = sums.emplace_back(std::move(made)).get();
  }
  mark(warp, *target, registers);
  ++target->pending;
  pending.push_back({groups, std::move(product), target});
}

void PendingProducts::noteMove(uint32_t bits, uint32_t to) {
  if (Sums *held = find(bits))
    held->holders.push_back({to, (bits & ((1u << markShift) - 1)) - held->firstMark});
}

/// Registers that still hold a mark get what it stands for.
void PendingProducts::settle(Warp &warp, Sums &finished) {
  for (auto [place, number] : finished.holders)
    if (*warp.lanes<uint32_t>(place) == (markBits << markShift | (finished.firstMark + number)))
      std::memcpy(warp.lanes<float>(place), &finished.values[size_t(number) * warpLanes],
                  sizeof(float) * warpLanes);
}

void PendingProducts::wait(Warp &warp, uint32_t kept) {
  isFenced = false;
  std::vector<Pending> left;
  for (Pending &each : pending) {
    if (each.group + kept >= groups) {
      left.push_back(std::move(each));
      continue;
    }
    multiply(warp, each.product, each.sums->values.data());
    --each.sums->pending;
  }
  pending = std::move(left);
  std::erase_if(sums, [&](const auto &each) {
    if (each->pending == 0)
      settle(warp, *each);
    return each->pending == 0;
  });
}

} // namespace kintsugi::emulator
