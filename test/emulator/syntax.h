//===- syntax.h - The statements of a PTX text ------------------------------===//
//
// What of PTX ISA's grammar LLVM and the inline assembly of targets/nvidia write: names point into
// the text, which lives as long as they do.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_SYNTAX_H
#define KINTSUGI_TEST_EMULATOR_SYNTAX_H

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kintsugi::emulator {

struct Operand {
  enum class Kind {
    Name, ///< A register, a variable or a label.
    Number,
    Address, ///< "[name+offset, {parts}]"; without a name the offset is all.
    Vector,  ///< "{parts}".
    Sink     ///< "_".
  };
  enum class NumberForm { Integer, Float, Double };

  Kind kind = Kind::Sink;
  std::string_view name;
  std::string_view second; ///< Of "name|second".
  bool isNegated = false;  ///< "!name".
  NumberForm form = NumberForm::Integer;
  uint64_t bits = 0; ///< Of a number: the value, or the pattern of a floating-point one.
  int64_t offset = 0;
  std::vector<Operand> parts;
};

struct Variable {
  std::string_view name;
  uint64_t bytes = 0, alignment = 1;
  bool isOpen = false; ///< Of a size that a launch says.
  std::vector<std::byte> start;
};

struct Statement {
  enum class Kind { Instruction, Label, Registers, Open, Close, Local, Shared };

  Kind kind = Kind::Instruction;
  unsigned line = 0;
  std::string_view guard; ///< The predicate; "": none.
  bool isGuardNegated = false;
  std::string_view name; ///< The instruction with its suffixes, or the label.
  std::vector<Operand> operands;
  unsigned bits = 0; ///< Of registers; 1: predicates.
  /// Their names, and of "%r<5>" the count; 0: this one.
  std::vector<std::pair<std::string_view, unsigned>> registers;
  Variable variable;
};

struct Parameter {
  std::string_view name;
  uint64_t bytes, alignment;
};

struct EntryText {
  std::string_view name;
  std::vector<Parameter> parameters;
  unsigned mostThreads = 1024;
  unsigned clusterWidth = 0;
  std::vector<Statement> body;
};

struct ModuleText {
  std::string_view architecture;
  std::vector<EntryText> entries;
  std::vector<Variable> shared, global;
};

/// Throws a Fault that names the line.
ModuleText parse(std::string_view text);

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_SYNTAX_H
