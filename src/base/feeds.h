//===- feeds.h - A model's inputs from a file --------------------------------===//
#ifndef KINTSUGI_BASE_FEEDS_H
#define KINTSUGI_BASE_FEEDS_H

#include "base/tensor.h"

#include <vector>

namespace kintsugi {

/// A dimension of an input that may be smaller: from `low` on, a multiple of `step`.
struct OpenExtent {
  size_t dimension;
  int64_t step, low;
};

/// An input as a model declares it.
struct FeedPort {
  std::string name;
  ElementType type;
  std::vector<int64_t> shape; ///< The greatest.
  std::vector<OpenExtent> open = {};
};

/// The arrays of an .npz file that the inputs are named by, in their order. Input errors name the
/// array that is missing, superfluous, or wrong in type or shape.
Expected<std::vector<Tensor>> readFeeds(const std::string &path, std::span<const FeedPort> inputs);

} // namespace kintsugi

#endif // KINTSUGI_BASE_FEEDS_H
