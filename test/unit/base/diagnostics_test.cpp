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

TEST(Diagnostics, NamesArePrintedHarmlessly) {
  using namespace std::string_literals;
  EXPECT_EQ(printable("caf\u00e9 \u65e5\u672c \\ 'x'"), "caf\u00e9 \u65e5\u672c \\ 'x'");
  EXPECT_EQ(printable("a\x1b[2J\nb\tc\x7f"), "a\\x1b[2J\\x0ab\\x09c\\x7f");
  EXPECT_EQ(printable("a\0b"s), "a\\x00b");
  EXPECT_EQ(printable("\xff\xc3(\xe2\x82"), "\\xff\\xc3(\\xe2\\x82") << "no UTF-8";
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m")
      << "the terminal's control codes of C1";
  EXPECT_EQ(printable("\u202e\u2028\ufeff"), "\\u202e\\u2028\\ufeff");
  std::string once = printable("\x1b\xff");
  EXPECT_EQ(printable(once), once);
}

TEST(Diagnostics, MessagesAreOneLineOfBearableLength) {
  std::string name(1 << 20, 'n');
  std::string line = oneLine("m.onnx: node '" + name + "' (Relu): input 1 is\nmissing");
  EXPECT_LT(line.size(), 400u);
  EXPECT_TRUE(line.starts_with("m.onnx: node 'nnn"));
  EXPECT_TRUE(line.ends_with("nnn' (Relu): input 1 is\\x0amissing"));
  std::string words;
  for (int i = 0; i < 10000; ++i)
    words += "word ";
  EXPECT_LE(oneLine(words + "end").size(), 4000u);
  EXPECT_TRUE(oneLine(words + "end").ends_with(" word end"));
  EXPECT_EQ(oneLine("two  blanks "), "two  blanks ");
  // No character is cut in two.
  std::string accents;
  for (int i = 0; i < 500; ++i)
    accents += "\u00e9";
  EXPECT_EQ(printable(oneLine("x" + accents)), oneLine("x" + accents));
  Diagnostic note{Severity::Note, "m.onnx", "a\x1b", "b"};
  EXPECT_EQ(note.str(), "m.onnx: note: node 'a\\x1b': b");
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
