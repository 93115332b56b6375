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

/// The text for a verb's report, every line ended. `allDecisions`: see below.
std::string show(const std::string &verb, const Json &report, bool allDecisions);

/// Stages and nodes, those that take longest first.
std::string showProfile(const Json &report);

/// What the compiler decided: what happened mostly, in what a person reads, or all of it.
std::string showDecisions(const Json &decisions, bool all);

/// Each chain of steps by which definitions came about; of those by the same rules the first, or
/// all of them.
std::string showDerivations(const Json &decisions, bool all);

/// The description in use, and what was measured beside what is assumed.
std::string showMachine(const Json &report);

} // namespace kintsugi::tool

#endif // KINTSUGI_TOOLS_KINTSUGI_SHOW_H
