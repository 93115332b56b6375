//===- machine_code_test.cpp - Code of a GPU that is compiled already -----===//

#include "devices/cuda/cuda_device.h"
#include "devices/cuda/machine_code.h"

#include "cuda_parts.h"
#include "fake_driver.h"
#include "runtime/model.h"

#include <algorithm>
#include <elf.h>
#include <functional>

using namespace kintsugi;
using namespace kintsugi::runtime;
using devices::CudaDevice;
using devices::cuda::checkMachineCode;

namespace {

/// As an assembler lays it out: a segment with eight bytes of code, names, and a section without
/// bytes.
struct Elf {
  Elf64_Ehdr header = {};
  Elf64_Phdr segment = {};
  Elf64_Shdr sections[4] = {};
  char names[8] = "\0names";
  uint64_t code = 1;

  Elf() {
    std::memcpy(header.e_ident, "\177ELF\2\1\1", 7);
    header.e_machine = EM_CUDA;
    header.e_phoff = offsetof(Elf, segment);
    header.e_phentsize = sizeof(segment);
    header.e_phnum = 1;
    header.e_shoff = offsetof(Elf, sections);
    header.e_shentsize = sizeof(sections[0]);
    header.e_shnum = 4;
    header.e_shstrndx = 1;
    segment.p_offset = offsetof(Elf, code);
    segment.p_filesz = sizeof(code);
    sections[1].sh_type = SHT_STRTAB;
    sections[1].sh_offset = offsetof(Elf, names);
    sections[1].sh_size = sizeof(names);
    sections[2].sh_type = SHT_PROGBITS;
    sections[2].sh_offset = offsetof(Elf, code);
    sections[2].sh_size = sizeof(code);
    sections[3].sh_type = SHT_NOBITS;
    sections[3].sh_offset = sizeof(Elf);
    sections[3].sh_size = 1 << 20;
  }

  std::vector<std::byte> bytes() const {
    auto all = std::as_bytes(std::span(this, 1));
    return {all.begin(), all.end()};
  }
};

class MachineCode : public FakeDriverTest {
protected:
  static Parts partsFor(const char *architecture) {
    Parts parts = cudaParts(affineParts());
    parts.machineCode = Elf().bytes();
    parts.manifest.code = {{"baseline", {architecture}, false, {}, "cubin"}};
    return parts;
  }

  /// The section that was loaded, or what is wrong with the artifact.
  static std::string loaded(const Parts &parts) {
    auto device = CudaDevice::open(0, FAKE_CUDA);
    EXPECT_TRUE(device.ok()) << device.error().message;
    auto artifact = Artifact::fromMemory(parts.bytes(), "test.kin", {});
    if (!artifact.ok())
      return artifact.error().message;
    auto model = Model::create(std::move(*artifact), *device);
    return model.ok() ? std::string((*model)->program().codeSection()) : model.error().message;
  }
};

} // namespace

TEST_F(MachineCode, IsLoadedWhereTheDeviceRunsIt) {
  struct Case {
    int major, minor;
    const char *architecture;
    bool runs;
  };
  for (Case each : {Case{8, 0, "sm_80", true},
                    {8, 6, "sm_80", true},
                    {8, 9, "sm_80", true},
                    {8, 7, "sm_80", false}, // Not a device of its own.
                    {9, 0, "sm_80", false},
                    {10, 0, "sm_80", false},
                    {9, 0, "sm_90a", true}}) {
    fake->major = each.major;
    fake->minor = each.minor;
    fake->textsLoaded = 0;
    EXPECT_EQ(loaded(partsFor(each.architecture)), each.runs ? "cubin" : "baseline");
    EXPECT_EQ(fake->loadedText, each.runs ? "machine code" : "the stages of the fixture");
    EXPECT_EQ(fake->textsLoaded, each.runs ? 0 : 1);
  }
}

TEST_F(MachineCode, GivesWayToTheTextWhereTheDriverRefusesIt) {
  fake->refusedCode = 1;
  EXPECT_EQ(loaded(partsFor("sm_90a")), "baseline");
  EXPECT_EQ(fake->loadedText, "the stages of the fixture");
  EXPECT_EQ(loaded(partsFor("sm_90a")), "cubin");
}

TEST_F(MachineCode, BelongsToTheCodeThatWasChosen) {
  Parts both = partsFor("sm_90a");
  both.manifest.code.push_back({"baseline", {"sm_80"}});
  EXPECT_EQ(loaded(both), "cubin");
  fake->major = 8;
  EXPECT_EQ(loaded(both), "baseline");
}

TEST_F(MachineCode, IsRefusedWhereItIsDamaged) {
  Parts damaged = partsFor("sm_90a");
  damaged.machineCode.resize(damaged.machineCode.size() - 1);
  EXPECT_EQ(loaded(damaged), "test.kin: cubin: is not the machine code of a GPU, or damaged; "
                             "compile the model again");
  EXPECT_EQ(fake->loadedText, "");
  std::vector<std::byte> bytes = partsFor("sm_90a").bytes();
  auto code = std::search(bytes.begin(), bytes.end(), damaged.machineCode.begin(),
                          damaged.machineCode.end());
  ASSERT_NE(code, bytes.end());
  code[50] ^= std::byte(1);
  auto artifact = Artifact::fromMemory(bytes, "test.kin", {});
  ASSERT_FALSE(artifact.ok());
  EXPECT_NE(artifact.error().message.find("section 'cubin' does not have its digest"),
            std::string::npos);
}

TEST_F(MachineCode, HasToBeThere) {
  Parts without = partsFor("sm_90a");
  without.machineCode.clear();
  EXPECT_EQ(loaded(without), "test.kin: manifest: the machine code 'cubin' is not there");
}

TEST(CheckMachineCode, LooksWhetherAllPartsLieInTheBytes) {
  EXPECT_TRUE(checkMachineCode(Elf().bytes()).ok());
  const std::function<void(Elf &)> mistakes[] = {
      [](Elf &elf) { elf.header.e_ident[0] = 'E'; },
      [](Elf &elf) { elf.header.e_ident[EI_CLASS] = ELFCLASS32; },
      [](Elf &elf) { elf.header.e_ident[EI_DATA] = ELFDATA2MSB; },
      [](Elf &elf) { elf.header.e_machine = EM_X86_64; },
      [](Elf &elf) { elf.header.e_shentsize = 8; },
      [](Elf &elf) { elf.header.e_phentsize = 8; },
      [](Elf &elf) { elf.header.e_shoff = sizeof(Elf); },
      [](Elf &elf) { elf.header.e_shoff = uint64_t(-64); },
      [](Elf &elf) { elf.header.e_shnum = 1000; },
      [](Elf &elf) { elf.header.e_shnum = 0, elf.sections[0].sh_size = uint64_t(-1); },
      [](Elf &elf) { elf.header.e_phnum = 1000; },
      [](Elf &elf) { elf.header.e_phoff = uint64_t(-8); },
      [](Elf &elf) { elf.header.e_shstrndx = 2; },
      [](Elf &elf) { elf.header.e_shstrndx = 9; },
      [](Elf &elf) { elf.segment.p_offset += 1; },
      [](Elf &elf) { elf.segment.p_filesz = uint64_t(-1); },
      [](Elf &elf) { elf.sections[2].sh_size = 9; },
      [](Elf &elf) { elf.sections[2].sh_offset = uint64_t(-4); },
      [](Elf &elf) { elf.sections[2].sh_link = 4; },
      [](Elf &elf) { std::memset(elf.names, 'n', sizeof(elf.names)); }};
  for (const auto &make : mistakes) {
    Elf elf;
    make(elf);
    EXPECT_FALSE(checkMachineCode(elf.bytes()).ok()) << &make - mistakes;
  }
  Elf counted; // In the first section, as files of very many sections do.
  counted.header.e_shnum = 0;
  counted.sections[0].sh_size = 4;
  EXPECT_TRUE(checkMachineCode(counted.bytes()).ok());
  std::vector<std::byte> bytes = Elf().bytes();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(checkMachineCode(std::span(bytes).first(size)).ok()) << size;
}
