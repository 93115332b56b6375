//===- choice.h - What was chosen, and what the rest would have cost --------===//
//
// A solver chooses kernels at once, for a program as a whole. What it did not choose has a price:
// by how much the best plan that has it takes longer than the best plan. Phases tell the log of
// some of these (explain/log.h), for `kintsugi explain` to show beside what was chosen.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_EXPLAIN_CHOICE_H
#define KINTSUGI_EXPLAIN_CHOICE_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kintsugi::explain {

/// A kernel, or a launch that several share.
struct ChoosableKernel {
  std::vector<std::string> stores;      ///< Names of the values that it leaves behind.
  std::vector<std::string> definitions; ///< Names of all values that it computes.
  std::vector<std::string> nodes;       ///< Of the model.
  std::vector<size_t> forms;            ///< That have it, where the choice was among several.
  std::string expressions;              ///< A definition a line; of alternatives alone.
  double seconds = 0;                   ///< As the choice counts it.
};

/// One that was not chosen.
struct Alternative {
  ChoosableKernel kernel;
  std::vector<size_t> insteadOf; ///< Chosen kernels that have a part of what it does.
  double moreAtLeast =
      0; ///< Seconds, less than 0 where nothing is proven: no plan takes fewer more.
  /// By how much the best plan with it that was found takes longer; nothing: it was not looked for.
  std::optional<double> more;
  bool isProven = false;         ///< No plan with it takes less than `more` longer.
  std::vector<std::string> with; ///< What else that plan stores that the best one does not.
};

struct Choice {
  std::string program;
  std::string among; ///< "forms" or "kernels".
  std::vector<std::string> forms;
  double margin = 0; ///< The share by which kernels that only other forms have count for more.
  size_t definitions = 0, candidates = 0;
  double objective = 0, bound = 0; ///< Seconds.
  double gap = 0;
  std::vector<ChoosableKernel> chosen; ///< In an order in which they can run.
  /// Those of the least bounds for each chosen kernel, the cheapest first.
  std::vector<Alternative> alternatives;
  size_t notTold = 0; ///< Further ones.
};

} // namespace kintsugi::explain

#endif // KINTSUGI_EXPLAIN_CHOICE_H
