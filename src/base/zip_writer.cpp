//===- zip_writer.cpp - Writing ZIP archives ------------------------------===//

#include "base/zip.h"
#include "base/zip_format.h"

#include <algorithm>
#include <zlib.h>

using namespace kintsugi;
using namespace kintsugi::zip;

namespace {
/// Builds a record of little-endian numbers.
class Record {
public:
  Record &u16(uint64_t value) { return put(value, 2); }
  Record &u32(uint64_t value) { return put(value, 4); }
  Record &u64(uint64_t value) { return put(value, 8); }
  Record &text(std::string_view value) {
    buffer += value;
    return *this;
  }
  std::string_view view() const { return buffer; }

private:
  Record &put(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      buffer += static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::string buffer;
};

/// Ends a deflate stream whatever way the function is left.
struct Deflater {
  z_stream stream{};
  ~Deflater() { deflateEnd(&stream); }
};
} // namespace

/// Whether sizes go into the ZIP64 field: with room for what deflate may add to data it can't pack.
static bool isWide(uint64_t size) { return size >= 0xfe000000; }

static uint16_t flagsFor(const std::string &name) {
  bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return !(c & 0x80); });
  return ascii ? 0 : utf8Flag;
}

/// What the local header and the directory entry have in common: from the version to the sizes.
static void putCommon(Record &record, const ZipMember &member, uint16_t neededVersion) {
  bool wide = isWide(member.size);
  record.u16(neededVersion).u16(flagsFor(member.name)).u16(member.method);
  record.u16(0).u16(fixedDate).u32(member.crc);
  record.u32(wide ? wide32 : member.packedSize).u32(wide ? wide32 : member.size);
  record.u16(member.name.size());
}

static Record localHeader(const ZipMember &member) {
  bool wide = isWide(member.size);
  Record record;
  record.u32(localSignature);
  putCommon(record, member, wide ? version64 : version);
  record.u16(wide ? 20 : 0).text(member.name);
  if (wide)
    record.u16(extra64Id).u16(16).u64(member.size).u64(member.packedSize);
  return record;
}

static Record centralEntry(const ZipMember &member) {
  bool wideOffset = member.headerOffset >= wide32;
  Record extra;
  if (isWide(member.size))
    extra.u64(member.size).u64(member.packedSize);
  if (wideOffset)
    extra.u64(member.headerOffset);
  size_t length = extra.view().size();
  Record record;
  record.u32(centralSignature).u16(version64);
  putCommon(record, member, length != 0 ? version64 : version);
  record.u16(length == 0 ? 0 : length + 4).u16(0).u16(0).u16(0).u32(0);
  record.u32(wideOffset ? wide32 : member.headerOffset).text(member.name);
  if (length != 0)
    record.u16(extra64Id).u16(length).text(extra.view());
  return record;
}

/// Appends the parts as one raw deflate stream.
static Status writeDeflated(AtomicFile &file, std::span<const std::span<const std::byte>> parts) {
  Deflater deflater;
  z_stream &stream = deflater.stream;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return machineError("not enough memory to compress");
  std::vector<std::byte> buffer(256 * 1024);
  auto pump = [&](int flush) -> Status {
    do {
      stream.next_out = reinterpret_cast<Bytef *>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      deflate(&stream, flush); // Can't fail: the state is valid and there is room.
      KINTSUGI_RETURN_IF_ERROR(
          file.write(std::span(buffer.data(), buffer.size() - stream.avail_out)));
    } while (stream.avail_out == 0);
    return Status::success();
  };
  for (std::span<const std::byte> part : parts) {
    while (!part.empty()) {
      size_t piece = std::min<size_t>(part.size(), size_t(1) << 30);
      stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(part.data()));
      stream.avail_in = static_cast<uInt>(piece);
      KINTSUGI_RETURN_IF_ERROR(pump(Z_NO_FLUSH));
      part = part.subspan(piece);
    }
  }
  return pump(Z_FINISH);
}

Expected<ZipWriter> ZipWriter::create(const std::string &path, Compression compression) {
  KINTSUGI_ASSIGN(AtomicFile file, AtomicFile::create(path));
  return ZipWriter(std::move(file), compression);
}

Status ZipWriter::add(const std::string &name, std::span<const std::span<const std::byte>> parts) {
  bool known = names.contains(name);
  if (known || name.size() > wide16)
    return inputError("\"" + name.substr(0, 80) + "\": " +
                      (known ? "two members of an archive have this name"
                             : "too long a name for a member of an archive"));
  ZipMember member;
  member.name = name;
  member.method = compression == Compression::Deflate ? deflated : stored;
  member.headerOffset = file.size();
  for (std::span<const std::byte> part : parts) {
    member.size += part.size();
    member.crc = crc32Of(part, member.crc);
  }
  member.packedSize = member.size;
  KINTSUGI_RETURN_IF_ERROR(file.write(localHeader(member).view()));
  if (member.method == stored) {
    for (std::span<const std::byte> part : parts)
      KINTSUGI_RETURN_IF_ERROR(file.write(part));
  } else {
    uint64_t start = file.size();
    KINTSUGI_RETURN_IF_ERROR(writeDeflated(file, parts));
    member.packedSize = file.size() - start;
    Record header = localHeader(member);
    std::span<const char> bytes(header.view().data(), header.view().size());
    KINTSUGI_RETURN_IF_ERROR(file.rewrite(member.headerOffset, std::as_bytes(bytes)));
  }
  names.insert(name);
  members.push_back(std::move(member));
  return Status::success();
}

Status ZipWriter::finish() {
  uint64_t start = file.size();
  for (const ZipMember &member : members)
    KINTSUGI_RETURN_IF_ERROR(file.write(centralEntry(member).view()));
  uint64_t end = file.size(), size = end - start, count = members.size();
  Record tail;
  if (start >= wide32 || size >= wide32 || count >= wide16) {
    tail.u32(end64Signature).u64(end64Size - 12).u16(version64).u16(version64).u32(0).u32(0);
    tail.u64(count).u64(count).u64(size).u64(start);
    tail.u32(locatorSignature).u32(0).u64(end).u32(1);
  }
  uint64_t count16 = std::min<uint64_t>(count, wide16);
  tail.u32(endSignature).u16(0).u16(0).u16(count16).u16(count16);
  tail.u32(std::min<uint64_t>(size, wide32)).u32(std::min<uint64_t>(start, wide32)).u16(0);
  KINTSUGI_RETURN_IF_ERROR(file.write(tail.view()));
  return file.commit();
}
