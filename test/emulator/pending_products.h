//===- pending_products.h - What a warp's wgmma still add -------------------===//
//
// A product reads shared memory when it is waited for, as late as it may. Until then its registers
// hold marks, which moves take along: they stand for what will be there, and nothing else may read
// them.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_PENDING_PRODUCTS_H
#define KINTSUGI_TEST_EMULATOR_PENDING_PRODUCTS_H

#include <cstdint>
#include <memory>
#include <vector>

namespace kintsugi::emulator {

class Warp;

/// One wgmma.mma_async of a warp's 16 rows.
struct WideProduct {
  unsigned columns = 0;
  bool isBrief = false; ///< Of bf16.
  bool adds = true;
  bool rowsAreDescribed = true, rowsAreTurned = false, columnsAreTurned = false;
  bool negatesRows = false, negatesColumns = false;
  uint64_t rows = 0, columnsAt = 0;  ///< Descriptors.
  std::vector<uint32_t> rowsOfLanes; ///< Registers of the rows: four of each lane.
};

class PendingProducts {
public:
  /// The registers of a product's sums, whose values it takes and marks.
  void add(Warp &warp, WideProduct product, const uint32_t *sums);
  void fence() { isFenced = true; }
  void commit() { ++groups; }
  /// Until no more than so many groups are under way.
  void wait(Warp &warp, uint32_t kept);

  bool isEmpty() const { return pending.empty() && sums.empty(); }
  static bool isMark(uint32_t bits) { return bits >> markShift == markBits; }
  /// A move has brought a mark to a register.
  void noteMove(uint32_t bits, uint32_t to);

private:
  static constexpr uint32_t markShift = 20, markBits = 0x7FB; ///< Quiet numbers that are none.

  /// What products add up, by the registers that hold it.
  struct Sums {
    uint32_t firstMark = 0;
    unsigned count = 0;                                 ///< Of a lane.
    std::vector<float> values;                          ///< 32 of each register.
    unsigned pending = 0;                               ///< Products.
    std::vector<std::pair<uint32_t, unsigned>> holders; ///< Registers, and what they hold.
  };
  struct Pending {
    uint32_t group;
    WideProduct product;
    Sums *sums;
  };

  Sums *find(uint32_t bits);
  void mark(Warp &warp, Sums &target, const uint32_t *registers);
  void settle(Warp &warp, Sums &finished);

  std::vector<Pending> pending;
  std::vector<std::unique_ptr<Sums>> sums;
  uint32_t groups = 0, nextMark = 0;
  bool isFenced = false;
};

/// Adds a product to 32 values of each of columns / 2 registers.
void multiply(Warp &warp, const WideProduct &product, float *values);

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_PENDING_PRODUCTS_H
