#include "base/fill_numbers.h"

#include <gtest/gtest.h>

namespace kintsugi {

TEST(FillNumbers, OneForEachGap) {
  EXPECT_EQ(fillNumbers("{} of {}", {{3, -4}}), "3 of -4");
  EXPECT_EQ(fillNumbers("none", {{3}}), "none");
  EXPECT_EQ(fillNumbers("{}{} {}", {{1, 2}}), "12 {}");
  EXPECT_EQ(fillNumbers("", {}), "");
}

} // namespace kintsugi
