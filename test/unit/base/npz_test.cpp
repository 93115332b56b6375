//===- npz_test.cpp -------------------------------------------------------===//

#include "base/npz.h"
#include "npz_samples.h"
#include "temporary_folder.h"

#include <gtest/gtest.h>

using namespace kintsugi;

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
