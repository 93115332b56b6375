//===- log.h - Why the compiler did what it did -----------------------------===//
//
// The one log of decisions, after ninja's explanations: a phase says of a subject (a kernel, a
// value, a node) what it decided, why, and by which numbers. `kintsugi explain` renders it. Phases
// take a `Log *` and record nothing where it is null, so a compile that nobody asks about pays
// nothing.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_EXPLAIN_LOG_H
#define KINTSUGI_EXPLAIN_LOG_H

#include "explain/choice.h"

#include <mutex>
#include <string>
#include <vector>

namespace kintsugi::explain {

struct Step; ///< explain/step.h

struct Number {
  std::string name;
  double value = 0;
  std::string unit; ///< "s" and "bytes" are shown scaled; any other, or none, as it is.

  bool operator==(const Number &) const = default;
};

struct Record {
  std::string phase;    ///< "simplify", "schedule", ...
  std::string subject;  ///< What was decided about: "kernel 3", "value 't'".
  std::string decision; ///< "fused into 'y'", "rejected".
  std::vector<std::string> reasons;
  std::vector<Number> numbers;
  std::string rule = {}; ///< By which it was decided; empty where no rule was asked.

  bool operator==(const Record &) const = default;
};

/// Any thread may add to it. Records keep the order in which they were added, so a phase that works
/// in parallel adds its records after it has joined.
class Log {
public:
  Log();
  ~Log();

  void add(Record record);
  void add(Choice choice);
  void addStep(Step step);
  std::vector<Record> records() const;
  std::vector<Choice> choices() const;
  std::vector<Step> steps() const;
  size_t size() const;

private:
  mutable std::mutex mutex;
  std::vector<Record> entries;
  std::vector<Choice> told;
  std::vector<Step> derived;
};

} // namespace kintsugi::explain

#endif // KINTSUGI_EXPLAIN_LOG_H
