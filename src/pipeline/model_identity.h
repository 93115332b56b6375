//===- model_identity.h - What a model file holds, as a digest --------------===//
//
// For caches: the same digest means the same model. Files of external data may be many gigabytes;
// they count by size, time of change and place on the disk instead of their content.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_MODEL_IDENTITY_H
#define KINTSUGI_PIPELINE_MODEL_IDENTITY_H

#include "base/hash.h"
#include "base/status.h"

#include <string>

namespace kintsugi::pipeline {

/// An input error where the file can't be read or is no model.
Expected<Digest> modelIdentity(const std::string &path);

/// A file by its place on the disk, size and time of change; "absent" where there is none.
std::string fileIdentity(const std::string &path);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_MODEL_IDENTITY_H
