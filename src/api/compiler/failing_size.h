//===- failing_size.h - At which size of a range a model is refused --------===//
#ifndef KINTSUGI_API_COMPILER_FAILING_SIZE_H
#define KINTSUGI_API_COMPILER_FAILING_SIZE_H

#include "pipeline/pipeline.h"

namespace kintsugi::api {

/// An error of work on a model, which names the size of the open dimension where importing the
/// model at the greatest or the least size ends in it: what it speaks of is at that size only.
Error withSize(Error error, const std::string &model, const pipeline::CompileOptions &options);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_FAILING_SIZE_H
