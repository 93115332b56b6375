#include "api/compiler/identity.h"

#include "pipeline/model_identity.h"
#include "pipeline/pipeline.h"

#include <link.h>

namespace kintsugi::api {

std::string compilerIdentity() {
  std::string file = "/proc/self/exe";
  auto visit = [](dl_phdr_info *object, size_t, void *result) {
    auto address = reinterpret_cast<uintptr_t>(&compilerIdentity);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr) &part = object->dlpi_phdr[i];
      uintptr_t start = object->dlpi_addr + part.p_vaddr;
      if (part.p_type != PT_LOAD || address < start || address >= start + part.p_memsz)
        continue;
      if (object->dlpi_name && *object->dlpi_name)
        *static_cast<std::string *>(result) = object->dlpi_name;
      return 1;
    }
    return 0;
  };
  ::dl_iterate_phdr(visit, &file);
  return pipeline::compilerVersion() + " " + pipeline::fileIdentity(file);
}

} // namespace kintsugi::api
