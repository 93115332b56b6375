//===- npz.cpp - Tensors in NumPy's files ---------------------------------===//

#include "base/npz.h"
#include "base/npy_data.h"

#include <algorithm>
#include <array>

using namespace kintsugi;

static constexpr std::string_view suffix = ".npy";

Status NpzReader::readDirectory(std::span<const std::byte> bytes) {
  archive = bytes;
  if (isNpy(bytes))
    return inputError(
        "a single .npy array; an .npz archive is wanted, with an array for each name: "
        "numpy.savez(FILE, NAME=array) writes one");
  KINTSUGI_ASSIGN(members, readZipDirectory(archive));
  for (const ZipMember &member : members) {
    if (!member.name.ends_with(suffix))
      return inputError("member \"" + member.name + "\" is not a .npy array");
    arrayNames.push_back(member.name.substr(0, member.name.size() - suffix.size()));
  }
  return Status::success();
}

Expected<NpzReader> NpzReader::open(const std::string &path) {
  KINTSUGI_ASSIGN(MappedFile file, MappedFile::open(path));
  NpzReader reader(std::move(file), path);
  if (Status status = reader.readDirectory(reader.file.bytes()); !status.ok())
    return at(path, status.takeError());
  return reader;
}

Expected<NpzReader> NpzReader::over(std::span<const std::byte> archive, std::string name) {
  NpzReader reader(MappedFile(), std::move(name));
  if (Status status = reader.readDirectory(archive); !status.ok())
    return at(reader.fileName, status.takeError());
  return reader;
}

bool NpzReader::contains(std::string_view name) const {
  return std::find(arrayNames.begin(), arrayNames.end(), name) != arrayNames.end();
}

Expected<Tensor> NpzReader::read(std::string_view name, std::optional<ElementType> wanted) const {
  auto found = std::find(arrayNames.begin(), arrayNames.end(), name);
  if (found == arrayNames.end())
    return inputError(fileName + ": has no array \"" + std::string(name) + "\"");
  std::string where = fileName + ": array \"" + std::string(name) + "\"";
  Expected<ByteSource> source = openZipMember(archive, members[found - arrayNames.begin()]);
  if (!source.ok())
    return at(where, source.takeError());
  Expected<Tensor> tensor = readNpyArray(*source, wanted);
  if (!tensor.ok())
    return at(where, tensor.takeError());
  return tensor;
}

Expected<std::vector<NamedTensor>> kintsugi::readNpz(const std::string &path) {
  KINTSUGI_ASSIGN(NpzReader reader, NpzReader::open(path));
  std::vector<NamedTensor> tensors;
  for (const std::string &name : reader.names()) {
    KINTSUGI_ASSIGN(Tensor tensor, reader.read(name));
    tensors.push_back({name, std::move(tensor)});
  }
  return tensors;
}

Expected<NpzWriter> NpzWriter::create(const std::string &path, Compression compression) {
  KINTSUGI_ASSIGN(ZipWriter zip, ZipWriter::create(path, compression));
  return NpzWriter(std::move(zip));
}

static Status addArray(ZipWriter &zip, std::string_view name, const NpyArray &array) {
  std::array<std::span<const std::byte>, 2> parts = {std::as_bytes(std::span(array.header)),
                                                     array.data};
  return zip.add(std::string(name) + std::string(suffix), parts);
}

Status NpzWriter::add(std::string_view name, const Tensor &tensor) {
  KINTSUGI_ASSIGN(NpyArray array, toNpyArray(tensor));
  return addArray(zip, name, array);
}

Status NpzWriter::add(std::string_view name, TensorView tensor) {
  return addArray(zip, name, toNpyArray(tensor));
}

Status kintsugi::writeNpz(const std::string &path, std::span<const NamedTensor> tensors,
                          Compression compression) {
  KINTSUGI_ASSIGN(NpzWriter writer, NpzWriter::create(path, compression));
  for (const NamedTensor &named : tensors)
    if (Status status = writer.add(named.name, named.tensor); !status.ok())
      return at(path + ": array \"" + named.name + "\"", status.takeError());
  return writer.finish();
}

Expected<Tensor> kintsugi::parseNpy(std::span<const std::byte> bytes,
                                    std::optional<ElementType> wanted) {
  ByteSource source(bytes);
  return readNpyArray(source, wanted);
}

Expected<Tensor> kintsugi::readNpy(const std::string &path, std::optional<ElementType> wanted) {
  KINTSUGI_ASSIGN(MappedFile file, MappedFile::open(path));
  Expected<Tensor> tensor = parseNpy(file.bytes(), wanted);
  if (!tensor.ok())
    return at(path, tensor.takeError());
  return tensor;
}

Status kintsugi::writeNpy(const std::string &path, const Tensor &tensor) {
  KINTSUGI_ASSIGN(NpyArray array, toNpyArray(tensor));
  KINTSUGI_ASSIGN(AtomicFile file, AtomicFile::create(path));
  KINTSUGI_RETURN_IF_ERROR(file.write(array.header));
  KINTSUGI_RETURN_IF_ERROR(file.write(array.data));
  return file.commit();
}
