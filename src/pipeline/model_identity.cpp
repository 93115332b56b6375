#include "pipeline/model_identity.h"

#include "base/files.h"
#include "import/onnx_reader.h"
#include "pipeline/external_files.h"

#include <filesystem>
#include <sys/stat.h>

namespace kintsugi::pipeline {

std::string fileIdentity(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return "absent";
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) + ":" +
         std::to_string(info.st_size) + ":" + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec);
}

Expected<Digest> modelIdentity(const std::string &path) {
  KINTSUGI_ASSIGN(MappedFile file, MappedFile::open(path));
  Blake3 hash;
  hash.update(file.bytes());
  if (path.ends_with(".te"))
    return hash.update("te").finish();
  auto owner = std::make_shared<MappedFile>(std::move(file));
  Expected<import::Model> model = import::readOnnx({owner, owner->bytes()});
  if (!model.ok())
    return at(path, model.takeError());
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const std::string &location : externalFiles(*model))
    hash.update("\n" + location + " " + fileIdentity((folder / location).string()));
  return hash.finish();
}

} // namespace kintsugi::pipeline
