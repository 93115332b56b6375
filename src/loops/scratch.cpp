#include "loops/scratch.h"

#include "loops/visit.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace kintsugi::loops {

using namespace te;

int64_t bytesOfElement(ElementType type) { return std::max<int64_t>(1, bitsOf(type) / 8); }

llvm::SmallVector<unsigned> buffersRead(const LoopNest &nest) {
  llvm::SmallVector<unsigned> buffers;
  auto collect = [&](const Expr &e) {
    if (e.kind() == ExprKind::Read && !llvm::is_contained(buffers, e.readValue().number))
      buffers.push_back(e.readValue().number);
  };
  forEachRead(nest, collect);
  for (const Span &span : nest.spans)
    for (const std::optional<Expr> *bound : {&span.begin, &span.end})
      if (*bound)
        (*bound)->walk(collect);
  return buffers;
}

namespace {

/// The nests during which a buffer's content is needed, and where it lies.
struct Life {
  unsigned buffer;
  size_t first = SIZE_MAX, last = 0;
  int64_t bytes = 0, offset = 0;

  bool overlaps(const Life &other) const { return first <= other.last && other.first <= last; }
};

std::vector<Life> livesOf(const Schedule &schedule) {
  std::vector<Life> lives;
  for (auto [number, buffer] : llvm::enumerate(schedule.buffers)) {
    if (buffer.home != Home::Scratch || buffer.standsIn)
      continue;
    Life life{static_cast<unsigned>(number)};
    life.bytes = int64_t(llvm::alignTo(buffer.elements * bytesOfElement(buffer.type), 64));
    for (auto [position, nest] : llvm::enumerate(schedule.nests)) {
      bool writes = nest.writes(number);
      if (!writes && !llvm::is_contained(buffersRead(nest), number))
        continue;
      life.first = writes && nest.sharedDimensions ? 0 : std::min(life.first, position);
      life.last = std::max(life.last, position);
      if (writes && nest.sharedDimensions)
        life.last = schedule.nests.size();
    }
    lives.push_back(life);
  }
  return lives;
}

} // namespace

void assignScratch(Schedule &schedule) {
  std::vector<Life> placed;
  schedule.scratchBytes = 0;
  for (Life life : livesOf(schedule)) {
    // The lowest gap between those that are needed at the same time.
    llvm::sort(placed, [](const Life &a, const Life &b) { return a.offset < b.offset; });
    for (const Life &other : placed)
      if (life.overlaps(other) && life.offset < other.offset + other.bytes &&
          other.offset < life.offset + life.bytes)
        life.offset = other.offset + other.bytes;
    schedule.buffers[life.buffer].scratchOffset = life.offset;
    schedule.scratchBytes = std::max(schedule.scratchBytes, life.offset + life.bytes);
    placed.push_back(life);
  }
}

void placeStandIns(Schedule &schedule) {
  int64_t start = int64_t(llvm::alignTo(schedule.scratchBytes, 64)), end = start;
  for (Buffer &buffer : schedule.buffers)
    if (buffer.standsIn) {
      buffer.scratchOffset = end;
      end += int64_t(llvm::alignTo(buffer.elements * bytesOfElement(buffer.type), 64));
    }
  schedule.standInBytes = end == start ? 0 : end - schedule.scratchBytes;
}

} // namespace kintsugi::loops
