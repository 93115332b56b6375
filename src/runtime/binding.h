//===- binding.h - The caller's tensors of one run ------------------------===//
//
// What a run is given, matched with the inputs and outputs of the model and checked, so that
// stages may trust every address. Nothing here allocates unless it fails.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_BINDING_H
#define KINTSUGI_RUNTIME_BINDING_H

#include "base/element_type.h"
#include "base/status.h"
#include "runtime/manifest.h"
#include "runtime/plan_order.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace kintsugi::runtime {

/// An input, in the caller's memory, the host's or the device's: dense, row-major, aligned to its
/// elements.
struct InputTensor {
  std::string_view name; ///< The input's; empty to go by position.
  ElementType type = ElementType::Invalid;
  std::span<const int64_t> shape;
  const void *data = nullptr;
  uint64_t bytes = 0;
};

/// Room for an output, in the caller's memory. It may overlap inputs, and no other output.
struct OutputTensor {
  std::string_view name; ///< The output's; empty to go by position.
  void *data = nullptr;
  uint64_t bytes = 0;       ///< At least what the output's shape needs.
  std::span<int64_t> shape; ///< Receives the extents; may be empty where none is dynamic.
};

/// How an output comes to the caller's memory.
enum class Delivery : uint8_t {
  Direct, ///< Stages may write there, or it is copied there when all is done.
  Apart,  ///< The same, but stages may not: some read an input there behind that.
  Detour, ///< It is an input, whose memory another output's may take: by way of other memory.
};

/// The tensors of a run, matched with the ports of a model and found. Those are the caller's.
struct BoundTensors {
  std::vector<const InputTensor *> inputs;   ///< By input.
  std::vector<const OutputTensor *> outputs; ///< By output.
  std::vector<bool> onDevice; ///< By place, whether it is in the device's own memory: inputs first.
  std::vector<Delivery> deliveries; ///< By output.
  OpenSizes sizes = {};             ///< Of the open dimensions.

  /// Where a tensor is, by place.
  const void *dataAt(size_t place) const {
    return place < inputs.size() ? inputs[place]->data : outputs[place - inputs.size()]->data;
  }
};

/// Fills `bound` with the tensor for each input. A usage error names the tensor that is missing,
/// unknown, or wrong in type, shape, size or alignment. The result is the sizes of the open
/// dimensions that the shapes say.
Expected<OpenSizes> bindInputs(const Manifest &manifest, std::span<const InputTensor> tensors,
                               std::span<const InputTensor *> bound);

/// The same for outputs of a run of these sizes.
Status bindOutputs(const Manifest &manifest, std::span<const OutputTensor> tensors,
                   const OpenSizes &sizes, std::span<const OutputTensor *> bound);

/// Fills the deliveries of tensors that are matched. A usage error where outputs overlap.
Status findDeliveries(const Manifest &manifest, const PlanOrder &order, BoundTensors &tensors);

/// Of a port's tensor in a run of these sizes.
uint64_t bytesAt(const Manifest &manifest, const Port &port, const OpenSizes &sizes);
/// Its extent along a dimension.
int64_t extentAt(const Port &port, size_t dimension, const OpenSizes &sizes);

/// An input error where an element of an input, which holds `bytes`, is outside of the range that
/// a check of the model allows.
Status checkElements(const Manifest &manifest, const Check &check,
                     std::span<const std::byte> bytes);

/// What a check has to say, with these numbers.
Error failureOf(const Check &check, std::span<const int64_t> numbers);

/// The buffer whose home the bytes of `buffer` are in: itself, or what it is an alias of.
const Buffer &originOf(const Manifest &manifest, const Buffer &buffer);

/// Moves the elements of the leading `shape` of a dense tensor of `bounds` to the front, in order.
void compact(ElementType type, std::span<const int64_t> bounds, std::span<const int64_t> shape,
             void *data);

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_BINDING_H
