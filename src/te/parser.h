//===- parser.h - Programs from text ----------------------------------------===//
//
// Reads the text form that te/printer.h prints. A .te file is an input of the product like a model:
// nothing in it is trusted.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_PARSER_H
#define KINTSUGI_TE_PARSER_H

#include "te/program.h"

#include <functional>

namespace kintsugi::te {

/// Finds what weights("name") stands for, given the type and shape that the text declares.
using WeightsResolver = std::function<Expected<std::shared_ptr<const ConstantSource>>(
    const std::string &name, ElementType type, llvm::ArrayRef<Extent> shape)>;

/// Parses and verifies a program. An error is one line: "file:line:column: reason; expected ...".
/// Without a resolver, weights are sources without bytes that keep their name.
Expected<Program> parseProgram(llvm::StringRef text, llvm::StringRef file,
                               const WeightsResolver &weights = nullptr);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_PARSER_H
