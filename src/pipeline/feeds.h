//===- feeds.h - Inputs that nobody gave ------------------------------------===//
//
// Where the compiler itself runs a model, to measure it or to see how large its values become.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_FEEDS_H
#define KINTSUGI_PIPELINE_FEEDS_H

#include "base/tensor.h"
#include "te/program.h"

namespace kintsugi::pipeline {

/// A tensor for each input of the program, in order, the same in every run of the compiler: see
/// import::randomFeed.
Expected<std::vector<Tensor>> madeUpFeeds(const te::Program &program, std::string_view salt = "",
                                          float scale = 1);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_FEEDS_H
