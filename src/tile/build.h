//===- build.h - From schedules to tile programs ----------------------------===//
//
// Each schedule becomes one tile.kernel: its buffers the operands and scratch buffers, each nest a
// tile.compute whose regions spell out the meaning of te's expressions (te/expr.h) in `arith` and
// `math`, with every case that would be undefined there guarded.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TILE_BUILD_H
#define KINTSUGI_TILE_BUILD_H

#include "loops/schedule.h"
#include "tile/program.h"

namespace kintsugi::tile {

/// A kernel to build and the symbol that it shall have, unique in the program.
struct NamedSchedule {
  std::string name;
  const loops::Schedule *schedule;
  std::string node = {}; ///< Of the model, that errors name: the first that the kernel serves.
};

/// "node 'conv1'", or "kernel 'k0'" where no node is known: whom an error is about.
std::string describeKernel(llvm::StringRef kernel, llvm::StringRef node);

/// Fails on what no target can compute (complex numbers, types narrower than a byte).
Expected<TileProgram> buildTileProgram(llvm::ArrayRef<NamedSchedule> kernels);

} // namespace kintsugi::tile

#endif // KINTSUGI_TILE_BUILD_H
