//===- npy_data.h - The data of a .npy file to and from tensors -----------===//
//
// Between a file's elements (fixed-length strings, a byte for a 4-bit integer, Fortran order) and a
// tensor's (packed, C order).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_NPY_DATA_H
#define KINTSUGI_BASE_NPY_DATA_H

#include "base/npy_header.h"
#include "base/tensor.h"

#include <cstddef>
#include <string>
#include <vector>

namespace kintsugi {

/// Reads a whole .npy array: header, then data up to the end of the source. An input error where
/// the data is not exactly as long as the header says.
Expected<Tensor> readNpyArray(ByteSource &source, std::optional<ElementType> wanted);

/// An array in the file's form, ready to be written. Points into the tensor where nothing had to be
/// changed.
struct NpyArray {
  std::string header;
  std::vector<std::byte> converted;
  std::span<const std::byte> data; ///< The tensor's bytes, or `converted`.
};

/// An input error for strings that are not UTF-8.
Expected<NpyArray> toNpyArray(const Tensor &tensor);
NpyArray toNpyArray(TensorView tensor);

} // namespace kintsugi

#endif // KINTSUGI_BASE_NPY_DATA_H
