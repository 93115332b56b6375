#include "link/code_object.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::link {

std::string machineCodeSection(const std::string &section) { return section + ".cubin"; }

runtime::CodeObject describeCode(const targets::CodeObject &code, std::string section,
                                 std::vector<std::string> features) {
  runtime::CodeObject described{std::move(section), std::move(features), code.kernelsWait, {}};
  if (!code.machineCode.empty())
    described.machineCode = machineCodeSection(described.section);
  assert((code.maps.empty() || code.maps.size() == code.stages.size()) && "maps lie by launch");
  for (const auto &[stage, maps] : llvm::zip(code.stages, code.maps))
    if (!maps.empty())
      described.maps.push_back({stage, maps});
  return described;
}

} // namespace kintsugi::link
