//===- fuzz.h - What the fuzz targets share ----------------------------------===//
//
// A target is one file: it hands arbitrary bytes to a reader of untrusted input, and checks what
// holds of whatever the reader accepts. The same files are linked with libFuzzer (./dev fuzz) and,
// in every build, with replay.cpp, which runs the corpus that is checked in.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_FUZZ_FUZZ_H
#define KINTSUGI_TEST_FUZZ_FUZZ_H

#include "base/diagnostics.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

/// What libFuzzer and replay.cpp call.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace kintsugi::fuzz {

inline std::string_view textOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

inline std::span<const std::byte> bytesOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const std::byte *>(data), size};
}

/// Ends the process where a property of what was read does not hold.
inline void require(bool holds, std::string_view what) {
  if (holds)
    return;
  std::fprintf(stderr, "fuzz: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// What every error of a reader must be: something to say, nobody's own fault, and a line that a
/// terminal can show, once it is printed as interfaces do (oneLine).
inline void requireUserError(const Error &error) {
  std::string line = oneLine(error.message);
  require(!line.empty(), "an error says nothing");
  bool isPlain = std::all_of(line.begin(), line.end(), [](unsigned char c) { return c >= 0x20; });
  require(isPlain, "an error has several lines");
  require(error.kind != ErrorKind::Internal, error.message);
}

} // namespace kintsugi::fuzz

#endif // KINTSUGI_TEST_FUZZ_FUZZ_H
