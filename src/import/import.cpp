//===- import.cpp - From an ONNX file to a program ---------------------------===//

#include "import/import.h"

#include "base/files.h"
#include "import/importer.h"
#include "import/onnx_reader.h"

#include <filesystem>

namespace kintsugi::import {

Expected<te::Program> importOnnx(const Bytes &bytes, const std::string &name,
                                 const std::string &folder, const ImportOptions &options,
                                 Diagnostics &diagnostics) {
  Expected<Model> model = readOnnx(bytes);
  if (!model.ok())
    return at(name, model.takeError());
  Importer importer(*model, folder, options);
  Expected<te::Program> program = importer.run();
  if (!program.ok())
    return at(name, program.takeError());
  if (unsigned random = importer.numRandomWeights())
    diagnostics.note(name, "",
                     (random == 1 ? "a weight is missing; random values stand in for it"
                                  : std::to_string(random) +
                                        " weights are missing; random values stand in for them"));
  for (const std::string &text : importer.notes())
    diagnostics.note(name, "", text);
  std::vector<CountedCall> counted = importer.takeCountedCalls();
  if (counted.empty())
    return program;
  auto importAt = [&](llvm::ArrayRef<int64_t> sizes) -> Expected<CountedProgram> {
    Importer again(*model, folder, options, sizes.vec());
    KINTSUGI_ASSIGN(te::Program at, again.run());
    return CountedProgram{std::move(at), again.takeCountedCalls(), again.takeNumbers()};
  };
  program = withCounts({std::move(*program), std::move(counted), {}}, importAt);
  if (!program.ok())
    return at(name, program.takeError());
  KINTSUGI_RETURN_IF_ERROR(program->verify());
  return program;
}

Expected<te::Program> importOnnx(const std::string &path, const ImportOptions &options,
                                 Diagnostics &diagnostics) {
  KINTSUGI_ASSIGN(MappedFile file, MappedFile::open(path));
  auto owner = std::make_shared<MappedFile>(std::move(file));
  return importOnnx({owner, owner->bytes()}, path,
                    std::filesystem::path(path).parent_path().string(), options, diagnostics);
}

} // namespace kintsugi::import
