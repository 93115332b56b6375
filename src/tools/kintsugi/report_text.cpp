#include "tools/kintsugi/report_text.h"

#include "base/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace kintsugi::tool {

std::string format(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string text(std::vsnprintf(nullptr, 0, pattern, arguments), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return text;
}

std::string text(const Json &report, const char *key) {
  auto found = report.find(key);
  return found != report.end() && found->is_string() ? printable(found->get<std::string>()) : "";
}

std::vector<std::string> lines(const Json &report, const char *key) {
  std::vector<std::string> result;
  auto found = report.find(key);
  if (found == report.end() || !found->is_string())
    return result;
  std::string all = found->get<std::string>();
  for (size_t start = 0; start < all.size();) {
    size_t end = std::min(all.find('\n', start), all.size());
    result.push_back(printable(all.substr(start, end - start)));
    start = end + 1;
  }
  return result;
}

double number(const Json &report, const char *key) {
  auto found = report.find(key);
  if (found != report.end() && found->is_null())
    return INFINITY;
  return found != report.end() && found->is_number() ? found->get<double>() : NAN;
}

std::string joined(const Json &list, const char *between) {
  std::string all;
  for (const Json &item : list)
    all += (all.empty() ? "" : between) +
           printable(item.is_string() ? item.get<std::string>() : item.dump());
  return all;
}

std::string counted(double count, const char *noun) {
  return format("%.0f %s%s", count, noun, count == 1 ? "" : "s");
}

std::string bytes(double count) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; count >= 1024 && unit < 4; ++unit)
    count /= 1024;
  return format(unit ? "%.1f %s" : "%.0f %s", count, units[unit]);
}

std::string milliseconds(double ms) {
  return ms >= 100 ? format("%.0f ms", ms)
         : ms >= 1 ? format("%.2f ms", ms)
                   : format("%.1f us", ms * 1e3);
}

} // namespace kintsugi::tool
