//===- block.h - Blocks of threads, and clusters of blocks ------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_BLOCK_H
#define KINTSUGI_TEST_EMULATOR_BLOCK_H

#include "shared_memory.h"
#include "tensor_box.h"
#include "warp.h"

#include <map>
#include <memory>

namespace kintsugi::emulator {

class Cluster;
struct Launch;

/// A place of shared memory that counts what is to come.
struct Arrival {
  uint32_t expected = 0, left = 0, phase = 0;
  int64_t bytes = 0; ///< That are still to come.
  Clock clock;       ///< Of who has arrived in this phase.
  Clock ended;       ///< Of who had, in the phase before.
};

struct BulkCopy {
  TensorMap map;
  std::array<int32_t, 5> corner;
  uint32_t to, arrival;
};

class Block {
public:
  Block(Cluster &cluster, const Program &program, unsigned number, unsigned rank);

  /// The threads of a warp's mask are at a barrier that so many wait at; 0: all.
  void arrive(Warp &warp, unsigned barrier, unsigned threads);
  void noteExit(); ///< Threads that have ended are waited for no longer.
  Arrival &arrivalAt(Warp &warp, unsigned lane, uint32_t address);
  void settle(Arrival &arrival); ///< Ends its phase if all is there.
  bool land(uint32_t random);    ///< One of the bulk copies, if there is one.

  Toucher toucher(const Warp &warp, unsigned lane) const;
  /// By a generic address. What is read and changed is the host's.
  /// A load may take in what else is of the last 16 bytes of an allocation, as LLVM's does.
  const std::byte *load(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes);
  void store(Warp &warp, unsigned lane, uint64_t address, const std::byte *data, uint32_t bytes);
  std::byte *change(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes);
  std::byte *accessGlobal(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes, bool writes);
  const std::byte *loadShared(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes);
  void complain(Warp &warp, unsigned lane, const SharedMemory::Complaint &complaint) const;

  bool isDone() const;
  std::string describe() const; ///< Of each warp, where it waits.
  void checkEnd() const;

  Cluster &cluster;
  const unsigned number, rank;
  SharedMemory shared;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<uint32_t> fences; ///< Of each thread, how often it has fenced the asynchronous proxy.
  std::map<uint32_t, Arrival> arrivals;
  std::vector<BulkCopy> copies;

private:
  std::byte *accessLocal(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes) const;
  /// Of this block.
  uint32_t ownShared(Warp &warp, unsigned lane, uint64_t address, uint32_t bytes);

  struct Barrier {
    unsigned threads = 0;
    unsigned counted = 0; ///< How many it is for; 0: all that have not ended.
    uint32_t warps = 0;
  };
  unsigned wantedAt(const Barrier &barrier) const;
  void settle(Barrier &barrier);
  std::array<Barrier, 16> barriers;
  std::array<Range, 4> known; ///< Ranges of memory that were found.
  unsigned nextKnown = 0;
};

class Cluster {
public:
  Cluster(Launch &launch, unsigned first, unsigned width);

  /// Each warp goes on until it waits or has done its share. False: none could go on.
  bool runRound();
  bool isDone() const;
  void arrive(Warp &warp);
  bool isIdle() const { return idle; } ///< All that the last round did was to look again.

  Launch &launch;
  uint32_t now = 1;
  std::vector<std::unique_ptr<Block>> blocks;

private:
  unsigned warpsThatWait = 0;
  uint32_t random;
  bool idle = false;
};

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_BLOCK_H
