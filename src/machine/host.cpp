#include "machine/host.h"

#include "base/checked.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

namespace kintsugi::machine {

namespace {

/// The first 64 KiB of a file without the white space at its end; nothing where it can't be read.
/// Files under /proc and /sys have no size, so they can't be mapped.
std::optional<std::string> readSmall(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return std::nullopt;
  std::string text(size_t(64) << 10, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  while (!text.empty() && isspace(static_cast<unsigned char>(text.back())))
    text.pop_back();
  return text;
}

std::optional<int64_t> parseInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<int64_t> readInteger(const std::string &path) {
  auto text = readSmall(path);
  return text ? parseInteger(*text) : std::nullopt;
}

/// The value of the first line "key   : value".
std::optional<std::string> field(const std::string &text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0)
      continue;
    if (line.find_first_not_of(" \t", key.size()) != colon)
      continue;
    size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return std::nullopt;
}

std::string singleSpaced(const std::string &text) {
  std::istringstream words(text);
  std::string result;
  for (std::string word; words >> word;)
    result += (result.empty() ? "" : " ") + word;
  return result;
}

/// Cores at work run above the nominal frequency, which processors' names and hypervisors tell: by
/// what servers of the last ten years do with all cores, those of AMD (2.25 to 2.7 GHz nominal, 3.2
/// to 4.1 GHz at work) more than others (2.5 to 2.9; 3.1 to 3.5).
double aboveNominal(const std::string &cpuinfo) {
  return field(cpuinfo, "vendor_id") == vendorAmd ? 1.4 : 1.25;
}

/// "Some Xeon @ 2.50GHz": 2.5e9; 0 where there is none.
double frequencyIn(const std::string &name) {
  if (name.find("@ ") == std::string::npos)
    return 0;
  std::istringstream frequency(name.substr(name.find("@ ") + 2));
  double number = 0;
  std::string unit;
  if (frequency >> number >> unit && number > 0 && (unit == "GHz" || unit == "MHz"))
    return std::round(number * (unit == "GHz" ? 1e3 : 1)) * 1e6;
  return 0;
}

/// The highest frequency that the driver states, else the one in the processor's name. What
/// /proc/cpuinfo calls "cpu MHz" comes last: it is the nominal one under a hypervisor, and changes
/// from moment to moment elsewhere, so it is rounded to quarters of a gigahertz there.
double readFrequency(const std::string &root, int cpu, const std::string &cpuinfo) {
  auto kilohertz = readInteger(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                               "/cpufreq/cpuinfo_max_freq");
  if (kilohertz && *kilohertz > 0)
    return static_cast<double>(*kilohertz) * 1e3;
  if (double nominal = frequencyIn(field(cpuinfo, "model name").value_or("")); nominal > 0)
    return aboveNominal(cpuinfo) * nominal;
  auto megahertz = field(cpuinfo, "cpu MHz");
  std::istringstream stream(megahertz.value_or(""));
  double number = 0;
  if (!(stream >> number) || number <= 0 || number >= 1e5)
    return 0;
  auto rounded = [&](double unit) { return std::max(1.0, std::round(number / unit)) * unit * 1e6; };
  std::string flags = " " + field(cpuinfo, "flags").value_or("") + " ";
  return flags.find(" hypervisor ") == std::string::npos ? rounded(250)
                                                         : aboveNominal(cpuinfo) * rounded(50);
}

std::string topology(const std::string &root, int cpu) {
  return root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
}

/// The logical processors of one physical core.
std::vector<int> siblings(const std::string &root, int cpu) {
  for (const char *name : {"core_cpus_list", "thread_siblings_list"})
    if (auto text = readSmall(topology(root, cpu) + name))
      if (auto list = parseCpuList(*text); list && !list->empty())
        return *list;
  return {cpu};
}

std::vector<HostCache> readCaches(const std::string &root, int cpu) {
  int threads = static_cast<int>(siblings(root, cpu).size());
  std::vector<HostCache> caches;
  for (int number = 0; number < 16; ++number) {
    std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                         "/cache/index" + std::to_string(number) + "/";
    auto type = readSmall(folder + "type");
    if (!type)
      break;
    auto level = readInteger(folder + "level");
    auto size = readSmall(folder + "size");
    auto bytes = size ? parseCacheSize(*size) : std::nullopt;
    if (*type == "Instruction" || !level || *level < 1 || *level > 4 || !bytes || *bytes <= 0)
      continue;
    HostCache cache{static_cast<int>(*level), *bytes, 1};
    if (auto text = readSmall(folder + "shared_cpu_list"))
      if (auto list = parseCpuList(*text))
        cache.sharedBy = std::max(1, static_cast<int>(list->size()) / threads);
    caches.push_back(cache);
  }
  std::sort(caches.begin(), caches.end(),
            [](const HostCache &a, const HostCache &b) { return a.level < b.level; });
  caches.erase(
      std::unique(caches.begin(), caches.end(),
                  [](const HostCache &a, const HostCache &b) { return a.level == b.level; }),
      caches.end());
  return caches;
}

/// Calls `visit` with the folder of this process's group and of each group above it.
template <typename Visit>
void forGroups(const std::string &mount, std::string group, const Visit &visit) {
  while (true) {
    while (!group.empty() && group.back() == '/')
      group.pop_back();
    visit(mount + group + "/");
    if (group.empty())
      return;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

struct GroupLimits {
  double cores = INFINITY;
  int64_t memoryBytes = INT64_MAX;

  void limitCores(int64_t quota, int64_t period) {
    if (quota > 0 && period > 0)
      cores = std::min(cores, static_cast<double>(quota) / static_cast<double>(period));
  }
  void limitMemory(std::optional<int64_t> bytes) {
    if (bytes && *bytes > 0)
      memoryBytes = std::min(memoryBytes, *bytes);
  }
};

GroupLimits readGroups(const std::string &root) {
  GroupLimits limits;
  const std::string base = root + "/sys/fs/cgroup";
  std::istringstream lines(readSmall(root + "/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (controllers == ",,") // Version 2.
      forGroups(base, group, [&](const std::string &folder) {
        std::istringstream quota(readSmall(folder + "cpu.max").value_or(""));
        int64_t time = 0, period = 0;
        if (quota >> time >> period)
          limits.limitCores(time, period);
        limits.limitMemory(readInteger(folder + "memory.max"));
      });
    if (controllers.find(",cpu,") != std::string::npos)
      forGroups(base + "/cpu", group, [&](const std::string &folder) {
        limits.limitCores(readInteger(folder + "cpu.cfs_quota_us").value_or(-1),
                          readInteger(folder + "cpu.cfs_period_us").value_or(0));
      });
    if (controllers.find(",memory,") != std::string::npos)
      forGroups(base + "/memory", group, [&](const std::string &folder) {
        limits.limitMemory(readInteger(folder + "memory.limit_in_bytes"));
      });
  }
  return limits;
}

} // namespace

std::optional<std::vector<int>> parseCpuList(std::string_view text) {
  constexpr int64_t most = 65536;
  std::vector<int> cpus;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view range = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    size_t dash = std::min(range.find('-'), range.size());
    auto low = parseInteger(range.substr(0, dash));
    auto high = dash == range.size() ? low : parseInteger(range.substr(dash + 1));
    if (!low || !high || *low < 0 || *high < *low || *high >= most)
      return std::nullopt;
    for (int64_t cpu = *low; cpu <= *high; ++cpu)
      cpus.push_back(static_cast<int>(cpu));
    if (static_cast<int64_t>(cpus.size()) > most)
      return std::nullopt;
  }
  return cpus;
}

std::optional<int64_t> parseCacheSize(std::string_view text) {
  int64_t unit = 1;
  if (!text.empty() && text.back() == 'K')
    unit = int64_t(1) << 10;
  else if (!text.empty() && text.back() == 'M')
    unit = int64_t(1) << 20;
  if (unit != 1)
    text.remove_suffix(1);
  auto number = parseInteger(text);
  return number && *number >= 0 ? checkedMul(*number, unit) : std::nullopt;
}

Host readHost(const std::string &root, std::span<const int> allowedCpus) {
  Host host;
  std::string cpuinfo = readSmall(root + "/proc/cpuinfo").value_or("");
  host.processor = singleSpaced(field(cpuinfo, "model name").value_or(""));
  host.vendor = field(cpuinfo, "vendor_id").value_or("");
  host.hertz = readFrequency(root, allowedCpus.front(), cpuinfo);
  host.caches = readCaches(root, allowedCpus.front());

  std::string memory = readSmall(root + "/proc/meminfo").value_or("");
  std::istringstream total(field(memory, "MemTotal").value_or(""));
  if (int64_t kibibytes = 0; total >> kibibytes && kibibytes > 0)
    host.memoryBytes = checkedMul(kibibytes, 1024).value_or(0);
  GroupLimits limits = readGroups(root);
  if (host.memoryBytes > 0)
    host.memoryBytes = std::min(host.memoryBytes, limits.memoryBytes);

  std::set<std::vector<int>> cores;
  for (int cpu : allowedCpus)
    cores.insert(siblings(root, cpu));
  // A worker that is throttled holds up all others at the next barrier: rounded down.
  double quota = std::min(limits.cores, static_cast<double>(cores.size()));
  host.cores = std::max(1, static_cast<int>(quota));
  return host;
}

} // namespace kintsugi::machine
