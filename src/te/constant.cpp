#include "te/constant.h"

#include "base/hash.h"

#include <cstring>

namespace kintsugi::te {

TensorConstant::TensorConstant(Tensor contents) : tensor(std::move(contents)) {
  Hasher hasher("te.constant");
  hasher.add(tensor.type()).addRange(tensor.shape());
  hasher.add(std::span<const std::byte>(std::as_const(tensor).bytes()));
  name = "bytes:" + hasher.finish().str();
}

Status TensorConstant::load(std::byte *destination) const {
  if (!tensor.bytes().empty())
    std::memcpy(destination, tensor.bytes().data(), tensor.bytes().size());
  return Status::success();
}

Status NamedConstant::load(std::byte *) const {
  return inputError("the values of weights(\"" + name +
                    "\") are not part of the text; compile the model they come from, or write the "
                    "constant as [...]");
}

std::vector<int64_t> plainShape(llvm::ArrayRef<Extent> shape) {
  std::vector<int64_t> plain;
  for (Extent extent : shape)
    plain.push_back(extent.constant());
  return plain;
}

Expected<Tensor> loadConstant(const Value &value) {
  KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(value.type, plainShape(value.shape)));
  if (value.type == ElementType::Str)
    return inputError("constant '" + value.name + "' holds strings, which can't be computed with");
  if (Status status = value.constant->load(tensor.bytes().data()); !status.ok())
    return at("constant '" + value.name + "'", status.takeError());
  return tensor;
}

} // namespace kintsugi::te
