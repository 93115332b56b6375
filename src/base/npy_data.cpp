//===- npy_data.cpp - The data of a .npy file to and from tensors ---------===//

#include "base/npy_data.h"
#include "base/utf8.h"

#include <algorithm>
#include <cstring>

using namespace kintsugi;

using Form = NpyElements::Form;

/// Calls visit(from, to) for each element: its index in Fortran order and in C order.
template <typename Visit> static void forEachFortran(std::span<const int64_t> shape, Visit visit) {
  std::vector<int64_t> strides(shape.size(), 1), index(shape.size(), 0);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  int64_t count = *elementCount(shape), to = 0;
  for (int64_t from = 0; from < count; ++from) {
    visit(from, to);
    for (size_t i = 0; i < shape.size(); ++i) {
      to += strides[i];
      if (++index[i] < shape[i])
        break;
      to -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
}

/// Decodes one fixed-length string. Nothing where it is not Unicode.
static std::optional<std::string> stringFrom(std::span<const std::byte> item, Form form) {
  if (form == Form::Bytes) {
    std::string text(reinterpret_cast<const char *>(item.data()), item.size());
    text.resize(text.find_last_not_of('\0') + 1);
    return text;
  }
  std::vector<uint32_t> points(item.size() / 4);
  std::memcpy(points.data(), item.data(), item.size());
  while (!points.empty() && points.back() == 0)
    points.pop_back();
  return utf8From(points);
}

static Status readStrings(ByteSource &source, const NpyElements &elements, Tensor &tensor) {
  std::vector<std::byte> item(elements.itemSize);
  for (std::string &text : tensor.strings()) {
    KINTSUGI_RETURN_IF_ERROR(source.read(item));
    std::optional<std::string> decoded = stringFrom(item, elements.form);
    if (!decoded)
      return inputError("a string is not Unicode");
    text = std::move(*decoded);
  }
  return Status::success();
}

/// Packs a narrow type's bytes as they are read; bits above the type's are dropped.
static Status readBytePerItem(ByteSource &source, Tensor &tensor) {
  std::vector<std::byte> piece(static_cast<size_t>(std::min<int64_t>(tensor.count(), 1 << 16)));
  for (int64_t first = 0; first < tensor.count(); first += static_cast<int64_t>(piece.size())) {
    int64_t size = std::min<int64_t>(tensor.count() - first, static_cast<int64_t>(piece.size()));
    KINTSUGI_RETURN_IF_ERROR(source.read(std::span(piece.data(), static_cast<size_t>(size))));
    for (int64_t i = 0; i < size; ++i)
      storeBits(tensor.type(), tensor.bytes(), first + i, static_cast<uint64_t>(piece[i]));
  }
  return Status::success();
}

static Expected<Tensor> toRowMajor(Tensor fortran) {
  KINTSUGI_ASSIGN(Tensor result, Tensor::create(fortran.type(), fortran.shape()));
  ElementType type = fortran.type();
  size_t bytes = bitsOf(type) / 8;
  if (type == ElementType::Str)
    forEachFortran(result.shape(), [&](int64_t from, int64_t to) {
      result.strings()[to] = std::move(fortran.strings()[from]);
    });
  else if (bitsOf(type) % 8 != 0)
    forEachFortran(result.shape(), [&](int64_t from, int64_t to) {
      storeBits(type, result.bytes(), to, loadBits(fortran.view(), from));
    });
  else
    forEachFortran(result.shape(), [&](int64_t from, int64_t to) {
      std::memcpy(result.bytes().data() + to * bytes, fortran.bytes().data() + from * bytes, bytes);
    });
  return result;
}

Expected<Tensor> kintsugi::readNpyArray(ByteSource &source, std::optional<ElementType> wanted) {
  KINTSUGI_ASSIGN(NpyHeader header, readNpyHeader(source));
  KINTSUGI_ASSIGN(NpyElements elements, npyElements(header.descr, wanted));
  std::optional<int64_t> count = elementCount(header.shape);
  std::optional<int64_t> size;
  if (count)
    size = checkedMul(*count, static_cast<int64_t>(elements.itemSize));
  if (!size || static_cast<uint64_t>(*size) != source.remaining())
    return inputError("not a valid .npy array: " + std::to_string(source.remaining()) +
                      " bytes of data do not fill '" + header.descr + "' of shape " +
                      shapeString(header.shape));
  KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(elements.type, header.shape));
  if (elements.type == ElementType::Str)
    KINTSUGI_RETURN_IF_ERROR(readStrings(source, elements, tensor));
  else if (elements.form == Form::BytePerItem)
    KINTSUGI_RETURN_IF_ERROR(readBytePerItem(source, tensor));
  else
    KINTSUGI_RETURN_IF_ERROR(source.read(tensor.bytes()));
  if (elements.form == Form::Bool)
    for (std::byte &value : tensor.bytes())
      value = std::byte(value != std::byte(0));
  bool reorders =
      header.fortranOrder && std::count_if(header.shape.begin(), header.shape.end(),
                                           [](int64_t extent) { return extent != 1; }) > 1;
  if (reorders)
    return toRowMajor(std::move(tensor));
  return tensor;
}

static NpyArray withHeader(const NpyElements &elements, std::span<const int64_t> shape) {
  NpyArray array;
  array.header =
      printNpyHeader({npyDescr(elements), false, std::vector<int64_t>(shape.begin(), shape.end())});
  return array;
}

NpyArray kintsugi::toNpyArray(TensorView tensor) {
  NpyElements elements = npyElementsFor(tensor.type);
  NpyArray array = withHeader(elements, tensor.shape);
  array.data = tensor.bytes;
  if (elements.form == Form::BytePerItem) {
    int64_t count = tensor.count();
    array.converted.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      array.converted.push_back(
          std::byte(isInteger(tensor.type) ? loadInteger(tensor, i) : loadBits(tensor, i)));
    array.data = array.converted;
  }
  return array;
}

Expected<NpyArray> kintsugi::toNpyArray(const Tensor &tensor) {
  if (tensor.type() != ElementType::Str)
    return toNpyArray(tensor.view());
  std::vector<std::vector<uint32_t>> items;
  size_t longest = 1;
  for (const std::string &text : tensor.strings()) {
    std::optional<std::vector<uint32_t>> points = codePointsOf(text);
    if (!points)
      return inputError("a string is not UTF-8");
    longest = std::max(longest, points->size());
    items.push_back(std::move(*points));
  }
  NpyArray array = withHeader(npyElementsFor(ElementType::Str, longest), tensor.shape());
  array.converted.resize(items.size() * longest * 4);
  for (size_t i = 0; i < items.size(); ++i)
    if (!items[i].empty())
      std::memcpy(array.converted.data() + i * longest * 4, items[i].data(), items[i].size() * 4);
  array.data = array.converted;
  return array;
}
