//===- steps.h - What a rule changed, part by part ----------------------------===//
//
// A rule makes a whole program of a whole program. What it changed is found by comparing both: a
// node that is defined by the same text is the same, and the others, as far as they read each other
// or define the same values, are parts. A part before and a part after are programs of their own.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_STEPS_H
#define KINTSUGI_DERIVE_STEPS_H

#include "explain/step.h"
#include "te/program.h"

namespace kintsugi::derive {

/// Equal outputs, of the same names, for equal inputs of the same names. What depends on constants
/// alone is part of them, as far as they read it.
struct PartsOfStep {
  te::Program before, after;
};

/// The parts that differ, by what they come first in the later program.
std::vector<PartsOfStep> partsBetween(const te::Program &before, const te::Program &after);

/// As text, for the log. `refusal`: why it was not taken; empty: it was.
explain::Step describe(const PartsOfStep &parts, const std::string &rule,
                       const std::string &equation, const std::string &refusal = "");

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_STEPS_H
