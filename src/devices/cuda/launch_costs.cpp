#include "devices/cuda/launch_costs.h"

#include "devices/cuda/record.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::devices::cuda;

namespace {

constexpr unsigned threads = 256;

/// The wait of generated code: targets/nvidia/grid_wait.
constexpr char meeting[] = ".visible .entry meet(.param .u64 times, .param .u64 counter) {\n"
                           ".reg .pred first, isFirst, same, more;\n"
                           ".reg .b32 thread, block, blocks, part, before, now;\n"
                           ".reg .b64 place, left;\n"
                           "ld.param.u64 place, [counter];\n"
                           "ld.param.u64 left, [times];\n"
                           "mov.u32 thread, %tid.x;\n"
                           "setp.eq.u32 first, thread, 0;\n"
                           "mov.u32 block, %ctaid.x;\n"
                           "mov.u32 blocks, %nctaid.x;\n"
                           "setp.eq.u32 isFirst, block, 0;\n"
                           "sub.u32 part, 0x80000001, blocks;\n"
                           "selp.u32 part, part, 1, isFirst;\n"
                           "next:\n"
                           "bar.sync 0;\n"
                           "@!first bra met;\n"
                           "atom.add.release.gpu.global.u32 before, [place], part;\n"
                           "again:\n"
                           "ld.acquire.gpu.global.u32 now, [place];\n"
                           "xor.b32 now, now, before;\n"
                           "setp.ge.s32 same, now, 0;\n"
                           "@same bra again;\n"
                           "met:\n"
                           "bar.sync 0;\n"
                           "sub.u64 left, left, 1;\n"
                           "setp.ne.u64 more, left, 0;\n"
                           "@more bra next;\n"
                           "ret;\n"
                           "}\n";

/// Kernels end their own wait for the launches before them where the architecture has that.
std::string textFor(bool startsEarly) {
  std::string head =
      startsEarly ? ".version 8.0\n.target sm_90\n" : ".version 7.0\n.target sm_80\n";
  return head + ".address_size 64\n.visible .entry start() {\n" +
         (startsEarly ? "griddepcontrol.wait;\n" : "") + "ret;\n}\n" + meeting;
}

class Probe {
public:
  explicit Probe(CudaDevice &device) : device(device) {}
  ~Probe() {
    if (!device.enter().ok())
      return;
    for (Handle event : {begin, end})
      if (event)
        driver().destroyEvent(event);
    if (stream)
      driver().destroyStream(stream);
    if (module)
      driver().unloadModule(module);
    device.release(counter, counterBytes);
  }
  Probe(const Probe &) = delete;
  Probe &operator=(const Probe &) = delete;

  Status setUp() {
    constexpr int hopper = 9;
    startsEarly =
        device.info().major >= hopper && device.info().driverVersion >= recordsEarlyStarts;
    KINTSUGI_RETURN_IF_ERROR(device.enter());
    KINTSUGI_RETURN_IF_ERROR(
        checked(driver().loadModule(&module, textFor(startsEarly).c_str(), 0, nullptr, nullptr)));
    KINTSUGI_RETURN_IF_ERROR(checked(driver().function(&start, module, "start")));
    KINTSUGI_RETURN_IF_ERROR(checked(driver().function(&meet, module, "meet")));
    KINTSUGI_RETURN_IF_ERROR(checked(driver().createStream(&stream, nonBlockingStream)));
    for (Handle *event : {&begin, &end})
      KINTSUGI_RETURN_IF_ERROR(checked(driver().createEvent(event, 0)));
    KINTSUGI_ASSIGN(counter, device.allocate(counterBytes));
    return checked(driver().fill(reinterpret_cast<Address>(counter), 0, 1, stream));
  }

  Expected<double> launchSeconds() {
    return ofOne([&](uint64_t times) { return secondsOfLaunches(times); });
  }

  Expected<double> barrierSeconds() {
    return ofOne(
        [&](uint64_t times) { return leastSeconds([&] { return launchMeeting(times); }); });
  }

private:
  const Driver &driver() const { return device.driver(); }
  Status checked(Result result) const { return driver().check(result, "measure launches"); }

  /// The more there are of something, the longer it takes: what it takes besides drops out.
  static Expected<double> ofOne(const std::function<Expected<double>(uint64_t)> &secondsOf) {
    constexpr uint64_t few = 64, many = 256;
    KINTSUGI_ASSIGN(double ofFew, secondsOf(few));
    KINTSUGI_ASSIGN(double ofMany, secondsOf(many));
    double one = (ofMany - ofFew) / double(many - few);
    if (!(one > 0))
      return machineError("an NVIDIA device is too busy for its launches to be measured");
    return one;
  }

  Expected<double> secondsOfLaunches(uint64_t times) {
    KINTSUGI_ASSIGN(Handle graph, record(driver(), stream, [&]() -> Status {
                      for (uint64_t i = 0; i < times; ++i)
                        KINTSUGI_RETURN_IF_ERROR(
                            launch(start, nullptr, startEarly, startsEarly && i > 0));
                      return Status::success();
                    }));
    Expected<double> seconds =
        leastSeconds([&] { return checked(driver().launchGraph(graph, stream)); });
    driver().destroyRunnable(graph);
    return seconds;
  }

  Expected<double> leastSeconds(const std::function<Status()> &work) {
    constexpr int runs = 12;
    double least = INFINITY;
    for (int run = 0; run < runs; ++run) {
      KINTSUGI_RETURN_IF_ERROR(checked(driver().recordEvent(begin, stream)));
      KINTSUGI_RETURN_IF_ERROR(work());
      KINTSUGI_RETURN_IF_ERROR(checked(driver().recordEvent(end, stream)));
      KINTSUGI_RETURN_IF_ERROR(checked(driver().waitForStream(stream)));
      float milliseconds = 0;
      KINTSUGI_RETURN_IF_ERROR(checked(driver().elapsed(&milliseconds, begin, end)));
      least = std::min(least, double(milliseconds) * 1e-3);
    }
    return least;
  }

  Status launchMeeting(uint64_t times) {
    void *parameters[] = {&times, &counter};
    return launch(meet, parameters, allAtOnce, true);
  }

  Status launch(Handle function, void **parameters, int attribute, bool isWanted) {
    constexpr unsigned blocksACore = 2;
    LaunchAttribute value = {attribute, 0, 1, {}};
    auto blocks = blocksACore * static_cast<unsigned>(device.info().multiprocessors);
    LaunchConfig config = {blocks, 1, 1, threads, 1, 1, 0, stream, &value, isWanted};
    return checked(driver().launch(&config, function, parameters, nullptr));
  }

  static constexpr uint64_t counterBytes = 4;

  CudaDevice &device;
  bool startsEarly = false;
  Handle module = nullptr, start = nullptr, meet = nullptr, stream = nullptr;
  Handle begin = nullptr, end = nullptr; ///< Events.
  void *counter = nullptr;
};

} // namespace

Expected<LaunchCosts> kintsugi::devices::measureLaunchCosts(CudaDevice &device) {
  Probe probe(device);
  KINTSUGI_RETURN_IF_ERROR(probe.setUp());
  LaunchCosts costs;
  KINTSUGI_ASSIGN(costs.launchSeconds, probe.launchSeconds());
  KINTSUGI_ASSIGN(costs.barrierSeconds, probe.barrierSeconds());
  return costs;
}
