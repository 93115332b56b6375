#include "tools/kintsugi/show.h"

#include "tools/kintsugi/report_text.h"

namespace kintsugi::tool {

static std::string microseconds(const Json &report, const char *key) {
  return milliseconds(number(report, key) * 1e3);
}

/// "40 for one, 52 for all".
static std::string rates(const Json &report, const char *one, const char *all) {
  return format("%.0f for one, %.0f for all", number(report, one) / 1e9, number(report, all) / 1e9);
}

static std::string showInUse(const Json &report) {
  std::string all =
      format("%s: %.0f cores of level %s, %.0f GFLOP/s (f32) each\n"
             "%.0f vector registers of %.0f bits; %s to start a stage\n",
             text(report, "name").c_str(), number(report, "cores"), text(report, "level").c_str(),
             number(report, "flopsPerSecond") / 1e9, number(report, "vectorRegisters"),
             number(report, "vectorBits"), microseconds(report, "stageSeconds").c_str());
  for (const Json &level : report["levels"])
    all += format("%-7s %s for %.0f cores, %.0f GB/s for one and %.0f GB/s for all\n",
                  text(level, "name").c_str(), bytes(number(level, "bytes")).c_str(),
                  number(level, "sharedBy"), number(level, "bytesPerSecond") / 1e9,
                  number(level, "bytesPerSecondAll") / 1e9);
  return all;
}

/// What was assumed is of the machine's own level of the instruction set.
static std::string showMeasuredLevel(const Json &level, const Json &assumed) {
  bool own = level["level"] == assumed["level"];
  std::string all = format("with %s\n  GFLOP/s  f32 %.0f for one, %.0f for each of all; f64 %.0f",
                           text(level, "level").c_str(), number(level, "flopsOne") / 1e9,
                           number(level, "flopsAll") / 1e9, number(level, "flopsOneF64") / 1e9);
  if (own)
    all += format("; assumed f32 %.0f", number(assumed, "flopsPerSecond") / 1e9);
  all += "\n";
  for (const Json &memory : level["memory"]) {
    all += format("  GB/s     %-7s read %s; copied %s", text(memory, "name").c_str(),
                  rates(memory, "readOne", "readAll").c_str(),
                  rates(memory, "copyOne", "copyAll").c_str());
    for (const Json &guess : assumed["levels"])
      if (own && guess["name"] == memory["name"])
        all += "; assumed " + rates(guess, "bytesPerSecond", "bytesPerSecondAll");
    all += "\n";
  }
  return all;
}

/// A line for each device that the target cuda could run on, or why there is none.
static std::string showCuda(const Json &report) {
  if (!report.contains("cuda"))
    return "";
  const Json &cuda = report["cuda"];
  if (cuda.contains("problem"))
    return "cuda    none: " + text(cuda, "problem") + "\n";
  std::string all;
  for (const Json &device : cuda["devices"]) {
    all += format("cuda:%zu  %s, compute capability %s, %.0f multiprocessors, %s\n",
                  size_t(&device - &cuda["devices"][0]), text(device, "name").c_str(),
                  text(device, "capability").c_str(), number(device, "multiprocessors"),
                  bytes(number(device, "bytes")).c_str());
    const Json &measured = device["measured"];
    if (!measured.is_null())
      all +=
          format("        a launch takes %.2f us more, a wait of all blocks %.2f us: measured\n",
                 number(measured, "stageSeconds") * 1e6, number(measured, "barrierSeconds") * 1e6);
  }
  return all.empty() ? "cuda    no device\n" : all;
}

std::string showMachine(const Json &report) {
  const Json &measured = report["measured"], &assumed = report["assumed"];
  if (measured.is_null())
    return showInUse(report) + showCuda(report) +
           "assumed from the processor and its caches; kintsugi doctor "
           "--measure measures them, and compiles use that from then on\n";
  std::string all = showInUse(report) + showCuda(report) +
                    "measured; kintsugi doctor --forget goes back to what is "
                    "assumed\n\n";
  for (const Json &level : measured["levels"])
    all += showMeasuredLevel(level, assumed);
  return all + format("to start a stage %s, %s where the workers sleep; assumed %s\n",
                      microseconds(measured, "stageSeconds").c_str(),
                      microseconds(measured, "wakeSeconds").c_str(),
                      microseconds(assumed, "stageSeconds").c_str());
}

} // namespace kintsugi::tool
