// JSON, which manifests, provenances and descriptions of machines are written in.

#include "base/json.h"
#include "fuzz.h"
#include "machine/machine.h"

using namespace kintsugi;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto json = parseJson(fuzz::textOf(data, size));
  if (!json.ok()) {
    fuzz::requireUserError(json.error());
    return 0;
  }
  auto machine = machine::Machine::parse(fuzz::textOf(data, size));
  if (!machine.ok())
    fuzz::requireUserError(machine.error());
  return 0;
}
