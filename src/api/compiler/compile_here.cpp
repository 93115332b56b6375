#include "api/compiler/compile_here.h"

#include "api/compiler/artifacts.h"
#include "devices/cuda/cuda_device.h"
#include "pipeline/pipeline.h"

#include <chrono>

namespace kintsugi::api {

/// A device of its own is what --tune measures.
static Status openTuneDevice(pipeline::CompileOptions &options, int number) {
  if (options.target != "cuda" || options.tuneSeconds == 0)
    return Status::success();
  auto device = devices::CudaDevice::open(number);
  if (!device.ok())
    return at("--tune", device.takeError());
  options.tuneDevice = std::move(*device);
  return Status::success();
}

Expected<Json> compileHere(TunedRecords &tuned, const std::string &artifact,
                           const std::string &model, const Settings &settings) {
  auto start = std::chrono::steady_clock::now();
  Diagnostics diagnostics;
  pipeline::CompileOptions options = settings.compile;
  tuned.lendTo(options);
  KINTSUGI_RETURN_IF_ERROR(openTuneDevice(options, settings.device));
  KINTSUGI_ASSIGN(runtime::ArtifactWriter writer, runtime::ArtifactWriter::toFile(artifact));
  KINTSUGI_ASSIGN(pipeline::CompileReport report,
                  pipeline::compile(model, options, *hostDevice(), writer, diagnostics));
  Json json = report.toJson();
  json["tuning"] = report.tuning;
  json["phases"] = Json::array();
  for (const pipeline::PhaseTime &phase : report.phases)
    json["phases"].push_back({{"phase", phase.phase}, {"seconds", phase.seconds}});
  json["notes"] = report.notes;
  for (const Diagnostic &diagnostic : diagnostics.list())
    json["notes"].push_back(diagnostic.str());
  if (!tuned.note.empty())
    json["notes"].push_back(tuned.note);
  if (report.tuning.contains("problem"))
    json["notes"].push_back("tuning ended early: " + report.tuning["problem"].get<std::string>());
  json["artifact"] = artifact;
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  json["compile_s"] = taken.count();
  return json;
}

} // namespace kintsugi::api
