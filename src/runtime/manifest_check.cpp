//===- manifest_check.cpp - Whether a manifest holds together -------------===//

#include "abi/stage.h"
#include "base/checked.h"
#include "runtime/manifest.h"

#include <algorithm>
#include <set>

using namespace kintsugi;
using namespace kintsugi::runtime;

/// Bounds that no sensible model reaches and that keep every later sum inside 64 bits.
static constexpr uint64_t maxBytes = uint64_t(1) << 46;
static constexpr uint64_t maxTiles = uint64_t(1) << 40;
static constexpr uint32_t maxThreads = 1024;
static constexpr uint64_t maxScratchBytes = uint64_t(1) << 36;
static constexpr size_t maxRank = 64;
static constexpr uint64_t mostReportBytes = 1 << 10;
static constexpr size_t maxParts = 1024;

static std::string quoted(std::string_view kind, std::string_view name) {
  return std::string(kind) + " '" + std::string(name) + "'";
}

namespace {
class Checker {
public:
  Checker(const Manifest &manifest, uint64_t constantBytes)
      : manifest(manifest), constantBytes(constantBytes) {}

  Status check() const;

private:
  Status checkBuffer(const Buffer &buffer) const;
  Status checkHome(const Buffer &buffer) const;
  Status checkPort(const Port &port) const;
  Status checkInput(size_t index) const;
  Status checkOutput(size_t index) const;
  Status checkOpen(const Port &port) const;
  Status checkOpenDimension() const;
  bool isWhole(const Trim &trim, uint64_t tiles) const;
  Status checkTrims(const Stage &stage) const;
  Status checkStage(const Stage &stage) const;
  Status checkCheck(const runtime::Check &check) const;
  Status checkPlan(const Plan &plan) const;
  Status checkLoop(const Plan &plan) const;
  Status checkCopies(const Plan &plan) const;

  /// The buffer whose home the bytes of `buffer` are in.
  const Buffer &origin(const Buffer &buffer) const {
    return buffer.home.kind == Home::Kind::Alias ? manifest.buffers[buffer.home.index] : buffer;
  }
  bool writable(uint32_t buffer) const {
    auto kind = origin(manifest.buffers[buffer]).home.kind;
    return kind == Home::Kind::Arena || kind == Home::Kind::Output;
  }
  bool isBuffer(int64_t index) const {
    return index >= 0 && static_cast<uint64_t>(index) < manifest.buffers.size();
  }
  bool isScalar(int64_t index, ElementType type) const {
    return isBuffer(index) && manifest.buffers[index].type == type &&
           manifest.buffers[index].bytes >= bitsOf(type) / 8;
  }

  const Manifest &manifest;
  uint64_t constantBytes;
};
} // namespace

Status Checker::checkHome(const Buffer &buffer) const {
  const Home &home = buffer.home;
  switch (home.kind) {
  case Home::Kind::Input:
    if (home.index >= manifest.inputs.size())
      return inputError("is at home in an input that is not there");
    break;
  case Home::Kind::Output:
    if (home.index >= manifest.outputs.size())
      return inputError("is at home in an output that is not there");
    break;
  case Home::Kind::Constant:
    if (!inRange(home.offset, buffer.bytes, constantBytes))
      return inputError("reaches past the end of the constants");
    break;
  case Home::Kind::Arena:
    if (!inRange(home.offset, buffer.bytes, manifest.arenaBytes))
      return inputError("reaches past the end of the arena");
    break;
  case Home::Kind::Size:
    if (home.index >= manifest.open.size() || buffer.type != ElementType::I64 ||
        buffer.bytes != sizeof(int64_t))
      return inputError("is no size of an open dimension");
    break;
  case Home::Kind::Alias: {
    if (home.index >= manifest.buffers.size())
      return inputError("is an alias of a buffer that is not there");
    const Buffer &target = manifest.buffers[home.index];
    if (target.home.kind == Home::Kind::Alias)
      return inputError("is an alias of an alias");
    if (!inRange(home.offset, buffer.bytes, target.bytes))
      return inputError("reaches past the end of " + quoted("buffer", target.name));
    if (home.offset % std::max<uint64_t>(1, bitsOf(buffer.type) / 8) != 0)
      return inputError("is not aligned to its elements");
    return Status::success();
  }
  }
  if (home.offset % KIN_BUFFER_ALIGNMENT != 0)
    return inputError("is not aligned to " + std::to_string(KIN_BUFFER_ALIGNMENT) + " bytes");
  return Status::success();
}

Status Checker::checkBuffer(const Buffer &buffer) const {
  if (buffer.shape.size() > maxRank)
    return inputError("has more than " + std::to_string(maxRank) + " dimensions");
  auto needed = bytesOf(buffer.type, buffer.shape);
  if (!needed || buffer.bytes > maxBytes)
    return inputError("has a size that no memory holds");
  if (buffer.bytes < static_cast<uint64_t>(*needed))
    return inputError("has " + std::to_string(buffer.bytes) + " bytes, its shape needs " +
                      std::to_string(*needed));
  return checkHome(buffer);
}

Status Checker::checkPort(const Port &port) const {
  if (!isBuffer(port.buffer))
    return inputError("has a buffer that is not there");
  const Buffer &buffer = manifest.buffers[port.buffer];
  // Kernels know elements of storage-only types as bytes.
  bool isOfBytes = isStorageOnly(port.type) && buffer.type == ElementType::U8;
  if (!isOfBytes && (port.type != buffer.type || port.shape != buffer.shape))
    return inputError("differs in type or shape from its " + quoted("buffer", buffer.name));
  std::optional<int64_t> bytes = bytesOf(port.type, port.shape);
  if (!bytes || buffer.bytes != static_cast<uint64_t>(*bytes))
    return inputError("differs in size from its " + quoted("buffer", buffer.name));
  return checkOpen(port);
}

Status Checker::checkOpen(const Port &port) const {
  if (port.open.empty())
    return Status::success();
  for (size_t k = 0; k < port.open.size(); ++k) {
    const OpenAxis &axis = port.open[k];
    bool isAxis = axis.number < manifest.open.size() && axis.dimension < port.shape.size();
    int64_t extent;
    if (!isAxis || __builtin_mul_overflow(axis.step, manifest.open[axis.number].high, &extent) ||
        port.shape[axis.dimension] != extent)
      return inputError("has an open dimension that is not as large as the greatest size");
    for (size_t j = 0; j < k; ++j)
      if (port.open[j].dimension == axis.dimension || port.open[j].number == axis.number)
        return inputError("has an open dimension twice");
  }
  if (bitsOf(port.type) % 8 != 0)
    return inputError("has an open dimension of packed elements");
  if (!port.dynamic.empty() || port.mayAlias != none)
    return inputError("has an open dimension beside others that runs decide");
  return Status::success();
}

Status Checker::checkOpenDimension() const {
  if (manifest.open.empty() && !manifest.smaller.empty())
    return inputError("has sizes without an open dimension");
  if (manifest.open.size() > mostOpenDimensions)
    return inputError("has more than " + std::to_string(mostOpenDimensions) + " open dimensions");
  for (uint32_t number = 0; number < manifest.open.size(); ++number) {
    const OpenDimension &open = manifest.open[number];
    if (open.low < 1 || open.low > open.high)
      return inputError("the open dimension '" + open.name + "' has no sizes");
    if (number > 0 && open.name == manifest.open[0].name)
      return inputError("two open dimensions are called '" + open.name + "'");
    auto has = [&](const Port &port) {
      return std::ranges::find(port.open, number, &OpenAxis::number) != port.open.end();
    };
    if (std::ranges::none_of(manifest.inputs, has))
      return inputError("no input has the open dimension '" + open.name + "'");
  }
  return Status::success();
}

/// Of `tiles` in a row.
bool Checker::isWhole(const Trim &trim, uint64_t tiles) const {
  uint64_t period, rows, covered;
  return trim.number < manifest.open.size() && trim.stepRows > 0 && trim.tileRows > 0 &&
         trim.cuts > 0 && trim.inner > 0 && trim.band > 0 && trim.band <= uint64_t(1) << 40 &&
         !__builtin_mul_overflow(trim.cuts, trim.inner, &period) && tiles % period == 0 &&
         !__builtin_mul_overflow(trim.stepRows, uint64_t(manifest.open[trim.number].high), &rows) &&
         !__builtin_mul_overflow(trim.cuts, trim.tileRows, &covered) && covered >= rows;
}

Status Checker::checkTrims(const Stage &stage) const {
  uint64_t tiles = stage.tiles;
  bool areWhole = stage.trims.size() <= mostOpenDimensions &&
                  (stage.trims.empty() ||
                   (stage.kind == Stage::Kind::Kernel && !stage.meets && stage.parts.empty()));
  for (const Trim &trim : stage.trims) {
    areWhole = areWhole && isWhole(trim, tiles);
    tiles = trim.inner;
  }
  return areWhole ? Status::success() : inputError("leaves out tiles that it does not have");
}

Status Checker::checkInput(size_t index) const {
  const Port &port = manifest.inputs[index];
  KINTSUGI_RETURN_IF_ERROR(checkPort(port));
  if (manifest.buffers[port.buffer].home != Home::input(index))
    return inputError("has a buffer at home elsewhere");
  if (!port.dynamic.empty() || port.mayAlias != none)
    return inputError("has members that only outputs have");
  return Status::success();
}

Status Checker::checkOutput(size_t index) const {
  const Port &port = manifest.outputs[index];
  KINTSUGI_RETURN_IF_ERROR(checkPort(port));
  std::set<uint32_t> counted;
  for (const DynamicDimension &dynamic : port.dynamic) {
    if (dynamic.dimension >= port.shape.size() || !isScalar(dynamic.buffer, ElementType::I64))
      return inputError("has a dynamic dimension without an i64 that counts it");
    if (!counted.insert(dynamic.dimension).second)
      return inputError("has a dynamic dimension that is counted twice");
  }
  if (!port.dynamic.empty() && bitsOf(port.type) % 8 != 0)
    return inputError("has a dynamic dimension of packed elements");
  if (port.mayAlias != none && static_cast<uint64_t>(port.mayAlias) >= manifest.inputs.size())
    return inputError("may alias an input that is not there");
  return Status::success();
}

static Status checkWork(const Work &work) {
  if (work.symbol.empty() || work.symbol.find('\0') != std::string::npos)
    return inputError("has no symbol");
  if (!work.operations.empty() && work.operations.size() != work.nodes.size())
    return inputError("has operations of other nodes than its own");
  return Status::success();
}

static Status checkParts(const Stage &stage) {
  if (!stage.parts.empty() && (stage.kind != Stage::Kind::Kernel || stage.threads == 0))
    return inputError("has parts without blocks of threads");
  if (stage.parts.size() > maxParts)
    return inputError("has too many parts");
  for (const Work &part : stage.parts)
    if (Status status = checkWork(part); !status.ok())
      return at(quoted("part", part.symbol), status.takeError());
  return Status::success();
}

Status Checker::checkStage(const Stage &stage) const {
  KINTSUGI_RETURN_IF_ERROR(checkWork(stage));
  if (stage.tiles > maxTiles || stage.scratchBytes > maxScratchBytes)
    return inputError("asks for too many tiles or too much scratch");
  if (stage.together == 0 || stage.tiles % stage.together != 0)
    return inputError("has tiles that are not told apart into rows of as many");
  if (stage.threads > maxThreads)
    return inputError("asks for too many threads");
  KINTSUGI_RETURN_IF_ERROR(checkTrims(stage));
  if (stage.meets && stage.threads == 0)
    return inputError("has workers without threads that wait for each other");
  KINTSUGI_RETURN_IF_ERROR(checkParts(stage));
  if (stage.resultCount > stage.buffers.size())
    return inputError("has more results than buffers");
  size_t firstResult = stage.buffers.size() - stage.resultCount;
  for (size_t i = 0; i < stage.buffers.size(); ++i) {
    if (!isBuffer(stage.buffers[i]))
      return inputError("has a buffer that is not there");
    if (i >= firstResult && !writable(stage.buffers[i]))
      return inputError("writes the read-only " +
                        quoted("buffer", manifest.buffers[stage.buffers[i]].name));
  }
  return Status::success();
}

/// Whether a slice of `bytes` that moves by `step` stays inside a buffer of `size` for `count`
/// iterations.
static bool staysInside(uint64_t bytes, uint64_t step, uint64_t count, uint64_t size) {
  uint64_t last;
  return count == 0 ||
         (!__builtin_mul_overflow(step, count - 1, &last) && inRange(last, bytes, size));
}

Status Checker::checkCopies(const Plan &plan) const {
  bool loop = plan.kind == Plan::Kind::Repeat;
  for (const BufferCopy &copy : plan.copies) {
    if (!isBuffer(copy.from) || !isBuffer(copy.to))
      return inputError("plan: a copy of a buffer that is not there");
    const Buffer &from = manifest.buffers[copy.from], &to = manifest.buffers[copy.to];
    if (!writable(copy.to))
      return inputError("plan: a copy over the read-only " + quoted("buffer", to.name));
    if (copy.fromStep == 0 && copy.toStep == 0) {
      if (from.bytes != to.bytes)
        return inputError("plan: a copy between buffers of different sizes");
      continue;
    }
    uint64_t bytes = std::min(from.bytes, to.bytes);
    if (!loop || !staysInside(bytes, copy.fromStep, plan.count, from.bytes) ||
        !staysInside(bytes, copy.toStep, plan.count, to.bytes))
      return inputError("plan: a copy of a slice that leaves its buffer");
  }
  return Status::success();
}

Status Checker::checkLoop(const Plan &plan) const {
  if (plan.step != none && (!isScalar(plan.step, ElementType::I64) || !writable(plan.step)))
    return inputError("plan: the step of a repeat is not an i64 that can be written");
  if (plan.condition != none && !isScalar(plan.condition, ElementType::Bool))
    return inputError("plan: the condition of a repeat is not a bool");
  return Status::success();
}

Status Checker::checkPlan(const Plan &plan) const {
  size_t children = plan.children.size();
  switch (plan.kind) {
  case Plan::Kind::Stage:
    if (plan.stage >= manifest.stages.size())
      return inputError("plan: stage " + std::to_string(plan.stage) + " is not there");
    break;
  case Plan::Kind::Sequence:
  case Plan::Kind::Lanes:
    break;
  case Plan::Kind::Repeat:
    if (children != 1)
      return inputError("plan: a repeat without a body");
    KINTSUGI_RETURN_IF_ERROR(checkLoop(plan));
    break;
  case Plan::Kind::Branch:
    if (children != 2)
      return inputError("plan: a branch without its two arms");
    if (!isScalar(plan.condition, ElementType::Bool))
      return inputError("plan: the condition of a branch is not a bool");
    break;
  case Plan::Kind::Copy:
    break;
  }
  KINTSUGI_RETURN_IF_ERROR(checkCopies(plan));
  for (const Plan &child : plan.children)
    KINTSUGI_RETURN_IF_ERROR(checkPlan(child));
  return Status::success();
}

static Status checkUnique(std::string_view kind, const std::vector<Port> &ports) {
  std::set<std::string_view> names;
  for (const Port &port : ports) {
    if (port.name.empty())
      return inputError(std::string(kind) + " without a name");
    if (!names.insert(port.name).second)
      return inputError(quoted(kind, port.name) + " is there twice");
  }
  return Status::success();
}

Status Checker::checkCheck(const runtime::Check &check) const {
  if (!isBuffer(check.buffer))
    return inputError("a check has a buffer that is not there");
  const Buffer &buffer = manifest.buffers[check.buffer];
  if (!check.range) {
    bool isReport =
        buffer.bytes != 0 && buffer.bytes % sizeof(int64_t) == 0 && buffer.bytes <= mostReportBytes;
    return isReport ? Status::success() : inputError("a check has a buffer that is no report");
  }
  bool isInput =
      buffer.home.kind == Home::Kind::Input && isInteger(buffer.type) && bitsOf(buffer.type) >= 8;
  if (check.range->low > 0 || check.range->high < 1)
    return inputError("a check has a range without 0");
  if (!isInput || !check.range->staysWithin(buffer.bytes * 8 / bitsOf(buffer.type)))
    return inputError("a check has elements that are not an input's");
  return Status::success();
}

Status Checker::check() const {
  if (manifest.arenaBytes > maxBytes)
    return inputError("the arena has a size that no memory holds");
  auto within = [](std::string where, Status status) {
    return status.ok() ? status : Status(at(where, status.takeError()));
  };
  for (const Buffer &buffer : manifest.buffers)
    KINTSUGI_RETURN_IF_ERROR(within(quoted("buffer", buffer.name), checkBuffer(buffer)));
  KINTSUGI_RETURN_IF_ERROR(checkOpenDimension());
  KINTSUGI_RETURN_IF_ERROR(checkUnique("input", manifest.inputs));
  KINTSUGI_RETURN_IF_ERROR(checkUnique("output", manifest.outputs));
  for (size_t i = 0; i < manifest.inputs.size(); ++i)
    KINTSUGI_RETURN_IF_ERROR(within(quoted("input", manifest.inputs[i].name), checkInput(i)));
  for (size_t i = 0; i < manifest.outputs.size(); ++i)
    KINTSUGI_RETURN_IF_ERROR(within(quoted("output", manifest.outputs[i].name), checkOutput(i)));
  // The bytes of the caller are those of one port: a buffer in an input must be that input's own.
  for (const Buffer &buffer : manifest.buffers) {
    const Home &home = buffer.home;
    bool port = home.kind == Home::Kind::Input || home.kind == Home::Kind::Output;
    const auto &ports = home.kind == Home::Kind::Input ? manifest.inputs : manifest.outputs;
    if (port && &manifest.buffers[ports[home.index].buffer] != &buffer)
      return inputError(quoted("buffer", buffer.name) + " is at home in another's input or output");
  }
  for (const Stage &stage : manifest.stages)
    KINTSUGI_RETURN_IF_ERROR(within(quoted("stage", stage.symbol), checkStage(stage)));
  for (const runtime::Check &each : manifest.checks)
    KINTSUGI_RETURN_IF_ERROR(checkCheck(each));
  return checkPlan(manifest.plan);
}

Status Manifest::validate(uint64_t constantBytes) const {
  return Checker(*this, constantBytes).check();
}
