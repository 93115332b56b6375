//===- forms.h - Which definitions kernels are made from --------------------===//
//
// Rules and formats make equal programs of a program: forms. Those that the rules make one after
// the other, each where it pays by itself, are one of them; what could be done at all is another;
// the program as it is, too. The solver chooses among the parts of all (orchestrate/alternatives),
// and what it makes of them ships where its plan is quicker than that of the rules' own form.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_FORMS_H
#define KINTSUGI_PIPELINE_FORMS_H

#include "derive/assumptions.h"
#include "derive/constant_facts.h"
#include "pipeline/planning.h"

namespace kintsugi::pipeline {

struct ChosenForm {
  std::unique_ptr<const te::Program> program; ///< Plans point to it.
  derive::Assumptions assumed;
  std::unique_ptr<Planned> plan; ///< Null where the form was chosen without one.
  double gap = 0; ///< How far from the optimum the choice among forms is at most; 0: proven.
  std::vector<std::string> problems; ///< Faults of our own for which another form was left out.
};

/// The definitions that a machine's kernels are made from.
Expected<ChosenForm> chooseForm(te::Program program, const Planning &planning);

/// The same with its plan.
Expected<ChosenForm> planForm(te::Program program, const Planning &planning);

/// What rules that look at f32 sums make of a program of which values will be stored in 16 bits:
/// only what they know to be quicker whatever kernels there are, or all that counts fewer
/// multiply-adds.
Expected<te::Program> beforeStorage(te::Program program, const CompileOptions &options,
                                    Phases &phases, derive::Assumptions &assumed,
                                    derive::ConstantFacts &facts, bool onlyDominant);

/// What is assumed, in one line that names all rules that assume it: without one of them another
/// finds its place. Empty where nothing is.
std::string describe(const derive::Assumptions &assumed, const machine::Machine &machine);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_FORMS_H
