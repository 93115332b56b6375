//===- box.h - Where the pipeline can stop ----------------------------------===//
#ifndef KINTSUGI_PIPELINE_BOX_H
#define KINTSUGI_PIPELINE_BOX_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace kintsugi::pipeline {

/// Where the pipeline can stop: the boxes of design section 2.
enum class Box : uint8_t { Expressions, Derived, Space, Problem, Plan, Tile, Llvm, Asm };

/// "expressions", "space", ...; nullopt for another word.
std::optional<Box> boxOf(std::string_view name);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_BOX_H
