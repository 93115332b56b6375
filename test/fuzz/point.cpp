// Points of schedules as the store has them: what is read prints as a text that reads as the same,
// and a point that a group does not have is no schedule.

#include "fuzz.h"
#include "search/point_text.h"
#include "search/scheduler.h"
#include "te/parser.h"

using namespace kintsugi;

namespace {

/// Products whose results are finished, one for matrix units, and a softmax: registers and tiles.
constexpr const char *groups[] = {R"(
input a[m:48, k:64] f32
input b[k:64, n:80] f32
t[m:48, n:80] f32 = sum<f32>[k:64] a[m, k] * b[k, n]
y[m:48, n:80] f32 = max(t[m, n], 0)
output y
)",
                                  R"(
input a[m:48, k:64] f16
input b[k:64, n:80] f16
t[m:48, n:80] f32 = sum<f32>[k:64] f32(a[m, k]) * f32(b[k, n])
y[m:48, n:80] f32 = max(t[m, n], 0)
output y
)",
                                  R"(
input x[i:24, j:96] f32
m[i:24] f32 = max<f32>[j:96] x[i, j]
e[i:24, j:96] f32 = exp(x[i, j] - m[i])
s[i:24] f32 = sum<f32>[j:96] e[i, j]
y[i:24, j:96] f32 = e[i, j] / s[i]
output y
)"};

std::vector<te::Program> programs() {
  std::vector<te::Program> all;
  for (const char *text : groups) {
    Expected<te::Program> program = te::parseProgram(text, "group.te");
    fuzz::require(program.ok(), "a group can't be read");
    all.push_back(std::move(*program));
  }
  return all;
}

std::vector<search::ScheduleOptions> machines() {
  std::vector<search::ScheduleOptions> all;
  for (const char *level : {"x86-64-v3", "sm_90a"}) {
    search::ScheduleOptions &options = all.emplace_back();
    options.machine = *machine::Machine::forLevel(level);
    if (options.machine.threads > 0) {
      options.scratchLimit = options.machine.core.scratchBytes;
      options.ringLimit = options.machine.core.ringBytes;
      options.copies = false;
    }
  }
  return all;
}

loops::Group wholeOf(const te::Program &program) {
  loops::Group group;
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    group.nodes.push_back(node);
  for (const te::Program::Output &output : program.outputs)
    group.outputs.push_back(output.value);
  return group;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::vector<te::Program> all = programs();
  static const std::vector<search::ScheduleOptions> on = machines();
  std::optional<loops::Point> point = search::parsePoint(fuzz::textOf(data, size));
  if (!point)
    return 0;
  std::string text = search::pointText(*point);
  std::optional<loops::Point> again = search::parsePoint(text);
  fuzz::require(again.has_value(), "a printed point can't be read");
  fuzz::require(search::pointText(*again) == text, "a point prints otherwise once it was read");
  for (const te::Program &program : all)
    for (const search::ScheduleOptions &options : on) {
      search::ScheduleResult result =
          search::scheduleAt(program, wholeOf(program), options, *point);
      fuzz::require(result.schedule || !result.reason.empty(),
                    "there is no schedule for no reason");
    }
  return 0;
}
