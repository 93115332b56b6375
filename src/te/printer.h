//===- printer.h - Programs as text -----------------------------------------===//
//
// The text form of the expression language; te/parser.h reads it. Inputs come first, then
// constants, then the nodes in their order, then the outputs: that order is the same however the
// program's tables came about, so that print(parse(print(p))) is print(p).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_PRINTER_H
#define KINTSUGI_TE_PRINTER_H

#include "te/program.h"

namespace kintsugi::te {

/// The whole program, a statement a line. Constants of at most maxInlineElements elements (see
/// te/syntax.h) whose bytes can be had stand in the text, others by their source's identity.
std::string printProgram(const Program &program);

/// One node as a statement of the text form, with its origins, without a line's end.
std::string printNode(const Program &program, uint32_t node);

/// The names of a definition's iterators by number as the text form has them: where two are equal
/// or one is empty, fresh ones.
llvm::SmallVector<std::string> printedIterators(const Definition &definition);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_PRINTER_H
