//===- reader_test.cpp - The file format, right and wrong --------------------===//

#include "import/onnx_reader.h"

#include "proto_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <sys/mman.h>

namespace kintsugi::import {
namespace {

using test::Writer;

Bytes view(const std::string &text) { return {nullptr, std::as_bytes(std::span(text))}; }

std::string smallModel() {
  return test::model(
      test::graph({{test::node("Add", {"x", "w"}, {"y"}, "add", {test::intAttribute("axis", -1)})},
                   {test::tensor("w", 1, {2}, std::string(8, '\1'))},
                   {test::valueInfo("x", 1, {"2", "n"})},
                   {test::valueInfo("y", 1, {})}}));
}

std::string messageOf(const std::string &bytes) {
  auto model = readOnnx(view(bytes));
  return model.ok() ? "" : model.error().message;
}

std::string tensorMessage(const std::string &bytes) {
  auto tensor = readOnnxTensor(view(bytes));
  return tensor.ok() ? "" : tensor.error().message;
}

TEST(Reader, ReadsAModel) {
  std::string bytes = smallModel();
  auto model = readOnnx(view(bytes));
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->graph.nodes.size(), 1u);
  const Node &node = model->graph.nodes[0];
  EXPECT_EQ(node.op, "Add");
  EXPECT_EQ(node.inputs, (std::vector<std::string>{"x", "w"}));
  ASSERT_TRUE(node.attribute("axis"));
  EXPECT_EQ(node.attribute("axis")->i, -1);
  EXPECT_EQ(model->opsets[0].version, 20);
  const ValueInfo &x = model->graph.inputs[0];
  EXPECT_EQ(x.element, ElementType::F32);
  EXPECT_EQ((*x.shape)[0].value, 2);
  EXPECT_EQ((*x.shape)[1].name, "n");
  // The contents stay where they are.
  EXPECT_GE(model->graph.initializers[0].bytes.view.data(), std::as_bytes(std::span(bytes)).data());
}

TEST(Reader, EveryPrefixIsAnErrorOrLess) {
  std::string bytes = smallModel();
  for (size_t length = 0; length < bytes.size(); ++length) {
    std::string prefix = bytes.substr(0, length);
    auto model = readOnnx(view(prefix));
    if (model.ok()) // Cut between two fields.
      EXPECT_LE(model->graph.nodes.size(), 1u);
    else
      EXPECT_EQ(model.error().kind, ErrorKind::Input);
  }
}

TEST(Reader, DamagedFilesNeverReadOutside) {
  std::string original = smallModel();
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = original;
    for (int k = 0; k < 1 + int(random() % 3); ++k)
      bytes[random() % bytes.size()] = char(random());
    auto model = readOnnx(view(bytes)); // Sanitizers watch.
    if (!model.ok())
      EXPECT_FALSE(model.error().message.empty());
  }
}

/// A whole file with its first message's key or length written as given.
std::string fileOf(uint64_t key, uint64_t length, std::string_view rest) {
  std::string bytes;
  protozero::add_varint_to_buffer(&bytes, key);
  protozero::add_varint_to_buffer(&bytes, length);
  return bytes.append(rest);
}

/// The reader's library keeps keys and lengths in 32 bits: what is beyond them must not be dropped.
TEST(Reader, KeysAndLengthsBeyond32BitsAreMalformed) {
  constexpr uint64_t graphKey = 7 << 3 | 2, beyond = uint64_t(1) << 32;
  std::string graph = test::graph({});
  EXPECT_EQ(messageOf(fileOf(graphKey, graph.size(), graph)), "");
  for (const std::string &bytes : {fileOf(graphKey + beyond, graph.size(), graph),
                                   fileOf(graphKey, graph.size() + beyond, graph)})
    EXPECT_EQ(messageOf(bytes),
              "not a valid ONNX model (the protocol buffer is malformed or cut short)");
}

/// Memory that nobody touches: only the first page is ever there.
TEST(Reader, FieldsOf4GibibytesAreRefused) {
  constexpr uint64_t length = uint64_t(1) << 32;
  void *memory = mmap(nullptr, length + 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::string start = fileOf(7 << 3 | 2, length, "");
  std::memcpy(memory, start.data(), start.size());
  std::span bytes(static_cast<const std::byte *>(memory), start.size() + length);
  auto model = readOnnx({nullptr, bytes});
  munmap(memory, length + 4096);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message,
            "not a valid ONNX model: a field of it has 4 GiB or more, protocol buffers are smaller "
            "than 2 GiB; save its weights as external data");
}

TEST(Reader, EveryWireTypeIsChecked) {
  std::string reserved, group, integers;
  protozero::add_varint_to_buffer(&reserved, 19000 << 3);
  reserved += '\1';
  protozero::add_varint_to_buffer(&group, 9 << 3 | 3);     // The start of a group.
  Writer(integers).add_bytes(1, std::string("\1\x80", 2)); // The last packed number is cut short.
  for (const std::string &bytes : {reserved, group, integers})
    EXPECT_EQ(tensorMessage(bytes),
              "not a valid ONNX tensor (the protocol buffer is malformed or cut short)");
}

TEST(Reader, NotAModel) {
  EXPECT_NE(messageOf("hello, world"), "");
  EXPECT_NE(messageOf("").find("no graph"), std::string::npos);
}

TEST(Reader, GraphsInGraphsAreBounded) {
  std::string inner = test::graph({});
  for (int depth = 0; depth < 100; ++depth)
    inner = test::graph(
        {{test::node("If", {"c"}, {}, "n", {test::graphAttribute("g", inner)})}, {}, {}, {}});
  EXPECT_NE(messageOf(test::model(inner)).find("nested more than 32"), std::string::npos);
}

TEST(Reader, NodesAreBounded) {
  test::GraphParts parts;
  parts.nodes.assign(100, test::node("Relu", {"x"}, {"y"}));
  std::string bytes = test::model(test::graph(parts));
  ReaderLimits limits;
  limits.nodes = 99;
  auto model = readOnnx(view(bytes), limits);
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("more than 99 nodes"), std::string::npos);
}

TEST(TensorReader, SizesAreChecked) {
  EXPECT_EQ(tensorMessage(test::tensor("w", 1, {2, 3}, std::string(24, '\0'))), "");
  EXPECT_EQ(tensorMessage(test::tensor("w", 1, {2, 3}, std::string(20, '\0'))),
            "tensor 'w': it has 20 bytes of data, but its shape and type need 24");
  EXPECT_NE(tensorMessage(test::tensor("w", 1, {-1}, "")).find("negative"), std::string::npos);
  int64_t huge = int64_t(1) << 40;
  EXPECT_NE(tensorMessage(test::tensor("w", 1, {huge, huge}, "")).find("too large"),
            std::string::npos);
  EXPECT_NE(tensorMessage(test::tensor("w", 99, {1}, "")).find("unknown element type 99"),
            std::string::npos);
  EXPECT_NE(tensorMessage(test::tensor("w", 1, std::vector<int64_t>(65, 1), std::string(4, '\0')))
                .find("more than 64 dimensions"),
            std::string::npos);
  // The product of all but the zero overflows, yet there is nothing in it.
  EXPECT_EQ(tensorMessage(test::tensor("w", 1, {huge, 0, huge}, "")), "");
}

TEST(TensorReader, EveryElementType) {
  for (int type = 1; type < KIN_ELEMENT_TYPE_COUNT; ++type) {
    if (type == KIN_STR)
      continue;
    int64_t bytes = (3 * int64_t(kinElementBits(type)) + 7) / 8;
    std::string data = test::tensor("w", type, {3}, std::string(bytes, '\0'));
    auto tensor = readOnnxTensor(view(data));
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ(int(tensor->type), type);
    EXPECT_EQ(tensor->byteCount, uint64_t(bytes));
  }
}

/// A tensor of three elements whose contents `fill` writes.
template <typename Fill> std::vector<uint8_t> listed(int type, Fill fill) {
  std::string out;
  Writer writer(out);
  writer.add_int64(1, 3);
  writer.add_int32(2, type);
  fill(writer);
  auto tensor = readOnnxTensor(view(out));
  EXPECT_TRUE(tensor.ok()) << tensor.error().message;
  if (!tensor.ok())
    return {};
  auto *bytes = reinterpret_cast<const uint8_t *>(tensor->bytes.view.data());
  return {bytes, bytes + tensor->bytes.view.size()};
}

template <typename T> std::vector<uint8_t> bytesOfValues(std::vector<T> values) {
  auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  return {bytes, bytes + values.size() * sizeof(T)};
}

TEST(TensorReader, TypedListsPackedAndNot) {
  std::vector<float> floats{1, -2, 0.5};
  auto expected = bytesOfValues(floats);
  EXPECT_EQ(
      listed(KIN_F32, [&](Writer &w) { w.add_packed_float(4, floats.begin(), floats.end()); }),
      expected);
  EXPECT_EQ(listed(KIN_F32,
                   [&](Writer &w) {
                     for (float value : floats)
                       w.add_float(4, value);
                   }),
            expected);
  std::vector<int32_t> small{-3, 7, -128};
  EXPECT_EQ(listed(KIN_I8, [&](Writer &w) { w.add_packed_int32(5, small.begin(), small.end()); }),
            bytesOfValues<int8_t>({-3, 7, -128}));
  EXPECT_EQ(listed(KIN_I16,
                   [&](Writer &w) {
                     for (int32_t value : small)
                       w.add_int32(5, value);
                   }),
            bytesOfValues<int16_t>({-3, 7, -128}));
  std::vector<int64_t> wide{INT64_MIN, -1, 5};
  EXPECT_EQ(listed(KIN_I64, [&](Writer &w) { w.add_packed_int64(7, wide.begin(), wide.end()); }),
            bytesOfValues(wide));
  std::vector<uint64_t> positive{1, 2, 0xffffffff};
  EXPECT_EQ(listed(KIN_U32,
                   [&](Writer &w) { w.add_packed_uint64(11, positive.begin(), positive.end()); }),
            bytesOfValues<uint32_t>({1, 2, 0xffffffff}));
  std::vector<double> doubles{1, 2, 3};
  EXPECT_EQ(
      listed(KIN_F64, [&](Writer &w) { w.add_packed_double(10, doubles.begin(), doubles.end()); }),
      bytesOfValues(doubles));
  std::vector<int32_t> halves{0x3c00, 0xbc00, 0x7e00};
  EXPECT_EQ(
      listed(KIN_F16, [&](Writer &w) { w.add_packed_int32(5, halves.begin(), halves.end()); }),
      bytesOfValues<uint16_t>({0x3c00, 0xbc00, 0x7e00}));
}

TEST(TensorReader, NarrowElementsInLists) {
  std::vector<int32_t> pairs{0x21, 0x03}; // Two elements an entry.
  EXPECT_EQ(listed(KIN_U4, [&](Writer &w) { w.add_packed_int32(5, pairs.begin(), pairs.end()); }),
            (std::vector<uint8_t>{0x21, 0x03}));
  std::vector<int32_t> single{1, 2, 3}; // One element an entry, six bits each in memory.
  EXPECT_EQ(
      listed(KIN_F6E2M3, [&](Writer &w) { w.add_packed_int32(5, single.begin(), single.end()); }),
      (std::vector<uint8_t>{1 | 2 << 6, 2 >> 2 | 3 << 4, 0}));
}

TEST(TensorReader, StringsAreCounted) {
  std::string out;
  Writer writer(out);
  writer.add_int64(1, 2);
  writer.add_int32(2, KIN_STR);
  writer.add_string(6, "one");
  EXPECT_NE(tensorMessage(out).find("1 strings for 2 elements"), std::string::npos);
  writer.add_string(6, "two");
  EXPECT_EQ(tensorMessage(out), "");
}

TEST(TensorReader, ExternalRanges) {
  auto tensor = readOnnxTensor(
      view(test::externalTensor("w", {2}, {{"location", "a.bin"}, {"offset", "64"}})));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->external->location, "a.bin");
  EXPECT_EQ(tensor->external->offset, 64u);
  auto message = [](const char *key, const char *value) {
    return tensorMessage(test::externalTensor("w", {2}, {{"location", "a"}, {key, value}}));
  };
  EXPECT_NE(message("offset", "-1").find("not a number of bytes"), std::string::npos);
  EXPECT_NE(message("offset", "99999999999999999999").find("not a number"), std::string::npos);
  EXPECT_NE(message("length", "9").find("need 8"), std::string::npos);
}

} // namespace
} // namespace kintsugi::import
