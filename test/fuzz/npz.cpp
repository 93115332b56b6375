// Archives of arrays: each array that is listed is read, or refused with a reason.

#include "base/npz.h"
#include "fuzz.h"

using namespace kintsugi;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto bytes = fuzz::bytesOf(data, size);
  auto lone = parseNpy(bytes);
  if (!lone.ok())
    fuzz::requireUserError(lone.error());
  auto archive = NpzReader::over(bytes, "fuzzed.npz");
  if (!archive.ok()) {
    fuzz::requireUserError(archive.error());
    return 0;
  }
  for (const std::string &name : archive->names()) {
    auto tensor = archive->read(name);
    if (!tensor.ok())
      fuzz::requireUserError(tensor.error());
  }
  return 0;
}
