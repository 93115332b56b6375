#include "kernel_runner.h"

#include "base/half.h"
#include "targets/cpu/cpu.h"
#include "tile/build.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kintsugi::test {

using schedule::Buffer;
using schedule::Home;
using schedule::Schedule;

std::string hostLevel() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") ? "x86-64-v4"
                                                                                  : "x86-64-v3";
}

LoadedKernel::LoadedKernel(const Schedule &schedule, const std::string &level,
                           std::string &problem) {
  auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &schedule});
  if (!program.ok()) {
    problem = program.error().message;
    return;
  }
  targets::CompileOptions options;
  options.level = level;
  auto code = targets::createCpuTarget()->compile({&*program}, options);
  if (!code.ok()) {
    problem = code.error().message;
    return;
  }
  int file = memfd_create("kernel", MFD_CLOEXEC);
  if (write(file, code->bytes.data(), code->bytes.size()) !=
      static_cast<ssize_t>(code->bytes.size()))
    problem = "can't write the code object";
  library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  close(file);
  if (!library) {
    problem = dlerror();
    return;
  }
  function = reinterpret_cast<KinStageFunction>(dlsym(library, "kernel"));
  if (!function)
    problem = "the code object does not export its stage";
}

LoadedKernel::~LoadedKernel() {
  if (library)
    dlclose(library);
}

namespace {

template <typename Visit> auto withType(ElementType type, Visit visit) {
  switch (type) {
  case ElementType::F32:
    return visit(float());
  case ElementType::F64:
    return visit(double());
  case ElementType::I8:
    return visit(int8_t());
  case ElementType::I16:
    return visit(int16_t());
  case ElementType::I32:
    return visit(int32_t());
  case ElementType::I64:
    return visit(int64_t());
  case ElementType::U16:
  case ElementType::F16:
  case ElementType::BF16:
    return visit(uint16_t());
  case ElementType::U32:
    return visit(uint32_t());
  case ElementType::U64:
    return visit(uint64_t());
  default:
    return visit(uint8_t());
  }
}

/// Each operand ends at the end of a page that is followed by one nobody may touch.
class GuardedBytes {
public:
  explicit GuardedBytes(const std::vector<std::byte> &content) : content(content.size()) {
    size_t page = sysconf(_SC_PAGESIZE);
    mapped = (content.size() + page - 1) / page * page + 2 * page;
    base = static_cast<std::byte *>(
        mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + page, mapped - 2 * page, PROT_READ | PROT_WRITE);
    data = base + mapped - page - content.size();
    if (!content.empty())
      std::memcpy(data, content.data(), content.size());
  }
  ~GuardedBytes() { munmap(base, mapped); }
  GuardedBytes(const GuardedBytes &) = delete;

  std::vector<std::byte> bytes() const { return {data, data + content}; }
  std::byte *data;

private:
  std::byte *base;
  size_t mapped, content;
};

} // namespace

std::vector<std::byte> pack(ElementType type, const std::vector<double> &values) {
  return withType(type, [&](auto example) {
    using T = decltype(example);
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    for (size_t i = 0; i < values.size(); ++i) {
      T element = static_cast<T>(type == ElementType::F16    ? encodeF16(values[i])
                                 : type == ElementType::BF16 ? encodeBF16(values[i])
                                                             : values[i]);
      if constexpr (std::is_floating_point_v<T>)
        element = static_cast<T>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
    return bytes;
  });
}

std::vector<double> unpack(ElementType type, const std::vector<std::byte> &bytes) {
  return withType(type, [&](auto example) {
    using T = decltype(example);
    std::vector<double> values(bytes.size() / sizeof(T));
    for (size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = type == ElementType::F16    ? decodeF16(static_cast<uint16_t>(element))
                  : type == ElementType::BF16 ? decodeBF16(static_cast<uint16_t>(element))
                                              : static_cast<double>(element);
    }
    return values;
  });
}

std::string runKernel(const Schedule &schedule, const std::string &level, Memory &memory) {
  std::string problem;
  LoadedKernel kernel(schedule, level, problem);
  if (!problem.empty())
    return problem;
  std::vector<std::unique_ptr<GuardedBytes>> operands;
  std::vector<void *> pointers;
  for (unsigned buffer = 0; buffer < schedule.memoryBuffers(); ++buffer) {
    memory[buffer].resize(schedule.buffers[buffer].elements);
    operands.push_back(
        std::make_unique<GuardedBytes>(pack(schedule.buffers[buffer].type, memory[buffer])));
    pointers.push_back(operands.back()->data);
  }
  void *scratch = std::aligned_alloc(64, (schedule.scratchBytes + 127) / 64 * 64);
  std::memset(scratch, 0xff, schedule.scratchBytes);
  int64_t tiles = schedule.tiles();
  // In two parts, as two workers would.
  kernel.function(pointers.data(), tiles / 2, tiles, scratch, &kinImports);
  kernel.function(pointers.data(), 0, tiles / 2, scratch, &kinImports);
  std::free(scratch);
  for (unsigned buffer = 0; buffer < schedule.memoryBuffers(); ++buffer)
    memory[buffer] = unpack(schedule.buffers[buffer].type, operands[buffer]->bytes());
  return "";
}

static std::string compareBuffer(const std::vector<double> &got, const std::vector<double> &want,
                                 double tolerance) {
  double magnitude = 0;
  for (double value : want)
    if (std::isfinite(value))
      magnitude = std::max(magnitude, std::abs(value));
  for (size_t i = 0; i < want.size(); ++i) {
    bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])) ||
                std::abs(got[i] - want[i]) <= tolerance * magnitude;
    if (!same)
      return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
             std::to_string(want[i]);
  }
  return "";
}

std::string compareKernel(const Schedule &schedule, const Memory &memory, double tolerance) {
  Memory want = memory;
  for (unsigned buffer = 0; buffer < schedule.memoryBuffers(); ++buffer) {
    // The plain runner starts from the elements' own precision too.
    ElementType type = schedule.buffers[buffer].type;
    want[buffer].resize(schedule.buffers[buffer].elements);
    want[buffer] = unpack(type, pack(type, want[buffer]));
  }
  want.resize(schedule.buffers.size());
  if (std::string problem = runSchedule(schedule, want); !problem.empty())
    return "the schedule itself: " + problem;
  std::vector<std::string> levels = {"x86-64-v3"};
  if (hostLevel() != levels[0])
    levels.push_back(hostLevel());
  for (const std::string &level : levels) {
    Memory got = memory;
    got.resize(schedule.buffers.size());
    if (std::string problem = runKernel(schedule, level, got); !problem.empty())
      return level + ": " + problem;
    for (unsigned buffer = 0; buffer < schedule.memoryBuffers(); ++buffer)
      if (std::string problem = compareBuffer(got[buffer], want[buffer], tolerance);
          !problem.empty())
        return level + ": buffer " + std::to_string(buffer) + ": " + problem;
  }
  return "";
}

} // namespace kintsugi::test
