//===- variants_test.cpp - Artifacts for machines of several kinds ---------===//

#include "devices/cpu/cpu_device.h"
#include "fixture.h"
#include "resealed.h"
#include "runtime/context.h"
#include "runtime/model.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace kintsugi;
using namespace kintsugi::runtime;

namespace {

constexpr const char *rare = "an-instruction-no-processor-has";

/// The model twice: as it is, for machines with the rare instruction, and with a constant of its
/// own in the place of b, for those that have a plain one.
std::vector<std::byte> twoVariants(const char *plainFeature = "sse2") {
  Parts parts = affineParts();
  std::vector<std::byte> bytes;
  ArtifactWriter writer = ArtifactWriter::toMemory(bytes);
  Manifest best = parts.manifest, plain = parts.manifest;
  std::vector<uint64_t> offsets;
  for (const std::vector<std::byte> &constant : parts.constants)
    offsets.push_back(*writer.addConstant(constant));
  writer.endConstants("best");
  uint64_t own = *writer.addConstant(parts.constants[1]);
  writer.endConstants("plain");
  for (Buffer &buffer : plain.buffers)
    if (buffer.home == Home::constant(offsets[1]))
      buffer.home = Home::constant(own);
  best.code[0].features = {rare};
  plain.code[0].features = {plainFeature};
  EXPECT_TRUE(writer.addCode("baseline", parts.code).ok());
  EXPECT_TRUE(writer.addManifest("best", best).ok());
  EXPECT_TRUE(writer.addManifest("plain", plain).ok());
  EXPECT_TRUE(writer.finish().ok());
  return bytes;
}

ReadOptions onPlainMachine(std::string variant = "") {
  ReadOptions options;
  options.supports = [](std::string_view feature) { return feature != rare; };
  options.variant = std::move(variant);
  return options;
}

Error errorOf(std::span<const std::byte> bytes, const ReadOptions &options) {
  auto artifact = Artifact::fromMemory(bytes, "a.kin", options);
  EXPECT_FALSE(artifact.ok());
  return artifact.ok() ? Error{} : artifact.error();
}

TEST(Variants, theFirstThatRunsIsPicked) {
  std::vector<std::byte> bytes = twoVariants();
  auto best = Artifact::fromMemory(bytes, "a.kin"),
       plain = Artifact::fromMemory(bytes, "a.kin", onPlainMachine());
  ASSERT_TRUE(best.ok() && plain.ok());
  EXPECT_EQ(best->variant(), "best");
  EXPECT_EQ(plain->variant(), "plain");
  EXPECT_EQ(best->variants(), (std::vector<std::string>{"best", "plain"}));
  EXPECT_EQ(plain->manifest().code[0].features, std::vector<std::string>{"sse2"});
  EXPECT_EQ(best->constants().size(), 4036u);
  EXPECT_EQ(plain->constants().size(), 4096u + 4);
  EXPECT_EQ(best->constants()[4000], plain->constants()[4000]);
}

TEST(Variants, theOneAskedForIsPicked) {
  std::vector<std::byte> bytes = twoVariants();
  auto plain = Artifact::fromMemory(bytes, "a.kin", {.variant = "plain"});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->variant(), "plain");
  Error error = errorOf(bytes, {.variant = "other"});
  EXPECT_EQ(error.kind, ErrorKind::Usage);
  EXPECT_EQ(error.message, "a.kin: has no code for other; it has code for best and plain");
}

TEST(Variants, whatIsMissingIsNamed) {
  std::string missing = std::string("but this processor lacks ") + rare;
  Error error = errorOf(twoVariants(), onPlainMachine("best"));
  EXPECT_EQ(error.kind, ErrorKind::Machine);
  EXPECT_EQ(error.message,
            "a.kin: has code for best, " + missing + "; compile the model for this machine");
  error = errorOf(twoVariants(rare), onPlainMachine());
  EXPECT_EQ(error.kind, ErrorKind::Machine);
  EXPECT_EQ(error.message, "a.kin: has code for best and plain, " + missing +
                               "; compile the model for this machine");
}

TEST(Variants, codeForAnotherTargetIsNotAskedWhatItNeeds) {
  Parts parts = affineParts();
  parts.manifest.target = "nvidia";
  parts.manifest.code[0].features = {rare};
  std::string path = testing::TempDir() + "other_target.kin";
  ASSERT_TRUE(writeFileAtomic(path, parts.bytes()).ok());
  auto model = Model::load(path, std::make_shared<devices::CpuDevice>());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().kind, ErrorKind::Usage);
  EXPECT_EQ(model.error().message, path + ": compiled for target 'nvidia', which the device 'cpu' "
                                          "does not run; compile the model for it");
}

TEST(Variants, onThisMachineThePlainOneRuns) {
  std::string path = testing::TempDir() + "variants.kin";
  std::vector<std::byte> bytes = twoVariants();
  ASSERT_TRUE(writeFileAtomic(path, bytes).ok());
  auto model = Model::load(path, std::make_shared<devices::CpuDevice>());
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ((*model)->artifact().variant(), "plain");
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  std::vector<float> x = affineInput(), y(1000), best(5);
  std::vector<int64_t> where(5);
  const int64_t shape[] = {1000};
  InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), 4000}};
  OutputTensor outputs[] = {
      {"y", y.data(), 4000, {}}, {"best", best.data(), 20, {}}, {"where", where.data(), 40, {}}};
  Status status = (*context)->run(inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.error().message;
  std::vector<float> expected = affineExpected();
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y[i], std::tanh(expected[i]), 1e-6) << i;
}

TEST(Variants, onlyWhatTheVariantUsesIsChecked) {
  std::vector<std::byte> bytes = twoVariants();
  for (const KinArtifactSection &section : tableOf(bytes)) {
    bool isPlains = std::string_view(section.name) == "plain";
    bytes[section.offset] ^= std::byte{1};
    EXPECT_EQ(Artifact::fromMemory(bytes, "a.kin").ok(), isPlains) << section.name;
    EXPECT_FALSE(Artifact::fromMemory(bytes, "a.kin", onPlainMachine()).ok()) << section.name;
    bytes[section.offset] ^= std::byte{1};
  }
}

TEST(Variants, aManifestSeesNoConstantsOfLaterOnes) {
  Parts parts = affineParts();
  std::vector<std::byte> bytes;
  ArtifactWriter writer = ArtifactWriter::toMemory(bytes);
  writer.endConstants("best");
  for (const std::vector<std::byte> &constant : parts.constants)
    EXPECT_TRUE(writer.addConstant(constant).ok());
  writer.endConstants("plain");
  EXPECT_TRUE(writer.addCode("baseline", parts.code).ok());
  EXPECT_FALSE(writer.addManifest("best", parts.manifest).ok());
  EXPECT_TRUE(writer.addManifest("plain", parts.manifest).ok());
}

TEST(Variants, sealedLiesAreFound) {
  const std::vector<std::byte> good = twoVariants();
  auto with = [&](auto change) {
    std::vector<std::byte> bytes = good;
    auto table = tableOf(good);
    change(table);
    reseal(bytes, headerOf(good), table);
    return errorOf(bytes, onPlainMachine()).message;
  };
  using Table = std::vector<KinArtifactSection>;
  EXPECT_EQ(with([](Table &t) { std::swap(t[0], t[1]); }),
            "a.kin: damaged: the constants are not in one piece; compile the model again");
  EXPECT_EQ(with([](Table &t) { std::strcpy(t[1].name, "best"); }),
            "a.kin: damaged: constants is there twice");
  EXPECT_EQ(with([](Table &t) { std::strcpy(t[4].name, "best"); }),
            "a.kin: damaged: manifest is there twice");
  EXPECT_NE(with([](Table &t) {
              std::strcpy(t[1].name, "nobody");
            }).find("reaches past the end of the constants"),
            std::string::npos);
  EXPECT_NE(with([](Table &t) {
              std::swap(t[1].name, t[4].name), t[4].name[0] = 'P';
            }).find("reaches past the end of the constants"),
            std::string::npos);
}

TEST(Variants, randomSealedTablesDoNoHarm) {
  const std::vector<std::byte> good = twoVariants();
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes = good;
    auto table = tableOf(good);
    auto raw = std::as_writable_bytes(std::span(table));
    for (unsigned n = 1 + random() % 3; n != 0; --n)
      raw[random() % raw.size()] = std::byte(random() % 4 ? random() % 8 : random());
    if (random() % 2)
      std::swap(table[random() % table.size()], table[random() % table.size()]);
    reseal(bytes, headerOf(good), table);
    auto artifact = Artifact::fromMemory(bytes, "a.kin", onPlainMachine());
    if (artifact.ok())
      EXPECT_TRUE(artifact->manifest().validate(artifact->constants().size()).ok());
  }
}

} // namespace
