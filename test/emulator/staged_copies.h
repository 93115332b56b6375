//===- staged_copies.h - What a warp's cp.async still bring -----------------===//
#ifndef KINTSUGI_TEST_EMULATOR_STAGED_COPIES_H
#define KINTSUGI_TEST_EMULATOR_STAGED_COPIES_H

#include <array>
#include <cstdint>
#include <vector>

namespace kintsugi::emulator {

/// They land when their lane waits for the group they are of, and no sooner.
class StagedCopies {
public:
  struct Copy {
    unsigned lane;
    uint32_t group;
    uint32_t to;
    uint64_t from;
    uint32_t bytes, given; ///< The rest is zero.
  };

  void add(Copy copy) {
    copy.group = groups[copy.lane];
    copies.push_back(copy);
  }
  void commit(unsigned lane) { ++groups[lane]; }
  bool isEmpty() const { return copies.empty(); }

  /// Calls with each copy of a lane but those of its last `kept` groups. `all`: also with those
  /// of no group yet.
  template <typename F> void land(unsigned lane, uint32_t kept, bool all, F &&f) {
    uint32_t pending = all ? ~uint32_t(0) : groups[lane] > kept ? groups[lane] - kept : 0;
    std::erase_if(copies, [&](const Copy &copy) {
      bool lands = copy.lane == lane && copy.group < pending;
      if (lands)
        f(copy);
      return lands;
    });
  }

private:
  std::vector<Copy> copies;
  std::array<uint32_t, 32> groups{};
};

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_STAGED_COPIES_H
