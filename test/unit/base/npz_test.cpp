//===- npz_test.cpp -------------------------------------------------------===//

#include "base/npz.h"
#include "temporary_folder.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace kintsugi;

static std::string fixture(const std::string &name) {
  return std::string(KINTSUGI_TEST_DATA) + "/" + name;
}

static std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

/// Elements as doubles.
static std::vector<double> numbers(const Tensor &tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.count(); ++i)
    values.push_back(loadDouble(tensor.view(), i));
  return values;
}

using Doubles = std::vector<double>;
using Shape = std::vector<int64_t>;

//===----------------------------------------------------------------------===//
// Archives that NumPy wrote (data/make_npz.py)
//===----------------------------------------------------------------------===//

class FromNumpy : public testing::TestWithParam<const char *> {
protected:
  NpzReader reader = std::move(*NpzReader::open(fixture(GetParam())));

  Tensor get(std::string_view name, std::optional<ElementType> wanted = {}) {
    auto tensor = reader.read(name, wanted);
    EXPECT_TRUE(tensor.ok()) << (tensor.ok() ? "" : tensor.error().message);
    return tensor.ok() ? std::move(*tensor) : Tensor();
  }

  void expect(std::string_view name, ElementType type, Doubles values,
              std::optional<ElementType> wanted = {}) {
    Tensor tensor = get(name, wanted);
    EXPECT_EQ(tensor.type(), type) << name;
    EXPECT_EQ(tensor.shape(), Shape{static_cast<int64_t>(values.size())}) << name;
    EXPECT_EQ(numbers(tensor), values) << name;
  }

  void expectRefused(std::string_view name, const std::string &why) {
    auto tensor = reader.read(name);
    ASSERT_FALSE(tensor.ok()) << name;
    EXPECT_EQ(tensor.error().kind, ErrorKind::Input);
    EXPECT_NE(tensor.error().message.find(why), std::string::npos) << tensor.error().message;
    EXPECT_TRUE(tensor.error().message.starts_with(fixture(GetParam()) + ": array \"" +
                                                   std::string(name) + "\": "))
        << tensor.error().message;
  }
};

TEST_P(FromNumpy, Numbers) {
  expect("f64", ElementType::F64, {3.141592653589793, -2.718281828459045});
  expect("f16", ElementType::F16, {1, 65504, std::ldexp(1, -24)});
  expect("i8", ElementType::I8, {-128, 127});
  expect("i16", ElementType::I16, {-32768, 32767});
  expect("i32", ElementType::I32, {-2147483648.0, 2147483647.0});
  expect("u8", ElementType::U8, {0, 255});
  expect("u16", ElementType::U16, {0, 65535});
  expect("u32", ElementType::U32, {0, 4294967295.0});
  expect("bool", ElementType::Bool, {1, 0, 1});
  expect("zeros", ElementType::F32, Doubles(5000, 0));
  Tensor f32 = get("f32");
  EXPECT_EQ(f32.shape(), (Shape{2, 3}));
  EXPECT_EQ(f32.as<float>()[1], -2.0f);
  EXPECT_EQ(f32.as<float>()[2], INFINITY);
  EXPECT_TRUE(std::signbit(f32.as<float>()[4]));
  EXPECT_EQ(f32.as<float>()[5], 3e-45f);
  EXPECT_EQ(get("i64").as<int64_t>()[0], INT64_MIN);
  EXPECT_EQ(get("u64").as<uint64_t>()[1], UINT64_MAX);
}

TEST_P(FromNumpy, Complex) {
  Tensor c64 = get("c64");
  EXPECT_EQ(c64.type(), ElementType::C64);
  auto *parts = reinterpret_cast<const float *>(c64.bytes().data());
  EXPECT_EQ(std::vector<float>(parts, parts + 4), (std::vector<float>{1, 2, 0, -3}));
  EXPECT_EQ(get("c128").type(), ElementType::C128);
}

TEST_P(FromNumpy, TypesThatNumpyCantName) {
  expect("bf16", ElementType::BF16, {1, -3});
  expect("f8e5m2", ElementType::F8E5M2, {1, -2});
  expect("f8e4m3fn", ElementType::F8E4M3FN, {1, -2}, ElementType::F8E4M3FN);
  expect("i4", ElementType::I4, {-8, 7, -1}, ElementType::I4);
  expect("u2", ElementType::U2, {0, 1, 2, 3, 3}, ElementType::U2);
  expectRefused("i4", "nothing else says which type");
  EXPECT_FALSE(reader.read("i4", ElementType::F32).ok());
}

TEST_P(FromNumpy, Shapes) {
  Tensor scalar = get("scalar");
  EXPECT_EQ(scalar.shape(), Shape{});
  EXPECT_EQ(scalar.as<int32_t>()[0], 42);
  EXPECT_EQ(get("empty").shape(), (Shape{0, 3}));
  Tensor fortran = get("fortran");
  EXPECT_EQ(fortran.shape(), (Shape{2, 3, 4}));
  for (int32_t i = 0; i < 24; ++i)
    EXPECT_EQ(fortran.as<int32_t>()[i], i);
}

TEST_P(FromNumpy, Strings) {
  EXPECT_EQ(get("str").strings(), (std::vector<std::string>{"", "été", "東京 \U0001f600"}));
  EXPECT_EQ(get("bytes").strings(), (std::vector<std::string>{"ab", "c"}));
  EXPECT_EQ(get("fortran_str").strings(), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST_P(FromNumpy, WhatCantBeReadSaysWhy) {
  expectRefused("big_endian", "big-endian");
  expectRefused("structure", "structures");
  expectRefused("date", "'<M8[D]' is not supported");
  expectRefused("long_double", "'<f16' is not supported");
  expectRefused("object", "pickled objects are not read");
  EXPECT_FALSE(reader.contains("none"));
  EXPECT_EQ(reader.read("none").error().message, fixture(GetParam()) + ": has no array \"none\"");
  EXPECT_FALSE(readNpz(fixture(GetParam())).ok());
}

INSTANTIATE_TEST_SUITE_P(Archives, FromNumpy, testing::Values("numpy.npz", "numpy_deflated.npz"),
                         [](const auto &info) {
                           return std::string(info.param == std::string("numpy.npz") ? "Stored"
                                                                                     : "Deflated");
                         });

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// A tensor whose bytes are all different where the type allows it.
static Tensor sample(ElementType type, Shape shape) {
  if (type == ElementType::Str) {
    std::vector<std::string> values;
    for (int64_t i = 0; i < *elementCount(shape); ++i)
      values.push_back(std::string(static_cast<size_t>(i % 3), 'x') + "é");
    return std::move(*Tensor::fromStrings(shape, values));
  }
  Tensor tensor = std::move(*Tensor::create(type, shape));
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (bitsOf(type) > 64)
      reinterpret_cast<double *>(tensor.bytes().data())[2 * i] = static_cast<double>(i);
    else
      storeBits(type, tensor.bytes(), i,
                type == ElementType::Bool ? uint64_t(i % 2)
                                          : static_cast<uint64_t>(i) * 0x0101010101010101);
  return tensor;
}

static void expectSame(const Tensor &a, const Tensor &b) {
  EXPECT_EQ(a.type(), b.type());
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.strings(), b.strings());
  EXPECT_TRUE(std::ranges::equal(a.bytes(), b.bytes())) << nameOf(a.type());
}

class Written : public testing::TestWithParam<Compression> {
protected:
  TemporaryFolder folder;
};

TEST_P(Written, EveryTypeAndShapeReadsBack) {
  const Shape shapes[] = {{}, {1}, {7}, {2, 3, 5}, {0}, {4, 0, 2}, {70, 70}};
  std::string path = folder / "all.npz";
  auto writer = NpzWriter::create(path, GetParam());
  ASSERT_TRUE(writer.ok());
  for (int32_t type = 1; type < KIN_ELEMENT_TYPE_COUNT; ++type)
    for (size_t i = 0; i < std::size(shapes); ++i)
      ASSERT_TRUE(writer
                      ->add(std::to_string(type) + "/" + std::to_string(i),
                            sample(static_cast<ElementType>(type), shapes[i]))
                      .ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(folder.size(), 1u);

  auto reader = NpzReader::open(path);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->names().size(), 28 * std::size(shapes));
  for (int32_t i = 1; i < KIN_ELEMENT_TYPE_COUNT; ++i)
    for (size_t j = 0; j < std::size(shapes); ++j) {
      auto type = static_cast<ElementType>(i);
      auto tensor = reader->read(std::to_string(i) + "/" + std::to_string(j), type);
      ASSERT_TRUE(tensor.ok()) << tensor.error().message;
      expectSame(*tensor, sample(type, shapes[j]));
    }
}

TEST_P(Written, TheSameTensorsGiveTheSameBytes) {
  std::vector<NamedTensor> tensors;
  tensors.push_back({"a", sample(ElementType::F32, {1000})});
  tensors.push_back({"été", sample(ElementType::I8, {3})});
  ASSERT_TRUE(writeNpz(folder / "1", tensors, GetParam()).ok());
  ASSERT_TRUE(writeNpz(folder / "2", tensors, GetParam()).ok());
  EXPECT_EQ(*readTextFile(folder / "1"), *readTextFile(folder / "2"));
  auto read = readNpz(folder / "1");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)[1].name, "été");
  expectSame((*read)[0].tensor, tensors[0].tensor);
}

TEST_P(Written, NothingAndOneNameTwice) {
  ASSERT_TRUE(writeNpz(folder / "empty", {}, GetParam()).ok());
  auto none = readNpz(folder / "empty");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
  std::vector<NamedTensor> tensors;
  tensors.push_back({"a", sample(ElementType::U8, {1})});
  tensors.push_back({"a", sample(ElementType::U8, {1})});
  EXPECT_FALSE(writeNpz(folder / "twice", tensors, GetParam()).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "twice"));
}

/// More members than 16 bits count need the ZIP64 end record.
TEST(Npz, MoreThan65535Members) {
  TemporaryFolder folder;
  auto writer = ZipWriter::create(folder / "many", Compression::None);
  ASSERT_TRUE(writer.ok());
  std::string text = "x";
  std::span<const std::byte> parts[] = {bytesOf(text)};
  for (int i = 0; i < 65536; ++i)
    ASSERT_TRUE(writer->add(std::to_string(i), parts).ok());
  ASSERT_TRUE(writer->finish().ok());
  auto file = MappedFile::open(folder / "many");
  auto members = readZipDirectory(file->bytes());
  ASSERT_TRUE(members.ok()) << members.error().message;
  ASSERT_EQ(members->size(), 65536u);
  EXPECT_EQ(members->back().name, "65535");
  auto source = openZipMember(file->bytes(), members->back());
  ASSERT_TRUE(source.ok());
  std::byte read;
  ASSERT_TRUE(source->read({&read, 1}).ok());
  EXPECT_EQ(read, std::byte('x'));
}

INSTANTIATE_TEST_SUITE_P(Archives, Written,
                         testing::Values(Compression::None, Compression::Deflate),
                         [](const auto &info) {
                           return std::string(info.param == Compression::None ? "Stored"
                                                                              : "Deflated");
                         });

TEST(Npy, FilesReadBack) {
  TemporaryFolder folder;
  for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::Str}) {
    Tensor tensor = sample(type, {3, 5});
    ASSERT_TRUE(writeNpy(folder / "a.npy", tensor).ok());
    auto read = readNpy(folder / "a.npy");
    ASSERT_TRUE(read.ok()) << read.error().message;
    expectSame(*read, tensor);
  }
  EXPECT_FALSE(readNpy(folder / "none.npy").ok());
}

TEST(Npy, StringsThatAreNotUtf8AreRefused) {
  TemporaryFolder folder;
  for (const char *text : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "a\x80"})
    EXPECT_FALSE(writeNpy(folder / "a.npy", *Tensor::fromStrings({1}, {text})).ok()) << text;
  EXPECT_EQ(folder.size(), 0u);
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

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
