#include "api/compiler/settings.h"

#include "api/compiler/measured_machine.h"
#include "base/files.h"
#include "base/npz.h"
#include "pipeline/target_names.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <charconv>

namespace kintsugi::api {

namespace {

Error wrongKind(std::string_view key, const char *wanted) {
  return usageError("option \"" + std::string(key) + "\" must be " + wanted);
}

Expected<std::string> textOf(std::string_view key, const Json &value) {
  if (!value.is_string())
    return wrongKind(key, "a string");
  return value.get<std::string>();
}

Expected<bool> truthOf(std::string_view key, const Json &value) {
  if (!value.is_boolean())
    return wrongKind(key, "true or false");
  return value.get<bool>();
}

/// A name, and for devices of which there may be several a number: "cuda:1".
Status readTarget(const Json &value, Settings &settings) {
  KINTSUGI_ASSIGN(std::string text, textOf("target", value));
  size_t colon = text.find(':');
  settings.compile.target = text.substr(0, colon);
  KINTSUGI_RETURN_IF_ERROR(pipeline::checkTarget(settings.compile.target));
  if (colon == std::string::npos)
    return Status::success();
  std::string number = text.substr(colon + 1);
  auto [end, problem] =
      std::from_chars(number.data(), number.data() + number.size(), settings.device);
  if (settings.compile.target != "cuda" || problem != std::errc() || settings.device < 0 ||
      end != number.data() + number.size())
    return usageError("--target " + text + ": there is no such device; use cuda:0, cuda:1, ...");
  return Status::success();
}

Status readPrecision(const Json &value, pipeline::CompileOptions &options) {
  KINTSUGI_ASSIGN(std::string name, textOf("precision", value));
  std::optional<Precision> precision = precisionFromName(name);
  if (name == "tf32")
    return usageError(
        "--precision tf32: there are no products of that kind; use f16 or bf16, which "
        "matrix units multiply, or f32");
  if (!precision)
    return usageError("--precision " + name + ": use f32, f16 or bf16");
  options.precision = *precision;
  return Status::success();
}

Status readPlan(const Json &value, pipeline::CompileOptions &options) {
  KINTSUGI_ASSIGN(std::string name, textOf("plan", value));
  if (name == "search")
    options.plan = orchestrate::PlanMode::Search;
  else if (name == "greedy")
    options.plan = orchestrate::PlanMode::Greedy;
  else if (name == "separate")
    options.plan = orchestrate::PlanMode::Separate;
  else if (name == "exhaustive")
    options.plan = orchestrate::PlanMode::Exhaustive;
  else
    return usageError("--plan " + name + ": use search, greedy, separate or exhaustive");
  return Status::success();
}

/// "fusion,formats": a list of what the compiler is not to do.
Status readDisabled(const Json &value, pipeline::CompileOptions &options) {
  KINTSUGI_ASSIGN(std::string list, textOf("disable", value));
  std::vector<std::string> names = pipeline::switchNames();
  for (size_t start = 0; start <= list.size();) {
    size_t end = std::min(list.find(',', start), list.size());
    std::string word = llvm::StringRef(list).slice(start, end).trim().str();
    if (std::find(names.begin(), names.end(), word) == names.end())
      return usageError("--disable " + word + ": use a list, with commas between, of " +
                        llvm::join(names, ", "));
    options.disabled.add(word);
    start = end + 1;
  }
  return Status::success();
}

/// [LOW, HIGH]
Status readOpenDimension(const std::string &name, const Json &range,
                         pipeline::CompileOptions &options) {
  auto isSize = [](const Json &size) {
    return size.is_number_unsigned() && size.get<uint64_t>() > 0 &&
           size.get<uint64_t>() <= uint64_t(INT64_MAX);
  };
  if (range.size() != 2 || !isSize(range[0]) || !isSize(range[1]) ||
      range[0].get<int64_t>() > range[1].get<int64_t>())
    return usageError("--dim " + name + ": a range is LOW..HIGH, two integers from 1 on");
  OpenDimension open = {name, range[0].get<int64_t>(), range[1].get<int64_t>()};
  options.import.dims[name] = open.high;
  if (open.low == open.high)
    return Status::success();
  if (options.open.size() == mostOpenDimensions)
    return usageError("--dim " + name + ": '" + options.open[0].name + "' and '" +
                      options.open[1].name + "' are open already; give one of them a size");
  options.open.push_back(std::move(open));
  return Status::success();
}

Status readDims(const Json &value, pipeline::CompileOptions &options) {
  if (!value.is_object())
    return wrongKind("dims", "an object");
  for (const auto &[name, extent] : value.items()) {
    if (extent.is_array()) {
      KINTSUGI_RETURN_IF_ERROR(readOpenDimension(name, extent, options));
      continue;
    }
    if (!extent.is_number_integer() ||
        !(extent.is_number_unsigned() || extent.get<int64_t>() >= 0) ||
        extent.get<uint64_t>() > uint64_t(INT64_MAX))
      return usageError("--dim " + name +
                        ": the extent must be an integer from 0 to 9223372036854775807");
    options.import.dims[name] = extent.get<int64_t>();
  }
  return Status::success();
}

/// The array of the input's own name, or the only one there is.
Expected<std::shared_ptr<const Tensor>> readBound(const std::string &input,
                                                  const std::string &path) {
  KINTSUGI_ASSIGN(NpzReader file, NpzReader::open(path));
  std::string name = input;
  if (!file.contains(name)) {
    if (file.names().size() != 1)
      return inputError(path + ": there is no array '" + input + "' to bind the input to");
    name = file.names().front();
  }
  KINTSUGI_ASSIGN(Tensor tensor, file.read(name));
  return std::shared_ptr<const Tensor>(std::make_shared<Tensor>(std::move(tensor)));
}

Status readBindings(const Json &value, pipeline::CompileOptions &options, std::string &identity) {
  if (!value.is_object())
    return wrongKind("bind", "an object");
  for (const auto &[input, path] : value.items()) {
    KINTSUGI_ASSIGN(std::string file, textOf("bind", path));
    KINTSUGI_ASSIGN(auto tensor, readBound(input, file));
    Blake3 content;
    content.update(tensor->bytes());
    for (const std::string &text : tensor->strings())
      content.update(text).update(std::string_view("\0", 1));
    identity += input + " " + std::string(nameOf(tensor->type())) + shapeString(tensor->shape()) +
                content.finish().hex() + "\n";
    options.import.bound[input] = std::move(tensor);
  }
  return Status::success();
}

/// The file's content is part of what the artifact is made from.
Status readCalibration(const Json &value, pipeline::CompileOptions &options, std::string &digest) {
  KINTSUGI_ASSIGN(options.calibration, textOf("calibrate", value));
  KINTSUGI_ASSIGN(MappedFile content, MappedFile::open(options.calibration));
  digest = blake3(content.bytes()).hex();
  return Status::success();
}

Status readMaxError(const Json &value, pipeline::CompileOptions &options) {
  if (!value.is_number() || !(value.get<double>() > 0 && value.get<double>() <= 1))
    return usageError("--max-error: must be more than 0 and at most 1, a share of an output's "
                      "largest number");
  options.maxError = value.get<double>();
  return Status::success();
}

/// The artifact's machine is set when all options are known.
Status readLevel(const Json &value, Settings &settings) {
  KINTSUGI_ASSIGN(std::string name, textOf("cpu_level", value));
  if (name == "v3")
    settings.level = machine::Level::V3;
  else if (name == "v4")
    settings.level = machine::Level::V4;
  else if (name == "native")
    settings.level = machine::levelOf(machine::Machine::detect().level);
  else
    return usageError("--cpu-level " + name + ": use v3, v4 or native");
  return Status::success();
}

Status readThreads(const Json &value, pipeline::CompileOptions &options) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > 4096)
    return usageError("--threads: must be from 0 to 4096");
  options.threads = value.get<unsigned>();
  return Status::success();
}

Status readTune(const Json &value, pipeline::CompileOptions &options) {
  if (!value.is_number() || !(value.get<double>() > 0 && value.get<double>() <= 86400))
    return usageError("--tune: must be more than 0 seconds and at most 86400");
  options.tuneSeconds = value.get<double>();
  return Status::success();
}

Status readAlternatives(const Json &value, pipeline::CompileOptions &options) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > 10000)
    return usageError("--alternatives: must be from 0 to 10000");
  options.priced = value.get<unsigned>();
  return Status::success();
}

Status readTimeout(const Json &value, Settings &settings) {
  if (!value.is_number() || !(value.get<double>() > 0 && value.get<double>() <= 1e9))
    return usageError("--timeout: must be more than 0 seconds and at most 1e9");
  settings.timeoutSeconds = value.get<double>();
  return Status::success();
}

Status readMaxMemory(const Json &value, Settings &settings) {
  constexpr uint64_t least = uint64_t(1) << 20;
  if (!value.is_number_unsigned() || value.get<uint64_t>() < least)
    return usageError("--max-memory: must be a number of bytes, at least 1048576 (1 MiB)");
  settings.maxMemory = settings.compile.constantBudget = value.get<uint64_t>();
  return Status::success();
}

Status readOption(const std::string &key, const Json &value, Settings &settings,
                  std::string &identity) {
  pipeline::CompileOptions &options = settings.compile;
  if (key == "target")
    return readTarget(value, settings);
  if (key == "precision")
    return readPrecision(value, options);
  if (key == "plan")
    return readPlan(value, options);
  if (key == "disable")
    return readDisabled(value, options);
  if (key == "dims")
    return readDims(value, options);
  if (key == "bind")
    return readBindings(value, options, identity);
  if (key == "calibrate")
    return readCalibration(value, options, settings.calibrationDigest);
  if (key == "max_error")
    return readMaxError(value, options);
  if (key == "threads")
    return readThreads(value, options);
  if (key == "cpu_level")
    return readLevel(value, settings);
  if (key == "tune")
    return readTune(value, options);
  if (key == "alternatives")
    return readAlternatives(value, options);
  if (key == "timeout")
    return readTimeout(value, settings);
  if (key == "max_memory")
    return readMaxMemory(value, settings);
  if (key != "random_weights" && key != "cache" && key != "cubins")
    return usageError("unknown option \"" + key +
                      "\"; there are: target, precision, plan, disable, dims, bind, "
                      "random_weights, cpu_level, threads, tune, timeout, max_memory, cache, "
                      "cubins, calibrate, max_error, alternatives");
  KINTSUGI_ASSIGN(bool flag, truthOf(key, value));
  bool &option = key == "cache"    ? settings.cache
                 : key == "cubins" ? options.cubins
                                   : options.import.randomWeights;
  option = flag;
  return Status::success();
}

} // namespace

std::string flagOf(const std::string &key) {
  if (key == "dims")
    return "--dim";
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

Status Settings::tell(std::string_view phase) const {
  if (compile.progress && !compile.progress(phase, 0, 0))
    return usageError("stopped before " + std::string(phase));
  return Status::success();
}

Settings Settings::as(Purpose wanted) const {
  switch (wanted) {
  case Purpose::ThisMachine:
    return *this;
  case Purpose::AllMachines:
    return forAllMachines();
  case Purpose::Reference:
    return forReference();
  case Purpose::RoundedReference:
    return forRoundedReference();
  }
  return *this;
}

Settings Settings::forAllMachines() const {
  Settings result = *this;
  result.purpose = Purpose::AllMachines;
  if (level || compile.target == "cuda")
    return result;
  // The reference is scalar code that gains nothing from more instructions.
  if (compile.target != "reference")
    result.compile.lesser.push_back(knownMachine().inUseAt(machine::Level::V3));
  result.compile.machine = knownMachine().inUseAt(
      compile.target == "reference" ? machine::Level::V3 : machine::Level::V4);
  return result;
}

Settings Settings::forReference() const {
  Settings result = *this;
  result.purpose = Purpose::Reference;
  if (compile.target == "cuda")
    result.compile.machine = knownMachine().inUse();
  result.compile.target = "reference";
  result.compile.precision = Precision::F32;
  result.compile.tuneSeconds = 0;
  result.compile.cubins = false;
  result.compile.calibration.clear();
  result.calibrationDigest.clear();
  result.compile.maxError = 0;
  return result;
}

Settings Settings::forRoundedReference() const {
  Settings result = forReference();
  result.purpose = Purpose::RoundedReference;
  result.compile.rounding = roundingOf(compile.precision);
  return result;
}

void Settings::addTo(Blake3 &key) const {
  Json json = Json::object();
  json["target"] = compile.target;
  json["precision"] = nameOf(compile.precision);
  json["plan"] = static_cast<int>(compile.plan);
  json["disabled"] = compile.disabled.names();
  json["dims"] = compile.import.dims;
  for (const OpenDimension &open : compile.open)
    json["open"].push_back({open.name, open.low, open.high});
  json["bound"] = identity;
  json["random_weights"] = compile.import.randomWeights;
  json["cubins"] = compile.cubins;
  json["calibration"] = calibrationDigest;
  json["max_error"] = compile.maxError;
  if (compile.rounding)
    json["rounding"] = nameOf(*compile.rounding);
  json["machine"] = compile.machine.print();
  key.update(printJson(json));
}

Expected<Settings> readSettings(const KinCompilerOptions *options) {
  Settings settings;
  KnownMachine known = knownMachine();
  settings.compile.machine = known.inUse();
  settings.maxMemory = settings.compile.constantBudget =
      static_cast<uint64_t>(known.assumed.memory().bytes);
  settings.given = "{}";
  if (!options)
    return settings;
  if (options->struct_bytes != sizeof(KinCompilerOptions))
    return usageError("the options have a struct_bytes of " +
                      std::to_string(options->struct_bytes) + " instead of " +
                      std::to_string(sizeof(KinCompilerOptions)));
  if (options->progress)
    settings.compile.progress = [call = options->progress, user = options->user](
                                    std::string_view phase, uint64_t step, uint64_t steps) {
      return call(user, std::string(phase).c_str(), step, steps) != 0;
    };
  if (!options->json)
    return settings;
  settings.given = options->json;
  Expected<Json> json = parseJson(options->json);
  if (!json.ok() || !json->is_object())
    return usageError("the options are no JSON object" +
                      (json.ok() ? std::string() : ": " + json.error().message));
  for (const auto &[key, value] : json->items()) {
    KINTSUGI_RETURN_IF_ERROR(readOption(key, value, settings, settings.identity));
    bool picksDevice = key == "target" && settings.compile.target == "cuda";
    bool decidesOfArtifact =
        key != "threads" && key != "cache" && key != "cpu_level" && key != "alternatives";
    if (decidesOfArtifact && !picksDevice)
      settings.compileFlags.push_back(flagOf(key));
  }
  if (settings.compile.target == "cuda") {
    if (settings.level)
      return usageError("--cpu-level: the target cuda has code for sm_80 and sm_90a");
    settings.compile.machine = knownGpu(settings.device);
  }
  if (settings.compile.cubins && settings.compile.target != "cuda")
    return usageError("--cubins: is for the target cuda; other code needs no assembler");
  if (settings.level)
    settings.compile.machine = knownMachine().inUseAt(*settings.level);
  if (settings.compile.tuneSeconds > 0 && settings.compile.target == "reference")
    return usageError("--tune: the target reference has one schedule for each kernel; it can't be "
                      "tuned");
  if (settings.compile.precision != Precision::F32 && settings.compile.target == "reference")
    return usageError("--precision " + std::string(nameOf(settings.compile.precision)) +
                      ": the target reference computes everything in f64");
  if (settings.compile.maxError > 0 && !storageOf(settings.compile.precision))
    return usageError("--max-error: is for --precision f16 or bf16; f32 is computed as the model "
                      "says");
  bool hasScales = settings.compile.precision == Precision::F16 &&
                   !settings.compile.disabled.has("storage-scales");
  bool isTried = hasScales || settings.compile.maxError > 0;
  if (!settings.compile.calibration.empty() && !isTried)
    return usageError(settings.compile.calibration +
                      ": there is nothing to calibrate: only --precision f16 with its scales and "
                      "--max-error run the model while it is compiled; add one of them, or leave "
                      "the file out");
  if (const auto &open = settings.compile.open;
      !open.empty() && !settings.compile.calibration.empty())
    return usageError(settings.compile.calibration + ": its arrays are of one size, and --dim " +
                      open.front().name + " is a range; give that one size, or leave the file out");
  return settings;
}

} // namespace kintsugi::api
