//===- npy_header.cpp - What precedes the data of a .npy file -------------===//

#include "base/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

using namespace kintsugi;

static constexpr std::string_view magic = "\x93NUMPY";
static constexpr uint32_t longestHeader = 1 << 16;
static constexpr size_t mostDimensions = 64; // NumPy's own limit.

static Error malformed(const std::string &what) {
  return inputError("not a valid .npy array: " + what);
}

namespace {
/// Reads the one form of Python literal that NumPy writes.
class DictionaryParser {
public:
  explicit DictionaryParser(std::string_view text) : rest(text) {}

  Expected<NpyHeader> parse();

private:
  void skipSpace() { rest.remove_prefix(std::min(rest.find_first_not_of(" \t\n"), rest.size())); }
  bool take(std::string_view token) {
    skipSpace();
    bool found = rest.starts_with(token);
    rest.remove_prefix(found ? token.size() : 0);
    return found;
  }
  std::optional<std::string> string();
  std::optional<std::vector<int64_t>> tuple();
  Status entry(NpyHeader &header, unsigned &seen);

  std::string_view rest;
};
} // namespace

std::optional<std::string> DictionaryParser::string() {
  skipSpace();
  if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
    return std::nullopt;
  size_t end = rest.find(rest[0], 1);
  if (end == rest.npos)
    return std::nullopt;
  std::string text(rest.substr(1, end - 1));
  rest.remove_prefix(end + 1);
  return text;
}

std::optional<std::vector<int64_t>> DictionaryParser::tuple() {
  std::vector<int64_t> extents;
  if (!take("("))
    return std::nullopt;
  while (!take(")")) {
    skipSpace();
    int64_t extent = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    if (error != std::errc() || extent < 0 || extents.size() == mostDimensions)
      return std::nullopt;
    extents.push_back(extent);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    take("L"); // Python 2 wrote long integers so.
    if (!take(",") && !rest.starts_with(")"))
      return std::nullopt;
  }
  return extents;
}

Status DictionaryParser::entry(NpyHeader &header, unsigned &seen) {
  std::optional<std::string> key = string();
  if (!key || !take(":"))
    return malformed("its header is damaged");
  unsigned bit = *key == "descr" ? 1 : *key == "fortran_order" ? 2 : *key == "shape" ? 4 : 0;
  if (bit == 0 || (seen & bit))
    return malformed("its header has an unknown or repeated key");
  seen |= bit;
  if (bit == 1) {
    std::optional<std::string> descr = string();
    if (!descr)
      return inputError("arrays of structures are not supported; save each field as an array");
    header.descr = std::move(*descr);
  } else if (bit == 2) {
    header.fortranOrder = take("True");
    if (!header.fortranOrder && !take("False"))
      return malformed("its order is neither True nor False");
  } else {
    std::optional<std::vector<int64_t>> shape = tuple();
    if (!shape)
      return malformed("its shape is damaged");
    header.shape = std::move(*shape);
  }
  return Status::success();
}

Expected<NpyHeader> DictionaryParser::parse() {
  NpyHeader header;
  unsigned seen = 0;
  if (!take("{"))
    return malformed("its header is no dictionary");
  while (!take("}")) {
    KINTSUGI_RETURN_IF_ERROR(entry(header, seen));
    if (!take(",") && !rest.starts_with("}"))
      return malformed("its header is damaged");
  }
  skipSpace();
  if (seen != 7 || !rest.empty())
    return malformed("its header is incomplete");
  return header;
}

bool kintsugi::isNpy(std::span<const std::byte> bytes) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

Expected<NpyHeader> kintsugi::readNpyHeader(ByteSource &source) {
  std::array<uint8_t, 12> start{};
  auto bytes = std::as_writable_bytes(std::span(start));
  if (source.remaining() < 10)
    return malformed("too short");
  KINTSUGI_RETURN_IF_ERROR(source.read(bytes.first(10)));
  if (std::memcmp(start.data(), magic.data(), magic.size()) != 0)
    return malformed("it does not start as one");
  if (start[6] < 1 || start[6] > 3)
    return malformed("format version " + std::to_string(start[6]) + " is not known");
  uint32_t length = start[8] | start[9] << 8;
  if (start[6] > 1) {
    if (source.remaining() < 2)
      return malformed("too short");
    KINTSUGI_RETURN_IF_ERROR(source.read(bytes.subspan(10, 2)));
    length |= uint32_t(start[10]) << 16 | uint32_t(start[11]) << 24;
  }
  if (length > longestHeader || length > source.remaining())
    return malformed("its header is cut off or too long");
  std::string text(length, '\0');
  KINTSUGI_RETURN_IF_ERROR(source.read(std::as_writable_bytes(std::span(text))));
  return DictionaryParser(text).parse();
}

std::string kintsugi::printNpyHeader(const NpyHeader &header) {
  std::string text = "{'descr': '" + header.descr +
                     "', 'fortran_order': " + (header.fortranOrder ? "True" : "False") +
                     ", 'shape': (";
  for (int64_t extent : header.shape)
    text += std::to_string(extent) + ",";
  text += "), }";
  size_t total = (magic.size() + 4 + text.size() + 1 + 63) / 64 * 64;
  text.resize(total - magic.size() - 4 - 1, ' ');
  text += '\n';
  std::string prefix(magic);
  prefix.append({'\1', '\0', static_cast<char>(text.size()), static_cast<char>(text.size() >> 8)});
  return prefix + text;
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

using Form = NpyElements::Form;

namespace {
struct PlainType {
  std::string_view code; ///< Without the byte order.
  ElementType type;
};
} // namespace

static constexpr PlainType plainTypes[] = {
    {"b1", ElementType::Bool},   {"i1", ElementType::I8},
    {"i2", ElementType::I16},    {"i4", ElementType::I32},
    {"i8", ElementType::I64},    {"u1", ElementType::U8},
    {"u2", ElementType::U16},    {"u4", ElementType::U32},
    {"u8", ElementType::U64},    {"f2", ElementType::F16},
    {"f4", ElementType::F32},    {"f8", ElementType::F64},
    {"c8", ElementType::C64},    {"c16", ElementType::C128},
    {"f1", ElementType::F8E5M2}, // So ml_dtypes names it, though NumPy can't read that back.
};

/// Types of at most 8 bits that NumPy has no name for.
static bool isOpaqueByte(ElementType type) {
  return bitsOf(type) <= 8 && bitsOf(type) != 0 && type != ElementType::Bool &&
         type != ElementType::I8 && type != ElementType::U8;
}

static Error unsupported(std::string_view descr, const std::string &why) {
  return inputError("element type '" + std::string(descr) + "' is not supported: " + why);
}

static Expected<NpyElements> opaqueElements(std::string_view descr, std::string_view code,
                                            std::optional<ElementType> wanted) {
  if (code == "V2")
    return NpyElements{wanted == ElementType::F16 ? ElementType::F16 : ElementType::BF16,
                       Form::Plain, 2};
  if (code != "V1")
    return unsupported(descr, "save a numeric type");
  if (!wanted || !isOpaqueByte(*wanted))
    return unsupported(descr, "it says nothing but the size, and nothing else says which type of "
                              "at most 8 bits it is");
  return NpyElements{*wanted, bitsOf(*wanted) == 8 ? Form::Plain : Form::BytePerItem, 1};
}

static Expected<NpyElements> stringElements(std::string_view descr, std::string_view code) {
  uint64_t length = 0;
  auto [end, error] = std::from_chars(code.data() + 1, code.data() + code.size(), length);
  if (error != std::errc() || end != code.data() + code.size() || length == 0 || length > 1u << 30)
    return unsupported(descr, "its length is not valid");
  return code[0] == 'U' ? NpyElements{ElementType::Str, Form::Utf32, 4 * length}
                        : NpyElements{ElementType::Str, Form::Bytes, length};
}

Expected<NpyElements> kintsugi::npyElements(std::string_view descr,
                                            std::optional<ElementType> wanted) {
  if (descr.size() < 2 || (descr[0] != '<' && descr[0] != '|' && descr[0] != '>'))
    return unsupported(descr, "it is not known");
  std::string_view code = descr.substr(1);
  if (code == "O")
    return unsupported(descr, "pickled objects are not read; save a numeric type");
  if (descr[0] == '>')
    return unsupported(descr, "it is big-endian; save astype(dtype.newbyteorder('<'))");
  for (const PlainType &plain : plainTypes)
    if (plain.code == code)
      return NpyElements{plain.type, plain.type == ElementType::Bool ? Form::Bool : Form::Plain,
                         bitsOf(plain.type) / 8};
  if (code[0] == 'V')
    return opaqueElements(descr, code, wanted);
  if (code[0] == 'U' || code[0] == 'S')
    return stringElements(descr, code);
  return unsupported(descr, "save a numeric type of at most 64 bits");
}

NpyElements kintsugi::npyElementsFor(ElementType type, uint64_t longest) {
  if (type == ElementType::Str)
    return {type, Form::Utf32, 4 * std::max<uint64_t>(longest, 1)};
  if (type == ElementType::Bool)
    return {type, Form::Bool, 1};
  return bitsOf(type) < 8 ? NpyElements{type, Form::BytePerItem, 1}
                          : NpyElements{type, Form::Plain, bitsOf(type) / 8};
}

std::string kintsugi::npyDescr(const NpyElements &elements) {
  if (elements.form == Form::Utf32)
    return "<U" + std::to_string(elements.itemSize / 4);
  if (elements.form == Form::Bytes)
    return "|S" + std::to_string(elements.itemSize);
  if (elements.type == ElementType::BF16)
    return "<V2";
  if (isOpaqueByte(elements.type))
    return "<V1";
  for (const PlainType &plain : plainTypes)
    if (plain.type == elements.type)
      return (elements.itemSize == 1 ? "|" : "<") + std::string(plain.code);
  assert(false && "every element type has a descr");
  return {};
}
