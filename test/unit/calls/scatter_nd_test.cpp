//===- scatter_nd_test.cpp - Writing slices at indices given as data ------===//

#include "run_call.h"

#include <gtest/gtest.h>
#include <limits>

using namespace kintsugi;
using namespace kintsugi::calls;

TEST(ScatterNd, Elements) {
  Tensor data = tensorOf<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8}); // ONNX's first example.
  Tensor indices = tensorOf<int64_t>({4, 1}, {4, 3, 1, 7});
  Tensor updates = tensorOf<float>({4}, {9, 10, 11, 12});
  auto results = runCall("ScatterND", {&data, &indices, &updates}, Json::object());
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ(valuesOf<float>((*results)[0]), (std::vector<float>{1, 11, 3, 10, 9, 6, 7, 12}));
}

TEST(ScatterNd, SlicesAndNegativeIndicesAndTheLastWins) {
  Tensor data = tensorOf<int16_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor indices = tensorOf<int64_t>({3, 1}, {-1, 0, 2});
  Tensor updates = tensorOf<int16_t>({3, 2}, {10, 11, 20, 21, 30, 31});
  auto results = runCall("ScatterND", {&data, &indices, &updates}, {{"reduction", "none"}});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ(valuesOf<int16_t>((*results)[0]), (std::vector<int16_t>{20, 21, 3, 4, 30, 31}));
}

TEST(ScatterNd, FullAndEmptyCoordinates) {
  Tensor data = tensorOf<double>({2, 2}, {1, 2, 3, 4});
  Tensor indices = tensorOf<int64_t>({2, 2}, {0, 1, 1, 0});
  Tensor updates = tensorOf<double>({2}, {8, 9});
  auto results = runCall("ScatterND", {&data, &indices, &updates}, Json::object());
  EXPECT_EQ(valuesOf<double>((*results)[0]), (std::vector<double>{1, 8, 9, 4}));
  Tensor none = std::move(*Tensor::create(ElementType::I64, {1, 0}));
  Tensor whole = tensorOf<double>({1, 2, 2}, {5, 6, 7, 8});
  results = runCall("ScatterND", {&data, &none, &whole}, Json::object());
  EXPECT_EQ(valuesOf<double>((*results)[0]), (std::vector<double>{5, 6, 7, 8}));
}

TEST(ScatterNd, ReductionsRepeat) {
  Tensor data = tensorOf<float>({3}, {1, 5, -2});
  Tensor indices = tensorOf<int64_t>({3, 1}, {1, 1, 2});
  Tensor updates = tensorOf<float>({3}, {3, 7, -4});
  auto reduce = [&](const char *reduction) {
    auto results = runCall("ScatterND", {&data, &indices, &updates}, {{"reduction", reduction}});
    return valuesOf<float>((*results)[0]);
  };
  EXPECT_EQ(reduce("add"), (std::vector<float>{1, 15, -6}));
  EXPECT_EQ(reduce("mul"), (std::vector<float>{1, 105, 8}));
  EXPECT_EQ(reduce("max"), (std::vector<float>{1, 7, -2}));
  EXPECT_EQ(reduce("min"), (std::vector<float>{1, 3, -4}));
}

TEST(ScatterNd, IntegersWrapAndCompareAsTheirTypeDoes) {
  Tensor data = tensorOf<uint64_t>({2}, {1, std::numeric_limits<uint64_t>::max()});
  Tensor indices = tensorOf<int64_t>({2, 1}, {0, 1});
  Tensor updates = tensorOf<uint64_t>({2}, {uint64_t(1) << 63, 2});
  auto reduce = [&](const char *reduction) {
    auto results = runCall("ScatterND", {&data, &indices, &updates}, {{"reduction", reduction}});
    return valuesOf<uint64_t>((*results)[0]);
  };
  EXPECT_EQ(reduce("add"), (std::vector<uint64_t>{(uint64_t(1) << 63) + 1, 1}));
  EXPECT_EQ(reduce("max"),
            (std::vector<uint64_t>{uint64_t(1) << 63, std::numeric_limits<uint64_t>::max()}));
  EXPECT_EQ(reduce("min"), (std::vector<uint64_t>{1, 2}));
}

TEST(ScatterNd, MistakesAreNamed) {
  Tensor data = tensorOf<float>({2, 2}, {1, 2, 3, 4}), updates = tensorOf<float>({1}, {9});
  Tensor indices = tensorOf<int64_t>({1, 2}, {0, 2}), deep = tensorOf<int64_t>({1, 3}, {0, 0, 0});
  Tensor narrow = tensorOf<int32_t>({1, 2}, {0, 0}), doubles = tensorOf<double>({1}, {9});
  Json none = Json::object();
  EXPECT_EQ(errorOf("ScatterND", {&data, &indices, &updates}, none),
            "ScatterND: index 2 is outside dimension 1 of extent 2");
  EXPECT_EQ(errorOf("ScatterND", {&data, &deep, &updates}, none),
            "the indices have 3 coordinates, the data rank 2");
  EXPECT_EQ(errorOf("ScatterND", {&data, &narrow, &updates}, none),
            "the indices must be i64 of rank 1 or more");
  EXPECT_EQ(errorOf("ScatterND", {&data, &indices, &doubles}, none),
            "data and updates must have the same type, of whole bytes");
  EXPECT_EQ(errorOf("ScatterND", {&data, &indices, &data}, none),
            "the updates have shape [2, 2], it must be [1]");
  EXPECT_EQ(errorOf("ScatterND", {&data, &indices, &updates}, {{"reduction", "median"}}),
            "unknown reduction 'median'");
  EXPECT_EQ(errorOf("ScatterND", {&data, &indices, &updates}, {{"reduction", 3}}),
            "JSON member \"reduction\" is not a string");
  Tensor flags = std::move(*Tensor::create(ElementType::Bool, {2, 2}));
  Tensor flag = std::move(*Tensor::create(ElementType::Bool, {1}));
  EXPECT_EQ(errorOf("ScatterND", {&flags, &indices, &flag}, {{"reduction", "add"}}),
            "can't reduce elements of type bool");
}
