//===- external_files.h - The files beside a model that hold its weights --===//
#ifndef KINTSUGI_PIPELINE_EXTERNAL_FILES_H
#define KINTSUGI_PIPELINE_EXTERNAL_FILES_H

#include "import/onnx_model.h"

#include <set>
#include <string>

namespace kintsugi::pipeline {

/// As the model names them, those of subgraphs and functions included: relative to its folder.
std::set<std::string> externalFiles(const import::Model &model);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_EXTERNAL_FILES_H
