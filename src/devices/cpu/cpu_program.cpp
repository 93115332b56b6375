//===- cpu_program.cpp - An artifact ready to run on the host -------------===//

#include "devices/cpu/cpu_program.h"

#include "calls/call.h"
#include "devices/cpu/features.h"

#include <algorithm>

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::runtime;

/// Whether the call's rule takes these operands and gives these results.
static Status checkCall(const Manifest &manifest, const Stage &stage) {
  const calls::Call *call = calls::find(stage.symbol);
  if (!call)
    return inputError("this runtime has no such call");
  std::vector<calls::TensorType> types;
  for (uint32_t index : stage.buffers)
    types.push_back({manifest.buffers[index].type, manifest.buffers[index].shape});
  auto operands = std::span(types).first(types.size() - stage.resultCount);
  auto results = std::span(types).last(stage.resultCount);
  KINTSUGI_ASSIGN(auto inferred, call->infer(operands, stage.attributes));
  bool same = std::equal(results.begin(), results.end(), inferred.begin(), inferred.end(),
                         [](const calls::TensorType &a, const calls::TensorType &b) {
                           return a.type == b.type && a.shape == b.shape;
                         });
  if (!same)
    return inputError("its results have other types or shapes than the manifest says");
  return Status::success();
}

/// The features of all code objects that this processor lacks.
static std::string missingFeatures(const Manifest &manifest) {
  std::string missing;
  for (const CodeObject &object : manifest.code)
    for (const std::string &feature : object.features)
      if (!cpuSupports(feature) && missing.find(feature) == std::string::npos)
        missing += (missing.empty() ? "" : ", ") + feature;
  return missing;
}

Status CpuProgram::loadCode() {
  for (const CodeObject &object : manifest().code) {
    if (!std::all_of(object.features.begin(), object.features.end(), cpuSupports))
      continue;
    auto loaded = SharedObject::load(artifact.code(object.section));
    if (!loaded.ok())
      return at(object.section, loaded.takeError());
    code.emplace(std::move(*loaded));
    return Status::success();
  }
  if (manifest().code.empty())
    return inputError("the artifact has kernels but no code");
  return machineError("this processor lacks what the code needs (" + missingFeatures(manifest()) +
                      "); compile the model for this machine");
}

Status CpuProgram::findFunctions() {
  for (const Stage &stage : manifest().stages) {
    functions.push_back(nullptr);
    if (stage.kind == Stage::Kind::Call) {
      if (Status status = checkCall(manifest(), stage); !status.ok())
        return at("call '" + stage.symbol + "'", status.takeError());
      continue;
    }
    if (!code)
      KINTSUGI_RETURN_IF_ERROR(loadCode());
    functions.back() = reinterpret_cast<KinStageFunction>(code->symbol(stage.symbol));
    if (!functions.back())
      return inputError("the code has no function '" + stage.symbol + "'; compile the model again");
  }
  return Status::success();
}

Expected<std::unique_ptr<CpuProgram>> CpuProgram::load(const Artifact &artifact) {
  std::unique_ptr<CpuProgram> program(new CpuProgram(artifact));
  KINTSUGI_RETURN_IF_ERROR(program->findFunctions());
  return program;
}

uint64_t CpuProgram::scratchBytes() const {
  uint64_t most = 0;
  for (const Stage &stage : manifest().stages)
    most = std::max(most, stage.scratchBytes);
  return most;
}
