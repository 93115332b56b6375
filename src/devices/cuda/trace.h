//===- trace.h - What a run asks a queue for, with less in it ---------------===//
//
// The steps of a run that is recorded, in order, with the addresses that they touch. A loop that is
// written out asks for much that moves bytes and computes nothing: a step's number is set, a next
// state is copied over the state, a step's result into its place of a stack. shorten() has a kernel
// write where its result is wanted, or into spare memory, and has kernels read step numbers from a
// table, wherever all that touches those addresses is known. What is read after the last step
// is there as before the change.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_TRACE_H
#define KINTSUGI_DEVICES_CUDA_TRACE_H

#include "devices/cuda/driver.h"

#include <vector>

namespace kintsugi::devices::cuda {

struct Range {
  Address begin = 0;
  uint64_t bytes = 0;

  bool overlaps(const Range &other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
  bool covers(const Range &other) const {
    return begin <= other.begin && other.begin + other.bytes <= begin + bytes;
  }
  bool operator==(const Range &) const = default;
};

struct TraceStep {
  enum class Kind : uint8_t {
    Launch, ///< Of stage number `stage`.
    Copy,   ///< From the first operand to the second.
    Set,    ///< The operand gets `value`.
    Nothing,
  };
  Kind kind = Kind::Nothing;
  uint32_t stage = 0;
  std::vector<Range> operands; ///< The last `written` are written, each as a whole.
  size_t written = 0;
  std::vector<std::byte> value;

  size_t firstWritten() const { return operands.size() - written; }
};

struct Trace {
  /// Where memory that is not there yet seems to begin: its first bytes are `table`, then as many
  /// follow as `spareBytes` says.
  static constexpr Address added = Address(1) << 63;

  std::vector<TraceStep> steps;
  std::vector<Range> lasting; ///< What is read after the last step.
  std::vector<std::byte> table;
  uint64_t spareBytes = 0;

  void addLaunch(uint32_t stage, std::vector<Range> operands, size_t written);
  void addCopy(Range from, Range to);
  void addSet(Range to, const std::byte *value);

  void shorten();
  /// Gives the added memory its place.
  void place(Address memory);
};

} // namespace kintsugi::devices::cuda

#endif // KINTSUGI_DEVICES_CUDA_TRACE_H
