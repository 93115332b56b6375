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

static bool fits(const FeedPort &input, std::span<const int64_t> shape) {
  std::vector<int64_t> wanted = input.shape;
  for (const OpenExtent &open : input.open) {
    if (shape.size() != wanted.size())
      break;
    int64_t extent = shape[open.dimension];
    if (extent >= open.low && extent < wanted[open.dimension] && extent % open.step == 0)
      wanted[open.dimension] = extent;
  }
  return std::ranges::equal(shape, wanted);
}

static std::string describe(const FeedPort &input) {
  std::string text = describe(input.type, input.shape);
  for (size_t k = 0; k < input.open.size(); ++k)
    text += std::string(k == 0 ? " or fewer along dimension " : ", and along dimension ") +
            std::to_string(input.open[k].dimension) + ", from " +
            std::to_string(input.open[k].low) + " on";
  return text;
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
    if (tensor.type() != input.type || !fits(input, tensor.shape()))
      return inputError(path + ": array '" + input.name + "' is " +
                        describe(tensor.type(), tensor.shape()) + ", the model's input " +
                        describe(input));
    feeds.push_back(std::move(tensor));
  }
  return feeds;
}

} // namespace kintsugi
