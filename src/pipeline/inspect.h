//===- inspect.h - What a model asks for, without compiling it --------------===//
//
// Looks at a model that may well be one that can't be compiled: operators that are not supported,
// dimensions left open and inputs whose value has to be known are findings, not errors.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_INSPECT_H
#define KINTSUGI_PIPELINE_INSPECT_H

#include "pipeline/pipeline.h"

namespace kintsugi::pipeline {

/// Inputs, outputs, operators, open dimensions, needed values, weights; and where the model can be
/// imported, its arithmetic. An input error where the file is no model, or can't be imported for
/// another reason than those three.
Expected<Json> inspect(const std::string &path, const CompileOptions &options,
                       Diagnostics &diagnostics);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_INSPECT_H
