#include "tune/turns.h"

#include "tune/pairs.h"
#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <cmath>

namespace kintsugi::tune {

namespace {

class Turns {
public:
  Turns(size_t count, const std::function<Expected<double>(size_t)> &run)
      : runOne(run), times(count), hopeless(count, false) {}

  Expected<std::vector<cost::Timed>> run(Rounds rounds) {
    for (size_t i = 0; i < times.size(); ++i) // The first run of each is not like the others.
      KINTSUGI_RETURN_IF_ERROR(runOne(i).status());
    auto start = std::chrono::steady_clock::now();
    for (size_t round = 0; round < rounds.most; ++round) {
      std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (round >= rounds.least && passed.count() > rounds.seconds)
        break;
      KINTSUGI_RETURN_IF_ERROR(runRound(round));
      if (round == 2)
        dropHopeless();
    }
    std::vector<cost::Timed> result;
    for (const std::vector<double> &own : times) {
      std::vector<double> others(times[0].begin(), times[0].begin() + own.size());
      result.push_back({quantile(own, 0.5), quietShareOf(own, others)});
    }
    return result;
  }

private:
  /// Each round starts with another one, so that none always follows the same.
  Status runRound(size_t round) {
    for (size_t turn = 0; turn < times.size(); ++turn) {
      size_t i = (round + turn) % times.size();
      if (hopeless[i])
        continue;
      KINTSUGI_ASSIGN(double seconds, runOne(i));
      times[i].push_back(seconds);
    }
    return Status::success();
  }

  void dropHopeless() {
    constexpr double clearlySlower = 1.3;
    auto least = [](const std::vector<double> &own) { return *llvm::min_element(own); };
    double best = INFINITY;
    for (const std::vector<double> &own : times)
      best = std::min(best, least(own));
    for (size_t i = 1; i < times.size(); ++i)
      hopeless[i] = least(times[i]) > clearlySlower * best;
  }

  const std::function<Expected<double>(size_t)> &runOne;
  std::vector<std::vector<double>> times; ///< By contender.
  std::vector<bool> hopeless;
};

} // namespace

Expected<std::vector<cost::Timed>> inTurns(size_t count, Rounds rounds,
                                           const std::function<Expected<double>(size_t)> &run) {
  return Turns(count, run).run(rounds);
}

} // namespace kintsugi::tune
