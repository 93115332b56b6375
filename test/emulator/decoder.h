//===- decoder.h - From statements to what is executed ----------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_DECODER_H
#define KINTSUGI_TEST_EMULATOR_DECODER_H

#include "fault.h"
#include "program.h"
#include "warp.h"

namespace kintsugi::emulator {

enum class Type {
  None,
  Pred,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  F32,
  F64
};

Type typeOf(std::string_view suffix); ///< Bits are numbers without a sign.
unsigned bytesOf(Type type);
inline bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }
inline bool isFloat(Type type) { return type >= Type::F16; }

/// An instruction's name in parts.
class Suffixes {
public:
  explicit Suffixes(std::string_view name);

  std::string_view head;
  std::vector<std::string_view> rest;

  bool has(std::string_view suffix) const;
  Type type(size_t fromEnd = 0) const; ///< Of the last part, or so many ahead.
};

class Decoder {
public:
  Decoder(const EntryText &entry, const ModuleText &module, const Globals &globals);
  Program decode();

  // What the decoders of single instructions use.
  const Statement *statement = nullptr;
  const Suffixes *suffixes = nullptr;

  const Operand &operand(size_t number) const;
  bool has(size_t number) const { return number < statement->operands.size(); }
  /// The place of a value of so many bytes: a register's or a constant's.
  uint32_t value(const Operand &operand, unsigned bytes);
  uint32_t value(size_t number, unsigned bytes) { return value(operand(number), bytes); }
  /// Where a result goes, noRegister for a sink, and how wide it is there.
  uint32_t result(const Operand &operand, uint8_t *bytes = nullptr);
  uint32_t result(size_t number) { return result(operand(number)); }
  uint32_t predicate(const Operand &operand);
  uint8_t widthOf(const Operand &operand); ///< Of a register; 0: it is none, or a predicate.
  void address(const Operand &operand, Instruction &instruction);
  uint64_t integer(const Operand &operand); ///< A number that the text says.
  uint32_t label(const Operand &operand) const;
  void list(const std::vector<uint32_t> &places, Instruction &instruction);
  bool isParameter(const Operand &operand, uint32_t &place) const;
  [[noreturn]] void fail(const std::string &what) const;
  Program program;

private:
  struct Register {
    uint32_t place;
    uint8_t bytes; ///< 0: a predicate.
  };
  struct Scope {
    std::unordered_map<std::string_view, Register> names;
    /// Of "%r<5>": the first, and how many.
    std::unordered_map<std::string_view, std::pair<Register, unsigned>> ranges;
    std::unordered_map<std::string_view, uint32_t> labels;
  };

  void placeParameters();
  void placeShared();
  void placeLabels();
  void declare(const Statement &registers);
  void decodeInstruction(const Statement &from);
  const Register *find(std::string_view name) const;
  bool findVariable(std::string_view name, uint64_t &place) const;
  uint32_t constant(uint64_t bits, unsigned bytes);
  uint32_t newPlace(unsigned bytes);
  uint16_t nameNumber(std::string_view name);

  const EntryText &entry;
  const ModuleText &module;
  const Globals &globals;
  std::vector<Scope> scopes;
  std::vector<std::unordered_map<std::string_view, uint32_t>>
      labelsOfScopes;             ///< In the text's order.
  std::vector<size_t> openScopes; ///< Numbers of those.
  std::unordered_map<std::string_view, uint64_t> variables;
  std::unordered_map<uint64_t, uint32_t> constants[9];
  std::unordered_map<std::string_view, uint16_t> nameNumbers;
};

/// Sets an instruction's step and what it uses.
using Decode = void (*)(Decoder &, Instruction &);
using DecodeTable = std::unordered_map<std::string_view, Decode>;

void addIntegers(DecodeTable &table);
void addFloats(DecodeTable &table);
void addMoves(DecodeTable &table);
void addComparisons(DecodeTable &table);
void addConversions(DecodeTable &table);
void addMemory(DecodeTable &table);
void addAtomics(DecodeTable &table);
void addControl(DecodeTable &table);
void addExchanges(DecodeTable &table);
void addMatrices(DecodeTable &table);
void addCopies(DecodeTable &table);

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_DECODER_H
