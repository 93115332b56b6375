//===- features.h - What this processor can do ----------------------------===//
//
// Code objects name the instruction sets they use; one that this processor, or its operating
// system, does not support must not be run.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CPU_FEATURES_H
#define KINTSUGI_DEVICES_CPU_FEATURES_H

#include <string_view>

namespace kintsugi::devices {

/// Whether instructions of the feature run here. Features are called as LLVM calls them: "avx2",
/// "fma", "avx512vnni", ...; also the levels "x86-64-v2" to "x86-64-v4" of the x86-64 psABI. False
/// for names that are not known.
bool cpuSupports(std::string_view feature);

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CPU_FEATURES_H
