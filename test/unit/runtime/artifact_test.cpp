//===- artifact_test.cpp - Artifacts are written, read and distrusted -----===//

#include "runtime/artifact.h"

#include "base/hash.h"
#include "devices/cpu/cpu_device.h"
#include "devices/null/null_device.h"
#include "fixture.h"
#include "resealed.h"
#include "runtime/model.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

using namespace kintsugi;
using namespace kintsugi::runtime;

namespace {

std::string readError(std::span<const std::byte> bytes, ReadOptions options = {}) {
  auto artifact = Artifact::fromMemory(bytes, "a.kin", options);
  return artifact.ok() ? "" : artifact.error().message;
}

/// Replaces the manifest by a text of the same length or less, with right digests.
void replaceManifest(std::vector<std::byte> &bytes, std::string text) {
  auto table = tableOf(bytes);
  for (KinArtifactSection &section : table)
    if (section.kind == KIN_SECTION_MANIFEST) {
      text.resize(section.bytes, ' ');
      std::memcpy(bytes.data() + section.offset, text.data(), text.size());
      Digest digest = blake3(std::as_bytes(std::span(text)));
      std::memcpy(section.digest, digest.bytes.data(), 32);
    }
  reseal(bytes, headerOf(bytes), table);
}

/// How many bytes of the mapping that holds `address` are in this process's memory.
uint64_t residentAround(const void *address) {
  std::ifstream mappings("/proc/self/smaps");
  std::string line;
  for (bool inside = false; std::getline(mappings, line);) {
    uint64_t begin = 0, end = 0, kilobytes = 0;
    auto at = reinterpret_cast<uintptr_t>(address);
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " ", &begin, &end) == 2)
      inside = begin <= at && at < end;
    else if (inside && std::sscanf(line.c_str(), "Rss: %" SCNu64 " kB", &kilobytes) == 1)
      return kilobytes * 1024;
  }
  return 0;
}

} // namespace

TEST(Artifact, GivesBackWhatWasWritten) {
  Parts parts = affineParts();
  std::string path = parts.file("affine.kin");
  auto artifact = Artifact::open(path);
  ASSERT_TRUE(artifact.ok()) << artifact.error().message;
  EXPECT_EQ(artifact->manifest(), parts.manifest);
  EXPECT_TRUE(std::ranges::equal(artifact->code("baseline"), parts.code));
  EXPECT_TRUE(artifact->code("other").empty());
  EXPECT_EQ(artifact->constants().size(), 4036u);
  EXPECT_EQ(std::memcmp(artifact->constants().data(), parts.constants[0].data(), 4000), 0);
  EXPECT_EQ(std::memcmp(artifact->constants().data() + 4032, parts.constants[1].data(), 4), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(artifact->constants().data()) % KIN_ARTIFACT_PAGE, 0u);
  EXPECT_EQ(parseJson(artifact->provenance()).ok(), true);
}

TEST(Artifact, IsTheSameBytesInAFileAndInMemory) {
  Parts parts = affineParts();
  auto file = MappedFile::open(parts.file("same.kin"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(std::ranges::equal(file->bytes(), parts.bytes()));
}

TEST(Artifact, ConstantsMayBeStreamedInPieces) {
  std::vector<std::byte> bytes, piece(100, std::byte{7});
  ArtifactWriter writer = ArtifactWriter::toMemory(bytes);
  EXPECT_EQ(*writer.addConstant({}), 0u);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(writer.appendConstant(piece).ok());
  EXPECT_EQ(*writer.addConstant(piece), 320u);
  EXPECT_EQ(writer.constantBytes(), 420u);
  ASSERT_TRUE(writer.finish(Manifest()).ok());
  auto artifact = Artifact::fromMemory(bytes, "a.kin");
  ASSERT_TRUE(artifact.ok()) << artifact.error().message;
  EXPECT_EQ(artifact->constants()[299], std::byte{7});
  EXPECT_EQ(artifact->constants()[300], std::byte{0});
  EXPECT_EQ(artifact->constants()[320], std::byte{7});
}

TEST(Artifact, CheckingAFileLeavesItOutOfMemory) {
  constexpr size_t size = (size_t(6) << 20) + 100;
  std::string path = testing::TempDir() + "table.kin";
  auto writer = ArtifactWriter::toFile(path);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->addConstant(std::vector<std::byte>(size, std::byte{7})).ok());
  ASSERT_TRUE(writer->finish(Manifest()).ok());
  auto artifact = Artifact::open(path);
  ASSERT_TRUE(artifact.ok()) << artifact.error().message;
  auto constants = artifact->constants();
  ASSERT_EQ(constants.size(), size);
  EXPECT_LT(residentAround(constants.data()), size / 8) << "a run may never need it";
  EXPECT_TRUE(std::ranges::all_of(constants, [](std::byte b) { return b == std::byte{7}; }));
  EXPECT_GT(residentAround(constants.data()), size - size / 8);
}

TEST(Artifact, AnUnfinishedFileLeavesNothing) {
  std::string folder = testing::TempDir() + "unfinished";
  std::filesystem::create_directory(folder);
  {
    auto writer = ArtifactWriter::toFile(folder + "/a.kin");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->addConstant(std::vector<std::byte>(100)).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(Artifact, AnInconsistentManifestIsNotWritten) {
  std::vector<std::byte> bytes;
  ArtifactWriter writer = ArtifactWriter::toMemory(bytes);
  auto digest = writer.finish(affineParts().manifest); // Its constants are missing.
  ASSERT_FALSE(digest.ok());
  EXPECT_EQ(digest.error().kind, ErrorKind::Internal);
}

TEST(Artifact, EveryFlippedBitIsFound) {
  std::vector<std::byte> bytes = affineParts().bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    // One bit of every byte where a mistake is interesting, of every 61st elsewhere.
    bool dense = at < 64 || at >= bytes.size() - 5 * sizeof(KinArtifactSection);
    if (!dense && at % 61 != 0)
      continue;
    auto bit = static_cast<std::byte>(1 << at % 8);
    bytes[at] ^= bit;
    EXPECT_NE(readError(bytes), "") << at;
    bytes[at] ^= bit;
  }
  EXPECT_EQ(readError(bytes), "");
}

TEST(Artifact, EveryTruncationIsFound) {
  std::vector<std::byte> bytes = affineParts().bytes();
  for (size_t size = 0; size < bytes.size(); size += size < 100 ? 1 : 97)
    EXPECT_NE(readError(std::span(bytes).first(size)), "") << size;
}

TEST(Artifact, DamageIsNamed) {
  const std::vector<std::byte> good = affineParts().bytes();
  auto table = tableOf(good);
  auto damaged = [&](uint64_t at) {
    std::vector<std::byte> bytes = good;
    bytes[at] ^= std::byte{1};
    return readError(bytes);
  };
  std::string advice = " does not have its digest; copy the file again or compile the model again";
  EXPECT_EQ(damaged(0), "a.kin: not an artifact: it does not begin with KINTSUGI");
  EXPECT_EQ(damaged(8), "a.kin: an artifact of version 2, this runtime reads version 3; compile "
                        "the model again");
  EXPECT_EQ(damaged(33), "a.kin: damaged: the table of sections" + advice);
  EXPECT_EQ(damaged(sectionOf(table, KIN_SECTION_CONSTANTS).offset),
            "a.kin: damaged: the constants" + advice);
  EXPECT_EQ(damaged(sectionOf(table, KIN_SECTION_CODE).offset),
            "a.kin: damaged: the section 'baseline'" + advice);
  EXPECT_EQ(damaged(sectionOf(table, KIN_SECTION_MANIFEST).offset),
            "a.kin: damaged: the manifest" + advice);
  EXPECT_EQ(damaged(sectionOf(table, KIN_SECTION_PROVENANCE).offset),
            "a.kin: damaged: the provenance" + advice);
  EXPECT_EQ(damaged(100),
            "a.kin: damaged: there is something between the sections; copy the file again "
            "or compile the model again");
  EXPECT_EQ(readError({}), "a.kin: not an artifact: it has 0 bytes");
}

TEST(Artifact, ConstantsAreHashedUnlessToldOtherwise) {
  std::vector<std::byte> bytes = affineParts().bytes();
  bytes[sectionOf(tableOf(bytes), KIN_SECTION_CONSTANTS).offset] ^= std::byte{1};
  EXPECT_NE(readError(bytes), "");
  EXPECT_EQ(readError(bytes, {.verifyConstants = false}), "");
}

TEST(Artifact, SealedLiesAboutSectionsAreFound) {
  const std::vector<std::byte> good = affineParts().bytes();
  auto with = [&](auto change) {
    std::vector<std::byte> bytes = good;
    KinArtifactHeader header = headerOf(good);
    auto table = tableOf(good);
    change(header, table);
    reseal(bytes, header, table);
    return readError(bytes);
  };
  using Header = KinArtifactHeader;
  using Table = std::vector<KinArtifactSection>;
  std::string outside = "a.kin: damaged: section 1 is outside the file or not aligned";
  EXPECT_EQ(with([](Header &, Table &) {}), "");
  EXPECT_EQ(with([](Header &, Table &t) { t[1].offset = uint64_t(-4096); }), outside);
  EXPECT_EQ(with([](Header &, Table &t) { t[1].offset += 8; }), outside);
  EXPECT_EQ(with([](Header &, Table &t) { t[1].offset = 0; }), outside);
  EXPECT_EQ(with([](Header &, Table &t) { t[1].bytes = uint64_t(-1); }), outside);
  EXPECT_EQ(with([](Header &, Table &t) { t[1].reserved = 1; }), outside);
  EXPECT_EQ(with([](Header &, Table &t) { std::memset(t[1].name, 'x', sizeof(t[1].name)); }),
            "a.kin: damaged: section 1 has no valid name");
  EXPECT_EQ(with([](Header &, Table &t) { t[1].name[0] = '\n'; }),
            "a.kin: damaged: section 1 has no valid name");
  EXPECT_EQ(with([](Header &, Table &t) { t[1] = t[0]; }),
            "a.kin: damaged: constants is there twice");
  EXPECT_EQ(with([](Header &h, Table &) { h.section_count = 0xffffffff; }),
            "a.kin: damaged: the table of sections is not where the header says");
  EXPECT_EQ(with([](Header &h, Table &) { h.table_offset = uint64_t(-8); }),
            "a.kin: damaged: the table of sections is not where the header says");
  EXPECT_EQ(with([](Header &, Table &t) { t[1].kind = 99; }),
            "a.kin: manifest: the code object 'baseline' is not there");
}

TEST(Artifact, SealedLiesInTheManifestAreFound) {
  std::vector<std::byte> bytes = affineParts().bytes();
  replaceManifest(bytes, "{");
  EXPECT_EQ(readError(bytes).substr(0, 34), "a.kin: manifest: not valid JSON at");
  replaceManifest(bytes, std::string(1000, '['));
  EXPECT_EQ(readError(bytes).substr(0, 46), "a.kin: manifest: JSON nests deeper than 64 lev");
  replaceManifest(bytes, "[]");
  EXPECT_EQ(readError(bytes), "a.kin: manifest: the manifest is not an object");
  Json json = affineParts().manifest.toJson();
  for (int version : {4, 6}) {
    json["version"] = version;
    replaceManifest(bytes, printJson(json));
    EXPECT_EQ(readError(bytes), "a.kin: manifest: the manifest has version " +
                                    std::to_string(version) +
                                    ", this runtime reads version 5; compile the model again");
  }
  json = affineParts().manifest.toJson();
  json["buffers"][3]["home"] = {{"arena", 1 << 20}};
  replaceManifest(bytes, printJson(json));
  EXPECT_EQ(readError(bytes), "a.kin: manifest: buffer 't': reaches past the end of the arena");
}

TEST(Artifact, RandomMutationsOfASealedManifestDoNoHarm) {
  std::string text = printJson(affineParts().manifest.toJson());
  std::vector<std::byte> bytes = affineParts().bytes();
  std::mt19937 random(1);
  const std::string_view pieces[] = {"0", "9", "-", "\"", "{", "}", "[", "]", ",", ":", "e", "\\"};
  for (int i = 0; i < 500; ++i) {
    std::string mutated = text;
    for (unsigned n = 1 + random() % 3; n != 0; --n)
      mutated[random() % mutated.size()] = pieces[random() % std::size(pieces)][0];
    replaceManifest(bytes, mutated);
    auto artifact = Artifact::fromMemory(bytes, "a.kin");
    if (artifact.ok()) // Then at least it holds together.
      EXPECT_TRUE(artifact->manifest().validate(artifact->constants().size()).ok());
  }
}

namespace {
std::string loadError(const Parts &parts, std::shared_ptr<Device> device = nullptr) {
  auto artifact = Artifact::fromMemory(parts.bytes(), "a.kin");
  EXPECT_TRUE(artifact.ok()) << artifact.error().message;
  if (!device)
    device = std::make_shared<devices::CpuDevice>();
  auto model = Model::create(std::move(*artifact), std::move(device));
  return model.ok() ? "" : model.error().message;
}
} // namespace

TEST(Model, SaysWhyItCantRunHere) {
  Parts parts = affineParts();
  EXPECT_EQ(loadError(parts), "");
  parts.manifest.target = "nvidia";
  EXPECT_EQ(loadError(parts),
            "a.kin: compiled for target 'nvidia', which the device 'cpu' does not run; "
            "compile the model for it");
  parts = affineParts();
  parts.manifest.code = {{"baseline", {"sse2", "avx1024", "quantum"}}};
  EXPECT_EQ(loadError(parts), "a.kin: this processor lacks what the code needs (avx1024, quantum); "
                              "compile the model for this machine");
  parts.manifest.code = {};
  EXPECT_EQ(loadError(parts), "a.kin: the artifact has kernels but no code");
}

TEST(Model, TakesTheFirstCodeThatRunsHere) {
  Parts parts = affineParts();
  parts.manifest.code = {{"baseline", {"quantum"}}, {"baseline", {"x86-64"}}};
  EXPECT_EQ(loadError(parts), "");
}

TEST(Model, CodeThatBreaksTheRulesIsRefused) {
  Parts parts = affineParts();
  parts.manifest.stages[0].symbol = "missing";
  EXPECT_EQ(loadError(parts), "a.kin: the code has no function 'missing'; compile the model again");
  parts = affineParts();
  parts.code = needyObject();
  EXPECT_EQ(loadError(parts), "a.kin: baseline: the code object needs a symbol from outside; "
                              "compile the model again");
  parts.code.resize(100);
  EXPECT_EQ(loadError(parts),
            "a.kin: baseline: the code object is cut short; compile the model again");
  parts.code.assign(100, std::byte{1});
  EXPECT_EQ(loadError(parts),
            "a.kin: baseline: the code object is not an ELF shared object; compile the model "
            "again");
}

TEST(Model, CallsAreCheckedAgainstTheirRules) {
  Parts parts = affineParts();
  Stage &call = parts.manifest.stages[2];
  call.symbol = "Nonsense";
  EXPECT_EQ(loadError(parts), "a.kin: call 'Nonsense': this runtime has no such call");
  parts = affineParts();
  parts.manifest.stages[2].attributes = {{"k", 1001}};
  EXPECT_EQ(loadError(parts), "a.kin: call 'TopK': k is 1001, but there are 1000 elements along "
                              "the axis");
  parts.manifest.stages[2].attributes = {{"k", 4}};
  EXPECT_EQ(loadError(parts), "a.kin: call 'TopK': its results have other types or shapes than "
                              "the manifest says");
}

TEST(Model, SeveralAtOnceKeepTheirOwnCode) {
  // Both shared objects export "affine"; the loader must not take one for the other.
  auto device = std::make_shared<devices::CpuDevice>();
  std::vector<std::shared_ptr<const Model>> models;
  for (int i = 0; i < 4; ++i) {
    auto artifact = Artifact::fromMemory((i % 2 ? loopParts() : affineParts()).bytes(), "a.kin");
    ASSERT_TRUE(artifact.ok());
    auto model = Model::create(std::move(*artifact), device);
    ASSERT_TRUE(model.ok()) << model.error().message;
    models.push_back(*model);
    if (i == 2)
      models.erase(models.begin());
  }
}
