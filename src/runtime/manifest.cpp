//===- manifest.cpp - Making and printing manifests -----------------------===//

#include "runtime/manifest.h"

using namespace kintsugi;
using namespace kintsugi::runtime;

double kintsugi::runtime::neededPart(const Stage &stage, const OpenSizes &sizes) {
  double part = 1;
  for (const Trim &trim : stage.trims)
    part *= static_cast<double>(trim.kept(sizes)) / static_cast<double>(trim.period());
  return part;
}

Plan Plan::ofStage(uint32_t stage) {
  Plan plan;
  plan.kind = Kind::Stage;
  plan.stage = stage;
  return plan;
}

Plan Plan::sequence(std::vector<Plan> children) {
  Plan plan;
  plan.children = std::move(children);
  return plan;
}

Plan Plan::repeat(uint64_t count, Plan body, std::vector<BufferCopy> copies, int64_t step,
                  int64_t condition) {
  Plan plan;
  plan.kind = Kind::Repeat;
  plan.count = count;
  plan.step = step;
  plan.condition = condition;
  plan.copies = std::move(copies);
  plan.children.push_back(std::move(body));
  return plan;
}

Plan Plan::branch(uint32_t condition, Plan then, Plan otherwise) {
  Plan plan;
  plan.kind = Kind::Branch;
  plan.condition = condition;
  plan.children.push_back(std::move(then));
  plan.children.push_back(std::move(otherwise));
  return plan;
}

Plan Plan::copy(std::vector<BufferCopy> copies) {
  Plan plan;
  plan.kind = Kind::Copy;
  plan.copies = std::move(copies);
  return plan;
}

Plan Plan::lanes(std::vector<Plan> children) {
  Plan plan;
  plan.kind = Kind::Lanes;
  plan.children = std::move(children);
  return plan;
}

int64_t Manifest::find(const std::vector<Port> &ports, std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name)
      return static_cast<int64_t>(i);
  return none;
}

static Json homeJson(const Home &home) {
  switch (home.kind) {
  case Home::Kind::Input:
    return {{"input", home.index}};
  case Home::Kind::Output:
    return {{"output", home.index}};
  case Home::Kind::Constant:
    return {{"constant", home.offset}};
  case Home::Kind::Arena:
    return {{"arena", home.offset}};
  case Home::Kind::Size:
    return {{"size", home.index}};
  case Home::Kind::Alias:
    return {{"alias", home.index}, {"offset", home.offset}};
  }
  return {};
}

static Json bufferJson(const Buffer &buffer) {
  return {{"name", buffer.name},
          {"type", nameOf(buffer.type)},
          {"shape", buffer.shape},
          {"bytes", buffer.bytes},
          {"home", homeJson(buffer.home)}};
}

template <typename T> static Json listJson(const std::vector<T> &values, Json (*print)(const T &)) {
  Json list = Json::array();
  for (const T &value : values)
    list.push_back(print(value));
  return list;
}

static Json openJson(const OpenDimension &open) {
  return {{"name", open.name}, {"low", open.low}, {"high", open.high}};
}

static Json axisJson(const OpenAxis &axis) {
  return {{"dimension", axis.dimension}, {"step", axis.step}, {"number", axis.number}};
}

static Json trimJson(const Trim &trim) {
  return {{"number", trim.number}, {"step_rows", trim.stepRows}, {"tile_rows", trim.tileRows},
          {"cuts", trim.cuts},     {"inner", trim.inner},        {"band", trim.band}};
}

static Json portJson(const Port &port) {
  Json json = {{"name", port.name},
               {"type", nameOf(port.type)},
               {"shape", port.shape},
               {"buffer", port.buffer}};
  if (!port.dynamic.empty()) {
    Json &list = json["dynamic"] = Json::array();
    for (const DynamicDimension &entry : port.dynamic)
      list.push_back({{"dimension", entry.dimension}, {"buffer", entry.buffer}});
  }
  if (port.mayAlias != none)
    json["may_alias"] = port.mayAlias;
  if (!port.open.empty())
    json["open"] = listJson(port.open, axisJson);
  return json;
}

static Json workJson(const Work &work) {
  Json json = {{"symbol", work.symbol},
               {"nodes", work.nodes},
               {"predicted_seconds", work.predictedSeconds},
               {"moved_bytes", work.movedBytes}};
  if (!work.operations.empty())
    json["operations"] = work.operations;
  return json;
}

static Json stageJson(const Stage &stage) {
  Json json = workJson(stage);
  json["kind"] = stage.kind == Stage::Kind::Kernel ? "kernel" : "call";
  json["buffers"] = stage.buffers;
  json["results"] = stage.resultCount;
  json["tiles"] = stage.tiles;
  if (stage.together != 1)
    json["together"] = stage.together;
  json["scratch_bytes"] = stage.scratchBytes;
  json["expressions"] = stage.expressions;
  if (!stage.trims.empty())
    json["trims"] = listJson(stage.trims, trimJson);
  if (!stage.call.empty())
    json["call"] = stage.call;
  if (stage.threads != 0)
    json["threads"] = stage.threads;
  if (stage.meets)
    json["meets"] = true;
  if (stage.registers != 0)
    json["registers"] = stage.registers;
  if (!stage.attributes.empty())
    json["attributes"] = stage.attributes;
  if (!stage.parts.empty())
    json["parts"] = listJson(stage.parts, workJson);
  return json;
}

static Json copiesJson(const std::vector<BufferCopy> &copies) {
  Json list = Json::array();
  for (const BufferCopy &copy : copies) {
    Json entry = Json::array({copy.from, copy.to});
    if (copy.fromStep != 0 || copy.toStep != 0) {
      entry.push_back(copy.fromStep);
      entry.push_back(copy.toStep);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

static Json planJson(const Plan &plan);

static Json childrenJson(const Plan &plan) {
  Json list = Json::array();
  for (const Plan &child : plan.children)
    list.push_back(planJson(child));
  return list;
}

static Json planJson(const Plan &plan) {
  switch (plan.kind) {
  case Plan::Kind::Stage:
    return {{"stage", plan.stage}};
  case Plan::Kind::Sequence:
    return {{"sequence", childrenJson(plan)}};
  case Plan::Kind::Lanes:
    return {{"lanes", childrenJson(plan)}};
  case Plan::Kind::Repeat: {
    Json body = {{"count", plan.count}, {"body", planJson(plan.children[0])}};
    if (!plan.copies.empty())
      body["copies"] = copiesJson(plan.copies);
    if (plan.step != none)
      body["step"] = plan.step;
    if (plan.condition != none)
      body["while"] = plan.condition;
    return {{"repeat", std::move(body)}};
  }
  case Plan::Kind::Branch:
    return {{"branch",
             {{"condition", plan.condition},
              {"then", planJson(plan.children[0])},
              {"else", planJson(plan.children[1])}}}};
  case Plan::Kind::Copy:
    return {{"copy", copiesJson(plan.copies)}};
  }
  return {};
}

static Json codeJson(const CodeObject &code) {
  Json json = {{"section", code.section}, {"features", code.features}};
  if (code.kernelsWait)
    json["kernels_wait"] = true;
  if (!code.maps.empty())
    json["tensor_maps"] = listJson(code.maps, mapsJson);
  if (!code.machineCode.empty())
    json["machine_code"] = code.machineCode;
  return json;
}

static Json checkJson(const Check &check) {
  Json json = {{"buffer", check.buffer}, {"node", check.node}, {"text", check.text}};
  if (const std::optional<ElementRange> &range = check.range) {
    Json loops = Json::array();
    for (const ElementRange::Loop &loop : range->loops)
      loops.push_back({loop.count, loop.step});
    json["range"] = {
        {"low", range->low}, {"high", range->high}, {"first", range->first}, {"loops", loops}};
  }
  return json;
}

Json Manifest::toJson() const {
  Json json = {{"version", manifestVersion},
               {"compiler", compilerVersion},
               {"model", modelName},
               {"target", target},
               {"precision", precision},
               {"arena_bytes", arenaBytes},
               {"buffers", listJson(buffers, bufferJson)},
               {"inputs", listJson(inputs, portJson)},
               {"outputs", listJson(outputs, portJson)},
               {"stages", listJson(stages, stageJson)},
               {"checks", listJson(checks, checkJson)},
               {"plan", planJson(plan)},
               {"code", listJson(code, codeJson)}};
  if (!open.empty())
    json["open"] = listJson(open, openJson);
  if (!smaller.empty())
    json["smaller"] = smaller;
  return json;
}
