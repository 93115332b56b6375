//===- binding_test.cpp - What a caller can get wrong ---------------------===//

#include "runtime/binding.h"

#include "fixture.h"

#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::runtime;

namespace {

/// Manifest of affineParts(): input x; outputs y, best, where.
class Binding : public testing::Test {
protected:
  std::string inputError(std::vector<InputTensor> tensors) {
    std::vector<const InputTensor *> bound(1);
    Expected<OpenSizes> status = bindInputs(manifest, tensors, bound);
    return status.ok() ? "" : status.error().message;
  }
  std::string outputError(std::vector<OutputTensor> tensors) {
    std::vector<const OutputTensor *> bound(3);
    Status status = bindOutputs(manifest, tensors, {}, bound);
    return status.ok() ? "" : status.error().message;
  }

  Manifest manifest = affineParts().manifest;
  std::vector<int64_t> shape{1000}, other{10, 100};
  alignas(64) float x[1001] = {}, y[1000] = {}, best[5] = {};
  int64_t where[5] = {};
  InputTensor good{"x", ElementType::F32, shape, x, 4000};
};

} // namespace

TEST_F(Binding, InputsAreChecked) {
  EXPECT_EQ(inputError({good}), "");
  EXPECT_EQ(inputError({}), "input 'x' is missing: give f32[1000]");
  EXPECT_EQ(inputError({{"z", ElementType::F32, shape, x, 4000}}),
            "the model has no input 'z'; its inputs: 'x'");
  EXPECT_EQ(inputError({good, good}), "input 'x' is given twice");
  EXPECT_EQ(inputError({good, {"", ElementType::F32, shape, x, 4000}}),
            "there are more than the model's 1 inputs");
  EXPECT_EQ(inputError({{"x", ElementType::F64, shape, x, 8000}}),
            "input 'x' has type f64, the model wants f32");
  EXPECT_EQ(inputError({{"x", ElementType::F32, other, x, 4000}}),
            "input 'x' has shape [10, 100], the model wants [1000]");
  EXPECT_EQ(inputError({{"x", ElementType::F32, shape, x, 3999}}),
            "input 'x' has 3999 bytes of memory, it needs 4000");
  EXPECT_EQ(inputError({{"x", ElementType::F32, shape, nullptr, 4000}}), "input 'x' has no memory");
  EXPECT_EQ(inputError({{"x", ElementType::F32, shape, reinterpret_cast<char *>(x) + 2, 4000}}),
            "input 'x' is not aligned to its elements of 4 bytes");
}

TEST_F(Binding, OutputsAreChecked) {
  OutputTensor first{"y", y, 4000, {}}, second{"best", best, 20, {}};
  EXPECT_EQ(outputError({first, second, {"where", where, 40, {}}}), "");
  EXPECT_EQ(outputError({first, second}), "output 'where' is missing: give i64[5]");
  EXPECT_EQ(outputError({first, second, {"where", where, 39, {}}}),
            "output 'where' has 39 bytes of memory, it needs 40");
}

TEST_F(Binding, DynamicOutputsNeedRoomForTheirShape) {
  manifest = raggedParts().manifest;
  std::vector<const OutputTensor *> bound(1);
  int64_t one[1];
  float rows[12];
  OutputTensor without[] = {{"rows", rows, sizeof(rows), {}}};
  OutputTensor tooFew[] = {{"rows", rows, sizeof(rows), one}};
  EXPECT_EQ(bindOutputs(manifest, without, {}, bound).error().message,
            "output 'rows' has room for 0 extents, it needs 2");
  EXPECT_EQ(bindOutputs(manifest, tooFew, {}, bound).error().message,
            "output 'rows' has room for 1 extents, it needs 2");
}

TEST_F(Binding, OutputsDontOverlap) {
  OutputTensor first{"y", y, 4000, {}}, inside{"best", y + 10, 20, {}};
  OutputTensor second{"best", best, 20, {}}, third{"where", where, 40, {}};
  auto error = [&](const OutputTensor *a, const OutputTensor *b) {
    BoundTensors tensors;
    tensors.inputs = {&good};
    tensors.outputs = {a, b, &third};
    Status status = findDeliveries(manifest, PlanOrder(manifest), tensors);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(error(&first, &second), "");
  EXPECT_EQ(error(&first, &inside), "output 'best' overlaps output 'y'");
}

TEST_F(Binding, OutputsOverAnInputAreWrittenWhenItWasRead) {
  auto deliveriesOf = [&](float *y, float *best) {
    OutputTensor outputs[] = {{"y", y, 4000, {}}, {"best", best, 20, {}}, {"where", where, 40, {}}};
    BoundTensors tensors;
    tensors.inputs = {&good};
    for (const OutputTensor &tensor : outputs)
      tensors.outputs.push_back(&tensor);
    EXPECT_TRUE(findDeliveries(manifest, PlanOrder(manifest), tensors).ok());
    return tensors.deliveries;
  };
  using enum Delivery;
  using Deliveries = std::vector<Delivery>;
  Deliveries inPlace(3, Direct);
  EXPECT_EQ(deliveriesOf(x, best), inPlace) << "the stage behind the one that reads it";
  EXPECT_EQ(deliveriesOf(x + 1, best), inPlace);
  EXPECT_EQ(deliveriesOf(y, x + 10), inPlace);
  manifest.stages[1].buffers[0] = manifest.inputs[0].buffer; // y = tanh(x), by one stage.
  EXPECT_EQ(deliveriesOf(y, best), inPlace);
  EXPECT_EQ(deliveriesOf(x, best), Deliveries({Apart, Direct, Direct}));
  EXPECT_EQ(deliveriesOf(x + 990, best), Deliveries({Apart, Direct, Direct}));
  EXPECT_EQ(deliveriesOf(y, x + 10), inPlace) << "by the stage behind";
  manifest.outputs[0].mayAlias = 0;
  EXPECT_EQ(deliveriesOf(x, best), inPlace) << "the model says that it is right";
  EXPECT_EQ(deliveriesOf(x + 1, best), Deliveries({Apart, Direct, Direct}));
  manifest.outputs[0].buffer = manifest.inputs[0].buffer; // y is x.
  EXPECT_EQ(deliveriesOf(x, best), inPlace);
  EXPECT_EQ(deliveriesOf(x + 1, best), Deliveries({Detour, Direct, Direct}));
  EXPECT_EQ(deliveriesOf(y, x), Deliveries({Detour, Apart, Direct}));
}

TEST(Compact, KeepsTheLeadingElementsInOrder) {
  // Against the definition, for every smaller shape of [2, 3, 4].
  const int64_t bounds[] = {2, 3, 4};
  for (int64_t a = 0; a <= 2; ++a)
    for (int64_t b = 0; b <= 3; ++b)
      for (int64_t c = 0; c <= 4; ++c) {
        std::vector<int16_t> data(24), expected;
        for (int16_t i = 0; i < 24; ++i)
          data[i] = i;
        for (int64_t i = 0; i < a; ++i)
          for (int64_t j = 0; j < b; ++j)
            for (int64_t k = 0; k < c; ++k)
              expected.push_back(static_cast<int16_t>((i * 3 + j) * 4 + k));
        const int64_t shape[] = {a, b, c};
        compact(ElementType::I16, bounds, shape, data.data());
        data.resize(expected.size());
        EXPECT_EQ(data, expected) << a << b << c;
      }
}
