#include "devices/cuda/stage_timer.h"

#include "devices/cuda/record.h"

#include <algorithm>
#include <cmath>

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::devices::cuda;
using runtime::PartSpan;
using runtime::StageSpan;

StageTimer::~StageTimer() {
  if (!device.enter().ok())
    return;
  for (Handle event : events)
    driver().destroyEvent(event);
}

/// Has the recorded stream pass an event.
Status StageTimer::place(size_t number, Handle stream) {
  while (events.size() <= number) {
    Handle event = nullptr;
    KINTSUGI_RETURN_IF_ERROR(driver().check(driver().createEvent(&event, 0), "make an event"));
    events.push_back(event);
  }
  return driver().check(driver().recordEventOfGraph(events[number], stream, eventOfGraph),
                        "time a launch");
}

Expected<Address> StageTimer::before(uint32_t stage, size_t parts, Handle stream) {
  size_t first = launches.empty() ? 0 : launches.back().firstPart + launches.back().parts;
  launches.push_back({stage, first, parts});
  KINTSUGI_RETURN_IF_ERROR(place(2 * launches.size() - 2, stream));
  return parts > 0 ? clocks.entryOf(first) : 0;
}

Status StageTimer::after(Handle stream) { return place(2 * launches.size() - 1, stream); }

Expected<double> StageTimer::nanoseconds(size_t from, size_t to) const {
  float milliseconds = 0;
  KINTSUGI_RETURN_IF_ERROR(driver().check(driver().elapsed(&milliseconds, events[from], events[to]),
                                          "read the device's clock"));
  return double(milliseconds) * 1e6;
}

constexpr char nothing[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry nothing() { ret; }\n";
constexpr int more = 32; ///< Launches without events between them.

/// An event, a launch, an event, one launch and more, an event.
Expected<Handle> StageTimer::recordNothing(Handle module, Handle stream) {
  Handle function = nullptr;
  KINTSUGI_RETURN_IF_ERROR(
      driver().check(driver().function(&function, module, "nothing"), "time nothing"));
  LaunchConfig config = {1, 1, 1, 32, 1, 1, 0, stream, nullptr, 0};
  auto launch = [&](int times) -> Status {
    for (int i = 0; i < times; ++i)
      KINTSUGI_RETURN_IF_ERROR(
          driver().check(driver().launch(&config, function, nullptr, nullptr), "time nothing"));
    return Status::success();
  };
  return record(driver(), stream, [&]() -> Status {
    KINTSUGI_RETURN_IF_ERROR(place(0, stream));
    KINTSUGI_RETURN_IF_ERROR(launch(1));
    KINTSUGI_RETURN_IF_ERROR(place(1, stream));
    KINTSUGI_RETURN_IF_ERROR(launch(1 + more));
    return place(2, stream);
  });
}

/// What two events add to a launch between them.
Expected<double> StageTimer::runNothing(Handle graph, Handle stream) const {
  constexpr int runs = 8; ///< Of which the least counts.
  double one = INFINITY, many = INFINITY;
  for (int run = 0; run < runs; ++run) {
    KINTSUGI_RETURN_IF_ERROR(driver().check(driver().launchGraph(graph, stream), "time nothing"));
    KINTSUGI_RETURN_IF_ERROR(driver().check(driver().waitForStream(stream), "time nothing"));
    KINTSUGI_ASSIGN(double first, nanoseconds(0, 1));
    KINTSUGI_ASSIGN(double second, nanoseconds(1, 2));
    one = std::min(one, first);
    many = std::min(many, second);
  }
  return one - (many - one) / more;
}

/// Uses the launches' events, whose times must be read before.
Status StageTimer::measureOverhead(Handle stream) {
  Handle module = nullptr;
  KINTSUGI_RETURN_IF_ERROR(
      driver().check(driver().loadModule(&module, nothing, 0, nullptr, nullptr), "time nothing"));
  Expected<double> found = 0.0;
  Expected<Handle> graph = recordNothing(module, stream);
  if (graph.ok()) {
    found = runNothing(*graph, stream);
    driver().destroyRunnable(*graph);
  } else {
    found = graph.takeError();
  }
  driver().unloadModule(module);
  KINTSUGI_ASSIGN(overhead, std::move(found));
  return Status::success();
}

/// With what the events add.
Expected<StageSpan> StageTimer::spanOf(size_t launch) const {
  KINTSUGI_ASSIGN(double begin, nanoseconds(0, 2 * launch));
  KINTSUGI_ASSIGN(double taken, nanoseconds(2 * launch, 2 * launch + 1));
  auto whole = static_cast<int64_t>(taken);
  const Launch &its = launches[launch];
  return StageSpan{its.stage, 0, static_cast<int64_t>(begin), whole,
                   clocks.spansOf(its.firstPart, its.parts, whole)};
}

/// A launch ends with its last block; what is ahead of its first one is the start.
static void placeAtEnd(std::vector<PartSpan> &parts, int64_t launch) {
  int64_t end = 0;
  for (const PartSpan &part : parts)
    end = std::max(end, part.begin + part.nanoseconds);
  for (PartSpan &part : parts)
    part.begin += std::max<int64_t>(0, launch - end);
}

Expected<std::vector<StageSpan>> StageTimer::read(Handle stream) {
  KINTSUGI_RETURN_IF_ERROR(clocks.read(stream));
  std::vector<StageSpan> spans;
  for (size_t launch = 0; launch < launches.size(); ++launch) {
    KINTSUGI_ASSIGN(StageSpan span, spanOf(launch));
    spans.push_back(std::move(span));
  }
  if (!overhead && !spans.empty())
    KINTSUGI_RETURN_IF_ERROR(measureOverhead(stream));
  for (StageSpan &span : spans) {
    span.nanoseconds = std::max<int64_t>(0, span.nanoseconds - static_cast<int64_t>(*overhead));
    placeAtEnd(span.parts, span.nanoseconds);
  }
  return spans;
}
