#include "cost/traffic.h"

#include "cost/streams.h"
#include "loops/footprint.h"
#include "loops/fuse.h"
#include "loops/loop_order.h"
#include "loops/scratch.h"
#include "loops/visit.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <utility>

namespace kintsugi::cost {

using namespace loops;
using namespace te;

namespace {

double bytesOf(const Buffer &buffer) {
  return double(buffer.elements) * double(bytesOfElement(buffer.type));
}

/// Elements of a buffer that a nest's read touches in one run: the product of the extents that
/// move the position.
double footprint(const Expr &read, const LoopNest &nest, int64_t elements) {
  double touched = 1;
  for (unsigned k = 0; k < nest.parallel.size() + nest.numReductions(); ++k)
    if (read.readIndices()[0].uses(k))
      touched *= double(nest.extentOf(k));
  return nest.share() * std::min(touched, double(elements));
}

/// By buffer: bytes of memory that one run of the nest needs.
std::vector<double> bytesOfRun(const LoopNest &nest, const Schedule &schedule) {
  std::vector<double> bytes(schedule.buffers.size(), 0);
  forEachRead(nest, [&](const Expr &read) {
    const Buffer &buffer = schedule.buffers[read.readValue().number];
    if (buffer.home != Home::Memory)
      return;
    double &most = bytes[read.readValue().number];
    most = std::max(most,
                    footprint(read, nest, buffer.elements) * double(bytesOfElement(buffer.type)));
  });
  return bytes;
}

double operationsOfRun(const LoopNest &nest) {
  double points = nest.share(), steps = 1, each = nest.reduction ? 1 : 0, finish = 0;
  for (const Iterator &iterator : nest.parallel)
    points *= double(iterator.extent.constant());
  if (nest.reduction)
    for (const Iterator &iterator : nest.reduction->iterators)
      steps *= double(iterator.extent.constant());
  for (const Expr &body : nest.bodies)
    each += operationsOf(body);
  for (const Expr &expr : nest.epilogue)
    finish += operationsOf(expr);
  return points * (steps * each + finish);
}

/// Bytes that a nest stores to scratch and reads back from it; lines that are stored to come first
/// and go out later.
double scratchBytesOfRun(const LoopNest &nest, const Schedule &schedule) {
  double bytes = 0;
  auto add = [&](unsigned number, double times) {
    const Buffer &buffer = schedule.buffers[number];
    bytes += buffer.home == Home::Scratch ? times * bytesOf(buffer) : 0;
  };
  for (unsigned destination : nest.destinations)
    add(destination, 2);
  for (const Kept &kept : nest.kept)
    add(kept.buffer, 2);
  for (unsigned read : buffersRead(nest))
    add(read, 1);
  return bytes;
}

/// What one core reads per second of a working set that it goes through over and over: the near
/// levels hold what fits there, with some room for the rest of the program, and of what cores share
/// each has its part. The last one loses elements before their turn comes again: all of them, if it
/// is half as large, and memory is far.
double bandwidthFor(double bytes, const machine::Machine &machine) {
  constexpr double usable = 0.75;
  double held = 0, seconds = 0;
  for (const machine::MemoryLevel &level : llvm::reverse(machine.levels)) {
    bool isMemory = &level == &machine.memory(), isLast = &level == &machine.memory() + 1;
    int sharedBy = std::clamp(level.sharedBy, 1, std::max(1, machine.cores));
    double own = usable * double(level.bytes) / sharedBy;
    double here = isMemory ? bytes : std::min(bytes, own);
    if (isLast && bytes > own)
      here = std::max(held, 2 * own - bytes);
    seconds += std::max(0.0, here - held) / std::max(1e9, level.bytesPerSecond);
    held = std::max(held, here);
  }
  return bytes > 0 ? bytes / seconds : 1e12;
}

} // namespace

Traffic::Traffic(const Schedule &schedule, const machine::Machine &machine)
    : schedule(schedule), machine(machine), ofTile(schedule.buffers.size(), 0) {
  for (const LoopNest &nest : schedule.nests) {
    double runs = schedule.runsOf(nest, machine.cores) / double(schedule.tiles());
    ofRuns.push_back(bytesOfRun(nest, schedule));
    for (auto [most, once] : llvm::zip_equal(ofTile, ofRuns.back()))
      most = std::max(most, runs * once);
  }
}

/// Whether what a tile reads or stores of a buffer is a run of it: that of the tile dimension which
/// goes through all of the buffer.
bool Traffic::liesInRuns(unsigned number) const {
  const Buffer &buffer = schedule.buffers[number];
  double most = 0;
  auto look = [&](const Index &index, const LoopNest &nest) {
    for (auto [d, dimension] : llvm::enumerate(schedule.space)) {
      int64_t stride = strideOf(index, nest.originIterator(d));
      if (dimension.count() > 1 && stride != irregular)
        most = std::max(most, double(std::abs(stride)) * double(dimension.extent));
    }
  };
  for (const LoopNest &nest : schedule.nests) {
    if (llvm::is_contained(nest.destinations, number))
      look(nest.destinationIndex, nest);
    forEachRead(nest, [&](const Expr &read) {
      if (read.readValue().number == number)
        look(read.readIndices()[0], nest);
    });
  }
  constexpr double almost = 0.9;
  return most >= almost * double(buffer.elements);
}

void Traffic::count(Schedule &into, llvm::ArrayRef<ValueId> constants, bool areCold) const {
  for (const LoopNest &nest : schedule.nests)
    into.operations += schedule.runsOf(nest, machine.cores) * operationsOfRun(nest);
  for (auto [number, buffer] : llvm::enumerate(schedule.buffers)) {
    double read = std::min(bytesOf(buffer), ofTile[number] * double(schedule.tiles()));
    into.bytesRead += read;
    if (buffer.home != Home::Memory)
      continue;
    if (buffer.written)
      into.bytesWritten += bytesOf(buffer);
    if (llvm::is_contained(constants, buffer.value))
      into.bytesCold += areCold ? read : 0;
    else if (machine.threads == 0 && !liesInRuns(number)) // Blocks come to tiles in no order.
      into.bytesExchanged += buffer.written ? bytesOf(buffer) : read;
  }
}

std::vector<double> Traffic::besideRings(bool staysNear) const {
  std::vector<double> ofTile(schedule.buffers.size(), 0);
  for (auto [nest, bytes] : llvm::zip_equal(schedule.nests, ofRuns)) {
    std::vector<double> besideRing;
    if (nest.matrix) {
      LoopNest finishing = nest;
      finishing.bodies.clear();
      besideRing = bytesOfRun(finishing, schedule);
    }
    for (auto [all, once] : llvm::zip_equal(ofTile, besideRing.empty() ? bytes : besideRing))
      all = staysNear ? std::max(all, once) : all + once;
  }
  return ofTile;
}

double Traffic::bytesReadBesideRings(bool staysNear) const {
  std::vector<double> ofTile = besideRings(staysNear);
  return double(schedule.tiles()) * std::accumulate(ofTile.begin(), ofTile.end(), 0.0);
}

double Traffic::bytesOnceBesideRings() const {
  double all = 0;
  for (auto [buffer, bytes] : llvm::zip_equal(schedule.buffers, besideRings(true)))
    all += std::min(bytesOf(buffer), double(schedule.tiles()) * bytes);
  return all;
}

/// What the near cache does not hold until a parallel loop that does not move it comes back to it,
/// in one run of a nest.
double Traffic::secondsReadingAgain(const LoopNest &nest) const {
  constexpr double held = 0.5; ///< Of the near cache.
  if (!nest.reduction)
    return 0;
  llvm::SmallVector<int64_t> extents;
  for (unsigned k = 0; k < nest.parallel.size() + nest.numReductions(); ++k)
    extents.push_back(nest.extentOf(k));
  int64_t passes = nest.inPasses ? std::exchange(extents[nest.parallel.size()], 1) : 1;
  double all = 0;
  forEachRead(nest, [&](const Expr &read) {
    const Buffer &buffer = schedule.buffers[read.readValue().number];
    const Index &index = read.readIndices()[0];
    double bytes = std::min(positionsOf(index, extents), double(buffer.elements)) *
                   double(bytesOfElement(buffer.type));
    if (bytes > held * double(machine.nearBytes()))
      all += (timesBrought(nest, index) - 1) * bytes / bandwidthFor(bytes, machine);
  });
  return nest.share() * double(passes) * all;
}

std::vector<double> Traffic::movingSeconds() const {
  double held = double(schedule.scratchBytes);
  std::vector<double> seconds;
  for (auto [buffer, bytes] : llvm::zip_equal(schedule.buffers, ofTile)) // Ahead, too.
    held += isBeyondCaches(bytesOf(buffer), machine) ? 2 * bytes : bytes;
  for (auto [nest, bytes] : llvm::zip_equal(schedule.nests, ofRuns)) {
    double runs = schedule.runsOf(nest, machine.cores) / double(schedule.tiles());
    double read = std::accumulate(bytes.begin(), bytes.end(), 0.0);
    double moved = read + scratchBytesOfRun(nest, schedule);
    seconds.push_back(
        runs * (moved / bandwidthFor(std::max(held, read), machine) + secondsReadingAgain(nest)));
  }
  return seconds;
}

double Traffic::secondsInTurns(llvm::ArrayRef<double> seconds) const {
  std::vector<double> streamed(schedule.nests.size(), 0);
  double most = 0;
  for (auto [number, buffer] : llvm::enumerate(schedule.buffers)) {
    if (buffer.home != Home::Memory || !isBeyondCaches(bytesOf(buffer), machine))
      continue;
    double bytes = buffer.written ? bytesOf(buffer) / double(schedule.tiles()) : ofTile[number];
    for (size_t k = schedule.nests.size(); k-- > 0;)
      if (llvm::is_contained(schedule.nests[k].destinations, number) ||
          llvm::is_contained(buffersRead(schedule.nests[k]), number)) {
        streamed[k] += bytes;
        most = std::max({most, bytes, ofRuns[k][number]});
        break;
      }
  }
  constexpr double oneWay = 0.8; ///< Of the rate of memory that is read and written at once.
  double inTurns = 0, computing = 0, moving = 0;
  for (auto [each, bytes] : llvm::zip_equal(seconds, streamed)) {
    double memory = bytes / std::max(1e9, machine.memory().bytesPerSecond);
    inTurns += std::max(each, memory / oneWay);
    computing += each;
    moving += memory;
  }
  return most > bytesUnderWay ? (1 - bytesUnderWay / most) * (inTurns - std::max(computing, moving))
                              : 0;
}

} // namespace kintsugi::cost
