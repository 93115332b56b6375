//===- non_zero_test.cpp - Where elements are not zero --------------------===//

#include "calls/list.h"
#include "run_call.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::calls;

TEST(NonZero, CoordinatesAreInOrderAndZerosFollow) {
  Tensor x = tensorOf<float>({2, 3}, {0, 1, NAN, -0.0F, 0, -2}); // A zero has no sign that counts.
  auto results = runCall("NonZero", {&x}, {});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ((*results)[0].shape(), (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[0]),
            (std::vector<int64_t>{0, 0, 1, 0, 0, 0, 1, 2, 2, 0, 0, 0}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[1]), std::vector<int64_t>{3});
}

TEST(NonZero, OfEachType) {
  for (ElementType type :
       {ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64, ElementType::I8,
        ElementType::U8, ElementType::I16, ElementType::U16, ElementType::I32, ElementType::U32,
        ElementType::I64, ElementType::U64, ElementType::Bool}) {
    Tensor x = std::move(*Tensor::create(type, {5}));
    for (int64_t at : {1, 4})
      storeInteger(type, x.bytes(), at, 1);
    if (isFloat(type)) {
      storeDouble(type, x.bytes(), 1, -1);
      storeDouble(type, x.bytes(), 3, -0.0);
      storeDouble(type, x.bytes(), 4, 1);
    }
    auto results = runCall("NonZero", {&x}, {});
    ASSERT_TRUE(results.ok()) << results.error().message;
    EXPECT_EQ(valuesOf<int64_t>((*results)[0]), (std::vector<int64_t>{1, 4, 0, 0, 0}))
        << nameOf(type);
  }
}

TEST(NonZero, OfNothing) {
  Tensor x = tensorOf<float>({2, 0}, {});
  auto results = runCall("NonZero", {&x}, {});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ((*results)[0].shape(), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[1]), std::vector<int64_t>{0});
}

TEST(NonZero, SaysWhatIsCounted) {
  std::vector<TensorType> operands{{ElementType::F32, {3, 4}}};
  auto types = nonZero.infer(operands, {});
  ASSERT_TRUE(types.ok());
  EXPECT_EQ((*types)[0].counted, (std::vector<CountedDimension>{{1, 1}}));
  EXPECT_TRUE((*types)[1].counted.empty());
}

TEST(NonZero, Refuses) {
  Tensor scalar = tensorOf<float>({}, {1});
  EXPECT_EQ(errorOf("NonZero", {&scalar}, {}), "needs a tensor of rank 1 or more");
  EXPECT_EQ(errorOf("NonZero", {&scalar, &scalar}, {}), "has 2 operands, it takes 1");
  Tensor packed = std::move(*Tensor::create(ElementType::I4, {2}));
  EXPECT_EQ(errorOf("NonZero", {&packed}, {}), "can't tell which elements of type i4 are zero");
}
