#include "devices/cuda/part_clocks.h"

#include <algorithm>

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::devices::cuda;
using runtime::PartSpan;

PartClocks::~PartClocks() { device.release(table, room * sizeof(Entry)); }

Status PartClocks::makeRoom(size_t parts) {
  entries.assign(parts, {});
  if (parts <= room)
    return Status::success();
  device.release(table, room * sizeof(Entry));
  table = nullptr;
  room = 0;
  KINTSUGI_ASSIGN(table, device.allocate(parts * sizeof(Entry)));
  room = parts;
  return Status::success();
}

Address PartClocks::entryOf(size_t part) const {
  return reinterpret_cast<Address>(table) + part * sizeof(Entry);
}

Status PartClocks::clear(Handle stream) const {
  if (entries.empty())
    return Status::success();
  return driver().check(
      driver().fill(entryOf(0), 0, entries.size() * sizeof(Entry) / sizeof(uint32_t), stream),
      "clear the clocks of parts");
}

Status PartClocks::read(Handle stream) {
  if (entries.empty())
    return Status::success();
  auto get = [&]() -> Status {
    KINTSUGI_RETURN_IF_ERROR(driver().check(
        driver().download(entries.data(), entryOf(0), entries.size() * sizeof(Entry), stream),
        "read the clocks of parts"));
    return driver().check(driver().waitForStream(stream), "read the clocks of parts");
  };
  KINTSUGI_RETURN_IF_ERROR(get());
  return step == 0 ? measureStep(stream) : Status::success();
}

/// The least by which the clock is seen to go on; the greatest number where it stands still.
constexpr char ticks[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                         ".visible .entry ticks(.param .u64 result) {\n"
                         ".reg .pred same, more, over;\n"
                         ".reg .b32 left, reads;\n"
                         ".reg .b64 place, before, now, step, least;\n"
                         "ld.param.u64 place, [result];\n"
                         "mov.u32 left, 16;\n"
                         "mov.u32 reads, 0x100000;\n"
                         "mov.u64 least, 0xffffffffffffffff;\n"
                         "mov.u64 before, %globaltimer;\n"
                         "again:\n"
                         "mov.u64 now, %globaltimer;\n"
                         "sub.u32 reads, reads, 1;\n"
                         "setp.eq.u32 over, reads, 0;\n"
                         "@over bra done;\n"
                         "setp.eq.u64 same, now, before;\n"
                         "@same bra again;\n"
                         "sub.u64 step, now, before;\n"
                         "min.u64 least, least, step;\n"
                         "mov.u64 before, now;\n"
                         "sub.u32 left, left, 1;\n"
                         "setp.ne.u32 more, left, 0;\n"
                         "@more bra again;\n"
                         "done:\n"
                         "st.global.u64 [place], least;\n"
                         "ret;\n"
                         "}\n";

Status PartClocks::runTicks(Handle module, Handle stream) {
  auto checked = [&](Result result) {
    return driver().check(result, "measure the device's clock");
  };
  Handle function = nullptr;
  KINTSUGI_RETURN_IF_ERROR(checked(driver().function(&function, module, "ticks")));
  Address place = entryOf(0);
  void *parameters[] = {&place};
  LaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream, nullptr, 0};
  KINTSUGI_RETURN_IF_ERROR(checked(driver().launch(&config, function, parameters, nullptr)));
  KINTSUGI_RETURN_IF_ERROR(checked(driver().download(&step, place, sizeof step, stream)));
  KINTSUGI_RETURN_IF_ERROR(checked(driver().waitForStream(stream)));
  step = std::max<uint64_t>(1, step);
  return Status::success();
}

/// Uses the table, which must be read before.
Status PartClocks::measureStep(Handle stream) {
  Handle module = nullptr;
  KINTSUGI_RETURN_IF_ERROR(driver().check(driver().loadModule(&module, ticks, 0, nullptr, nullptr),
                                          "measure the device's clock"));
  Status status = runTicks(module, stream);
  driver().unloadModule(module);
  return status;
}

std::vector<PartSpan> PartClocks::spansOf(size_t first, size_t count, int64_t most) const {
  constexpr uint64_t leastSteps = 8;
  uint64_t begin = UINT64_MAX, end = 0;
  for (size_t i = first; i < first + count; ++i) {
    if (~entries[i].notBegin > entries[i].end) // No block of it noted anything.
      return {};
    begin = std::min(begin, ~entries[i].notBegin);
    end = std::max(end, entries[i].end);
  }
  uint64_t all = end - begin;
  if (count == 0 || most < 0 || all > static_cast<uint64_t>(most) || all / leastSteps < step)
    return {};
  std::vector<PartSpan> spans;
  for (size_t i = first; i < first + count; ++i) {
    uint64_t began = ~entries[i].notBegin;
    spans.push_back(
        {static_cast<int64_t>(began - begin), static_cast<int64_t>(entries[i].end - began)});
  }
  return spans;
}
