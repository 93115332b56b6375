//===- hash_test.cpp ------------------------------------------------------===//

#include "base/hash.h"

#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace kintsugi;

/// The numbers 0 to 250 over and over, as in the test vectors of BLAKE3's authors.
static std::string counted(size_t length) {
  std::string text(length, '\0');
  for (size_t i = 0; i < length; ++i)
    text[i] = static_cast<char>(i % 251);
  return text;
}

TEST(Blake3, AuthorsTestVectors) {
  const std::pair<size_t, const char *> vectors[] = {
      {0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
      {1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"},
      {1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"},
      {1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"},
      {2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030"},
      {102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"}};
  for (const auto &[length, expected] : vectors)
    EXPECT_EQ(blake3(counted(length)).hex(), expected) << length;
}

/// Every length around the block size, and every way to cut it in two.
TEST(Blake3, PiecesGiveTheSameDigest) {
  std::string text = counted(200);
  std::set<Digest> digests;
  for (size_t length = 0; length <= text.size(); ++length) {
    std::string_view whole = std::string_view(text).substr(0, length);
    Digest digest = blake3(whole);
    digests.insert(digest);
    for (size_t cut = 0; cut <= length; ++cut) {
      Blake3 pieces;
      pieces.update(whole.substr(0, cut));
      ASSERT_EQ(pieces.finish(), blake3(whole.substr(0, cut))); // More may come after.
      pieces.update(whole.substr(cut));
      ASSERT_EQ(pieces.finish(), digest) << length << " cut at " << cut;
    }
  }
  EXPECT_EQ(digests.size(), text.size() + 1);
}

TEST(Blake3, HexParsesBack) {
  Digest digest = blake3("abc");
  EXPECT_EQ(Digest::parse(digest.hex()), digest);
  EXPECT_FALSE(Digest::parse(""));
  EXPECT_FALSE(Digest::parse(digest.hex().substr(1)));
  EXPECT_FALSE(Digest::parse("g" + digest.hex().substr(1)));
  EXPECT_FALSE(Digest::parse("B" + digest.hex().substr(1)));
}

static Hash128 hashOf(auto... values) {
  Hasher hasher("test");
  (hasher.add(values), ...);
  return hasher.finish();
}

TEST(Hash128, TellsStructuresApart) {
  using std::string_view;
  std::vector<Hash128> hashes = {
      hashOf(),
      hashOf(0),
      hashOf(0, 0),
      hashOf(1),
      hashOf(1, 2),
      hashOf(2, 1),
      hashOf(0.0),
      hashOf(-0.0),
      hashOf(string_view("")),
      hashOf(string_view("a")),
      hashOf(string_view("ab")),
      hashOf(string_view("a"), string_view("b")),
      hashOf(string_view("\0", 1)),
      hashOf(string_view("\0\0", 2)),
      hashOf(string_view("0123456789abcdef")),
      hashOf(string_view("0123456789abcdef0")),
      hashOf(std::string(300, 'a')),
      hashOf(std::string(301, 'a')),
      hashOf(string_view("\1\1", 2), 1),
      hashOf(string_view("\1", 1), 1, 1),
      hashOf(hashOf(1)),
      hashOf(hashOf(1).low, hashOf(1).high),
      Hasher("other").finish(),
      Hasher().finish(),
  };
  EXPECT_EQ(std::set<Hash128>(hashes.begin(), hashes.end()).size(), hashes.size());
}

TEST(Hash128, IsTheSameInEveryRun) {
  EXPECT_EQ(hashOf(1, 2.5, std::string_view("three")).str(), "eaa053eeb7fd937905f6a60062c89d99");
}

TEST(Hash128, UnorderedIsAMultiset) {
  Hash128 a = hashOf(1), b = hashOf(2);
  auto unordered = [](std::vector<Hash128> hashes) {
    return Hasher().addUnordered(hashes).finish();
  };
  EXPECT_EQ(unordered({a, b}), unordered({b, a}));
  EXPECT_EQ(unordered({a, b, a}), unordered({a, a, b}));
  EXPECT_NE(unordered({a, b, a}), unordered({a, b, b}));
  EXPECT_NE(unordered({a}), unordered({a, a}));
}

/// Each half must be good on its own: tables index by one of them.
TEST(Hash128, ConsecutiveNumbersSpreadOverBothHalves) {
  std::set<uint32_t> low, high;
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    Hash128 hash = hashOf(i);
    low.insert(static_cast<uint32_t>(hash.low));
    high.insert(static_cast<uint32_t>(hash.high));
  }
  // By chance, 20,000 of 2^32 collide in 0.05 pairs.
  EXPECT_GE(low.size(), count - 2u);
  EXPECT_GE(high.size(), count - 2u);
}

TEST(Hash128, TextParsesBack) {
  Hash128 hash = hashOf(1);
  EXPECT_EQ(Hash128::parse(hash.str()), hash);
  EXPECT_FALSE(Hash128::parse("1234"));
  EXPECT_FALSE(Hash128::parse(hash.str() + "0"));
}
