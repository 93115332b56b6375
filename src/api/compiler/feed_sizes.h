//===- feed_sizes.h - Open dimensions that feeds give their sizes ----------===//
#ifndef KINTSUGI_API_COMPILER_FEED_SIZES_H
#define KINTSUGI_API_COMPILER_FEED_SIZES_H

#include "api/compiler/settings.h"

namespace kintsugi::api {

/// Settings under which open dimensions of an ONNX file that `settings` say nothing of have the
/// sizes of the arrays in the .npz file `inputs`. An input error where arrays give one dimension
/// two sizes. The same settings where there is no such file, or nothing to learn from it; who reads
/// the model or the file next says what is wrong with it.
Expected<Settings> sizedByFeeds(Settings settings, const std::string &model,
                                const std::string &inputs);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_FEED_SIZES_H
