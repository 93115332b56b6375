//===- survey.h - What each node of a model asks for, or why it is refused --===//
//
// For whoever has another runtime for some nodes and gives the rest to the compiler.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_SURVEY_H
#define KINTSUGI_PIPELINE_SURVEY_H

#include "pipeline/pipeline.h"

namespace kintsugi::pipeline {

/// {"nodes": [...]} of an ONNX file, by import::surveyNodes(); each has "node" (its place in the
/// graph), "name", "op", "operations", "bytes", and "refused", the reason or null. An input error
/// where the model as a whole is refused.
Expected<Json> survey(const std::string &path, const CompileOptions &options);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_SURVEY_H
