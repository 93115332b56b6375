//===- tensor_proto.cpp - One tensor of an ONNX file -------------------------===//

#include "import/tensor_proto.h"

#include "base/checked.h"
#include "te/index.h"
#include "llvm/ADT/STLExtras.h"

#include <charconv>
#include <cstring>

namespace kintsugi::import {
namespace {

/// The lists as the file gives them; at most one is used.
struct TypedLists {
  std::vector<std::byte> floats, doubles;
  std::vector<int64_t> int32s, int64s, uint64s;
};

Bytes owned(std::vector<std::byte> data) {
  auto holder = std::make_shared<std::vector<std::byte>>(std::move(data));
  return {holder, *holder};
}

/// Each number's low `width` bytes.
Bytes narrowed(const std::vector<int64_t> &numbers, unsigned width) {
  std::vector<std::byte> data(numbers.size() * width);
  for (size_t i = 0; i < numbers.size(); ++i)
    std::memcpy(data.data() + i * width, &numbers[i], width);
  return owned(std::move(data));
}

/// int32_data gives six-bit elements one an entry; in memory four of them share three bytes.
Bytes packedSixBits(const std::vector<int64_t> &numbers) {
  std::vector<std::byte> data((numbers.size() * 6 + 7) / 8);
  for (size_t i = 0; i < numbers.size(); ++i) {
    unsigned bits = (static_cast<unsigned>(numbers[i]) & 63u) << (i * 6 % 8);
    data[i * 6 / 8] |= std::byte(bits);
    if (bits >> 8)
      data[i * 6 / 8 + 1] |= std::byte(bits >> 8);
  }
  return owned(std::move(data));
}

Bytes fromLists(ElementType type, TypedLists &&lists) {
  switch (type) {
  case ElementType::F32:
  case ElementType::C64:
    return owned(std::move(lists.floats));
  case ElementType::F64:
  case ElementType::C128:
    return owned(std::move(lists.doubles));
  case ElementType::I64:
    return narrowed(lists.int64s, 8);
  case ElementType::U64:
    return narrowed(lists.uint64s, 8);
  case ElementType::U32:
    return narrowed(lists.uint64s, 4);
  case ElementType::F6E2M3:
  case ElementType::F6E3M2:
    return packedSixBits(lists.int32s);
  default:
    return narrowed(lists.int32s, std::max(1u, bitsOf(type) / 8));
  }
}

/// One StringStringEntryProto of external_data. Keys other than ONNX's are ignored.
Status externalEntry(std::span<const std::byte> message, ExternalRange &external, WireState &wire) {
  std::string key, value;
  WireReader reader(message, wire);
  for (WireField field; reader.next(field);) {
    if (field.number == 1)
      key = reader.text(field);
    else if (field.number == 2)
      value = reader.text(field);
  }
  if (key == "location")
    external.location = value;
  if (key != "offset" && key != "length")
    return Status::success();
  uint64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size())
    return inputError("its external data has the " + key + " '" + value +
                      "', which is not a number of bytes");
  if (key == "offset")
    external.offset = number;
  else
    external.length = number;
  return Status::success();
}

Status checkSize(TensorData &tensor, unsigned maxRank) {
  if (tensor.dims.size() > maxRank)
    return inputError("it has more than " + std::to_string(maxRank) + " dimensions");
  auto elements = elementCount(tensor.dims);
  // Where one extent is 0 the others may be anything, but not beyond what indices hold.
  if (!elements || llvm::any_of(tensor.dims, [](int64_t d) { return d > te::maxIndexNumber; }))
    return inputError("its extents are negative or too large");
  if (tensor.type == ElementType::Str) {
    if (!tensor.external && tensor.strings.size() != uint64_t(*elements))
      return inputError("it has " + std::to_string(tensor.strings.size()) + " strings for " +
                        std::to_string(*elements) + " elements");
    return Status::success();
  }
  auto bytes = bytesOf(tensor.type, *elements);
  if (!bytes)
    return inputError("its extents are too large");
  tensor.byteCount = *bytes;
  if (!tensor.external && tensor.bytes.view.size() != tensor.byteCount)
    return inputError("it has " + std::to_string(tensor.bytes.view.size()) +
                      " bytes of data, but its shape and type need " +
                      std::to_string(tensor.byteCount));
  if (tensor.external && tensor.external->length && *tensor.external->length != tensor.byteCount)
    return inputError("its external data has " + std::to_string(*tensor.external->length) +
                      " bytes, but its shape and type need " + std::to_string(tensor.byteCount));
  return Status::success();
}

} // namespace

Expected<TensorData> readTensorProto(std::span<const std::byte> message,
                                     std::shared_ptr<const void> owner, const std::string &where,
                                     unsigned maxRank, WireState &wire) {
  TensorData tensor;
  auto named = [&](Error error) {
    return at(tensor.name.empty() ? where : where + " '" + tensor.name + "'", std::move(error));
  };
  TypedLists lists;
  ExternalRange external;
  Status problem;
  int64_t onnxType = 0;
  bool isRaw = false, isExternal = false;
  WireReader reader(message, wire);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
    case 1:
      reader.appendIntegers(field, tensor.dims);
      break;
    case 2:
      onnxType = reader.integer(field);
      break;
    case 3:
      return named(inputError("tensors in segments are not supported; save it whole"));
    case 4:
      reader.appendFixed(field, 4, lists.floats);
      break;
    case 5:
      reader.appendIntegers(field, lists.int32s);
      break;
    case 6:
      tensor.strings.push_back(reader.text(field));
      break;
    case 7:
      reader.appendIntegers(field, lists.int64s);
      break;
    case 8:
      tensor.name = reader.text(field);
      break;
    case 9:
      isRaw = true;
      tensor.bytes = {owner, reader.message(field)};
      break;
    case 10:
      reader.appendFixed(field, 8, lists.doubles);
      break;
    case 11:
      reader.appendIntegers(field, lists.uint64s);
      break;
    case 13:
      if (Status entry = externalEntry(reader.message(field), external, wire); !entry.ok())
        problem = std::move(entry);
      break;
    case 14:
      isExternal = reader.integer(field) == 1;
      break;
    }
  }
  if (wire.malformed)
    return tensor; // The caller reports it.
  if (!problem.ok())
    return named(problem.takeError());
  auto type = elementTypeFromOnnx(static_cast<int32_t>(onnxType));
  if (!type || onnxType != static_cast<int32_t>(onnxType))
    return named(inputError("unknown element type " + std::to_string(onnxType)));
  tensor.type = *type;
  if (isExternal)
    tensor.external = std::move(external);
  else if (!isRaw && tensor.type != ElementType::Str)
    tensor.bytes = fromLists(tensor.type, std::move(lists));
  if (Status size = checkSize(tensor, maxRank); !size.ok())
    return named(size.takeError());
  return tensor;
}

} // namespace kintsugi::import
