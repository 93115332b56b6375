//===- show_profile_test.cpp - A profile for people -------------------------===//

#include "tools/kintsugi/show.h"

#include <gtest/gtest.h>

namespace kintsugi::tool {
namespace {

Json report() {
  return *parseJson(R"({
    "model": "net", "operators": 3, "median_ms": 2.5, "predicted_ms": 2, "stages_ms": 2.25,
    "clock": "host", "profiled_runs": 7,
    "stages": [
      {"stage": 4, "name": "k2", "kind": "generated", "nodes": ["a", "b", "c", "d", "e"],
       "launches": 3, "measured_ms": 2, "predicted_ms": 1.5, "share": 0.889, "bytes": 8000000,
       "operations": 900000000, "gb_per_s": 4, "gflop_per_s": 450},
      {"stage": 0, "name": "TopK", "kind": "call", "nodes": ["top"], "launches": 1,
       "measured_ms": 0.25, "predicted_ms": 0.5, "share": 0.111, "bytes": 0, "operations": 0,
       "gb_per_s": null, "gflop_per_s": null}],
    "nodes": [{"node": "a", "measured_ms": 1.9, "share": 0.844, "stages": [4]},
              {"node": "top", "measured_ms": 0.25, "share": 0.111, "stages": [0]}]})");
}

TEST(ShowProfile, IsATableOfStagesAndOneOfNodes) {
  EXPECT_EQ(showProfile(report()),
            "net: 3 operators became 2 stages; 2.50 ms a run; predicted 2.00 ms\n"
            "stages one by one take 2.25 ms in all, by the host's clock: medians of 7 runs\n"
            "\n"
            "      time   share launches  predicted    GB/s  GFLOP/s  stage\n"
            "   2.00 ms  88.9 %        3    1.50 ms     4.0      450  4 k2  a, b, c and 2 more\n"
            "  250.0 us  11.1 %        1   500.0 us       -        -  0 TopK  top\n"
            "\n"
            "Nodes share a stage's time in the ratio of the arithmetic that it does for each.\n"
            "      time   share  node, and the stages that serve it\n"
            "   1.90 ms  84.4 %  a  4\n"
            "  250.0 us  11.1 %  top  0\n");
}

TEST(ShowProfile, HasLinesForPartsOfAStage) {
  Json json = report();
  json["stages"][0]["shared_by"] = "clock";
  json["stages"][0]["parts"] = *parseJson(R"([
      {"part": 1, "name": "k7", "nodes": ["b"], "measured_ms": 1.5, "predicted_ms": 1,
       "share": 0.6, "bytes": 6000000, "operations": 0, "gb_per_s": 4, "gflop_per_s": null},
      {"part": 0, "name": "k6", "nodes": ["a"], "measured_ms": null, "predicted_ms": 0.5,
       "share": 0.289, "bytes": 0, "operations": 0, "gb_per_s": null, "gflop_per_s": null}])");
  std::string text = showProfile(json);
  std::string lines =
      "   2.00 ms  88.9 %        3    1.50 ms     4.0      450  4 k2  a, b, c and 2 more\n"
      "   1.50 ms  60.0 %             1.00 ms     4.0        -    + k7  b\n"
      "         -  28.9 %            500.0 us       -        -    + k6  a\n"
      "  250.0 us  11.1 %";
  EXPECT_NE(text.find(lines), std::string::npos) << text;
  EXPECT_NE(text.find("\n+: kernels that share the launch"), std::string::npos);
  EXPECT_EQ(text.find("~"), std::string::npos);
  json["stages"][0]["shared_by"] = "prediction";
  text = showProfile(json);
  EXPECT_NE(text.find(" ~60.0 % "), std::string::npos) << text;
  EXPECT_NE(text.find("\n~: as predicted;"), std::string::npos);
}

TEST(ShowProfile, SaysWhatADeviceTakes) {
  Json json = report();
  json["device_ms"] = 2.0;
  json["clock"] = "device";
  std::string text = showProfile(json);
  EXPECT_NE(text.find("2.50 ms a run, of it 2.00 ms on the device; predicted"), std::string::npos);
  EXPECT_NE(text.find("by the device's clock"), std::string::npos);
}

} // namespace
} // namespace kintsugi::tool
