//===- launch.h - What of a program's kernels is started together ---------------===//
//
// On machines whose cores run blocks of threads. Most launches are one kernel; a join has the tiles
// of several as its blocks. The parts of a phase don't wait for each other; between phases all
// blocks do.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TILE_LAUNCH_H
#define KINTSUGI_TILE_LAUNCH_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kintsugi::tile {

/// Blocks may take the tiles along a kernel's last two dimensions in bands of so many rows, all
/// columns of a band before the next. Where a softmax leaves blocks out they take all tiles from
/// the last to the first.
inline constexpr int64_t rowsOfBand = 16;

struct Launch {
  /// A kernel at work on some of the launch's operands.
  struct Part {
    std::string kernel;
    std::vector<unsigned> operands; ///< The number of each of the kernel's.

    bool operator==(const Part &) const = default;
  };

  std::string symbol;
  std::vector<bool> constants; ///< For each operand: whether nothing writes it while a model runs.
  std::vector<std::vector<Part>> phases;

  /// What a launch of kernels takes of the device.
  struct Size {
    int64_t blocks = 0;
    int64_t scratchBytes = 0; ///< Of a block.
  };
  /// Of what comes right behind it wherever a plan has it; nullopt for what is no such launch.
  std::vector<std::optional<Size>> next;

  /// Whether its code notes when each of its parts is under way (abi/launch.h).
  bool isClocked() const;
  /// The parts, as they follow each other in the phases, in the order in which code numbers them:
  /// in each phase those of one kernel in a row.
  std::vector<size_t> orderOfParts() const;
};

} // namespace kintsugi::tile

#endif // KINTSUGI_TILE_LAUNCH_H
