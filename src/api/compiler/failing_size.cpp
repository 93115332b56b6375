#include "api/compiler/failing_size.h"

namespace kintsugi::api {

Error withSize(Error error, const std::string &model, const pipeline::CompileOptions &options) {
  if (!options.open || error.kind != ErrorKind::Input)
    return error;
  for (int64_t size : {options.open->high, options.open->low}) {
    pipeline::CompileOptions sized = options;
    sized.import.dims[options.open->name] = size;
    Diagnostics said; // By the import that the error is of.
    Expected<te::Program> imported = pipeline::importModel(model, sized, said);
    if (imported.ok() || imported.error().message != error.message)
      continue;
    error.message += ", at " + options.open->name + " = " + std::to_string(size);
    break;
  }
  return error;
}

} // namespace kintsugi::api
