//===- compare_report.cpp - The report of `compare` -------------------------===//

#include "api/compiler/reports.h"

#include "api/compiler/judgement.h"
#include "api/compiler/session.h"

namespace kintsugi::api {

namespace {

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

  bool isReference() const { return reference.has_value(); }
  TensorView output(size_t index) const {
    return reference ? reference->output(index) : tensors[index].view();
  }

private:
  std::vector<Tensor> tensors;
  std::optional<Session> reference;
};

/// What rounding costs a model: the reference beside the same with every f32 value rounded. Run
/// once, and only where somebody asks.
class RoundingCost {
public:
  RoundingCost(const std::string &model, const std::string &inputs, const Settings &settings)
      : model(model), inputs(inputs), settings(settings) {}

  /// Nothing for an artifact, which does not hold what it was made from.
  Expected<std::optional<verify::Difference>> of(size_t output, const Expectation &expectation,
                                                 double leastShare) {
    if (isArtifact(model))
      return std::optional<verify::Difference>();
    if (!rounded) {
      if (!expectation.isReference()) {
        KINTSUGI_ASSIGN(exact, run(settings.forReference(), "running the reference"));
      }
      KINTSUGI_ASSIGN(rounded,
                      run(settings.forRoundedReference(), "running the rounded reference"));
    }
    TensorView right = exact ? exact->output(output) : expectation.output(output);
    return std::optional(verify::difference(rounded->output(output), right, leastShare));
  }

private:
  Expected<std::optional<Session>> run(const Settings &how, std::string_view phase) {
    KINTSUGI_ASSIGN(Session session, Session::open(model, inputs, how));
    KINTSUGI_RETURN_IF_ERROR(settings.tell(phase));
    KINTSUGI_RETURN_IF_ERROR(session.run());
    return std::optional<Session>(std::move(session));
  }

  const std::string &model, &inputs;
  const Settings &settings;
  std::optional<Session> exact, rounded;
};

/// What there is to say of outputs besides their entries.
Json notesOn(const Session &session, const std::string &model, const Json &outputs) {
  Json notes = Json::array();
  if (!session.note().empty())
    notes.push_back(session.note());
  for (const Json &output : outputs) {
    if (output.contains("nan"))
      notes.push_back("output '" + output["name"].get<std::string>() +
                      "' is NaN throughout, on both sides: nothing was compared");
    if (isArtifact(model) && output.contains("rounding"))
      notes.push_back(
          "an artifact does not hold the model that it was made from, so what rounding "
          "costs that is not known; compare the model itself where it amplifies errors");
  }
  return notes;
}

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
  RoundingCost cost(model, inputs, settings);
  Json outputs = Json::array();
  for (size_t i = 0; i < manifest.outputs.size(); ++i) {
    const runtime::Port &port = manifest.outputs[i];
    Judging judging{
        .exactness = exactnessOf(session.report(), port),
        .share = expectation.isReference() ? 1 : verify::shareOfOthers,
        .mayBeRounding = expectation.isReference() && settings.compile.precision != Precision::F32,
        .rounding = [&](double leastShare) { return cost.of(i, expectation, leastShare); }};
    KINTSUGI_ASSIGN(Json entry, judge(session.output(i), expectation.output(i), judging));
    entry["name"] = port.name;
    outputs.push_back(std::move(entry));
  }
  Json report = {{"model", manifest.modelName},
                 {"target", manifest.target},
                 {"precision", manifest.precision},
                 {"against", expected.empty() ? "reference" : expected}};
  if (Json notes = notesOn(session, model, outputs); !notes.empty())
    report["notes"] = std::move(notes);
  addVerdict(worstOf(outputs), report);
  report["outputs"] = std::move(outputs);
  return report;
}

} // namespace kintsugi::api
