#include "kernel_runner.h"

#include "base/half.h"
#include "targets/cpu/cpu.h"
#include "te/scalar.h"
#include "tile/build.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kintsugi::test {

using loops::Buffer;
using loops::Home;
using loops::Schedule;

std::vector<std::string> hostLevels() {
  std::vector<std::string> levels = {"x86-64-v3"};
  if (__builtin_cpu_supports("x86-64-v4"))
    levels.push_back("x86-64-v4");
  return levels;
}

std::string hostLevel() { return hostLevels().back(); }

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

Number numberOf(ElementType type, double value) {
  if (!isFloat(type))
    return {0, te::castToInteger(type, value)};
  if (type == ElementType::F64)
    return {value, 0};
  return {decodeFloat(type, encodeFloat(type, value)), 0};
}

double asDouble(ElementType type, Number number) {
  return isFloat(type) ? number.real : te::castToFloat(type, number.integer);
}

static unsigned bytesOf(ElementType type) { return bitsOf(type) / 8; }

std::vector<std::byte> packed(ElementType type, const std::vector<double> &values) {
  std::vector<std::byte> bytes(values.size() * bytesOf(type));
  for (size_t i = 0; i < values.size(); ++i) {
    Number number = numberOf(type, values[i]);
    uint64_t bits = isFloat(type) ? encodeFloat(type, number.real) : number.integer;
    std::memcpy(bytes.data() + i * bytesOf(type), &bits, bytesOf(type));
  }
  return bytes;
}

std::vector<double> unpacked(ElementType type, const std::vector<std::byte> &bytes) {
  std::vector<double> values(bytes.size() / bytesOf(type));
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * bytesOf(type), bytesOf(type));
    Number number;
    if (isFloat(type))
      number.real = decodeFloat(type, bits);
    else if (type == ElementType::Bool)
      number.integer = bits; // A boolean is 0 or 1, nothing else.
    else
      number.integer = te::wrapInteger(type, bits);
    values[i] = asDouble(type, number);
  }
  return values;
}

namespace {

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

std::string runKernel(const Schedule &schedule, const std::string &level, Operands &operands) {
  std::string problem;
  LoadedKernel kernel(schedule, level, problem);
  if (!problem.empty())
    return problem;
  std::vector<std::unique_ptr<GuardedBytes>> guarded;
  std::vector<void *> pointers;
  operands.resize(schedule.memoryBuffers());
  for (unsigned buffer = 0; buffer < schedule.memoryBuffers(); ++buffer) {
    operands[buffer].resize(schedule.buffers[buffer].elements);
    guarded.push_back(
        std::make_unique<GuardedBytes>(packed(schedule.buffers[buffer].type, operands[buffer])));
    pointers.push_back(guarded.back()->data);
  }
  void *scratch =
      std::aligned_alloc(64, (schedule.scratchBytes + schedule.standInBytes + 127) / 64 * 64);
  std::memset(scratch, 0xff, schedule.scratchBytes + schedule.standInBytes);
  int64_t tiles = schedule.tiles();
  // In two parts, as two workers would.
  kernel.function(pointers.data(), tiles / 2, tiles, scratch, &kinImports);
  kernel.function(pointers.data(), 0, tiles / 2, scratch, &kinImports);
  std::free(scratch);
  for (unsigned buffer = 0; buffer < schedule.memoryBuffers(); ++buffer)
    operands[buffer] = unpacked(schedule.buffers[buffer].type, guarded[buffer]->bytes());
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

static Memory plainMemory(const Schedule &schedule, const Operands &operands) {
  Memory plain(schedule.memoryBuffers());
  for (unsigned buffer = 0; buffer < std::min<size_t>(operands.size(), plain.size()); ++buffer)
    for (double value : operands[buffer])
      plain[buffer].push_back(numberOf(schedule.buffers[buffer].type, value));
  return plain;
}

static std::string compareMemory(const Schedule &schedule, const Memory &plain, const Operands &got,
                                 double tolerance) {
  for (unsigned buffer = 0; buffer < schedule.memoryBuffers(); ++buffer) {
    ElementType type = schedule.buffers[buffer].type;
    std::vector<double> want;
    for (Number number : plain[buffer])
      want.push_back(asDouble(type, isFloat(type) ? numberOf(type, number.real) : number));
    if (std::string problem = compareBuffer(got[buffer], want, tolerance); !problem.empty())
      return "buffer " + std::to_string(buffer) + ": " + problem;
  }
  return "";
}

std::string compareWithPlain(const Schedule &schedule, const Operands &operands,
                             const Operands &got, double tolerance) {
  Memory plain = plainMemory(schedule, operands);
  if (std::string problem = runPlainly(schedule, plain); !problem.empty())
    return "the schedule itself: " + problem;
  return compareMemory(schedule, plain, got, tolerance);
}

std::string compareKernel(const Schedule &schedule, const Operands &operands, double tolerance) {
  Memory plain = plainMemory(schedule, operands);
  if (std::string problem = runPlainly(schedule, plain); !problem.empty())
    return "the schedule itself: " + problem;
  for (const std::string &level : hostLevels()) {
    Operands got = operands;
    std::string problem = runKernel(schedule, level, got);
    if (problem.empty())
      problem = compareMemory(schedule, plain, got, tolerance);
    if (!problem.empty())
      return level + ": " + problem;
  }
  return "";
}

} // namespace kintsugi::test
