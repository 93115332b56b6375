//===- program.h - Tile programs, held without MLIR's headers ---------------===//
//
// The handle that layers above pass from `tile` to a target: some kernels in MLIR's tile dialect,
// and the context that owns them. A program is used by one thread at a time; different programs
// share nothing, so that targets compile several at once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TILE_PROGRAM_H
#define KINTSUGI_TILE_PROGRAM_H

#include "base/status.h"
#include "calls/device_call.h"
#include "tile/launch.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi::tile {

struct ProgramImpl;

class TileProgram {
public:
  /// A program without kernels.
  TileProgram();
  ~TileProgram();
  TileProgram(TileProgram &&) noexcept;
  TileProgram &operator=(TileProgram &&) noexcept;

  /// The kernels' names in order.
  std::vector<std::string> kernels() const;
  /// MLIR's text; parse(print()) prints the same.
  std::string print() const;
  /// Checks every operation's invariants.
  Status verify() const;

  /// Where there are none, each kernel is one of its own.
  std::vector<Launch> launches;
  /// Calls whose device code stands beside the kernels.
  std::vector<calls::Site> calls;

  /// For `tile` and the targets: see program_impl.h.
  ProgramImpl &implementation() const { return *impl; }

private:
  std::unique_ptr<ProgramImpl> impl;
};

/// Reads what print() wrote and verifies it. `where` names the text in messages:
/// "where:line:column: reason".
Expected<TileProgram> parseTileProgram(std::string_view text, const std::string &where);

} // namespace kintsugi::tile

#endif // KINTSUGI_TILE_PROGRAM_H
