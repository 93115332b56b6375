#include "explain/log.h"
#include "explain/render.h"
#include "explain/step.h"
#include "explain/summary.h"

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

/// What the page holds as data.
Json dataOf(const std::string &page) {
  std::string open = "<script type=\"application/json\" id=\"report\">";
  size_t start = page.find(open);
  EXPECT_NE(start, page.npos);
  start += open.size();
  auto data = parseJson(page.substr(start, page.find("</script>", start) - start));
  EXPECT_TRUE(data.ok());
  return data.ok() ? *data : Json();
}

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Page, namesEndNothing) {
  std::string name =
      "</script><script>alert(1)</script><!--<script>&amp;\"'{{report}}{{title}}\u2028";
  Json report = {{"model", name}, {"kernels", Json::array({{{"name", name}}})}};
  std::string page = renderHtml(report), plain = renderHtml({{"model", "plain"}});
  for (const char *part : {"<script", "</script", "<!--"})
    EXPECT_EQ(countOf(page, part), countOf(plain, part)) << part;
  EXPECT_NE(page.find("<h1>&lt;/script&gt;&lt;script&gt;alert(1)"), page.npos);
  EXPECT_NE(page.find("{{report}}{{title}}"), page.npos);
  EXPECT_EQ(dataOf(page), report);
}

TEST(Page, bytesThatAreNoText) {
  Json data = dataOf(renderHtml({{"model", "m"}, {"notes", {"\xff\xfe"}}}));
  EXPECT_EQ(data["notes"][0], "\uFFFD\uFFFD");
}

TEST(Page, hasNeitherFilesNorNetwork) {
  std::string page = renderHtml({{"model", "m"}});
  for (const char *part : {"https:", "src=", "@import", "url(", "fetch(", "XMLHttp", "import("})
    EXPECT_EQ(page.find(part), page.npos) << part;
  EXPECT_NE(page.find("default-src 'none'"), page.npos);
}

TEST(Page, leavesOutWhatItDoesNotShow) {
  std::vector<Record> records = sample();
  records.push_back({"derive", "value 'v'", "by an algorithm", {}, {}, "winograd"});
  records.push_back({"orchestrate", "program 'p'", "optimal", {}, {}});
  Json report = {{"model", "m"}, {"decisions", {{"records", renderJson(records)}}}};
  Json decisions = dataOf(renderHtml(report))["decisions"];
  EXPECT_EQ(decisions["records_left_out"], sample().size());
  ASSERT_EQ(decisions["records"].size(), 2u);
  EXPECT_EQ(decisions["records"][0]["rule"], "winograd");
  EXPECT_EQ(decisions["records"][1]["subject"], "program 'p'");
}

TEST(Choice, json) {
  Choice choice;
  choice.among = "forms";
  choice.objective = 2e-3;
  choice.chosen = {{{"y"}, {"x", "y"}, {"n"}, {0}, "y = x", 1e-3}};
  choice.alternatives = {
      {{{"z"}, {"z"}, {}, {1}, "z = 0", 3e-3}, {0}, 1e-4, 2e-4, true, {}},
      {{{"w"}, {"w"}, {}, {}, "w = 0", 3e-3}, {0}, 1e-4, std::nullopt, false, {}}};
  Json json = renderJson(choice);
  EXPECT_EQ(json["objective_ms"], 2);
  EXPECT_EQ(json["chosen"][0]["definitions"], Json({"x", "y"}));
  EXPECT_EQ(json["alternatives"][0]["forms"], Json({1}));
  EXPECT_EQ(json["alternatives"][0]["more_ms"], 0.2);
  EXPECT_EQ(json["alternatives"][0]["proven"], true);
  EXPECT_TRUE(json["alternatives"][1]["more_ms"].is_null());
  EXPECT_EQ(json["alternatives"][1]["more_at_least_ms"], 0.1);
}

TEST(Render, scalesNumbers) {
  EXPECT_EQ(show({"", 0, "s"}), "0 ns");
  EXPECT_EQ(show({"", 2.5, "s"}), "2.5 s");
  EXPECT_EQ(show({"", -3e-3, "s"}), "-3 ms");
  EXPECT_EQ(show({"", 1023, "bytes"}), "1023 B");
  EXPECT_EQ(show({"", 1536, "bytes"}), "1.5 KiB");
  EXPECT_EQ(show({"", 118.4, "GFLOP/s"}), "118.4 GFLOP/s");
}

Record rejected(const std::string &name, const std::string &reason, double bytes) {
  return {"space", "group '" + name + "'", "no schedule", {reason}, {{"needs", bytes, "bytes"}}};
}

TEST(Summary, countsWhatDiffersInNamesAndNumbersAlone) {
  std::vector<Record> records = {rejected("a", "'a' does not fit", 10),
                                 {"simplify", "value 't'", "folded into 'u'", {}, {}},
                                 rejected("b", "it needs 3 levels", 20),
                                 rejected("c, d", "'c', 'd' does not fit", 5),
                                 rejected("e", "it needs 17 levels", 7),
                                 rejected("f", "it can't, the model's 'x' is no constant", 7),
                                 rejected("g", "it can't, the model's 'y z' is no constant", 7),
                                 rejected("h", "'long name' does not fit", 30)};
  std::vector<Kind> kinds = summarize(records);
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].phase, "space");
  EXPECT_EQ(kinds[0].subject, "group");
  EXPECT_EQ(kinds[0].decision, "no schedule");
  EXPECT_EQ(kinds[0].count, 7u);
  using Reasons = std::vector<std::pair<std::string, size_t>>;
  EXPECT_EQ(kinds[0].reasons, (Reasons{{"'..' does not fit", 3},
                                       {"it needs N levels", 2},
                                       {"it can't, the model's '..' is no constant", 2}}));
  ASSERT_EQ(kinds[0].numbers.size(), 1u);
  EXPECT_EQ(kinds[0].numbers[0].low, 5);
  EXPECT_EQ(kinds[0].numbers[0].high, 30);
  ASSERT_TRUE(kinds[0].greatest);
  EXPECT_EQ(*kinds[0].greatest, records.back());
  EXPECT_EQ(renderJson(kinds)[0]["greatest"], renderJson(records)[6]);
  EXPECT_EQ(kinds[1].subject, "value 't'");
  EXPECT_EQ(kinds[1].decision, "folded into 'u'");
  EXPECT_EQ(kinds[1].count, 1u);
}

TEST(Summary, fewRecordsStandInFullAfterTheMany) {
  std::vector<Record> records = {
      {"orchestrate", "program 'm'", "optimal", {}, {{"objective", 1e-6, "s"}}},
      {"orchestrate", "program 'm'", "optimal", {}, {{"objective", 2e-3, "s"}}}};
  for (int i = 0; i < 9; ++i)
    records.push_back({"orchestrate", "stage " + std::to_string(i), "kernel k1", {}, {}});
  std::vector<Kind> kinds = summarize(records);
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[0].subject, "stage");
  EXPECT_EQ(kinds[0].decision, "kernel kN");
  EXPECT_FALSE(kinds[0].greatest);
  EXPECT_EQ(kinds[1].numbers[0].high, 1e-6);
  EXPECT_EQ(kinds[2].numbers[0].low, 2e-3);
  EXPECT_TRUE(summarize({}).empty());
}

TEST(Summary, json) {
  std::vector<Record> records = {
      {"orchestrate", "program 'm'", "feasible", {"out of fuel"}, {{"gap", INFINITY, ""}}}};
  Json list = renderJson(summarize(records));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["count"], 1);
  EXPECT_EQ(list[0]["reasons"], Json({{{"count", 1}, {"reason", "out of fuel"}}}));
  EXPECT_TRUE(list[0]["numbers"]["gap"]["low"].is_null());
  EXPECT_TRUE(parseJson(printJson(list)).ok());
}

} // namespace
/// A step of a rule between definitions by name.
static Step step(const char *rule, std::vector<std::string> replaced,
                 std::vector<std::string> defined, const char *refusal = "") {
  return {.rule = rule,
          .equation = "a => b",
          .before = "before",
          .after = "after",
          .values = {defined.back()},
          .replaced = std::move(replaced),
          .defined = std::move(defined),
          .refusal = refusal};
}

TEST(Steps, AreInTheChainOfWhatTheyReplace) {
  std::vector<Step> steps = {step("split", {"y"}, {"t", "y"}), step("other", {"z"}, {"u", "z"}),
                             step("third", {"t"}, {"t"}),
                             step("left", {"t"}, {"t"}, "it takes longer"),
                             step("joins", {"y", "u"}, {"w"})};
  using Chains = std::vector<std::vector<size_t>>;
  EXPECT_EQ(chainsOf(std::span(steps).first(4)), (Chains{{0, 2}, {1}}));
  EXPECT_EQ(chainsOf(steps), (Chains{{0, 1, 2, 4}}));
  Json json = renderJson(std::span<const Step>(std::span(steps).first(4)));
  ASSERT_EQ(json["derivations"].size(), 2u);
  EXPECT_EQ(json["derivations"][0]["rules"], Json({"split", "third"}));
  EXPECT_EQ(json["derivations"][0]["values"], Json({"y", "t"}));
  ASSERT_EQ(json["refused"].size(), 1u);
  EXPECT_EQ(json["refused"][0]["reason"], "it takes longer");
}

TEST(Steps, LeadToNames) {
  std::vector<Step> steps = {step("split", {"y"}, {"t", "y"}), step("other", {"z"}, {"u", "z"}),
                             step("third", {"t"}, {"v"})};
  EXPECT_EQ(stepsTo(steps, {"v"}), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(stepsTo(steps, {"z"}), (std::vector<size_t>{1}));
  EXPECT_TRUE(stepsTo(steps, {"x"}).empty());
}

} // namespace kintsugi::explain
