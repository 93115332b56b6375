#include "devices/cuda/machine_code.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <optional>

using namespace kintsugi;
using namespace kintsugi::devices::cuda;

bool devices::cuda::runsMachineCode(std::string_view architecture, int major, int minor) {
  // It runs on later devices of its generation, but for those that share a processor's memory.
  if (architecture == "sm_80")
    return major == 8 && (minor == 0 || minor == 6 || minor == 9);
  return architecture == "sm_90a" && major == 9 && minor == 0;
}

namespace {

/// The bytes as an ELF file, of whose parts all places are checked.
class ElfFile {
public:
  explicit ElfFile(std::span<const std::byte> bytes) : bytes(bytes) {}

  bool isWhole() const {
    std::optional<Elf64_Ehdr> header = read<Elf64_Ehdr>(0);
    constexpr unsigned char start[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
    if (!header || std::memcmp(header->e_ident, start, sizeof(start)) != 0 ||
        header->e_machine != EM_CUDA || header->e_shentsize != sizeof(Elf64_Shdr) ||
        (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr)))
      return false;
    for (uint64_t i = 0; i < header->e_phnum; ++i)
      if (!isSegment(read<Elf64_Phdr>(header->e_phoff, i)))
        return false;
    std::optional<Elf64_Shdr> first = read<Elf64_Shdr>(header->e_shoff);
    if (!first)
      return false;
    // More than the header can count are counted there.
    uint64_t count = header->e_shnum > 0 ? header->e_shnum : first->sh_size;
    uint64_t ofNames = header->e_shstrndx == SHN_XINDEX ? first->sh_link : header->e_shstrndx;
    if (ofNames == 0 || ofNames >= count) // The first is none.
      return false;
    std::optional<Elf64_Shdr> names = read<Elf64_Shdr>(header->e_shoff, ofNames);
    if (!names || names->sh_type != SHT_STRTAB)
      return false;
    for (uint64_t i = 1; i < count; ++i) { // Ends where the bytes do.
      std::optional<Elf64_Shdr> section = read<Elf64_Shdr>(header->e_shoff, i);
      if (!isSection(section, count) || section->sh_name >= names->sh_size)
        return false;
    }
    return true;
  }

private:
  bool holds(uint64_t start, uint64_t size) const {
    return start <= bytes.size() && size <= bytes.size() - start;
  }

  /// Entry `index` of a table.
  template <typename T> std::optional<T> read(uint64_t table, uint64_t index = 0) const {
    uint64_t start;
    if (__builtin_mul_overflow(index, sizeof(T), &start) ||
        __builtin_add_overflow(table, start, &start) || !holds(start, sizeof(T)))
      return std::nullopt;
    T entry;
    std::memcpy(&entry, &bytes[start], sizeof(T));
    return entry;
  }

  bool isSegment(const std::optional<Elf64_Phdr> &segment) const {
    return segment && holds(segment->p_offset, segment->p_filesz);
  }

  /// Tables of symbols and relocations name another section, of strings or symbols.
  bool isSection(const std::optional<Elf64_Shdr> &section, uint64_t count) const {
    if (!section || section->sh_link >= count)
      return false;
    if (section->sh_type == SHT_NOBITS)
      return true;
    if (!holds(section->sh_offset, section->sh_size))
      return false;
    return section->sh_type != SHT_STRTAB || section->sh_size == 0 ||
           bytes[section->sh_offset + section->sh_size - 1] == std::byte(0);
  }

  std::span<const std::byte> bytes;
};

} // namespace

Status devices::cuda::checkMachineCode(std::span<const std::byte> bytes) {
  if (!ElfFile(bytes).isWhole())
    return inputError("is not the machine code of a GPU, or damaged; compile the model again");
  return Status::success();
}
