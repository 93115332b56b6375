//===- compare_report.cpp - The report of `compare` -------------------------===//

#include "api/compiler/reports.h"

#include "api/compiler/session.h"
#include "verify/compare.h"
#include "verify/policy.h"

#include <cmath>

namespace kintsugi::api {

namespace {

std::string describe(TensorView tensor) {
  return std::string(nameOf(tensor.type)) + shapeString(tensor.shape);
}

/// What the compilation said of an output; K = 1 and the output's own type where it said nothing.
verify::Exactness exactnessOf(const Json &report, const runtime::Port &port) {
  verify::Exactness exactness{1, port.type};
  auto all = jsonObject(report, "exactness");
  auto own = all.ok() ? jsonObject(**all, port.name) : std::move(all);
  if (!own.ok())
    return exactness;
  if (auto depth = jsonNumber(**own, "depth"); depth.ok())
    exactness.depth = *depth;
  if (auto name = jsonString(**own, "coarsest"); name.ok())
    exactness.coarsest = elementTypeFromName(*name).value_or(port.type);
  return exactness;
}

/// Differences that are infinite stand as null: JSON has no infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json compareOutput(const runtime::Port &port, TensorView actual, TensorView expected,
                   double allowed) {
  Json entry = {{"name", port.name}, {"type", nameOf(actual.type)}, {"allowed", allowed}};
  entry["shape"] = std::vector<int64_t>(actual.shape.begin(), actual.shape.end());
  if (actual.type != expected.type || !std::equal(actual.shape.begin(), actual.shape.end(),
                                                  expected.shape.begin(), expected.shape.end())) {
    entry["problem"] = "expected " + describe(expected) + ", got " + describe(actual);
    entry["within"] = false;
    return entry;
  }
  verify::Difference found = verify::difference(actual, expected);
  entry["max_abs"] = finite(found.maxAbsolute);
  entry["max_rel"] = finite(found.relative);
  entry["ulps"] = finite(found.ulps);
  entry["cosine"] = finite(found.cosine);
  entry["worst_element"] = found.worst;
  entry["within"] = found.relative <= allowed;
  return entry;
}

/// The right outputs: arrays of a file, or a run of the reference.
class Expectation {
public:
  static Expected<Expectation> fromFile(const std::string &path,
                                        const runtime::Manifest &manifest) {
    Expectation expectation;
    KINTSUGI_ASSIGN(NpzReader file, NpzReader::open(path));
    for (const std::string &name : file.names())
      if (runtime::Manifest::find(manifest.outputs, name) == runtime::none)
        return inputError(path + ": the model has no output '" + name + "'");
    for (const runtime::Port &port : manifest.outputs) {
      if (!file.contains(port.name))
        return inputError(path + ": there is no array '" + port.name + "', an output of the model");
      KINTSUGI_ASSIGN(Tensor tensor, file.read(port.name, port.type));
      if (tensor.type() == ElementType::Str)
        return inputError(path + ": array '" + port.name + "' is of strings");
      expectation.tensors.push_back(std::move(tensor));
    }
    return expectation;
  }

  static Expected<Expectation> fromReference(const std::string &model, const std::string &inputs,
                                             Settings settings) {
    if (isArtifact(model))
      return usageError(model + ": an artifact can't be compiled for the reference; give the model "
                                "itself, or right outputs with --expected FILE.npz");
    Expectation expectation;
    KINTSUGI_ASSIGN(Session session, Session::open(model, inputs, settings.forReference()));
    KINTSUGI_RETURN_IF_ERROR(settings.tell("running the reference"));
    KINTSUGI_RETURN_IF_ERROR(session.run());
    expectation.reference.emplace(std::move(session));
    return expectation;
  }

  TensorView output(size_t index) const {
    return reference ? reference->output(index) : tensors[index].view();
  }

private:
  std::vector<Tensor> tensors;
  std::optional<Session> reference;
};

/// What storing values in fewer bits costs a model, as it is written and with no other errors. Run
/// once, and only where somebody asks.
class RoundedReference {
public:
  RoundedReference(const std::string &model, const std::string &inputs, const Settings &settings)
      : model(model), inputs(inputs), settings(settings) {}

  /// How far an output is from the right one, as `max_rel` is.
  Expected<double> errorOf(size_t output, TensorView right) {
    if (!session) {
      KINTSUGI_ASSIGN(Session opened, Session::open(model, inputs, settings.forRoundedReference()));
      KINTSUGI_RETURN_IF_ERROR(settings.tell("running the rounded reference"));
      KINTSUGI_RETURN_IF_ERROR(opened.run());
      session.emplace(std::move(opened));
    }
    return verify::difference(session->output(output), right).relative;
  }

private:
  const std::string &model, &inputs;
  const Settings &settings;
  std::optional<Session> session;
};

} // namespace

Expected<Json> compare(const std::string &model, const std::string &inputs,
                       const std::string &expected, const Settings &settings) {
  KINTSUGI_ASSIGN(Session session, Session::open(model, inputs, settings));
  const runtime::Manifest &manifest = session.manifest();
  KINTSUGI_ASSIGN(Expectation expectation, expected.empty()
                                               ? Expectation::fromReference(model, inputs, settings)
                                               : Expectation::fromFile(expected, manifest));
  KINTSUGI_RETURN_IF_ERROR(settings.tell("running"));
  KINTSUGI_RETURN_IF_ERROR(session.run());
  Json report = {{"model", manifest.modelName},
                 {"target", manifest.target},
                 {"precision", manifest.precision},
                 {"against", expected.empty() ? "reference" : expected}};
  if (!session.note().empty())
    report["notes"] = {session.note()};
  report["outputs"] = Json::array();
  bool within = true;
  RoundedReference rounded(model, inputs, settings);
  bool mayBeRounded = expected.empty() && settings.compile.precision != Precision::F32;
  for (size_t i = 0; i < manifest.outputs.size(); ++i) {
    const runtime::Port &port = manifest.outputs[i];
    verify::Exactness exactness = exactnessOf(session.report(), port);
    // Another runtime has errors of its own.
    double allowed = verify::tolerance(port.type, exactness) * (expected.empty() ? 1 : 2);
    Json entry = compareOutput(port, session.output(i), expectation.output(i), allowed);
    entry["depth"] = exactness.depth;
    if (mayBeRounded && isFloat(port.type) && entry["within"] == false &&
        !entry.contains("problem")) {
      KINTSUGI_ASSIGN(double rounding, rounded.errorOf(i, expectation.output(i)));
      entry["rounding"] = finite(rounding);
      if (std::isfinite(rounding))
        entry["allowed"] =
            std::max(allowed, std::min(verify::shareOfRounding * rounding, verify::mostOfRounding));
      entry["within"] = !entry["max_rel"].is_null() && entry["max_rel"] <= entry["allowed"];
    }
    within &= entry["within"].get<bool>();
    report["outputs"].push_back(std::move(entry));
  }
  report["within"] = within;
  return report;
}

} // namespace kintsugi::api
