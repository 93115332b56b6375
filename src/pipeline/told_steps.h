//===- told_steps.h - What the log is told of derivations ---------------------===//
//
// Forms have logs of their own, with the steps that made them. Of these the user's log gets those
// that led to the program that ships, and then what was found besides.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_TOLD_STEPS_H
#define KINTSUGI_PIPELINE_TOLD_STEPS_H

#include "explain/log.h"
#include "explain/step.h"
#include "te/program.h"

#include <map>

namespace kintsugi::pipeline {

inline constexpr const char *formatsName = "formats"; ///< Of --disable, in place of a rule's.

/// Tells what was replaced by what.
void tellChanges(explain::Log &log, const te::Program &before, const te::Program &after,
                 const char *rule, const char *equation);

/// How values of a program of parts came about, by as few forms as have them all. `logs` are the
/// forms', of which the first is the program as it is; `sources` says by name which have a value.
void tellSteps(llvm::ArrayRef<const explain::Log *> logs,
               const std::map<std::string, llvm::ArrayRef<size_t>> &sources, explain::Log &log);

/// Steps of other forms that the one that ships goes without, and those that no form took.
void tellRefused(const explain::Log &ofForm, llvm::ArrayRef<const explain::Log *> others,
                 explain::Log &log);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_TOLD_STEPS_H
