#include "machine/measurement.h"

#include <algorithm>

namespace kintsugi::machine {

namespace {

Expected<double> numberIn(const Json &object, const char *key, double least, double most) {
  KINTSUGI_ASSIGN(double value, jsonNumber(object, key));
  if (!(value >= least && value <= most))
    return inputError(std::string("'") + key + "' is no figure that a machine has");
  return value;
}

Expected<double> rateIn(const Json &object, const char *key) {
  return numberIn(object, key, 1e6, 1e18);
}

Expected<MeasuredMemory> readMemory(const Json &json) {
  MeasuredMemory memory;
  KINTSUGI_ASSIGN(memory.name, jsonString(json, "name"));
  KINTSUGI_ASSIGN(memory.readOne, rateIn(json, "readOne"));
  KINTSUGI_ASSIGN(memory.readAll, rateIn(json, "readAll"));
  KINTSUGI_ASSIGN(memory.copyOne, rateIn(json, "copyOne"));
  KINTSUGI_ASSIGN(memory.copyAll, rateIn(json, "copyAll"));
  return memory;
}

Expected<MeasuredLevel> readLevel(const Json &json) {
  MeasuredLevel level;
  KINTSUGI_ASSIGN(level.level, jsonString(json, "level"));
  KINTSUGI_ASSIGN(level.flopsOne, rateIn(json, "flopsOne"));
  KINTSUGI_ASSIGN(level.flopsAll, rateIn(json, "flopsAll"));
  KINTSUGI_ASSIGN(level.flopsOneF64, rateIn(json, "flopsOneF64"));
  KINTSUGI_ASSIGN(const Json *list, jsonArray(json, "memory"));
  for (const Json &entry : *list) {
    KINTSUGI_ASSIGN(MeasuredMemory memory, readMemory(entry));
    level.memory.push_back(std::move(memory));
  }
  return level;
}

Json jsonOf(const MeasuredLevel &level) {
  Json memory = Json::array();
  for (const MeasuredMemory &entry : level.memory)
    memory.push_back({{"name", entry.name},
                      {"readOne", entry.readOne},
                      {"readAll", entry.readAll},
                      {"copyOne", entry.copyOne},
                      {"copyAll", entry.copyAll}});
  return {{"level", level.level},
          {"flopsOne", level.flopsOne},
          {"flopsAll", level.flopsAll},
          {"flopsOneF64", level.flopsOneF64},
          {"memory", std::move(memory)}};
}

} // namespace

Machine Measurement::applyTo(Machine machine) const {
  auto measured = std::find_if(levels.begin(), levels.end(), [&](const MeasuredLevel &level) {
    return level.level == machine.level;
  });
  if (measured == levels.end())
    return machine;
  machine.flopsPerSecond = measured->flopsAll;
  machine.stageSeconds = stageSeconds;
  for (MemoryLevel &level : machine.levels)
    for (const MeasuredMemory &memory : measured->memory)
      if (memory.name == level.name) {
        level.bytesPerSecond = memory.readOne;
        level.bytesPerSecondAll = memory.readAll;
      }
  return machine;
}

Json Measurement::toJson() const {
  Json list = Json::array();
  for (const MeasuredLevel &level : levels)
    list.push_back(jsonOf(level));
  return {
      {"stageSeconds", stageSeconds}, {"wakeSeconds", wakeSeconds}, {"levels", std::move(list)}};
}

Expected<Measurement> Measurement::fromJson(const Json &json) {
  Measurement measurement;
  KINTSUGI_ASSIGN(measurement.stageSeconds, numberIn(json, "stageSeconds", 1e-9, 1));
  KINTSUGI_ASSIGN(measurement.wakeSeconds, numberIn(json, "wakeSeconds", 1e-9, 1));
  KINTSUGI_ASSIGN(const Json *list, jsonArray(json, "levels"));
  for (const Json &entry : *list) {
    KINTSUGI_ASSIGN(MeasuredLevel level, readLevel(entry));
    measurement.levels.push_back(std::move(level));
  }
  return measurement;
}

Machine MeasuredLaunches::applyTo(Machine machine) const {
  machine.stageSeconds = stageSeconds;
  machine.barrierSeconds = barrierSeconds;
  return machine;
}

Json MeasuredLaunches::toJson() const {
  return {{"device", device}, {"stageSeconds", stageSeconds}, {"barrierSeconds", barrierSeconds}};
}

Expected<MeasuredLaunches> MeasuredLaunches::fromJson(const Json &json) {
  MeasuredLaunches launches;
  KINTSUGI_ASSIGN(launches.device, jsonString(json, "device"));
  KINTSUGI_ASSIGN(launches.stageSeconds, numberIn(json, "stageSeconds", 1e-9, 1));
  KINTSUGI_ASSIGN(launches.barrierSeconds, numberIn(json, "barrierSeconds", 1e-9, 1));
  return launches;
}

} // namespace kintsugi::machine
