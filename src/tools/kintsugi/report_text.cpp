#include "tools/kintsugi/report_text.h"

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
  return found != report.end() && found->is_string() ? found->get<std::string>() : "";
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
    all +=
        (all.empty() ? "" : between) + (item.is_string() ? item.get<std::string>() : item.dump());
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
