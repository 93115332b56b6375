#include "api/compiler/failing_size.h"

namespace kintsugi::api {

namespace {

/// Whether an import at these sizes ends with that error, which is told of them then.
bool failsAt(const std::vector<OpenDimension> &sizes, Error &error, const std::string &model,
             pipeline::CompileOptions options) {
  std::string where;
  for (const OpenDimension &size : sizes) {
    options.import.dims[size.name] = size.low;
    where += ", at " + size.name + " = " + std::to_string(size.low);
  }
  Diagnostics said; // By the import that the error is of.
  Expected<te::Program> imported = pipeline::importModel(model, options, said);
  bool isIt = !imported.ok() && imported.error().message == error.message;
  if (isIt)
    error.message += where;
  return isIt;
}

} // namespace

Error withSize(Error error, const std::string &model, const pipeline::CompileOptions &options) {
  if (error.kind != ErrorKind::Input)
    return error;
  for (const OpenDimension &open : options.open)
    for (int64_t size : {open.high, open.low})
      if (failsAt({{open.name, size, size}}, error, model, options))
        return error;
  if (options.open.size() > 1) // At the least sizes together.
    failsAt(options.open, error, model, options);
  return error;
}

} // namespace kintsugi::api
