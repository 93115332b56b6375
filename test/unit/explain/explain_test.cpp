#include "explain/log.h"
#include "explain/render.h"

#include <cmath>
#include <gtest/gtest.h>
#include <thread>

namespace kintsugi::explain {
namespace {

std::vector<Record> sample() {
  return {
      {"simplify", "value 't'", "folded", {"all operands are constant"}, {}},
      {"schedule",
       "kernel 0",
       "tiles of 8x64",
       {"fits L2", "64 lanes"},
       {{"predicted", 12.5e-6, "s"}, {"scratch", 3 << 20, "bytes"}, {"tiles", 7, ""}}},
      {"simplify", "value 'u'", "kept", {}, {}},
  };
}

TEST(Log, keepsOrder) {
  Log log;
  for (const Record &record : sample())
    log.add(record);
  EXPECT_EQ(log.records(), sample());
}

TEST(Log, takesRecordsFromManyThreads) {
  Log log;
  constexpr int threads = 8, each = 500;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&log, t] {
      for (int i = 0; i < each; ++i)
        log.add({"p" + std::to_string(t), std::to_string(i), "d", {}, {}});
    });
  for (std::thread &worker : workers)
    worker.join();
  ASSERT_EQ(log.size(), size_t(threads * each));
  auto records = log.records();
  auto groups = groupByPhase(records);
  ASSERT_EQ(groups.size(), size_t(threads));
  for (const auto &group : groups)
    for (int i = 0; i < each; ++i)
      EXPECT_EQ(records[group[i]].subject, std::to_string(i));
}

TEST(Render, text) {
  EXPECT_EQ(renderText(sample()), "simplify:\n"
                                  "  value 't': folded\n"
                                  "    because all operands are constant\n"
                                  "  value 'u': kept\n"
                                  "\n"
                                  "schedule:\n"
                                  "  kernel 0: tiles of 8x64\n"
                                  "    because fits L2\n"
                                  "    because 64 lanes\n"
                                  "    predicted 12.5 us, scratch 3 MiB, tiles 7\n");
  EXPECT_EQ(renderText({}), "");
}

TEST(Render, json) {
  std::vector<Record> records = sample();
  records[0].numbers.push_back({"gain", std::nan(""), ""});
  Json list = renderJson(records);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[1]["subject"], "value 'u'");
  EXPECT_EQ(list[2]["numbers"]["predicted"]["value"], 12.5e-6);
  EXPECT_EQ(list[2]["numbers"]["predicted"]["unit"], "s");
  EXPECT_EQ(list[2]["reasons"], Json({"fits L2", "64 lanes"}));
  EXPECT_TRUE(list[0]["numbers"]["gain"]["value"].is_null());
  EXPECT_TRUE(parseJson(printJson(list)).ok());
}

TEST(Render, pageEscapesNames) {
  std::vector<Record> records = {{"import", "<script>\"&", "kept", {"a<b"}, {}}};
  std::string page = renderHtml(records, "model & <title>");
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;&quot;&amp;"), std::string::npos);
  EXPECT_NE(page.find("a&lt;b"), std::string::npos);
  EXPECT_NE(page.find("<title>model &amp; &lt;title&gt;</title>"), std::string::npos);
}

TEST(Render, scalesNumbers) {
  EXPECT_EQ(show({"", 0, "s"}), "0 ns");
  EXPECT_EQ(show({"", 2.5, "s"}), "2.5 s");
  EXPECT_EQ(show({"", -3e-3, "s"}), "-3 ms");
  EXPECT_EQ(show({"", 1023, "bytes"}), "1023 B");
  EXPECT_EQ(show({"", 1536, "bytes"}), "1.5 KiB");
  EXPECT_EQ(show({"", 118.4, "GFLOP/s"}), "118.4 GFLOP/s");
}

} // namespace
} // namespace kintsugi::explain
