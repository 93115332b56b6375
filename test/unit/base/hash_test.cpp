//===- hash_test.cpp ------------------------------------------------------===//

#include "base/hash.h"

#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace kintsugi;

TEST(Sha256, StandardsExamples) {
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc").hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/// Every length around the block size, and every way to cut it in two.
TEST(Sha256, PiecesGiveTheSameDigest) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += static_cast<char>(i * 37 + 11);
  std::set<Digest> digests;
  for (size_t length = 0; length <= text.size(); ++length) {
    std::string_view whole = std::string_view(text).substr(0, length);
    Digest digest = sha256(whole);
    digests.insert(digest);
    for (size_t cut = 0; cut <= length; ++cut) {
      Sha256 pieces;
      pieces.update(whole.substr(0, cut)).update(whole.substr(cut));
      ASSERT_EQ(pieces.finish(), digest) << length << " cut at " << cut;
    }
  }
  EXPECT_EQ(digests.size(), text.size() + 1);
}

TEST(Sha256, HexParsesBack) {
  Digest digest = sha256("abc");
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
