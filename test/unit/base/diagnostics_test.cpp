//===- diagnostics_test.cpp -----------------------------------------------===//

#include "base/cancel.h"
#include "base/diagnostics.h"

#include <gtest/gtest.h>
#include <thread>

using namespace kintsugi;

TEST(Diagnostics, CollectsInOrderAndPrints) {
  Diagnostics sink;
  sink.note("m.onnx", "", "opset 21");
  sink.warning("m.onnx", "conv1", "slow");
  sink.error("", "", "bad");
  EXPECT_EQ(sink.count(Severity::Warning), 1u);
  EXPECT_TRUE(sink.hasErrors());
  auto entries = sink.take();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].str(), "m.onnx: note: opset 21");
  EXPECT_EQ(entries[1].str(), "m.onnx: warning: node 'conv1': slow");
  EXPECT_EQ(entries[2].str(), "error: bad");
  EXPECT_TRUE(sink.list().empty());
}

TEST(Diagnostics, StatusCarriesTheFirstError) {
  Diagnostics sink;
  sink.warning("m.onnx", "", "slow");
  EXPECT_TRUE(sink.status().ok());
  sink.error("m.onnx", "a", "first");
  EXPECT_EQ(sink.status().error().message, "m.onnx: node 'a': first");
  sink.error("", "b", "second");
  EXPECT_EQ(sink.status().error().message, "m.onnx: node 'a': first (and 1 more)");
  EXPECT_EQ(sink.status().error().kind, ErrorKind::Input);
}

TEST(Diagnostics, AnyThreadMayAdd) {
  Diagnostics sink;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 500; ++j)
        sink.note("", "", "x");
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(sink.count(Severity::Note), 2000u);
}

TEST(CancelToken, CopiesShareTheFlag) {
  CancelToken token, copy = token, other;
  EXPECT_FALSE(copy.cancelled());
  std::thread([copy] { copy.cancel(); }).join();
  EXPECT_TRUE(token.cancelled());
  EXPECT_FALSE(other.cancelled());
}
