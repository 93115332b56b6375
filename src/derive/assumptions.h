//===- assumptions.h - What derivations take for granted ------------------------===//
//
// Some derived forms are equal only where values are finite, which facts can't prove of what a
// model is given: there an infinity or NaN may reach other elements of a result, or none. They are
// used all the same, since they save much, and whoever uses them says so here, for the user to be
// told.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_ASSUMPTIONS_H
#define KINTSUGI_DERIVE_ASSUMPTIONS_H

#include <algorithm>
#include <map>
#include <string>

namespace kintsugi::derive {

/// How many results hold for finite values only, by the name of the rule that made them.
class Assumptions {
public:
  void add(const std::string &rule, unsigned results = 1) { counts[rule] += results; }

  unsigned of(const std::string &rule) const {
    auto found = counts.find(rule);
    return found == counts.end() ? 0 : found->second;
  }

  /// What holds of either of two programs.
  void join(const Assumptions &other) {
    for (const auto &[rule, results] : other.counts)
      counts[rule] = std::max(counts[rule], results);
  }

private:
  std::map<std::string, unsigned> counts;
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_ASSUMPTIONS_H
