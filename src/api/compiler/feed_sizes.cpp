#include "api/compiler/feed_sizes.h"

#include "api/compiler/artifacts.h"
#include "base/files.h"
#include "base/npz.h"
#include "import/onnx_reader.h"

#include <set>

namespace kintsugi::api {

namespace {

/// Collects sizes, input by input.
class FeedSizes {
public:
  FeedSizes(const NpzReader &feeds, const std::string &file) : feeds(feeds), file(file) {}

  /// `known`: dimensions that need no size.
  Status add(const import::ValueInfo &input, const std::map<std::string, int64_t> &known) {
    if (!input.shape || !feeds.contains(input.name))
      return Status::success();
    Expected<Tensor> array = feeds.read(input.name, input.element);
    if (!array.ok() || array->shape().size() != input.shape->size())
      return Status::success();
    for (size_t axis = 0; axis < input.shape->size(); ++axis) {
      const import::Dimension &dimension = (*input.shape)[axis];
      std::string name =
          dimension.name.empty() ? input.name + "." + std::to_string(axis) : dimension.name;
      if (!dimension.value && !known.count(name))
        KINTSUGI_RETURN_IF_ERROR(add(name, array->shape()[axis],
                                     "axis " + std::to_string(axis) + " of '" + input.name + "'"));
    }
    return Status::success();
  }

  std::map<std::string, int64_t> sizes;

private:
  Status add(const std::string &name, int64_t size, const std::string &where) {
    auto [known, isNew] = sizes.try_emplace(name, size);
    if (isNew)
      places[name] = where;
    if (known->second == size)
      return Status::success();
    return inputError(file + ": dimension '" + name + "' is " + std::to_string(known->second) +
                      " (" + places[name] + ") and " + std::to_string(size) + " (" + where +
                      "); it has one size in a run: give arrays that agree");
  }

  const NpzReader &feeds;
  const std::string &file;
  std::map<std::string, std::string> places; ///< Where a size was met first.
};

} // namespace

/// The options that a worker reads have them too.
static Settings withDims(Settings settings, const std::map<std::string, int64_t> &sizes) {
  Json given = *parseJson(settings.given);
  for (const auto &[name, size] : sizes) {
    given["dims"][name] = size;
    settings.compile.import.dims[name] = size;
  }
  settings.given = printJson(given);
  return settings;
}

Expected<Settings> sizedByFeeds(Settings settings, const std::string &model,
                                const std::string &inputs) {
  if (inputs.empty() || model.ends_with(".te") || isArtifact(model))
    return settings;
  Expected<MappedFile> file = MappedFile::open(model);
  Expected<NpzReader> feeds = NpzReader::open(inputs);
  if (!file.ok() || !feeds.ok())
    return settings;
  auto owner = std::make_shared<MappedFile>(std::move(*file));
  Expected<import::Model> read = import::readOnnx({owner, owner->bytes()});
  if (!read.ok())
    return settings;
  std::set<std::string> constants;
  for (const import::TensorData &tensor : read->graph.initializers)
    constants.insert(tensor.name);
  FeedSizes found(*feeds, inputs);
  for (const import::ValueInfo &input : read->graph.inputs)
    if (!constants.count(input.name) && !settings.compile.import.bound.count(input.name))
      KINTSUGI_RETURN_IF_ERROR(found.add(input, settings.compile.import.dims));
  return found.sizes.empty() ? settings : withDims(std::move(settings), found.sizes);
}

} // namespace kintsugi::api
