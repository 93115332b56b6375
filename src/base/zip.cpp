//===- zip.cpp - Reading ZIP archives -------------------------------------===//

#include "base/zip.h"
#include "base/checked.h"
#include "base/zip_format.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace kintsugi;
using namespace kintsugi::zip;

namespace {
/// Reads little-endian numbers of a record that is known to be long enough.
struct Fields {
  std::span<const std::byte> bytes;

  template <typename T> T at(size_t offset) const {
    assert(inRange(offset, sizeof(T), bytes.size()));
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }
};

/// Where the directory is and how many members it has.
struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t entries = 0;
};
} // namespace

static Error malformed(std::string what) { return inputError("not a valid .npz archive: " + what); }

/// `length` bytes of the archive at `offset`, or nothing where they are not all there.
static std::optional<Fields> recordAt(std::span<const std::byte> archive, uint64_t offset,
                                      uint64_t length) {
  if (!inRange(offset, length, archive.size()))
    return std::nullopt;
  return Fields{archive.subspan(offset, length)};
}

/// The directory's place by the ZIP64 end record, where there is one.
static Expected<std::optional<Directory>> find64(std::span<const std::byte> archive,
                                                 uint64_t endOffset) {
  if (endOffset < locatorSize)
    return std::optional<Directory>();
  Fields locator{archive.subspan(endOffset - locatorSize, locatorSize)};
  if (locator.at<uint32_t>(0) != locatorSignature)
    return std::optional<Directory>();
  std::optional<Fields> end = recordAt(archive, locator.at<uint64_t>(8), end64Size);
  if (!end || end->at<uint32_t>(0) != end64Signature)
    return malformed("its ZIP64 end record is missing");
  if (locator.at<uint32_t>(4) != 0 || locator.at<uint32_t>(16) > 1)
    return malformed("archives in several parts are not supported");
  return std::optional(
      Directory{end->at<uint64_t>(48), end->at<uint64_t>(40), end->at<uint64_t>(32)});
}

static Expected<Directory> findDirectory(std::span<const std::byte> archive) {
  if (archive.size() < endSize)
    return malformed("too short");
  // The end record is last but for a comment of at most 65535 bytes.
  uint64_t last = archive.size() - endSize, first = last > 0xffff ? last - 0xffff : 0;
  for (uint64_t offset = last + 1; offset-- > first;) {
    Fields end{archive.subspan(offset)};
    if (end.at<uint32_t>(0) != endSignature || end.at<uint16_t>(20) != last - offset)
      continue;
    if (end.at<uint16_t>(4) != 0 || end.at<uint16_t>(6) != 0)
      return malformed("archives in several parts are not supported");
    KINTSUGI_ASSIGN(std::optional<Directory> wide, find64(archive, offset));
    if (wide)
      return *wide;
    return Directory{end.at<uint32_t>(16), end.at<uint32_t>(12), end.at<uint16_t>(10)};
  }
  return malformed("its end record is missing; was the file cut off?");
}

/// Replaces sizes and offset that the 32-bit fields can't hold by those of the ZIP64 extra field.
static Status applyExtra64(ZipMember &member, std::span<const std::byte> extra) {
  while (extra.size() >= 4) {
    Fields head{extra};
    uint64_t length = head.at<uint16_t>(2);
    if (!inRange(4, length, extra.size()))
      return malformed("a damaged extra field");
    Fields field{extra.subspan(4, length)};
    extra = extra.subspan(4 + length);
    if (head.at<uint16_t>(0) != extra64Id)
      continue;
    size_t at = 0;
    for (uint64_t *number : {&member.size, &member.packedSize, &member.headerOffset}) {
      if (*number != wide32)
        continue;
      if (!inRange(at, 8, length))
        return malformed("a damaged ZIP64 field");
      *number = field.at<uint64_t>(at);
      at += 8;
    }
    return Status::success();
  }
  return Status::success();
}

/// Deflate's best is 1032 to 1 (a match of 258 bytes in two bits).
static bool isPlausible(const ZipMember &member, uint64_t archiveSize) {
  if (member.packedSize > archiveSize)
    return false;
  return member.method == stored ? member.size == member.packedSize
                                 : member.size / 1032 <= member.packedSize;
}

Expected<std::vector<ZipMember>> kintsugi::readZipDirectory(std::span<const std::byte> archive) {
  KINTSUGI_ASSIGN(Directory directory, findDirectory(archive));
  if (!inRange(directory.offset, directory.size, archive.size()))
    return malformed("its directory lies outside");
  std::span<const std::byte> rest = archive.subspan(directory.offset, directory.size);
  if (directory.entries > rest.size() / centralSize)
    return malformed("its directory is too short");
  std::vector<ZipMember> members;
  std::set<std::string> names;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    Fields entry{rest};
    if (rest.size() < centralSize || entry.at<uint32_t>(0) != centralSignature)
      return malformed("a damaged directory entry");
    uint64_t nameLength = entry.at<uint16_t>(28), extraLength = entry.at<uint16_t>(30);
    uint64_t total = centralSize + nameLength + extraLength + entry.at<uint16_t>(32);
    if (total > rest.size())
      return malformed("a damaged directory entry");
    ZipMember member;
    member.name.assign(reinterpret_cast<const char *>(rest.data()) + centralSize, nameLength);
    member.method = entry.at<uint16_t>(10);
    member.crc = entry.at<uint32_t>(16);
    member.packedSize = entry.at<uint32_t>(20);
    member.size = entry.at<uint32_t>(24);
    member.headerOffset = entry.at<uint32_t>(42);
    KINTSUGI_RETURN_IF_ERROR(
        applyExtra64(member, rest.subspan(centralSize + nameLength, extraLength)));
    rest = rest.subspan(total);
    if (entry.at<uint16_t>(8) & encryptedFlag)
      return malformed("member \"" + member.name + "\" is encrypted");
    if (member.method != stored && member.method != deflated)
      return malformed("member \"" + member.name + "\" is compressed by method " +
                       std::to_string(member.method) + "; use stored or deflated");
    if (!isPlausible(member, archive.size()))
      return malformed("member \"" + member.name + "\" has sizes that can't be");
    if (!names.insert(member.name).second)
      return malformed("two members are named \"" + member.name + "\"");
    members.push_back(std::move(member));
  }
  return members;
}

Expected<ByteSource> kintsugi::openZipMember(std::span<const std::byte> archive,
                                             const ZipMember &member) {
  std::optional<Fields> header = recordAt(archive, member.headerOffset, localSize);
  if (!header || header->at<uint32_t>(0) != localSignature)
    return malformed("member \"" + member.name + "\" is not where the directory says");
  // Name and extra field may differ in length from the directory's copy.
  uint64_t start =
      member.headerOffset + localSize + header->at<uint16_t>(26) + header->at<uint16_t>(28);
  if (!inRange(start, member.packedSize, archive.size()))
    return malformed("member \"" + member.name + "\" is cut off");
  std::span<const std::byte> packed = archive.subspan(start, member.packedSize);
  if (member.method == stored)
    return ByteSource(packed, member.crc);
  return ByteSource::inflating(packed, member.size, member.crc);
}
