//===- program.h - An entry that is ready to be executed --------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_PROGRAM_H
#define KINTSUGI_TEST_EMULATOR_PROGRAM_H

#include "syntax.h"

#include <string>
#include <unordered_map>

namespace kintsugi::emulator {

class Warp;
struct Instruction;

/// What an instruction does to the lanes of its warp that are in the warp's mask.
using Step = void (*)(Warp &, const Instruction &);

inline constexpr uint32_t noRegister = ~uint32_t(0);
inline constexpr unsigned warpLanes = 32;
inline constexpr uint32_t allLanes = ~uint32_t(0);

/// Registers are named by the byte at which their lanes begin among those of a warp; a predicate is
/// a mask of 4 bytes. Which fields mean something depends on the step.
struct Instruction {
  Step step = nullptr;
  uint32_t guard = noRegister;
  bool isGuardNegated = false;
  bool isFloating = false; ///< A later step may find what products haven't left there yet.
  bool isCopy = false;     ///< Which may be of what products haven't left there yet.
  uint8_t bytes = 0;       ///< Of an element in memory, or of a register.
  uint8_t fromBytes = 0;
  uint8_t baseBytes = 0; ///< Of the register of an address; 0: the address is a constant.
  uint8_t way = 0;       ///< A comparison, a kind of rounding, ...
  uint16_t flags = 0;
  uint16_t name = 0;
  uint32_t line = 0;
  uint32_t to = noRegister, second = noRegister, a = 0, b = 0, c = 0, d = 0;
  uint32_t base = 0; ///< Of an address.
  int64_t offset = 0;
  uint64_t number = 0;
  uint32_t list = 0, count = 0; ///< Of the program's lists of registers.
  uint32_t target = 0;
};

struct Program {
  std::string name;
  std::vector<Instruction> code;
  std::vector<uint32_t> lists;
  std::vector<std::string> names; ///< Of instructions, as the text has them.
  uint32_t registerBytes = 0;     ///< Of a warp.
  std::vector<std::pair<uint32_t, std::vector<std::byte>>> constants; ///< By place.
  std::vector<Parameter> parameters;
  std::vector<uint32_t> parameterPlaces;
  uint32_t parameterBytes = 0;
  uint32_t localBytes = 0;    ///< Of a thread.
  uint32_t declaredBytes = 0; ///< Of shared memory.
  uint32_t openAlignment = 16;
  bool usesOpen = false; ///< Shared memory of a size that the launch says.
  bool waitsForLaunches = false;
  unsigned mostThreads = 1024, clusterWidth = 0;
};

/// Where a module's variables lie.
using Globals = std::unordered_map<std::string_view, uint64_t>;

Program decode(const EntryText &entry, const ModuleText &module, const Globals &globals);

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_PROGRAM_H
