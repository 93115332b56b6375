//===- zip_format.h - The numbers of the ZIP format -----------------------===//
//
// Signatures, record sizes and flags of PKWARE's APPNOTE 6.3.10 that the reader and the writer
// share.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_ZIP_FORMAT_H
#define KINTSUGI_BASE_ZIP_FORMAT_H

#include <cstdint>

namespace kintsugi::zip {

inline constexpr uint32_t localSignature = 0x04034b50;
inline constexpr uint32_t centralSignature = 0x02014b50;
inline constexpr uint32_t endSignature = 0x06054b50;
inline constexpr uint32_t end64Signature = 0x06064b50;
inline constexpr uint32_t locatorSignature = 0x07064b50;

/// Bytes of each record without what varies.
inline constexpr uint64_t localSize = 30;
inline constexpr uint64_t centralSize = 46;
inline constexpr uint64_t endSize = 22;
inline constexpr uint64_t end64Size = 56;
inline constexpr uint64_t locatorSize = 20;

inline constexpr uint16_t stored = 0;
inline constexpr uint16_t deflated = 8;
inline constexpr uint16_t encryptedFlag = 1;
inline constexpr uint16_t utf8Flag = 1 << 11;
inline constexpr uint16_t extra64Id = 1;

/// In a 32-bit field: the number is in the ZIP64 record. Likewise for 16 bits.
inline constexpr uint32_t wide32 = 0xffffffff;
inline constexpr uint16_t wide16 = 0xffff;

/// Version of the format needed to extract.
inline constexpr uint16_t version = 20;
inline constexpr uint16_t version64 = 45;

/// 1 January 1980 in MS-DOS's form: the same in every archive.
inline constexpr uint16_t fixedDate = 0x21;

} // namespace kintsugi::zip

#endif // KINTSUGI_BASE_ZIP_FORMAT_H
