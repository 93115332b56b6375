//===- non_max_suppression_test.cpp - The best of boxes that overlap -----------===//

#include "run_call.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::calls;

namespace {

/// ONNX's example: the first three boxes overlap, so do the next two, the last is alone.
struct Example {
  Tensor boxes = tensorOf<float>({1, 6, 4}, {0, 0,  1, 1,  0, 0.1F,  1, 1.1F,  0, -0.1F, 1, 0.9F,
                                             0, 10, 1, 11, 0, 10.1F, 1, 11.1F, 0, 100,   1, 101});
  Tensor scores = tensorOf<float>({1, 1, 6}, {0.9F, 0.75F, 0.6F, 0.95F, 0.5F, 0.3F});
  Tensor most = tensorOf<int64_t>({}, {6});
  Tensor overlap = tensorOf<float>({1}, {0.5F});
  Tensor least = tensorOf<float>({}, {0.4F});

  std::vector<const Tensor *> operands() const {
    return {&boxes, &scores, &most, &overlap, &least};
  }

  /// The boxes that are chosen, of one class.
  std::vector<int64_t> chosen(const Json &attributes = {{"room", 6}}) const {
    auto results = runCall("NonMaxSuppression", operands(), attributes);
    EXPECT_TRUE(results.ok()) << results.error().message;
    std::vector<int64_t> rows = valuesOf<int64_t>((*results)[0]), boxes;
    int64_t count = valuesOf<int64_t>((*results)[1])[0];
    for (int64_t k = 0; k < int64_t(rows.size()) / 3; ++k)
      if (k < count)
        boxes.push_back(rows[k * 3 + 2]);
      else
        EXPECT_EQ(rows[k * 3] + rows[k * 3 + 1] + rows[k * 3 + 2], 0);
    return boxes;
  }
};

} // namespace

TEST(NonMaxSuppression, LeavesOutWhatOverlapsSomethingBetter) {
  EXPECT_EQ(Example().chosen(), (std::vector<int64_t>{3, 0}));
  Example all;
  all.least = tensorOf<float>({}, {-1});
  EXPECT_EQ(all.chosen(), (std::vector<int64_t>{3, 0, 5}));
  EXPECT_EQ(all.chosen({{"room", 1}}), std::vector<int64_t>{3}) << "room is all that there is";
  all.overlap = tensorOf<float>({1}, {1});
  EXPECT_EQ(all.chosen(), (std::vector<int64_t>{3, 0, 1, 2, 4, 5}));
}

TEST(NonMaxSuppression, MostIsData) {
  for (int64_t most : {-3, 0, 1}) {
    Example example;
    example.most = tensorOf<int64_t>({}, {most});
    EXPECT_EQ(example.chosen().size(), size_t(std::max<int64_t>(0, most)));
  }
}

TEST(NonMaxSuppression, CornersMayBeSwappedAndCentersGiven) {
  Example swapped;
  swapped.boxes = tensorOf<float>({1, 6, 4}, {1, 1,  0, 0,  0, 0.1F,  1, 1.1F,  0, 0.9F, 1, -0.1F,
                                              0, 10, 1, 11, 1, 10.1F, 0, 11.1F, 1, 101,  0, 100});
  EXPECT_EQ(swapped.chosen(), (std::vector<int64_t>{3, 0}));
  Example centers; // x, y, width, height, so that columns are not rows.
  centers.boxes =
      tensorOf<float>({1, 6, 4}, {0.5F, 0.5F,  1, 1, 0.5F, 0.6F,  1, 1, 0.5F, 0.4F,   1, 1,
                                  0.5F, 10.5F, 1, 1, 0.5F, 10.6F, 1, 1, 0.5F, 100.5F, 1, 1});
  EXPECT_EQ(centers.chosen({{"room", 6}, {"center", true}}), (std::vector<int64_t>{3, 0}));
}

TEST(NonMaxSuppression, EqualScoresGoByPlaceAndNanIsWorst) {
  Example example;
  example.scores = tensorOf<float>({1, 1, 6}, {NAN, 1, 1, 1, 1, NAN});
  EXPECT_EQ(example.chosen(), (std::vector<int64_t>{1, 3}));
  std::vector<const Tensor *> operands = example.operands();
  operands.pop_back(); // Without a least score.
  auto results = runCall("NonMaxSuppression", operands, {{"room", 6}});
  std::vector<int64_t> rows = valuesOf<int64_t>((*results)[0]);
  EXPECT_EQ(valuesOf<int64_t>((*results)[1])[0], 3);
  EXPECT_EQ((std::vector<int64_t>{rows[2], rows[5], rows[8]}), (std::vector<int64_t>{1, 3, 5}));
}

TEST(NonMaxSuppression, BatchesAndClassesAreApart) {
  Tensor boxes = tensorOf<double>({2, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 5, 5, 6, 6});
  Tensor scores = tensorOf<double>({2, 2, 2}, {1, 2, 2, 1, 1, 2, 2, 1});
  Tensor most = tensorOf<int64_t>({1}, {9}), overlap = tensorOf<double>({}, {0.5});
  auto results = runCall("NonMaxSuppression", {&boxes, &scores, &most, &overlap}, {{"room", 2}});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ((*results)[0].shape(), (std::vector<int64_t>{8, 3}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[1])[0], 6);
  std::vector<int64_t> rows = valuesOf<int64_t>((*results)[0]);
  rows.resize(18);
  EXPECT_EQ(rows, (std::vector<int64_t>{0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1}));
}

TEST(NonMaxSuppression, Refuses) {
  Example example;
  EXPECT_EQ(errorOf("NonMaxSuppression", example.operands(), {{"room", 7}}),
            "has room for 7 boxes of 6");
  EXPECT_EQ(errorOf("NonMaxSuppression", {&example.boxes}, {{"room", 6}}),
            "has 1 operands, it takes 5");
  Example wrong;
  wrong.overlap = tensorOf<float>({2}, {0, 0});
  EXPECT_EQ(errorOf("NonMaxSuppression", wrong.operands(), {{"room", 6}}),
            "a limit is f32[2], it must be one f32");
  wrong.scores = tensorOf<float>({1, 6, 1}, {1, 1, 1, 1, 1, 1});
  EXPECT_EQ(errorOf("NonMaxSuppression", wrong.operands(), {{"room", 6}}),
            "boxes have the shape [1, 6, 4] and scores [1, 6, 1], they must be [batches, boxes, 4] "
            "and [batches, classes, boxes]");
  wrong.scores = tensorOf<int32_t>({1, 1, 6}, {1, 1, 1, 1, 1, 1});
  EXPECT_EQ(errorOf("NonMaxSuppression", wrong.operands(), {{"room", 6}}),
            "boxes and scores must both be f32 or f64");
}
