//===- constant.h - Constants that a program holds itself -------------------===//
//
// Two sources besides those that read a model's file: bytes in memory (folded or written in a .te
// file), and a name without bytes, for programs that were read from text without their weights.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_CONSTANT_H
#define KINTSUGI_TE_CONSTANT_H

#include "base/tensor.h"
#include "te/program.h"

namespace kintsugi::te {

/// Constant bytes in memory.
class TensorConstant : public ConstantSource {
public:
  explicit TensorConstant(Tensor tensor);
  Status load(std::byte *destination) const override;
  const std::byte *bytes() const override { return tensor.bytes().data(); }
  /// "bytes:" and the hash of type, shape and content.
  std::string identity() const override { return name; }

private:
  Tensor tensor;
  std::string name;
};

/// A constant whose bytes are elsewhere; loading it is an input error.
class NamedConstant : public ConstantSource {
public:
  explicit NamedConstant(std::string name) : name(std::move(name)) {}
  Status load(std::byte *destination) const override;
  std::string identity() const override { return name; }

private:
  std::string name;
};

/// All bytes of a constant value as a tensor.
Expected<Tensor> loadConstant(const Value &value);

/// The shape as plain numbers, as base/tensor.h has it.
std::vector<int64_t> plainShape(llvm::ArrayRef<Extent> shape);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_CONSTANT_H
