#include "base/feeds.h"

#include "base/npz.h"

#include <algorithm>

namespace kintsugi {

static std::string describe(ElementType type, std::span<const int64_t> shape) {
  return std::string(nameOf(type)) + shapeString(shape);
}

static std::string listNames(std::span<const FeedPort> ports) {
  std::string names;
  for (const FeedPort &port : ports)
    names += (names.empty() ? "" : ", ") + port.name;
  return names.empty() ? "none" : names;
}

Expected<std::vector<Tensor>> readFeeds(const std::string &path, std::span<const FeedPort> inputs) {
  KINTSUGI_ASSIGN(NpzReader file, NpzReader::open(path));
  for (const std::string &name : file.names())
    if (std::ranges::find(inputs, name, &FeedPort::name) == inputs.end())
      return inputError(path + ": the model has no input '" + name +
                        "'; its inputs: " + listNames(inputs) +
                        "; what has a default in the model is a constant, which --bind " + name +
                        "=FILE.npz replaces when it is compiled");
  std::vector<Tensor> feeds;
  for (const FeedPort &input : inputs) {
    if (!file.contains(input.name))
      return inputError(path + ": there is no array '" + input.name + "', an input of the model");
    KINTSUGI_ASSIGN(Tensor tensor, file.read(input.name, input.type));
    if (tensor.type() != input.type || tensor.shape() != input.shape)
      return inputError(path + ": array '" + input.name + "' is " +
                        describe(tensor.type(), tensor.shape()) + ", the model's input " +
                        describe(input.type, input.shape));
    feeds.push_back(std::move(tensor));
  }
  return feeds;
}

} // namespace kintsugi
