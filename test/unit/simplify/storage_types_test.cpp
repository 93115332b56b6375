// Values of types that nothing computes in, as bytes.

#include "simplify/storage_types.h"

#include "../te/testing.h"
#include "base/half.h"
#include "simplify/simplify.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <random>

namespace kintsugi::simplify {
namespace {

using namespace te;

constexpr ElementType floatTypes[] = {
    ElementType::F8E4M3FN, ElementType::F8E4M3FNUZ, ElementType::F8E5M2, ElementType::F8E5M2FNUZ,
    ElementType::F8E8M0,   ElementType::F6E2M3,     ElementType::F6E3M2, ElementType::F4E2M1};
constexpr ElementType integerTypes[] = {ElementType::I4, ElementType::U4, ElementType::I2,
                                        ElementType::U2};

std::vector<ElementType> allTypes() {
  std::vector<ElementType> all(std::begin(floatTypes), std::end(floatTypes));
  all.insert(all.end(), std::begin(integerTypes), std::end(integerTypes));
  return all;
}

/// The outputs' bytes of a program that is interpreted.
std::vector<std::vector<std::byte>> bytesOfOutputs(const Program &program,
                                                   const std::vector<Tensor> &inputs) {
  std::vector<TensorView> views;
  for (const Tensor &input : inputs)
    views.push_back(input.view());
  Expected<std::vector<Tensor>> outputs = interpret(program, views);
  EXPECT_TRUE(outputs.ok()) << outputs.error().message << "\n" << printProgram(program);
  std::vector<std::vector<std::byte>> result;
  if (outputs.ok())
    for (const Tensor &output : *outputs)
      result.emplace_back(output.bytes().begin(), output.bytes().end());
  return result;
}

/// Of the same bytes the program without storage types makes the same bytes, simplified and with
/// its reals in f64 too.
void expectSameBytes(const Program &program, const std::vector<Tensor> &inputs) {
  ASSERT_TRUE(hasStorageTypes(program));
  Program lowered = withoutStorageTypes(program);
  EXPECT_FALSE(hasStorageTypes(lowered));
  std::vector<Tensor> bytes;
  for (const Tensor &input : inputs) {
    Expected<Tensor> stored = isStorageOnly(input.type()) ? asStoredBytes(input) : input.clone();
    ASSERT_TRUE(stored.ok());
    bytes.push_back(std::move(*stored));
  }
  auto right = bytesOfOutputs(program, inputs);
  for (const Program &each : {lowered, simplify(lowered), promoteToDouble(simplify(lowered))}) {
    Status status = each.verify();
    ASSERT_TRUE(status.ok()) << status.error().message << "\n" << printProgram(each);
    EXPECT_EQ(bytesOfOutputs(each, bytes), right) << printProgram(each);
  }
}

Tensor tensorOf(ElementType type, std::vector<int64_t> shape, llvm::ArrayRef<double> values) {
  Expected<Tensor> tensor = Tensor::create(type, std::move(shape));
  EXPECT_TRUE(tensor.ok());
  for (auto [i, value] : llvm::enumerate(values))
    storeDouble(type, tensor->bytes(), i, value);
  return std::move(*tensor);
}

/// A code, or of several that are NaN the one that is made.
uint64_t distinct(ElementType type, uint64_t code) {
  bool isNaN = isFloat(type) && std::isnan(decodeFloat(type, code));
  return isNaN ? encodeFloat(type, NAN) : code;
}

/// Each code once.
Tensor codesOf(ElementType type) {
  int64_t count = int64_t(1) << bitsOf(type);
  Expected<Tensor> tensor = Tensor::create(type, {count});
  EXPECT_TRUE(tensor.ok());
  for (int64_t code = 0; code < count; ++code)
    storeBits(type, tensor->bytes(), code, distinct(type, code));
  return std::move(*tensor);
}

std::string textOf(ElementType type) { return std::string(nameOf(type)); }

/// What a type rounds, and what lies just beside: numbers, midpoints, ends, and others.
std::vector<double> numbersAround(ElementType type, ElementType of) {
  std::vector<double> exact = {0, 1e30, 1e-30, INFINITY, NAN, 65504, 1e-45, 7.5, 8, 2.5, 3.5};
  for (uint64_t code = 0; code < uint64_t(1) << bitsOf(type); ++code)
    exact.push_back(isFloat(type) ? decodeFloat(type, code) : double(code));
  size_t count = exact.size();
  for (size_t i = 0; i + 1 < count; ++i)
    exact.push_back((exact[i] + exact[i + 1]) / 2);
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i)
    exact.push_back(std::ldexp(double(random()) / 1e19, int(random() % 60) - 40));
  std::vector<double> all;
  for (double each : exact)
    for (double near : {each,
                        of == ElementType::F64 ? std::nextafter(each, 0.0)
                                               : double(std::nextafter(float(each), 0.f)),
                        of == ElementType::F64 ? std::nextafter(each, 1e300)
                                               : double(std::nextafter(float(each), 3e38f))}) {
      all.push_back(near);
      all.push_back(-near);
    }
  return all;
}

/// Converts each element of a row; all ways of doing it have to give the same bytes, which these
/// are.
std::vector<std::byte> convertedTo(ElementType to, Tensor row) {
  SCOPED_TRACE(textOf(row.type()) + " to " + textOf(to));
  std::string n = std::to_string(row.count());
  Program program = parsed("input x[" + n + "] " + textOf(row.type()) + "\ny[i:" + n + "] " +
                           textOf(to) + " = " + textOf(to) + "(x[i])\noutput y\n");
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(row));
  expectSameBytes(program, inputs);
  auto outputs = bytesOfOutputs(program, inputs);
  return outputs.empty() ? std::vector<std::byte>() : outputs[0];
}

TEST(StorageTypes, ConversionsFromFloatsAreThoseOfBase) {
  for (ElementType type : allTypes())
    for (ElementType from : {ElementType::F32, ElementType::F64, ElementType::F16}) {
      SCOPED_TRACE(textOf(type) + " from " + textOf(from));
      std::vector<double> numbers = numbersAround(type, from);
      std::array<int64_t, 1> shape{int64_t(numbers.size())};
      Tensor input = tensorOf(from, {shape[0]}, numbers);
      std::vector<std::byte> bytes = convertedTo(type, std::move(*input.clone()));
      ASSERT_EQ(int64_t(bytes.size()), *bytesOf(type, shape[0]));
      for (int64_t i = 0; isFloat(type) && i < shape[0]; ++i) {
        double number = loadDouble(input.view(), i);
        uint64_t code = loadBits({type, shape, bytes}, i), right = encodeFloat(type, number);
        bool bothNaN = std::isnan(decodeFloat(type, code)) && std::isnan(decodeFloat(type, right));
        ASSERT_TRUE(code == right || bothNaN || std::isnan(number))
            << number << ": " << code << " instead of " << right;
      }
    }
}

TEST(StorageTypes, EachCodeIsItsNumber) {
  for (ElementType type : allTypes())
    for (ElementType to :
         {ElementType::F32, ElementType::F16, ElementType::I8, ElementType::I64, ElementType::Bool})
      convertedTo(to, codesOf(type));
}

TEST(StorageTypes, IntegersWrapAround) {
  std::vector<double> numbers;
  for (int i = -300; i < 300; ++i)
    numbers.push_back(i);
  for (ElementType type : allTypes())
    convertedTo(type, tensorOf(ElementType::I32, {600}, numbers));
}

TEST(StorageTypes, AnyIsConvertedToAnyOther) {
  for (ElementType from : allTypes())
    for (ElementType to : allTypes())
      convertedTo(to, codesOf(from));
}

/// A tensor of codes that are any.
Tensor randomCodes(ElementType type, std::vector<int64_t> shape, uint64_t seed) {
  Expected<Tensor> tensor = Tensor::create(type, std::move(shape));
  EXPECT_TRUE(tensor.ok());
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < tensor->count(); ++i)
    storeBits(type, tensor->bytes(), i, distinct(type, random() % (uint64_t(1) << bitsOf(type))));
  return std::move(*tensor);
}

TEST(StorageTypes, ElementsAreMovedAsTheyAre) {
  struct Case {
    const char *text; ///< T stands for the type.
    std::vector<int64_t> shape;
  };
  const Case cases[] = {
      {"input x[3, 5] T\ny[i:5, j:3] T = x[j, i]\noutput y\n", {3, 5}},
      {"input x[1, 3] T\noutput x\n", {1, 3}},
      {"input x[] T\ny[] T = x[]\noutput y\noutput x\n", {}},
      {"input x[0, 4] T\ny[i:4, j:0] T = x[j, i]\noutput y\n", {0, 4}},
      {"input x[2, 7] T\ny[i:2, j:9] T = (x[i, j-1] | 1)\noutput y\n", {2, 7}},
      {"input x[4] T\ny[i:9] T = cases { {i} < 4: x[i]; else: 1 }\noutput y\n", {4}},
      {"input x[8] T\ninput p[3] i64\ny[i:3] T = x[p[i]]\noutput y\n", {8}},
      {"input x[11] T\nconst k[5] T = [0, 1, 1, 0, 1]\n"
       "y[i:5] f32 = sum[j:3] f32(x[i+2*j]) * f32(k[i])\nz[i:5] T = k[i]\noutput y\noutput z\n",
       {11}},
  };
  for (ElementType type : allTypes())
    for (const Case &each : cases) {
      std::string text = each.text;
      for (size_t at; (at = text.find('T')) != std::string::npos;)
        text.replace(at, 1, textOf(type));
      if (type == ElementType::F8E8M0 && text.find("[0, 1") != std::string::npos)
        continue; // It has no zero.
      SCOPED_TRACE(text);
      std::vector<Tensor> inputs;
      inputs.push_back(randomCodes(type, each.shape, 3));
      if (text.find("input p") != std::string::npos)
        inputs.push_back(tensorOf(ElementType::I64, {3}, {7, 0, 2}));
      expectSameBytes(parsed(text), inputs);
    }
}

TEST(StorageTypes, AreCarriedThroughLoops) {
  for (ElementType type : allTypes()) {
    std::string t = textOf(type);
    Program program =
        parsed("input x[5] " + t + "\ninput y[5] " + t + "\n(s[5] " + t + ", all[3, 5] " + t +
               ") = scan[3] carry(x) capture(y) {\n"
               "  input step[] i64\n  input c[5] " +
               t + "\n  input k[5] " + t + "\n  n[i:5] " + t +
               " = cases { step[] < 1: k[i]; else: c[4-i] }\n"
               "  output n\n  output n as kept\n}\noutput s\noutput all\n");
    std::vector<Tensor> inputs;
    inputs.push_back(randomCodes(type, {5}, 1));
    inputs.push_back(randomCodes(type, {5}, 2));
    expectSameBytes(program, inputs);
  }
}

TEST(StorageTypes, CallsOrderThemByTheirNumbers) {
  for (ElementType type : allTypes()) {
    std::string t = textOf(type);
    Program program = parsed("input x[3, 9] " + t + "\n(v[3, 4] " + t + ", p[3, 4] i64) = " +
                             "call TopK(x) {\"axis\":1,\"k\":4}\noutput v\noutput p\n");
    std::vector<Tensor> inputs;
    inputs.push_back(randomCodes(type, {3, 9}, 4));
    SCOPED_TRACE(t);
    expectSameBytes(program, inputs);
  }
}

TEST(StorageTypes, NothingIsAddedUpInThem) {
  for (const char *text : {"input x[4] f8e5m2\ny[] f8e5m2 = sum[i:4] x[i]\noutput y\n",
                           "input x[4] i4\ny[i:4] i4 = x[i] + x[i]\noutput y\n",
                           "input x[4] f4e2m1\ny[i:4] f4e2m1 = exp(x[i])\noutput y\n"}) {
    Expected<Program> program = parseProgram(text, "test.te");
    EXPECT_FALSE(program.ok() && program->verify().ok()) << text;
  }
}

} // namespace
} // namespace kintsugi::simplify
