//===- bodies.h - Forms of what branches and loops compute --------------------===//
//
// Rules and formats look at a program, not at the bodies of its scans. Such a body may be the
// better part of a model (a branch with a network in it), so it is a program of its own to them,
// with forms of its own: row-major outside, and what depends on constants alone is computed once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_BODIES_H
#define KINTSUGI_PIPELINE_BODIES_H

#include "derive/assumptions.h"
#include "pipeline/planning.h"

namespace kintsugi::pipeline {

/// The program with the bodies of branches, of loops that data end, and of those with weights of
/// their own, in the forms that are chosen for them. Of models with open dimensions they stay as
/// they are.
Expected<te::Program> withFormsOfBodies(te::Program program, const Planning &planning,
                                        derive::Assumptions &assumed);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_BODIES_H
