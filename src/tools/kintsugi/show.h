//===- show.h - Reports for people ------------------------------------------===//
//
// Each verb's JSON report as a few lines of text.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TOOLS_KINTSUGI_SHOW_H
#define KINTSUGI_TOOLS_KINTSUGI_SHOW_H

#include "base/json.h"

#include <string>

namespace kintsugi::tool {

/// The text for a verb's report, every line ended.
std::string show(const std::string &verb, const Json &report);

} // namespace kintsugi::tool

#endif // KINTSUGI_TOOLS_KINTSUGI_SHOW_H
