//===- code_object.h - What a manifest says of code -------------------------===//
#ifndef KINTSUGI_LINK_CODE_OBJECT_H
#define KINTSUGI_LINK_CODE_OBJECT_H

#include "runtime/manifest.h"
#include "targets/target.h"

namespace kintsugi::link {

/// Of machine code beside code in a section.
std::string machineCodeSection(const std::string &section);

/// Of code that asks for such features, in a section.
runtime::CodeObject describeCode(const targets::CodeObject &code, std::string section,
                                 std::vector<std::string> features);

} // namespace kintsugi::link

#endif // KINTSUGI_LINK_CODE_OBJECT_H
