// What scans cost where forms are chosen.

#include "orchestrate/scan_prices.h"

#include "programs.h"

namespace kintsugi::orchestrate {
namespace {

using namespace te;

/// A step of so many values, of which none waits for another, and their sum.
std::string wideScan(unsigned values) {
  std::string text = "input x[64] f32\n(y[64] f32) = scan[20] carry(x) capture() {\n"
                     "program cell\ninput step[] i64\ninput h[64] f32\n",
              sum = "h[i]";
  for (unsigned number = 0; number < values; ++number) {
    std::string name = "v" + std::to_string(number);
    text += name + "[i:64] f32 = h[i] * " + std::to_string(number) + "\n";
    sum += " + " + name + "[i]";
  }
  return text + "next[i:64] f32 = tanh(" + sum + ")\noutput next\n}\noutput y\n";
}

TEST(ScanPrices, WhatHasNoPlanHasNoPriceTheNextTimeEither) {
  OrchestrateOptions options = smallOptions();
  options.mode = PlanMode::Exhaustive;
  options.space.fuse = false;
  ScanPrices prices(options);
  for (unsigned values : {2, 17}) {
    Program program = programOf(wideScan(values).c_str());
    space::EqualParts parts;
    parts.add(program);
    Form form = firstForm(program, parts);
    for (unsigned time = 0; time < 2; ++time) {
      Expected<double> seconds = prices.secondsOf(form, {0});
      EXPECT_EQ(seconds.ok(), values == 2);
      EXPECT_TRUE(!seconds.ok() || *seconds > 0);
    }
  }
}

} // namespace
} // namespace kintsugi::orchestrate
