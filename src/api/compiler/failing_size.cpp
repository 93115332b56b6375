#include "api/compiler/failing_size.h"

namespace kintsugi::api {

Error withSize(Error error, const std::string &model, const pipeline::CompileOptions &options) {
  if (error.kind != ErrorKind::Input)
    return error;
  for (const OpenDimension &open : options.open)
    for (int64_t size : {open.high, open.low}) {
      pipeline::CompileOptions sized = options;
      sized.import.dims[open.name] = size;
      Diagnostics said; // By the import that the error is of.
      Expected<te::Program> imported = pipeline::importModel(model, sized, said);
      if (imported.ok() || imported.error().message != error.message)
        continue;
      error.message += ", at " + open.name + " = " + std::to_string(size);
      return error;
    }
  return error;
}

} // namespace kintsugi::api
