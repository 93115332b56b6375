//===- open_model.h - Whether one program serves many sizes -----------------===//
#ifndef KINTSUGI_PIPELINE_OPEN_MODEL_H
#define KINTSUGI_PIPELINE_OPEN_MODEL_H

#include "pipeline/pipeline.h"
#include "te/open_axis.h"
#include "te/sized_numbers.h"

namespace kintsugi::pipeline {

/// What an open dimension is in a model, the others at their greatest sizes.
struct OpenAlong {
  te::OpenInputs inputs;
  std::vector<te::Validity> outputs; ///< Of all, none of them mixed.
  std::vector<te::OpenSum> sums;     ///< They end at the size.
  te::SizedNumbers numbers;          ///< They depend on it.

  bool asksForSize() const { return !sums.empty() || !numbers.empty(); }
};

struct OpenModel {
  std::vector<OpenAlong> dimensions;

  /// What kernels see of an import at the greatest sizes of the dimensions. Those of one size are
  /// like any other.
  te::Program programOf(const te::Program &imported) const;
  /// Of that program: of the dimensions that have several sizes.
  std::vector<te::OpenInputs> programInputs() const;
};

/// Of a model that was imported at the greatest sizes of the options' open dimensions. Each of the
/// sizes of one is looked at, of pairs some. An input error where one of them can't be open in one
/// artifact.
Expected<OpenModel> openModel(const te::Program &imported, const std::string &path,
                              const CompileOptions &options);

/// Of each open dimension.
using SizeRanges = std::vector<OpenDimension>;

/// By the greatest of each, with an x between.
std::string nameOf(const SizeRanges &sizes);

/// Parts of the sizes that have plans of their own, the least first, without the part of the
/// greatest sizes, which the plan for all serves, but with these sizes alone.
std::vector<SizeRanges> smallerSizes(const SizeRanges &all, bool inBlocks);

struct SizesToPlan {
  SizeRanges sizes;
  bool isLandmark; ///< Whatever can be fused is looked at; else what landmarks' plans are made of.
};

/// Landmarks first.
std::vector<SizesToPlan> inOrderOfPlanning(std::vector<SizeRanges> parts);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_OPEN_MODEL_H
