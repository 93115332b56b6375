// A tile program from standard input, verified and printed in some form:
//   tile-opt [tile|llvm|asm] [LEVEL] < FILE
#include "targets/cpu/cpu.h"
#include "tile/program.h"

#include <iostream>
#include <iterator>

using namespace kintsugi;

static int fail(const Error &error) {
  std::cerr << error.message << "\n";
  return static_cast<int>(error.kind);
}

int main(int count, char **words) {
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  auto program = tile::parseTileProgram(text, "<stdin>");
  if (!program.ok())
    return fail(program.error());
  std::string form = count > 1 ? words[1] : "tile";
  if (form == "tile") {
    std::cout << program->print();
    return 0;
  }
  targets::CompileOptions options;
  if (count > 2)
    options.level = words[2];
  auto code = targets::createCpuTarget()->emit(
      *program, form == "asm" ? targets::CodeForm::Assembly : targets::CodeForm::LLVM, options);
  if (!code.ok())
    return fail(code.error());
  std::cout << *code;
}
