//===- npy_header.h - What precedes the data of a .npy file ---------------===//
//
// Versions 1 to 3 of NumPy's format (numpy/lib/format.py): a magic, a length, and a Python
// dictionary that names the element type, the order and the shape.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_NPY_HEADER_H
#define KINTSUGI_BASE_NPY_HEADER_H

#include "base/byte_source.h"
#include "base/element_type.h"
#include "base/status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi {

struct NpyHeader {
  std::string descr; ///< The element type as NumPy spells it: "<f4".
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// How the elements lie in the file.
struct NpyElements {
  enum class Form : uint8_t {
    Plain,       ///< As in memory.
    Bool,        ///< A byte each; anything but 0 is true.
    BytePerItem, ///< A narrow type in the low bits of a byte each, as ml_dtypes has them.
    Utf32,       ///< Fixed-length strings of 4-byte code points, padded with zeros.
    Bytes,       ///< Fixed-length byte strings, padded with zeros.
  };
  ElementType type = ElementType::Invalid;
  Form form = Form::Plain;
  uint64_t itemSize = 0; ///< Bytes of an element in the file.
};

/// Whether bytes begin like a .npy array.
bool isNpy(std::span<const std::byte> bytes);

/// Reads magic, length and dictionary; the source then stands at the data.
Expected<NpyHeader> readNpyHeader(ByteSource &source);

/// The header of an array in C order, padded so that the data starts at a multiple of 64 bytes.
std::string printNpyHeader(const NpyHeader &header);

/// What a descr means. `wanted` decides types that NumPy can't name ("<V1": any of f8, f6, f4 and
/// the narrow integers; "<V2": bf16 or f16 by its bits) and is otherwise not looked at.
Expected<NpyElements> npyElements(std::string_view descr, std::optional<ElementType> wanted);

/// How a type is written. Types unknown to NumPy get "<V2" or "<V1", as ml_dtypes writes them. For
/// strings, `longest` is the most code points that one has.
NpyElements npyElementsFor(ElementType type, uint64_t longest = 1);
std::string npyDescr(const NpyElements &elements);

} // namespace kintsugi

#endif // KINTSUGI_BASE_NPY_HEADER_H
