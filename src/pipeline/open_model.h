//===- open_model.h - Whether one program serves many sizes -----------------===//
#ifndef KINTSUGI_PIPELINE_OPEN_MODEL_H
#define KINTSUGI_PIPELINE_OPEN_MODEL_H

#include "pipeline/pipeline.h"
#include "te/open_axis.h"
#include "te/sized_numbers.h"

namespace kintsugi::pipeline {

struct OpenModel {
  te::OpenInputs inputs;
  std::vector<te::Validity> outputs; ///< Of all, none of them mixed.
  std::vector<te::OpenSum> sums;     ///< They end at the size.
  te::SizedNumbers numbers;          ///< They depend on it.

  bool asksForSize() const { return !sums.empty() || !numbers.empty(); }
  /// What kernels see of an import at the greatest size of `inputs`.
  te::Program programOf(const te::Program &imported) const;
  /// Of that program.
  te::OpenInputs programInputs() const;
};

/// Of a model that was imported at the greatest size of the options' open dimension. It is imported
/// at each other size as well: nothing is taken for granted of what a size does to it. An input
/// error names the node that keeps the sizes from sharing a program.
Expected<OpenModel> openModel(const te::Program &imported, const std::string &path,
                              const CompileOptions &options);

/// The parts of an open dimension's sizes that have plans of their own, beside the one for all: a
/// size decides what is the quickest schedule. The greatest size, which many runs have, is one of
/// them: a plan of one size may have the dimension innermost. `inBlocks`: on a machine of blocks of
/// threads.
std::vector<OpenDimension> smallerSizes(const OpenDimension &all, bool inBlocks);

struct SizesToPlan {
  OpenDimension sizes;
  bool isLandmark; ///< Whatever can be fused is looked at; else what landmarks' plans are made of.
};

/// Parts, which come by their sizes: the greatest, the least and some between them first.
std::vector<SizesToPlan> inOrderOfPlanning(std::vector<OpenDimension> parts);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_OPEN_MODEL_H
