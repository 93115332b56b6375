//===- npz_damage_test.cpp ------------------------------------------------===//
//
// Arrays and archives that are cut off, changed or made up to do harm.
//
//===----------------------------------------------------------------------===//

#include "base/npz.h"
#include "npz_samples.h"
#include "temporary_folder.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace kintsugi;

static std::string npy(const std::string &dictionary, const std::string &data) {
  std::string text = "\x93NUMPY\x01";
  text += '\0';
  text += static_cast<char>(dictionary.size());
  text += static_cast<char>(dictionary.size() >> 8);
  return text + dictionary + data;
}

static std::string dictionary(const std::string &descr, const std::string &shape,
                              const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST(Npy, HeadersAreReadAsPythonWould) {
  auto good = [](const std::string &text) {
    std::string bytes = npy(text, std::string(8, '\1'));
    auto tensor = parseNpy(bytesOf(bytes));
    EXPECT_TRUE(tensor.ok()) << text << (tensor.ok() ? "" : tensor.error().message);
    return tensor.ok() ? tensor->shape() : Shape{-1};
  };
  EXPECT_EQ(good(dictionary("<i4", "(2,)")), Shape{2});
  EXPECT_EQ(good(dictionary("<i4", "(2L,)")), Shape{2});
  EXPECT_EQ(good(dictionary("<i4", "( 1 , 2 )")), (Shape{1, 2}));
  EXPECT_EQ(good("{\"shape\":(2,),\"descr\":\"<i4\",\"fortran_order\":True}"), Shape{2});
}

TEST(Npy, DamagedHeadersAreErrors) {
  const std::string data(8, '\0');
  const std::string bad[] = {
      "",
      "x",
      std::string("\x93NUMPY\1\0", 8),
      npy("", ""),
      npy("{", data),
      npy("{}", data),
      npy(dictionary("<i4", "(3,)"), data),
      npy(dictionary("<i4", "(1,)"), data),
      npy(dictionary("<i4", "(-2,)"), data),
      npy(dictionary("<i4", "(2"), data),
      npy(dictionary("<i4", "2"), data),
      npy(dictionary("<i4", "(2,,)"), data),
      npy(dictionary("<i4", "(2.0,)"), data),
      npy(dictionary("<i4", "(9223372036854775808,)"), data),
      npy(dictionary("<i4", "(4611686018427387904, 4)"), data),
      npy(dictionary("<i4", "(4611686018427387906,)"), data),
      npy(dictionary("<i4", "(2,)", "Maybe"), data),
      npy(dictionary("i4", "(2,)"), data),
      npy(dictionary("", "(2,)"), data),
      npy(dictionary("<i3", "(2,)"), data),
      npy(dictionary("<U0", "(1000000000000,)"), ""),
      npy(dictionary("<U-1", "(2,)"), data),
      npy(dictionary("<U99999999999999999999", "(2,)"), data),
      npy(dictionary("|V3", "(2,)"), data),
      npy(dictionary("<i4", "(2,)") + "x", data),
      npy("{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", data),
      npy("{'descr': '<i4', 'shape': (2,)}", data),
      npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'more': 1}", data),
      npy(dictionary("<U1", "(2,)"), "\xff\xff\xff\xff\0\0\0\0"),
  };
  for (const std::string &bytes : bad) {
    auto tensor = parseNpy(bytesOf(bytes));
    ASSERT_FALSE(tensor.ok()) << bytes;
    EXPECT_EQ(tensor.error().kind, ErrorKind::Input) << bytes;
  }
  std::string deep = "(";
  for (int i = 0; i < 65; ++i)
    deep += "1,";
  EXPECT_FALSE(parseNpy(bytesOf(npy(dictionary("<i8", deep + ")"), data))).ok());
  std::string version = npy(dictionary("<i4", "(2,)"), data);
  version[6] = 9;
  EXPECT_FALSE(parseNpy(bytesOf(version)).ok());
}

TEST(Npy, BoolsAreMadeZeroOrOne) {
  std::string bytes = npy(dictionary("|b1", "(3,)"), std::string("\0\x01\x80", 3));
  auto tensor = parseNpy(bytesOf(bytes));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(numbers(*tensor), (Doubles{0, 1, 1}));
}

/// Reads everything that can be read; what matters is that nothing breaks on the way.
static int readAll(std::span<const std::byte> archive) {
  auto reader = NpzReader::over(archive, "damaged");
  if (!reader.ok())
    return 0;
  int good = 0;
  for (const std::string &name : reader->names())
    for (std::optional<ElementType> wanted : {std::optional<ElementType>(), {ElementType::I4}})
      good += reader->read(name, wanted).ok();
  return good;
}

class Damaged : public testing::TestWithParam<const char *> {
protected:
  std::string good = *readTextFile(fixture(GetParam()));
};

TEST_P(Damaged, CutOffAnywhere) {
  for (size_t length = 0; length < good.size(); length += length < 300 ? 1 : 37)
    ASSERT_EQ(readAll(bytesOf(good).first(length)), 0) << length;
}

TEST_P(Damaged, BytesChangedAtRandom) {
  std::mt19937 random(3);
  int whole = readAll(bytesOf(good)), harmed = 0;
  constexpr int rounds = 500;
  for (int round = 0; round < rounds; ++round) {
    std::string bad = good;
    for (int edits = 1 + random() % 4; edits > 0; --edits)
      bad[random() % bad.size()] = static_cast<char>(random());
    harmed += readAll(bytesOf(bad)) < whole;
  }
  // Dates and other fields that nobody reads may change.
  EXPECT_GT(harmed, rounds * 3 / 4);
}

/// A directory entry and the end record, where the sizes and offsets are.
TEST_P(Damaged, DirectoryBytesSetToExtremes) {
  size_t entry = good.find("PK\1\2"), next = good.find("PK\1\2", entry + 1);
  size_t end = good.rfind("PK\5\6");
  ASSERT_TRUE(next != good.npos && end != good.npos);
  for (size_t at = entry; at < good.size(); at = at + 1 == next ? end : at + 1)
    for (char value : {'\0', '\x7f', '\xff'})
      for (size_t width : {1, 4}) {
        std::string bad = good;
        bad.replace(at, std::min(width, bad.size() - at), width, value);
        readAll(bytesOf(bad));
      }
}

TEST_P(Damaged, NoFlippedByteChangesTheData) {
  auto members = readZipDirectory(bytesOf(good));
  ASSERT_TRUE(members.ok());
  const ZipMember &member = members->front();
  ASSERT_EQ(member.name, "f32.npy");
  auto original = NpzReader::over(bytesOf(good), "good")->read("f32");
  ASSERT_TRUE(original.ok());
  size_t start = member.headerOffset + 30 + member.name.size() +
                 static_cast<uint8_t>(good[member.headerOffset + 28]);
  uint64_t refused = 0;
  for (size_t at = start; at < start + member.packedSize; ++at) {
    std::string bad = good;
    bad[at] ^= 0x10;
    auto reader = NpzReader::over(bytesOf(bad), "damaged");
    ASSERT_TRUE(reader.ok());
    auto tensor = reader->read("f32");
    if (tensor.ok()) // Bits of a deflate stream that say nothing about the data.
      expectSame(*tensor, *original);
    else
      ++refused;
  }
  EXPECT_GE(refused + (member.method == 8 ? 3 : 0), member.packedSize);
}

INSTANTIATE_TEST_SUITE_P(Archives, Damaged, testing::Values("numpy.npz", "numpy_deflated.npz"),
                         [](const auto &info) {
                           return std::string(info.param == std::string("numpy.npz") ? "Stored"
                                                                                     : "Deflated");
                         });

/// A member of 4 GB of zeros that takes a few bytes on disk must not be believed.
TEST(Npz, SizesThatCompressionCantReachAreRefused) {
  TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  tensors.push_back({"a", sample(ElementType::U8, {100})});
  ASSERT_TRUE(writeNpz(folder / "a.npz", tensors, Compression::Deflate).ok());
  std::string bytes = *readTextFile(folder / "a.npz");
  size_t entry = bytes.find("PK\1\2");
  uint32_t claimed = 0xf0000000;
  std::memcpy(bytes.data() + entry + 24, &claimed, 4);
  auto reader = NpzReader::over(bytesOf(bytes), "bomb");
  ASSERT_FALSE(reader.ok());
  EXPECT_NE(reader.error().message.find("sizes that can't be"), std::string::npos);
}

TEST(Npz, EncryptedAndForeignMembersAreRefused) {
  TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  tensors.push_back({"a", sample(ElementType::U8, {100})});
  ASSERT_TRUE(writeNpz(folder / "a.npz", tensors).ok());
  std::string good = *readTextFile(folder / "a.npz");
  size_t entry = good.find("PK\1\2");
  auto messageWith = [&](size_t offset, char value) {
    std::string bad = good;
    bad[entry + offset] = value;
    auto reader = NpzReader::over(bytesOf(bad), "x");
    return reader.ok() ? "" : reader.error().message;
  };
  EXPECT_NE(messageWith(8, 1).find("is encrypted"), std::string::npos);
  EXPECT_NE(messageWith(10, 12).find("compressed by method 12"), std::string::npos);
  EXPECT_NE(messageWith(46 + 3, 'q').find("is not a .npy array"), std::string::npos);
  EXPECT_FALSE(NpzReader::open(folder / "none.npz").ok());
}
