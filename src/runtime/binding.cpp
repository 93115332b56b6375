//===- binding.cpp - The caller's tensors of one run ----------------------===//

#include "runtime/binding.h"

#include "base/checked.h"
#include "base/fill_numbers.h"
#include "base/tensor.h"

#include <algorithm>
#include <cstring>

using namespace kintsugi;
using namespace kintsugi::runtime;

const Buffer &kintsugi::runtime::originOf(const Manifest &manifest, const Buffer &buffer) {
  return buffer.home.kind == Home::Kind::Alias ? manifest.buffers[buffer.home.index] : buffer;
}

static std::string quoted(const char *kind, std::string_view name) {
  return std::string(kind) + " '" + std::string(name) + "'";
}

static std::string listNames(const std::vector<Port> &ports) {
  std::string names;
  for (const Port &port : ports)
    names += (names.empty() ? "'" : ", '") + port.name + "'";
  return names.empty() ? "none" : names;
}

/// The tensor for each port: the one of its name, or the unnamed one at its position.
template <typename TensorT>
static Status match(const char *kind, const std::vector<Port> &ports,
                    std::span<const TensorT> tensors, std::span<const TensorT *> bound) {
  std::fill(bound.begin(), bound.end(), nullptr);
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string_view name = tensors[i].name;
    bool here = i < ports.size() && (name.empty() || ports[i].name == name);
    int64_t port = here ? static_cast<int64_t>(i) : Manifest::find(ports, name);
    if (port == none && name.empty())
      return usageError("there are more than the model's " + std::to_string(ports.size()) + " " +
                        kind + "s");
    if (port == none)
      return usageError("the model has no " + quoted(kind, name) + "; its " + kind +
                        "s: " + listNames(ports));
    if (bound[port])
      return usageError(quoted(kind, ports[port].name) + " is given twice");
    bound[port] = &tensors[i];
  }
  for (size_t i = 0; i < ports.size(); ++i)
    if (!bound[i])
      return usageError(quoted(kind, ports[i].name) + " is missing: give " +
                        std::string(nameOf(ports[i].type)) + shapeString(ports[i].shape));
  return Status::success();
}

/// Bytes that elements are aligned to in the caller's memory.
static uintptr_t alignmentOf(ElementType type) {
  return std::clamp<uintptr_t>(bitsOf(type) / 8, 1, 8);
}

static Status checkMemory(const char *kind, const Port &port, const void *data, uint64_t bytes,
                          uint64_t needed) {
  if (bytes < needed)
    return usageError(quoted(kind, port.name) + " has " + std::to_string(bytes) +
                      " bytes of memory, it needs " + std::to_string(needed));
  if (!data && needed != 0)
    return usageError(quoted(kind, port.name) + " has no memory");
  if (reinterpret_cast<uintptr_t>(data) % alignmentOf(port.type) != 0)
    return usageError(quoted(kind, port.name) + " is not aligned to its elements of " +
                      std::to_string(alignmentOf(port.type)) + " bytes");
  return Status::success();
}

int64_t kintsugi::runtime::extentAt(const Port &port, size_t dimension, const OpenSizes &sizes) {
  return extentAt(port.open, dimension, port.shape[dimension], sizes);
}

uint64_t kintsugi::runtime::bytesAt(const Manifest &manifest, const Port &port,
                                    const OpenSizes &sizes) {
  return port.open.empty() ? manifest.buffers[port.buffer].bytes
                           : partOf(port.type, port.shape, port.open, sizes).total();
}

/// The size that an input's shape says.
static Expected<int64_t> sizeOf(const OpenDimension &open, const Port &port, const OpenAxis &axis,
                                std::span<const int64_t> shape) {
  int64_t extent = shape.size() == port.shape.size() ? shape[axis.dimension] : 0;
  int64_t size = extent / axis.step;
  if (extent % axis.step == 0 && open.takes(size))
    return size;
  return usageError(quoted("input", port.name) + " has shape " + shapeString(shape) +
                    ": along dimension " + std::to_string(axis.dimension) + ", '" + open.name +
                    "', the model takes " + std::to_string(open.low * axis.step) + " to " +
                    std::to_string(open.high * axis.step));
}

/// By the first input that has each.
static Expected<OpenSizes> sizesOf(const Manifest &manifest,
                                   std::span<const InputTensor *const> bound) {
  OpenSizes sizes = {};
  for (size_t i = 0; i < bound.size(); ++i)
    for (const OpenAxis &axis : manifest.inputs[i].open)
      if (sizes[axis.number] == 0) {
        KINTSUGI_ASSIGN(sizes[axis.number], sizeOf(manifest.open[axis.number], manifest.inputs[i],
                                                   axis, bound[i]->shape));
      }
  return sizes;
}

static Status checkShape(const Port &port, std::span<const int64_t> shape, const OpenSizes &sizes) {
  bool isRight = shape.size() == port.shape.size();
  for (size_t d = 0; isRight && d < shape.size(); ++d)
    isRight = shape[d] == extentAt(port, d, sizes);
  if (isRight)
    return Status::success();
  std::vector<int64_t> wanted;
  for (size_t d = 0; d < port.shape.size(); ++d)
    wanted.push_back(extentAt(port, d, sizes));
  return usageError(quoted("input", port.name) + " has shape " + shapeString(shape) +
                    ", the model wants " + shapeString(wanted));
}

Expected<OpenSizes> kintsugi::runtime::bindInputs(const Manifest &manifest,
                                                  std::span<const InputTensor> tensors,
                                                  std::span<const InputTensor *> bound) {
  KINTSUGI_RETURN_IF_ERROR(match("input", manifest.inputs, tensors, bound));
  KINTSUGI_ASSIGN(OpenSizes sizes, sizesOf(manifest, bound));
  for (size_t i = 0; i < bound.size(); ++i) {
    const Port &port = manifest.inputs[i];
    const InputTensor &tensor = *bound[i];
    if (tensor.type != port.type)
      return usageError(quoted("input", port.name) + " has type " +
                        std::string(nameOf(tensor.type)) + ", the model wants " +
                        std::string(nameOf(port.type)));
    KINTSUGI_RETURN_IF_ERROR(checkShape(port, tensor.shape, sizes));
    KINTSUGI_RETURN_IF_ERROR(
        checkMemory("input", port, tensor.data, tensor.bytes, bytesAt(manifest, port, sizes)));
  }
  return sizes;
}

Status kintsugi::runtime::bindOutputs(const Manifest &manifest,
                                      std::span<const OutputTensor> tensors, const OpenSizes &sizes,
                                      std::span<const OutputTensor *> bound) {
  KINTSUGI_RETURN_IF_ERROR(match("output", manifest.outputs, tensors, bound));
  for (size_t i = 0; i < bound.size(); ++i) {
    const Port &port = manifest.outputs[i];
    const OutputTensor &tensor = *bound[i];
    bool shapeNeeded = !tensor.shape.empty() || !port.dynamic.empty();
    if (shapeNeeded && tensor.shape.size() < port.shape.size())
      return usageError(quoted("output", port.name) + " has room for " +
                        std::to_string(tensor.shape.size()) + " extents, it needs " +
                        std::to_string(port.shape.size()));
    KINTSUGI_RETURN_IF_ERROR(
        checkMemory("output", port, tensor.data, tensor.bytes, bytesAt(manifest, port, sizes)));
  }
  return Status::success();
}

Error kintsugi::runtime::failureOf(const Check &check, std::span<const int64_t> numbers) {
  Error error = inputError(fillNumbers(check.text, numbers));
  return check.node.empty() ? error : at("node '" + check.node + "'", std::move(error));
}

Status kintsugi::runtime::checkElements(const Manifest &manifest, const Check &check,
                                        std::span<const std::byte> bytes) {
  const Buffer &buffer = manifest.buffers[check.buffer];
  std::optional<int64_t> wrong = check.range->findOutside(buffer.type, bytes.first(buffer.bytes));
  if (!wrong)
    return Status::success();
  return at(quoted("input", manifest.inputs[buffer.home.index].name),
            failureOf(check, {&*wrong, 1}));
}

static bool overlap(const void *a, uint64_t aBytes, const void *b, uint64_t bBytes) {
  auto aStart = reinterpret_cast<uintptr_t>(a), bStart = reinterpret_cast<uintptr_t>(b);
  return aBytes != 0 && bBytes != 0 && aStart < bStart + bBytes && bStart < aStart + aBytes;
}

/// Outputs are written over an input's memory, in place where stages are done with it by then.
static void deliverOver(const Manifest &manifest, const PlanOrder &order, size_t output,
                        size_t input, BoundTensors &tensors) {
  const Port &port = manifest.outputs[output];
  bool isSame = tensors.outputs[output]->data == tensors.inputs[input]->data;
  bool isAllowed = isSame && port.mayAlias == static_cast<int64_t>(input);
  bool isWrittenByStages = manifest.buffers[port.buffer].home == Home::output(output);
  if (isWrittenByStages && !isAllowed && !order.isWrittenBehind(output, input))
    tensors.deliveries[output] = Delivery::Apart;
  for (size_t other = 0; other < manifest.outputs.size(); ++other) {
    const Buffer &buffer = manifest.buffers[manifest.outputs[other].buffer];
    bool isThereAlready = other == output && isSame && buffer.home.offset == 0;
    if (originOf(manifest, buffer).home == Home::input(input) && !isThereAlready)
      tensors.deliveries[other] = Delivery::Detour;
  }
}

Status kintsugi::runtime::findDeliveries(const Manifest &manifest, const PlanOrder &order,
                                         BoundTensors &tensors) {
  auto bytesOfPort = [&](const Port &port) { return bytesAt(manifest, port, tensors.sizes); };
  tensors.deliveries.assign(tensors.outputs.size(), Delivery::Direct);
  for (size_t i = 0; i < tensors.outputs.size(); ++i) {
    const Port &output = manifest.outputs[i];
    const void *data = tensors.outputs[i]->data;
    uint64_t bytes = bytesOfPort(output);
    for (size_t j = 0; j < i; ++j)
      if (overlap(data, bytes, tensors.outputs[j]->data, bytesOfPort(manifest.outputs[j])))
        return usageError(quoted("output", output.name) + " overlaps " +
                          quoted("output", manifest.outputs[j].name));
    for (size_t j = 0; j < tensors.inputs.size(); ++j)
      if (overlap(data, bytes, tensors.inputs[j]->data, bytesOfPort(manifest.inputs[j])))
        deliverOver(manifest, order, i, j, tensors);
  }
  return Status::success();
}

void kintsugi::runtime::compact(ElementType type, std::span<const int64_t> bounds,
                                std::span<const int64_t> shape, void *data) {
  size_t inner = shape.size(); // Dimensions from here on are whole.
  while (inner > 0 && shape[inner - 1] == bounds[inner - 1])
    --inner;
  if (inner <= 1) // The valid elements are the first ones already.
    return;
  uint64_t size = bitsOf(type) / 8;
  for (size_t d = inner; d < shape.size(); ++d)
    size *= shape[d];
  uint64_t from = size * bounds[inner - 1], to = size * shape[inner - 1];
  uint64_t outer = 1; // Rows of the dimensions before, counted within the bounds.
  for (size_t d = 0; d + 1 < inner; ++d)
    outer *= bounds[d];
  auto *bytes = static_cast<std::byte *>(data);
  uint64_t kept = 0;
  for (uint64_t row = 0; row < outer; ++row) {
    bool valid = true;
    uint64_t rest = row;
    for (size_t d = inner - 1; d-- > 0;) {
      valid &= static_cast<int64_t>(rest % bounds[d]) < shape[d];
      rest /= bounds[d];
    }
    if (valid)
      std::memmove(bytes + kept++ * to, bytes + row * from, to);
  }
}
