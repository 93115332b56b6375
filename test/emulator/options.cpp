#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

namespace kintsugi::emulator {

static void setOption(Options &options, const std::string &word) {
  size_t equals = word.find('=');
  std::string name = word.substr(0, equals);
  std::string value = equals == word.npos ? "" : word.substr(equals + 1);
  auto number = unsigned(std::strtoul(value.c_str(), nullptr, 10));
  if (name == "sm_80") {
    options.name = "Emulated A100";
    options.major = 8;
    options.multiprocessors = 108;
    options.sharedBytes = 166912;
  } else if (name == "seed") {
    options.habits.seed = number;
  } else if (name == "workers") {
    options.habits.workers = std::max(1u, number);
  } else if (name == "perturb") {
    options.habits.perturbs = true;
  } else if (name == "counts") {
    options.countsFile = value;
  } else if (name != "sm_90a") {
    std::fprintf(stderr, "KINTSUGI_EMULATOR: there is no option '%s'\n", word.c_str());
    std::exit(2);
  }
}

Options readOptions() {
  Options options;
  options.habits.workers = std::max(1u, std::thread::hardware_concurrency());
  const char *words = std::getenv("KINTSUGI_EMULATOR");
  std::istringstream list(words ? words : "");
  for (std::string word; std::getline(list, word, ',');)
    if (!word.empty())
      setOption(options, word);
  return options;
}

void plantFault(std::string &text) {
  const char *fault = std::getenv("KINTSUGI_EMULATOR_FAULT");
  std::string change = fault ? fault : "";
  size_t arrow = change.find("=>");
  if (arrow == change.npos)
    return;
  std::string from = change.substr(0, arrow), to = change.substr(arrow + 2);
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

} // namespace kintsugi::emulator
