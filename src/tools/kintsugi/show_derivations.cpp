//===- show_derivations.cpp - What became what, and by which equations -------===//

#include "base/diagnostics.h"
#include "tools/kintsugi/report_text.h"
#include "tools/kintsugi/show.h"

#include <algorithm>
#include <vector>

namespace kintsugi::tool {

namespace {

/// Of a part, and of the chains of the same rules, unless all is asked for.
constexpr size_t mostDefinitions = 12, mostNames = 8;

/// The definitions of a part, without what it reads and gives.
std::string definitionsOf(const std::string &program, bool all) {
  std::string shown;
  size_t count = 0, left = 0;
  for (size_t start = 0; start < program.size();) {
    size_t end = std::min(program.find('\n', start), program.size());
    std::string line = program.substr(start, end - start);
    start = end + 1;
    bool isDefinition =
        std::ranges::none_of(std::vector{"input ", "const ", "output ", "program "},
                             [&](const char *word) { return line.starts_with(word); });
    if (!isDefinition)
      continue;
    if (count == mostDefinitions && !all) {
      ++left;
      continue;
    }
    ++count;
    shown += "      " + printable(line) + "\n";
  }
  if (left > 0)
    shown += format("      and %zu more lines\n", left);
  return shown;
}

std::string showStep(const Json &step, bool all) {
  return "    by " + text(step, "rule") + ": " + text(step, "equation") + "\n" +
         definitionsOf(step["before"].get<std::string>(), all) + "    becomes\n" +
         definitionsOf(step["after"].get<std::string>(), all);
}

std::string firstOf(const Json &names, bool all) {
  if (all || names.size() <= mostNames)
    return joined(names, ", ");
  Json first(names.begin(), names.begin() + mostNames);
  return joined(first, ", ") + format(" and %zu more", names.size() - mostNames);
}

std::string showChain(const Json &chain, bool all) {
  std::string shown =
      "  " + firstOf(chain["values"], all) + ": " + joined(chain["rules"], ", then ") + "\n";
  for (const Json &step : chain["steps"])
    shown += showStep(step, all);
  return shown;
}

} // namespace

std::string showDerivations(const Json &decisions, bool all) {
  std::string shown;
  std::vector<Json> known; ///< Rules of chains that were shown.
  for (const Json &chain : decisions["derivations"]) {
    bool isLikewise = !all && std::ranges::find(known, chain["rules"]) != known.end();
    if (isLikewise) {
      shown += "  " + firstOf(chain["values"], all) + ": likewise by " +
               joined(chain["rules"], ", then ") + "\n";
      continue;
    }
    known.push_back(chain["rules"]);
    shown += showChain(chain, all);
  }
  for (const Json &step : decisions["refused"])
    shown += "  " + firstOf(step["values"], all) + ": not by " + text(step, "rule") + ", " +
             text(step, "reason") + "\n" + (all ? showStep(step, all) : "");
  return shown.empty() ? shown : "derivations:\n" + shown;
}

} // namespace kintsugi::tool
