//===- npz.h - Tensors in NumPy's files -----------------------------------===//
//
// Feeds and results travel as .npy (one array) and .npz (a ZIP archive of named ones). Whatever the
// file says is checked before memory is taken for it.
//
// Arrays in Fortran order are brought into C order. Types that NumPy can't name (bf16, f8, narrow
// integers) are what ml_dtypes makes of them: "<V2" is bf16; "<V1" needs the caller to say which.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_NPZ_H
#define KINTSUGI_BASE_NPZ_H

#include "base/files.h"
#include "base/tensor.h"
#include "base/zip.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Reads arrays of an archive one at a time, so that only those asked for take memory.
class NpzReader {
public:
  /// An input error where it is not an archive of .npy members. Pickles are refused on read().
  static Expected<NpzReader> open(const std::string &path);

  /// Reads from bytes that outlive the reader; `name` is for messages.
  static Expected<NpzReader> over(std::span<const std::byte> archive, std::string name);

  /// Without ".npy", in the archive's order.
  const std::vector<std::string> &names() const { return arrayNames; }
  bool contains(std::string_view name) const;

  /// `wanted` decides the type where the file can't say it; see npyElements().
  Expected<Tensor> read(std::string_view name, std::optional<ElementType> wanted = {}) const;

private:
  NpzReader(MappedFile file, std::string fileName)
      : file(std::move(file)), fileName(std::move(fileName)) {}

  Status readDirectory(std::span<const std::byte> bytes);

  MappedFile file; ///< Empty where the bytes are the caller's.
  std::span<const std::byte> archive;
  std::string fileName;
  std::vector<ZipMember> members;
  std::vector<std::string> arrayNames; ///< Parallel to members.
};

/// Writes arrays one at a time; nothing appears under the path before finish().
class NpzWriter {
public:
  static Expected<NpzWriter> create(const std::string &path, Compression compression);

  Status add(std::string_view name, const Tensor &tensor);
  Status add(std::string_view name, TensorView tensor);
  Status finish() { return zip.finish(); }

private:
  explicit NpzWriter(ZipWriter zip) : zip(std::move(zip)) {}

  ZipWriter zip;
};

/// Every array of an archive.
Expected<std::vector<NamedTensor>> readNpz(const std::string &path);

Status writeNpz(const std::string &path, std::span<const NamedTensor> tensors,
                Compression compression = Compression::None);

/// One .npy file.
Expected<Tensor> readNpy(const std::string &path, std::optional<ElementType> wanted = {});
Status writeNpy(const std::string &path, const Tensor &tensor);

/// One array in .npy form from memory; nothing may follow it.
Expected<Tensor> parseNpy(std::span<const std::byte> bytes, std::optional<ElementType> wanted = {});

} // namespace kintsugi

#endif // KINTSUGI_BASE_NPZ_H
