//===- turns.h - Contenders run in turns ----------------------------------------===//
#ifndef KINTSUGI_TUNE_TURNS_H
#define KINTSUGI_TUNE_TURNS_H

#include "cost/measurer.h"

#include <functional>

namespace kintsugi::tune {

/// How many rounds, in each of which every contender that is still of interest runs once.
struct Rounds {
  size_t least, most;
  double seconds; ///< After which no round beyond the least starts.
};

/// Times `count` contenders, of which `run` runs one and says how long it took; whoever is hopeless
/// after a few rounds is left out.
Expected<std::vector<cost::Timed>> inTurns(size_t count, Rounds rounds,
                                           const std::function<Expected<double>(size_t)> &run);

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_TURNS_H
