//===- shared_object.cpp - Machine code made callable ---------------------===//

#include "devices/cpu/shared_object.h"

#include "base/checked.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace kintsugi;
using namespace kintsugi::devices;

namespace {
/// Reads records out of a file's bytes; nothing where they are outside.
class Records {
public:
  explicit Records(std::span<const std::byte> bytes) : bytes(bytes) {}

  template <typename T> std::optional<T> at(uint64_t offset, uint64_t index = 0) const {
    uint64_t start;
    if (__builtin_mul_overflow(index, sizeof(T), &start) ||
        __builtin_add_overflow(start, offset, &start) || !inRange(start, sizeof(T), bytes.size()))
      return std::nullopt;
    T record;
    std::memcpy(&record, bytes.data() + start, sizeof(T));
    return record;
  }

private:
  std::span<const std::byte> bytes;
};
} // namespace

static Error damaged(const char *what) {
  return inputError(std::string("the code object ") + what + "; compile the model again");
}

/// Every dynamic symbol but the first, which is empty by definition, must be defined.
static Status checkSymbols(const Records &records, const Elf64_Shdr &section) {
  for (uint64_t i = 1; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
    auto symbol = records.at<Elf64_Sym>(section.sh_offset, i);
    if (!symbol)
      return damaged("is cut short");
    if (symbol->st_shndx == SHN_UNDEF)
      return damaged("needs a symbol from outside");
  }
  return Status::success();
}

static Status checkDynamic(const Records &records, const Elf64_Shdr &section) {
  for (uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Dyn); ++i) {
    auto entry = records.at<Elf64_Dyn>(section.sh_offset, i);
    if (!entry)
      return damaged("is cut short");
    if (entry->d_tag == DT_NEEDED)
      return damaged("needs a library");
    if (entry->d_tag == DT_NULL)
      break;
  }
  return Status::success();
}

/// Whether the bytes are what abi/stage.h says of code objects.
static Status checkElf(std::span<const std::byte> bytes) {
  Records records(bytes);
  auto header = records.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN)
    return damaged("is not an ELF shared object");
  if (header->e_machine != EM_X86_64)
    return damaged("is for another architecture");
  if (header->e_shentsize != sizeof(Elf64_Shdr))
    return damaged("has no section headers");
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    auto section = records.at<Elf64_Shdr>(header->e_shoff, i);
    if (!section)
      return damaged("is cut short");
    if (section->sh_type == SHT_DYNSYM)
      KINTSUGI_RETURN_IF_ERROR(checkSymbols(records, *section));
    if (section->sh_type == SHT_DYNAMIC)
      KINTSUGI_RETURN_IF_ERROR(checkDynamic(records, *section));
  }
  return Status::success();
}

static Status writeAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return machineError("not enough memory to load the code object");
    bytes = bytes.subspan(written);
  }
  return Status::success();
}

Expected<SharedObject> SharedObject::load(std::span<const std::byte> bytes) {
  KINTSUGI_RETURN_IF_ERROR(checkElf(bytes));
  FileDescriptor file(memfd_create("kintsugi", MFD_CLOEXEC));
  if (!file.valid())
    return machineError(std::string("can't make a file in memory: ") + std::strerror(errno));
  KINTSUGI_RETURN_IF_ERROR(writeAll(file.get(), bytes));
  std::string path = "/proc/self/fd/" + std::to_string(file.get());
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return inputError(std::string("the code object does not load: ") + dlerror());
  return SharedObject(std::move(file), handle);
}

SharedObject::SharedObject(SharedObject &&other)
    : file(std::move(other.file)), handle(std::exchange(other.handle, nullptr)) {}

SharedObject::~SharedObject() {
  if (handle)
    dlclose(handle);
}

void *SharedObject::symbol(const std::string &name) const { return dlsym(handle, name.c_str()); }
