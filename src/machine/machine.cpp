#include "machine/machine.h"

#include "abi/launch.h"
#include "base/json.h"
#include "machine/describe.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kintsugi::machine {

namespace {

constexpr int64_t kibi = int64_t(1) << 10;
constexpr int64_t mebi = int64_t(1) << 20;
constexpr int64_t gibi = int64_t(1) << 30;

/// Bytes that one core sustains each cycle from its caches, by level. L1 gives two vectors, AMD's
/// of at most 256 bits.
double bytesPerCycle(int cacheLevel, int vectorBits, bool isAmd) {
  switch (cacheLevel) {
  case 1:
    return 2.0 * (isAmd ? std::min(vectorBits, 256) : vectorBits) / 8;
  case 2:
    return isAmd ? 31 : vectorBits * 3 / 32.0;
  default:
    return 16;
  }
}

/// A start and a barrier are some trips of a cache line between cores, the more the more cores.
double stageSeconds(int cores) { return 0.4e-6 * (1 + std::log2(cores)); }

MemoryLevel describeCache(const HostCache &cache, const Machine &machine, double hertz,
                          bool isAmd) {
  MemoryLevel level;
  level.name = "L" + std::to_string(cache.level);
  level.bytes = cache.bytes;
  level.sharedBy = std::min(cache.sharedBy, machine.cores);
  level.bytesPerSecond = bytesPerCycle(cache.level, machine.vectorBits, isAmd) * hertz;
  level.bytesPerSecondAll = level.bytesPerSecond * machine.cores;
  return level;
}

/// One core and its prefetchers keep some twenty cache lines under way, which is about 20 GB/s at
/// the latency of a server's memory; the channels of a socket end it near 100 GB/s.
MemoryLevel describeMemory(int64_t bytes, int cores) {
  constexpr double one = 20e9, socket = 100e9;
  return {"memory", bytes > 0 ? bytes : 4 * gibi, cores, one, std::min(one * cores, socket)};
}

Status requirePositive(const Json &object, const char *key, double &value) {
  KINTSUGI_ASSIGN(value, jsonNumber(object, key));
  if (!std::isfinite(value) || value <= 0)
    return inputError(std::string("'") + key + "' must be a positive number");
  return Status::success();
}

Expected<int64_t> countIn(const Json &object, const char *key, int64_t most, int64_t least = 1) {
  KINTSUGI_ASSIGN(int64_t value, jsonInteger(object, key));
  if (value < least || value > most)
    return inputError(std::string("'") + key + "' must be from " + std::to_string(least) + " to " +
                      std::to_string(most));
  return value;
}

Expected<std::string> nameIn(const Json &object, const char *key) {
  KINTSUGI_ASSIGN(std::string name, jsonString(object, key));
  if (name.empty() || name.size() > 256)
    return inputError(std::string("'") + key + "' must have 1 to 256 bytes");
  return name;
}

Expected<MemoryLevel> parseLevel(const Json &object, int cores) {
  MemoryLevel level;
  KINTSUGI_ASSIGN(level.name, nameIn(object, "name"));
  KINTSUGI_ASSIGN(level.bytes, countIn(object, "bytes", INT64_MAX));
  KINTSUGI_ASSIGN(int64_t sharedBy, countIn(object, "sharedBy", cores));
  level.sharedBy = static_cast<int>(sharedBy);
  KINTSUGI_RETURN_IF_ERROR(requirePositive(object, "bytesPerSecond", level.bytesPerSecond));
  KINTSUGI_RETURN_IF_ERROR(requirePositive(object, "bytesPerSecondAll", level.bytesPerSecondAll));
  return level;
}

/// The numbers of a core by the names that they have in texts, each with the least and the most
/// that it may be.
template <typename Core, typename Visit> void visitCounts(Core &core, Visit visit) {
  visit("subgroup", core.subgroup, 1, 64);
  visit("blocks", core.blocks, 1, 1 << 16);
  visit("registers", core.registers, 1, 1 << 30);
  visit("schedulers", core.schedulers, 1, 1 << 16);
  visit("multiplyAdds", core.multiplyAdds, 1, 1 << 20);
  visit("matrixMultiplyAdds", core.matrixMultiplyAdds, 1, 1 << 20);
  visit("exponentials", core.exponentials, 1, 1 << 20);
  visit("scratchBytesACycle", core.scratchBytesACycle, 1, 1 << 20);
  visit("scratchBytes", core.scratchBytes, 1, 1 << 30);
  visit("ringBytes", core.ringBytes, 0, 1 << 30);
  visit("clusterBlocks", core.clusterBlocks, 1, 1 << 10);
}

template <typename Core, typename Visit> void visitCycles(Core &core, Visit visit) {
  visit("memoryCycles", core.memoryCycles);
  visit("sharedCycles", core.sharedCycles);
  visit("cacheCycles", core.cacheCycles);
  visit("scratchCycles", core.scratchCycles);
}

Json printCore(const BlockCore &core) {
  Json object = Json::object();
  visitCounts(core, [&](const char *key, auto value, int64_t, int64_t) { object[key] = value; });
  visitCycles(core, [&](const char *key, double value) { object[key] = value; });
  return object;
}

/// What the text does not say is that of the level.
Expected<BlockCore> parseCore(const Json &object, std::string_view level) {
  BlockCore core = BlockCore::of(level);
  Status status = Status::success();
  visitCounts(core, [&](const char *key, auto &value, int64_t least, int64_t most) {
    if (!status.ok() || !object.contains(key))
      return;
    auto count = countIn(object, key, most, least);
    if (count.ok())
      value = static_cast<std::remove_reference_t<decltype(value)>>(*count);
    else
      status = count.takeError();
  });
  visitCycles(core, [&](const char *key, double &value) {
    if (status.ok() && object.contains(key))
      status = requirePositive(object, key, value);
  });
  KINTSUGI_RETURN_IF_ERROR(std::move(status));
  for (auto [key, value] :
       {std::pair{"subgroup", core.subgroup}, {"clusterBlocks", core.clusterBlocks}})
    if (!std::has_single_bit(unsigned(value)))
      return inputError(std::string("'") + key + "' must be a power of two");
  return core;
}

Expected<Machine> parseMachine(const Json &object) {
  Machine machine;
  KINTSUGI_ASSIGN(machine.name, nameIn(object, "name"));
  KINTSUGI_ASSIGN(machine.level, nameIn(object, "level"));
  KINTSUGI_ASSIGN(int64_t cores, countIn(object, "cores", 1 << 16));
  machine.cores = static_cast<int>(cores);
  KINTSUGI_ASSIGN(int64_t bits, countIn(object, "vectorBits", 1 << 16));
  if (bits < 32 || !std::has_single_bit(static_cast<uint64_t>(bits)))
    return inputError("'vectorBits' must be a power of two of at least 32");
  machine.vectorBits = static_cast<int>(bits);
  KINTSUGI_ASSIGN(int64_t registers, countIn(object, "vectorRegisters", 1 << 16));
  machine.vectorRegisters = static_cast<int>(registers);
  if (object.contains("multiplyAdds")) {
    KINTSUGI_ASSIGN(int64_t multiplyAdds, countIn(object, "multiplyAdds", 16));
    machine.multiplyAdds = static_cast<int>(multiplyAdds);
  }
  if (object.contains("threads")) {
    KINTSUGI_ASSIGN(int64_t threads, countIn(object, "threads", 1 << 16));
    machine.threads = static_cast<int>(threads);
    machine.core = BlockCore::of(machine.level);
  }
  if (object.contains("core")) {
    auto core = parseCore(object["core"], machine.level);
    if (!core.ok())
      return at("core", core.takeError());
    machine.core = *core;
  }
  if (object.contains("barrierSeconds"))
    KINTSUGI_RETURN_IF_ERROR(requirePositive(object, "barrierSeconds", machine.barrierSeconds));
  KINTSUGI_RETURN_IF_ERROR(requirePositive(object, "flopsPerSecond", machine.flopsPerSecond));
  KINTSUGI_RETURN_IF_ERROR(requirePositive(object, "stageSeconds", machine.stageSeconds));

  KINTSUGI_ASSIGN(const Json *levels, jsonArray(object, "levels"));
  if (levels->empty() || levels->size() > 8)
    return inputError("'levels' must list 1 to 8 memory levels, from memory inwards");
  for (size_t number = 0; number < levels->size(); ++number) {
    auto level = parseLevel((*levels)[number], machine.cores);
    if (!level.ok())
      return at("level " + std::to_string(number), level.takeError());
    machine.levels.push_back(std::move(*level));
  }
  return machine;
}

} // namespace

const char *nameOf(Level level) {
  switch (level) {
  case Level::V1:
    return "x86-64";
  case Level::V2:
    return "x86-64-v2";
  case Level::V3:
    return "x86-64-v3";
  case Level::V4:
    return "x86-64-v4";
  }
  return "";
}

std::optional<Level> levelOf(std::string_view name) {
  for (Level level : {Level::V1, Level::V2, Level::V3, Level::V4})
    if (name == nameOf(level))
      return level;
  return std::nullopt;
}

Status checkRuns(Level has, Level needs) {
  if (has >= needs)
    return Status::success();
  return machineError(std::string("this processor has the instructions of ") + nameOf(has) +
                      "; what is asked for needs those of " + nameOf(needs) +
                      (needs == Level::V4 ? " (AVX-512)" : " (AVX2)"));
}

Machine describe(const Host &host, Level level, int multiplyAdds) {
  Machine machine;
  machine.name = host.processor.empty() ? nameOf(level) : host.processor.substr(0, 256);
  machine.level = nameOf(level);
  machine.cores = host.cores;
  machine.vectorBits = level == Level::V4 ? 512 : level == Level::V3 ? 256 : 128;
  machine.vectorRegisters = level == Level::V4 ? 32 : 16;
  machine.multiplyAdds = multiplyAdds;
  machine.stageSeconds = stageSeconds(machine.cores);
  double hertz = host.hertz > 0 ? host.hertz : 2.5e9;
  // Without fused multiply-adds a multiply and an add take a port each.
  double perCycle = level >= Level::V3 ? 2.0 * multiplyAdds : multiplyAdds;
  machine.flopsPerSecond = machine.vectorBits / 32 * perCycle * hertz;
  machine.levels.push_back(describeMemory(host.memoryBytes, host.cores));
  std::vector<HostCache> caches = host.caches;
  if (caches.empty())
    caches = {{1, 32 * kibi, 1}, {2, mebi, 1}, {3, 16 * mebi, host.cores}};
  for (auto cache = caches.rbegin(); cache != caches.rend(); ++cache)
    machine.levels.push_back(describeCache(*cache, machine, hertz, host.vendor == vendorAmd));
  return machine;
}

const MemoryLevel &Machine::near() const {
  return levels.size() > 2 ? levels[levels.size() - 2] : levels.back();
}

std::string Machine::print() const {
  Json inside = Json::array();
  for (const MemoryLevel &level : levels)
    inside.push_back({{"name", level.name},
                      {"bytes", level.bytes},
                      {"sharedBy", level.sharedBy},
                      {"bytesPerSecond", level.bytesPerSecond},
                      {"bytesPerSecondAll", level.bytesPerSecondAll}});
  Json object = {{"name", name},
                 {"level", level},
                 {"cores", cores},
                 {"vectorBits", vectorBits},
                 {"vectorRegisters", vectorRegisters},
                 {"flopsPerSecond", flopsPerSecond},
                 {"stageSeconds", stageSeconds},
                 {"levels", std::move(inside)}};
  if (multiplyAdds != Machine().multiplyAdds)
    object["multiplyAdds"] = multiplyAdds;
  if (threads > 0) {
    object["threads"] = threads;
    object["core"] = printCore(core);
  }
  if (barrierSeconds > 0)
    object["barrierSeconds"] = barrierSeconds;
  return printJson(object, 2) + "\n";
}

Expected<Machine> Machine::parse(std::string_view text) {
  auto object = parseJson(text, {.maxBytes = mebi, .maxDepth = 8});
  if (!object.ok())
    return at("machine description", object.takeError());
  auto machine = parseMachine(*object);
  if (!machine.ok())
    return at("machine description", machine.takeError());
  return machine;
}

BlockCore BlockCore::of(std::string_view level) {
  BlockCore core;
  // Without places that are aligned: of 99 KiB, which every device from sm_80 on has; and, where
  // boxes arrive, of 227 KiB.
  static_assert((96 << 10) + (3 << 10) == KIN_LAUNCH_SHARED_BYTES);
  core.scratchBytes = 96 << 10;
  if (level == "sm_90a") {
    core.ringBytes = 225 << 10;
    core.clusterBlocks = 8; // As large as any device has them.
  }
  return core;
}

/// An H200's 132 multiprocessors, by its datasheet and what kernels reach there.
static Machine describeHopper() {
  Machine machine;
  machine.name = "NVIDIA H200";
  machine.level = "sm_90a";
  machine.cores = 132;
  machine.vectorBits = 32;
  machine.vectorRegisters = 255;
  machine.threads = 2048;
  machine.core = BlockCore::of(machine.level);
  machine.flopsPerSecond = 2 * 128 * 1.755e9;
  machine.stageSeconds = 1e-6;
  machine.barrierSeconds = 1.45e-6;
  machine.levels = {{"memory", 140 * gibi, 132, 34e9, 4.5e12},
                    {"L2", 50 * mebi, 132, 52e9, 5.5e12},
                    {"shared", 96 * kibi, 1, 220e9, 132 * 220e9}};
  return machine;
}

Expected<Machine> Machine::forLevel(std::string_view level) {
  if (level == "sm_90a")
    return describeHopper();
  Host host;
  host.cores = 4;
  host.memoryBytes = 16 * gibi;
  host.hertz = 3e9;
  for (Level known : {Level::V3, Level::V4})
    if (level == nameOf(known))
      return describe(host, known, 2);
  return usageError("there is no processor level '" + std::string(level) +
                    "'; known are x86-64-v3, x86-64-v4 and sm_90a");
}

} // namespace kintsugi::machine
