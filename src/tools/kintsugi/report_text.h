//===- report_text.h - Fields of reports, and how they are written ---------===//
//
// What every verb's text is made of: reading a field of a report whatever it holds, and numbers
// with the unit that suits them.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TOOLS_KINTSUGI_REPORT_TEXT_H
#define KINTSUGI_TOOLS_KINTSUGI_REPORT_TEXT_H

#include "base/json.h"

#include <string>
#include <vector>

namespace kintsugi::tool {

/// printf into a string.
__attribute__((format(printf, 1, 2))) std::string format(const char *pattern, ...);

/// Printable (base/diagnostics.h), and empty where there is none.
std::string text(const Json &report, const char *key);
/// The same of each line.
std::vector<std::string> lines(const Json &report, const char *key);

/// Infinity for null, as JSON has none; NaN where there is none.
double number(const Json &report, const char *key);

std::string joined(const Json &list, const char *between);
/// "1 kernel", "2 kernels".
std::string counted(double count, const char *noun);
std::string bytes(double count);
std::string milliseconds(double ms);

} // namespace kintsugi::tool

#endif // KINTSUGI_TOOLS_KINTSUGI_REPORT_TEXT_H
