//===- weights.cpp - The initializers' bytes ---------------------------------===//

#include "import/weights.h"

#include "base/checked.h"
#include "base/files.h"
#include "import/constant_sources.h"
#include "import/random_weights.h"

#include "llvm/ADT/STLExtras.h"

#include <filesystem>

namespace kintsugi::import {
namespace {

/// Whether a location that stays beneath the folder names nothing there.
bool isMissing(const std::string &folder, const std::filesystem::path &location) {
  if (location.empty() || location.is_absolute() || llvm::is_contained(location, ".."))
    return false;
  std::error_code ignored;
  auto path = std::filesystem::path(folder.empty() ? "." : folder) / location;
  return std::filesystem::symlink_status(path, ignored).type() ==
         std::filesystem::file_type::not_found;
}

} // namespace

Expected<Bytes> Weights::external(const std::string &location) {
  if (auto found = files.find(location); found != files.end())
    return found->second;
  KINTSUGI_ASSIGN(FileDescriptor file, openBeneath(folder.empty() ? "." : folder, location));
  KINTSUGI_ASSIGN(MappedFile mapped, MappedFile::map(file, location));
  auto owner = std::make_shared<MappedFile>(std::move(mapped));
  Bytes bytes{owner, owner->bytes()};
  files.emplace(location, bytes);
  return bytes;
}

Expected<std::shared_ptr<const te::ConstantSource>> Weights::source(const TensorData &tensor) {
  if (!tensor.external)
    return sourceOf(tensor.bytes, tensor.type);
  const ExternalRange &range = *tensor.external;
  auto describe = [&](Error error) {
    return at("initializer '" + tensor.name + "': external data '" + range.location + "'",
              std::move(error));
  };
  Expected<Bytes> file = external(range.location);
  if (!file.ok() && isMissing(folder, range.location)) {
    if (randomWhereMissing) {
      ++random;
      return randomWeight(tensor.name, tensor.type, tensor.dims);
    }
    return describe(inputError("there is no such file beside the model; put it there, or pass "
                               "--random-weights to compile without the weights"));
  }
  if (!file.ok())
    return describe(file.takeError());
  if (!inRange(range.offset, tensor.byteCount, file->view.size()))
    return describe(inputError(
        "bytes " + std::to_string(range.offset) + " and the " + std::to_string(tensor.byteCount) +
        " after are not all in the file, which has " + std::to_string(file->view.size())));
  return sourceOf(file->slice(range.offset, tensor.byteCount), tensor.type);
}

} // namespace kintsugi::import
