//===- manifest_reader.cpp - Reading manifests from JSON ------------------===//

#include "runtime/manifest.h"

#include <limits>
#include <optional>

using namespace kintsugi;
using namespace kintsugi::runtime;

/// The member where there is one; null otherwise.
static const Json *optionalMember(const Json &object, const char *key) {
  auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// The integer in [0, limit] that the value is, or nothing.
static std::optional<uint64_t> readBounded(const Json &value, uint64_t limit) {
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<int64_t>() < 0))
    return std::nullopt;
  uint64_t number = value.get<uint64_t>();
  return number <= limit ? std::optional(number) : std::nullopt;
}

static Expected<uint32_t> readIndexValue(const Json &value) {
  auto number = readBounded(value, std::numeric_limits<uint32_t>::max());
  if (!number)
    return inputError("is not an index");
  return static_cast<uint32_t>(*number);
}

static Expected<uint32_t> readIndex(const Json &object, std::string_view key) {
  KINTSUGI_ASSIGN(const Json *member, jsonMember(object, key));
  auto index = readIndexValue(*member);
  if (!index.ok())
    return at(std::string(key), index.takeError());
  return *index;
}

/// Reads each element of the array `key` by `read`; errors say which element.
template <typename T, typename Read>
static Expected<std::vector<T>> readList(const Json &object, const char *key, Read read) {
  KINTSUGI_ASSIGN(const Json *list, jsonArray(object, key));
  std::vector<T> values;
  values.reserve(list->size());
  for (const Json &element : *list) {
    auto value = read(element);
    if (!value.ok())
      return at(std::string(key) + "[" + std::to_string(values.size()) + "]", value.takeError());
    values.push_back(std::move(*value));
  }
  return values;
}

static Expected<std::string> readText(const Json &value) {
  if (!value.is_string())
    return inputError("is not a string");
  return value.get<std::string>();
}

static Expected<int64_t> readExtent(const Json &value) {
  auto extent = readBounded(value, std::numeric_limits<int64_t>::max());
  if (!extent)
    return inputError("is not an extent");
  return static_cast<int64_t>(*extent);
}

static Expected<uint64_t> readCount(const Json &value) {
  auto count = readBounded(value, std::numeric_limits<uint64_t>::max());
  if (!count)
    return inputError("is not a count");
  return *count;
}

static Expected<ElementType> readType(const Json &object) {
  KINTSUGI_ASSIGN(std::string name, jsonString(object, "type"));
  auto type = elementTypeFromName(name);
  if (!type)
    return inputError("unknown element type '" + name + "'");
  return *type;
}

static Expected<Home> readHome(const Json &json) {
  Home home;
  if (json.contains("input")) {
    home.kind = Home::Kind::Input;
    KINTSUGI_ASSIGN(home.index, readIndex(json, "input"));
  } else if (json.contains("output")) {
    home.kind = Home::Kind::Output;
    KINTSUGI_ASSIGN(home.index, readIndex(json, "output"));
  } else if (json.contains("constant")) {
    home.kind = Home::Kind::Constant;
    KINTSUGI_ASSIGN(home.offset, jsonUnsigned(json, "constant"));
  } else if (json.contains("size")) {
    home.kind = Home::Kind::Size;
    KINTSUGI_ASSIGN(home.index, readIndex(json, "size"));
  } else if (json.contains("alias")) {
    home.kind = Home::Kind::Alias;
    KINTSUGI_ASSIGN(home.index, readIndex(json, "alias"));
    KINTSUGI_ASSIGN(home.offset, jsonUnsigned(json, "offset"));
  } else {
    KINTSUGI_ASSIGN(home.offset, jsonUnsigned(json, "arena"));
  }
  return home;
}

static Expected<Buffer> readBuffer(const Json &json) {
  Buffer buffer;
  KINTSUGI_ASSIGN(buffer.name, jsonString(json, "name"));
  KINTSUGI_ASSIGN(buffer.type, readType(json));
  KINTSUGI_ASSIGN(buffer.shape, readList<int64_t>(json, "shape", readExtent));
  KINTSUGI_ASSIGN(buffer.bytes, jsonUnsigned(json, "bytes"));
  KINTSUGI_ASSIGN(const Json *home, jsonObject(json, "home"));
  KINTSUGI_ASSIGN(buffer.home, readHome(*home));
  return buffer;
}

static Expected<DynamicDimension> readDynamic(const Json &json) {
  DynamicDimension dynamic;
  KINTSUGI_ASSIGN(dynamic.dimension, readIndex(json, "dimension"));
  KINTSUGI_ASSIGN(dynamic.buffer, readIndex(json, "buffer"));
  return dynamic;
}

/// From 1 to 2^40: products of two that are checked against each other stay in range.
static Expected<int64_t> readSize(const Json &json, const char *key) {
  const Json *member = optionalMember(json, key);
  auto size = member ? readBounded(*member, uint64_t(1) << 40) : std::nullopt;
  if (!size || *size == 0)
    return inputError("'" + std::string(key) + "' is not a size");
  return static_cast<int64_t>(*size);
}

static Expected<OpenAxis> readOpenAxis(const Json &json) {
  OpenAxis axis;
  KINTSUGI_ASSIGN(axis.dimension, readIndex(json, "dimension"));
  KINTSUGI_ASSIGN(axis.step, readSize(json, "step"));
  KINTSUGI_ASSIGN(axis.number, readIndex(json, "number"));
  return axis;
}

static Expected<Trim> readTrim(const Json &json) {
  Trim trim;
  KINTSUGI_ASSIGN(trim.number, readIndex(json, "number"));
  for (auto [key, number] : {std::pair("step_rows", &trim.stepRows),
                             {"tile_rows", &trim.tileRows},
                             {"cuts", &trim.cuts},
                             {"inner", &trim.inner},
                             {"band", &trim.band}}) {
    KINTSUGI_ASSIGN(*number, readSize(json, key));
  }
  return trim;
}

static Expected<OpenDimension> readOpenDimension(const Json &json) {
  OpenDimension open;
  KINTSUGI_ASSIGN(open.name, jsonString(json, "name"));
  KINTSUGI_ASSIGN(open.low, readSize(json, "low"));
  KINTSUGI_ASSIGN(open.high, readSize(json, "high"));
  return open;
}

static Expected<Port> readPort(const Json &json) {
  Port port;
  KINTSUGI_ASSIGN(port.name, jsonString(json, "name"));
  KINTSUGI_ASSIGN(port.type, readType(json));
  KINTSUGI_ASSIGN(port.shape, readList<int64_t>(json, "shape", readExtent));
  KINTSUGI_ASSIGN(port.buffer, readIndex(json, "buffer"));
  if (optionalMember(json, "dynamic")) {
    KINTSUGI_ASSIGN(port.dynamic, readList<DynamicDimension>(json, "dynamic", readDynamic));
  }
  if (optionalMember(json, "may_alias")) {
    KINTSUGI_ASSIGN(port.mayAlias, readIndex(json, "may_alias"));
  }
  if (optionalMember(json, "open")) {
    KINTSUGI_ASSIGN(port.open, readList<OpenAxis>(json, "open", readOpenAxis));
  }
  return port;
}

static Expected<Work> readWork(const Json &json) {
  Work work;
  KINTSUGI_ASSIGN(work.symbol, jsonString(json, "symbol"));
  KINTSUGI_ASSIGN(work.nodes, readList<std::string>(json, "nodes", readText));
  KINTSUGI_ASSIGN(work.predictedSeconds, jsonNumber(json, "predicted_seconds"));
  KINTSUGI_ASSIGN(work.movedBytes, jsonUnsigned(json, "moved_bytes"));
  if (optionalMember(json, "operations")) {
    KINTSUGI_ASSIGN(work.operations, readList<uint64_t>(json, "operations", readCount));
  }
  return work;
}

static Expected<Stage> readStage(const Json &json) {
  Stage stage;
  KINTSUGI_ASSIGN(std::string kind, jsonString(json, "kind"));
  if (kind != "kernel" && kind != "call")
    return inputError("unknown kind of stage '" + kind + "'");
  stage.kind = kind == "kernel" ? Stage::Kind::Kernel : Stage::Kind::Call;
  KINTSUGI_ASSIGN(static_cast<Work &>(stage), readWork(json));
  KINTSUGI_ASSIGN(stage.buffers, readList<uint32_t>(json, "buffers", readIndexValue));
  KINTSUGI_ASSIGN(stage.resultCount, readIndex(json, "results"));
  KINTSUGI_ASSIGN(stage.tiles, jsonUnsigned(json, "tiles"));
  if (optionalMember(json, "together")) {
    KINTSUGI_ASSIGN(stage.together, jsonUnsigned(json, "together"));
  }
  KINTSUGI_ASSIGN(stage.scratchBytes, jsonUnsigned(json, "scratch_bytes"));
  KINTSUGI_ASSIGN(stage.expressions, jsonString(json, "expressions"));
  if (optionalMember(json, "trims")) {
    KINTSUGI_ASSIGN(stage.trims, readList<Trim>(json, "trims", readTrim));
  }
  if (optionalMember(json, "call")) {
    KINTSUGI_ASSIGN(stage.call, jsonString(json, "call"));
  }
  if (optionalMember(json, "threads")) {
    KINTSUGI_ASSIGN(stage.threads, readIndex(json, "threads"));
  }
  if (optionalMember(json, "meets")) {
    KINTSUGI_ASSIGN(stage.meets, jsonBool(json, "meets"));
  }
  if (optionalMember(json, "registers")) {
    KINTSUGI_ASSIGN(stage.registers, readIndex(json, "registers"));
  }
  if (optionalMember(json, "attributes")) {
    KINTSUGI_ASSIGN(const Json *attributes, jsonObject(json, "attributes"));
    stage.attributes = *attributes;
  }
  if (optionalMember(json, "parts")) {
    KINTSUGI_ASSIGN(stage.parts, readList<Work>(json, "parts", readWork));
  }
  return stage;
}

static Expected<int64_t> readInteger(const Json &json) {
  bool isTooLarge = json.is_number_unsigned() && json.get<uint64_t>() > uint64_t(INT64_MAX);
  if (!json.is_number_integer() || isTooLarge)
    return inputError("is not an integer of 64 bits");
  return json.get<int64_t>();
}

static Expected<ElementRange::Loop> readLoop(const Json &json) {
  if (!json.is_array() || json.size() != 2)
    return inputError("is not a count and a step");
  ElementRange::Loop loop;
  KINTSUGI_ASSIGN(loop.count, readInteger(json[0]));
  KINTSUGI_ASSIGN(loop.step, readInteger(json[1]));
  return loop;
}

static Expected<ElementRange> readRange(const Json &json) {
  ElementRange range;
  for (auto [name, number] :
       {std::pair("low", &range.low), {"high", &range.high}, {"first", &range.first}}) {
    const Json *member = optionalMember(json, name);
    if (!member)
      return inputError(std::string("there is no '") + name + "'");
    KINTSUGI_ASSIGN(*number, readInteger(*member));
  }
  KINTSUGI_ASSIGN(range.loops, readList<ElementRange::Loop>(json, "loops", readLoop));
  return range;
}

static Expected<Check> readCheck(const Json &json) {
  Check check;
  KINTSUGI_ASSIGN(check.buffer, readIndex(json, "buffer"));
  KINTSUGI_ASSIGN(check.node, jsonString(json, "node"));
  KINTSUGI_ASSIGN(check.text, jsonString(json, "text"));
  if (optionalMember(json, "range")) {
    KINTSUGI_ASSIGN(const Json *range, jsonObject(json, "range"));
    KINTSUGI_ASSIGN(check.range, readRange(*range));
  }
  return check;
}

static Expected<BufferCopy> readCopy(const Json &json) {
  if (!json.is_array() || (json.size() != 2 && json.size() != 4))
    return inputError("is not a pair of buffers, perhaps with two steps");
  BufferCopy copy;
  KINTSUGI_ASSIGN(copy.from, readIndexValue(json[0]));
  KINTSUGI_ASSIGN(copy.to, readIndexValue(json[1]));
  if (json.size() == 4) {
    auto fromStep = readBounded(json[2], std::numeric_limits<int64_t>::max());
    auto toStep = readBounded(json[3], std::numeric_limits<int64_t>::max());
    if (!fromStep || !toStep)
      return inputError("has steps that are no sizes");
    copy.fromStep = *fromStep;
    copy.toStep = *toStep;
  }
  return copy;
}

static Expected<Plan> readPlan(const Json &json);

static Expected<Plan> readPlanMember(const Json &object, std::string_view key) {
  KINTSUGI_ASSIGN(const Json *member, jsonObject(object, key));
  return readPlan(*member);
}

static Expected<Plan> readRepeat(const Json &json) {
  Plan plan;
  plan.kind = Plan::Kind::Repeat;
  KINTSUGI_ASSIGN(plan.count, jsonUnsigned(json, "count"));
  if (optionalMember(json, "step")) {
    KINTSUGI_ASSIGN(plan.step, readIndex(json, "step"));
  }
  if (optionalMember(json, "while")) {
    KINTSUGI_ASSIGN(plan.condition, readIndex(json, "while"));
  }
  if (optionalMember(json, "copies")) {
    KINTSUGI_ASSIGN(plan.copies, readList<BufferCopy>(json, "copies", readCopy));
  }
  KINTSUGI_ASSIGN(Plan body, readPlanMember(json, "body"));
  plan.children.push_back(std::move(body));
  return plan;
}

static Expected<Plan> readBranch(const Json &json) {
  KINTSUGI_ASSIGN(uint32_t condition, readIndex(json, "condition"));
  KINTSUGI_ASSIGN(Plan then, readPlanMember(json, "then"));
  KINTSUGI_ASSIGN(Plan otherwise, readPlanMember(json, "else"));
  return Plan::branch(condition, std::move(then), std::move(otherwise));
}

/// The recursion is as deep as parseJson let the text be.
static Expected<Plan> readPlan(const Json &json) {
  if (!json.is_object())
    return inputError("a node of the plan is not an object");
  if (json.contains("stage")) {
    KINTSUGI_ASSIGN(uint32_t stage, readIndex(json, "stage"));
    return Plan::ofStage(stage);
  }
  if (json.contains("repeat")) {
    KINTSUGI_ASSIGN(const Json *repeat, jsonObject(json, "repeat"));
    return readRepeat(*repeat);
  }
  if (json.contains("branch")) {
    KINTSUGI_ASSIGN(const Json *branch, jsonObject(json, "branch"));
    return readBranch(*branch);
  }
  if (json.contains("copy")) {
    KINTSUGI_ASSIGN(auto copies, readList<BufferCopy>(json, "copy", readCopy));
    return Plan::copy(std::move(copies));
  }
  if (json.contains("lanes")) {
    KINTSUGI_ASSIGN(auto lanes, readList<Plan>(json, "lanes", readPlan));
    return Plan::lanes(std::move(lanes));
  }
  KINTSUGI_ASSIGN(auto children, readList<Plan>(json, "sequence", readPlan));
  return Plan::sequence(std::move(children));
}

static Expected<CodeObject> readCode(const Json &json) {
  CodeObject code;
  KINTSUGI_ASSIGN(code.section, jsonString(json, "section"));
  KINTSUGI_ASSIGN(code.features, readList<std::string>(json, "features", readText));
  if (optionalMember(json, "kernels_wait")) {
    KINTSUGI_ASSIGN(code.kernelsWait, jsonBool(json, "kernels_wait"));
  }
  if (optionalMember(json, "tensor_maps")) {
    KINTSUGI_ASSIGN(code.maps, readList<StageMaps>(json, "tensor_maps", readStageMaps));
  }
  if (optionalMember(json, "machine_code")) {
    KINTSUGI_ASSIGN(code.machineCode, jsonString(json, "machine_code"));
  }
  return code;
}

Expected<Manifest> Manifest::fromJson(const Json &json) {
  if (!json.is_object())
    return inputError("the manifest is not an object");
  KINTSUGI_ASSIGN(uint64_t version, jsonUnsigned(json, "version"));
  if (version != manifestVersion)
    return inputError("the manifest has version " + std::to_string(version) +
                      ", this runtime reads version " + std::to_string(manifestVersion) +
                      "; compile the model again");
  Manifest manifest;
  KINTSUGI_ASSIGN(manifest.compilerVersion, jsonString(json, "compiler"));
  KINTSUGI_ASSIGN(manifest.modelName, jsonString(json, "model"));
  KINTSUGI_ASSIGN(manifest.target, jsonString(json, "target"));
  KINTSUGI_ASSIGN(manifest.precision, jsonString(json, "precision"));
  KINTSUGI_ASSIGN(manifest.arenaBytes, jsonUnsigned(json, "arena_bytes"));
  KINTSUGI_ASSIGN(manifest.buffers, readList<Buffer>(json, "buffers", readBuffer));
  KINTSUGI_ASSIGN(manifest.inputs, readList<Port>(json, "inputs", readPort));
  KINTSUGI_ASSIGN(manifest.outputs, readList<Port>(json, "outputs", readPort));
  if (optionalMember(json, "open")) {
    KINTSUGI_ASSIGN(manifest.open, readList<OpenDimension>(json, "open", readOpenDimension));
  }
  if (optionalMember(json, "smaller")) {
    KINTSUGI_ASSIGN(manifest.smaller, readList<std::string>(json, "smaller", readText));
  }
  KINTSUGI_ASSIGN(manifest.stages, readList<Stage>(json, "stages", readStage));
  KINTSUGI_ASSIGN(manifest.checks, readList<Check>(json, "checks", readCheck));
  KINTSUGI_ASSIGN(manifest.plan, readPlanMember(json, "plan"));
  KINTSUGI_ASSIGN(manifest.code, readList<CodeObject>(json, "code", readCode));
  return manifest;
}
