#include "cost/decisions.h"

#include "gtest/gtest.h"

namespace kintsugi::cost {
namespace {

TEST(Decisions, AreMadeOnceForAKeyWhileFuelLasts) {
  Decisions<int> decisions(2);
  int made = 0;
  auto decide = [&] { return ++made * 10; };
  EXPECT_EQ(decisions.at("a", decide), 10);
  EXPECT_EQ(decisions.at("a", decide), 10);
  EXPECT_EQ(decisions.at("b", decide), 20);
  EXPECT_EQ(decisions.at("c", decide), 0);
  EXPECT_EQ(decisions.at("c", decide), 0); // Nor later.
  EXPECT_EQ(made, 2);
  explain::Log log;
  decisions.tell(&log, "derive", "letters");
  ASSERT_EQ(log.records().size(), 1u);
  EXPECT_EQ(log.records()[0].numbers[0].value, 1); // Of those that were not made.
}

} // namespace
} // namespace kintsugi::cost
