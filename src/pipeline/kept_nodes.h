//===- kept_nodes.h - What stays f32 so that outputs stay right --------------===//
//
// The user's word --max-error beside --precision f16 or bf16: by how much fewer bits may move the
// outputs. Deep networks amplify what is rounded in some of their layers, often the first, and what
// is rounded elsewhere is lost in them. So the compiler rounds the model part by part, in runs of
// one program on the host (simplify/rounding_switches.h), and keeps those parts f32 that disturb
// the outputs most for what rounding them saves. At the end it runs the model with values stored as
// they will be, each definition by itself: what kernels do without storing is not seen.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_KEPT_NODES_H
#define KINTSUGI_PIPELINE_KEPT_NODES_H

#include "pipeline/pipeline.h"

namespace kintsugi::pipeline {

/// By node of a simplified program, whether it stays f32; empty where none has to. On `feeds`, a
/// tensor for each input, every output of floats is then off by at most half of options.maxError,
/// of its largest magnitude and in slices of the same of theirs (verify/compare.h): the other half
/// is for other inputs. `greatest`: see simplify::Tried. Notes of the report say what was chosen,
/// and where no choice keeps to it. A machine error where the program is too large to be tried, a
/// usage error where progress asks to stop; others as HostTrial's.
Expected<std::vector<bool>> keptNodes(const te::Program &program, ElementType narrow,
                                      const std::vector<double> &greatest,
                                      std::vector<Tensor> feeds, const CompileOptions &options,
                                      runtime::Device &host, CompileReport &report);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_KEPT_NODES_H
