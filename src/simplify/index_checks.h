//===- index_checks.h - Checks of data, made as cheap as they can be ----------===//
//
// What te/check.h says of a program's values: what the expressions prove is dropped, what elements
// of an input have to keep to can be looked at before a run, and for the rest the program computes
// one number that says what is wrong.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_INDEX_CHECKS_H
#define KINTSUGI_SIMPLIFY_INDEX_CHECKS_H

#include "base/element_range.h"
#include "explain/log.h"
#include "te/check.h"

namespace kintsugi::simplify {

/// Of elements of an input, by its number.
struct InputCheck {
  unsigned port;
  te::Check check;
  ElementRange range;
};

struct LoweredChecks {
  /// Its checks are of scalars: 0, or an element that is outside.
  te::Program program;
  std::vector<InputCheck> inputs;
};

/// The program is simplified.
LoweredChecks lowerChecks(const te::Program &program, explain::Log *log = nullptr);

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_INDEX_CHECKS_H
