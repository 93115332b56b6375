#include "schedule/traffic.h"

#include "schedule/fuse.h"
#include "schedule/scratch.h"
#include "schedule/streams.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::schedule {

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

/// By buffer in memory: bytes that one run of the nest needs.
std::map<unsigned, double> bytesOfRun(const LoopNest &nest, const Schedule &schedule) {
  std::map<unsigned, double> bytes;
  auto touch = [&](const Expr &e) {
    if (e.kind() != ExprKind::Read || LoopNest::isAccumulator(e.readValue()))
      return;
    const Buffer &buffer = schedule.buffers[e.readValue().number];
    if (buffer.home != Home::Memory)
      return;
    double &most = bytes[e.readValue().number];
    most =
        std::max(most, footprint(e, nest, buffer.elements) * double(bytesOfElement(buffer.type)));
  };
  for (const Expr &body : nest.bodies)
    body.walk(touch);
  for (const Expr &finish : nest.epilogue)
    finish.walk(touch);
  return bytes;
}

/// By buffer in memory: bytes that a tile needs, on the average where nests are shared.
std::map<unsigned, double> bytesOfTile(const Schedule &schedule, int cores) {
  std::map<unsigned, double> bytes;
  for (const LoopNest &nest : schedule.nests) {
    double runs = schedule.runsOf(nest, cores) / double(schedule.tiles());
    for (auto [buffer, once] : bytesOfRun(nest, schedule))
      bytes[buffer] = std::max(bytes[buffer], runs * once);
  }
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

/// Bytes that a nest stores to scratch and reads back from it.
double scratchBytesOfRun(const LoopNest &nest, const Schedule &schedule) {
  double bytes = 0;
  auto add = [&](unsigned number) {
    const Buffer &buffer = schedule.buffers[number];
    bytes += buffer.home == Home::Scratch ? bytesOf(buffer) : 0;
  };
  llvm::for_each(nest.destinations, add);
  llvm::for_each(buffersRead(nest), add);
  return bytes;
}

/// What one core reads per second of a working set: the near levels hold what fits there, with
/// some room for the rest of the program.
double bandwidthFor(double bytes, const machine::Machine &machine) {
  constexpr double usable = 0.75;
  double held = 0, seconds = 0;
  for (const machine::MemoryLevel &level : llvm::reverse(machine.levels)) {
    bool isLast = &level == &machine.memory();
    double here = isLast ? bytes : std::min(bytes, usable * double(level.bytes));
    seconds += std::max(0.0, here - held) / std::max(1e9, level.bytesPerSecond);
    held = std::max(held, here);
  }
  return bytes > 0 ? bytes / seconds : 1e12;
}

} // namespace

void countTraffic(Schedule &schedule, const machine::Machine &machine) {
  for (const LoopNest &nest : schedule.nests)
    schedule.operations += schedule.runsOf(nest, machine.cores) * operationsOfRun(nest);
  for (const Buffer &buffer : schedule.buffers)
    if (buffer.home == Home::Memory && buffer.written)
      schedule.bytesWritten += bytesOf(buffer);
  for (auto [number, bytes] : bytesOfTile(schedule, machine.cores))
    schedule.bytesRead +=
        std::min(bytesOf(schedule.buffers[number]), bytes * double(schedule.tiles()));
}

double bytesReadByTiles(const Schedule &schedule, const machine::Machine &machine) {
  double all = 0;
  for (auto [number, bytes] : bytesOfTile(schedule, machine.cores))
    all += bytes * double(schedule.tiles());
  return all;
}

double movingSeconds(const Schedule &schedule, const machine::Machine &machine) {
  double held = double(schedule.scratchBytes), seconds = 0;
  for (auto [number, bytes] : bytesOfTile(schedule, machine.cores)) // What is asked for ahead, too.
    held += isBeyondCaches(bytesOf(schedule.buffers[number]), machine) ? 2 * bytes : bytes;
  for (const LoopNest &nest : schedule.nests) {
    double read = 0, runs = schedule.runsOf(nest, machine.cores) / double(schedule.tiles());
    for (auto [number, bytes] : bytesOfRun(nest, schedule))
      read += bytes;
    seconds += runs * (read + scratchBytesOfRun(nest, schedule)) /
               bandwidthFor(std::max(held, read), machine);
  }
  return seconds;
}

} // namespace kintsugi::schedule
