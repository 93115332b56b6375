//===- tried_values.h - What trial runs of other sizes have seen -------------===//
//
// A model in 16 bits is run before it is planned (trial_run.h, kept_nodes.h), and one of many sizes
// is planned for several. What its values come to is seen at sizes far from each other, and holds
// between them: those runs would take longer than the plans. Values go by their names, which
// imports at all sizes have in common.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_TRIED_VALUES_H
#define KINTSUGI_PIPELINE_TRIED_VALUES_H

#include "simplify/tried.h"
#include "te/program.h"

#include <map>
#include <optional>
#include <string>

namespace kintsugi::pipeline {

class TriedValues {
public:
  /// Adds what was seen of a program.
  void add(const te::Program &program, const simplify::Tried &tried);

  /// Adds what another was told: of a value the greatest magnitude, and a node stays f32 where it
  /// does at any size.
  void join(const TriedValues &other);

  /// Of a program all of whose values were seen, and at all sizes or none; nullopt: it has to be
  /// run.
  std::optional<simplify::Tried> of(const te::Program &program) const;

private:
  std::map<std::string, double> greatest;
  std::map<std::string, bool> kept; ///< By the name of a node's first result.
  bool wasUnseen = false;           ///< Magnitudes of some program were not seen, or not asked for.
};

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_TRIED_VALUES_H
