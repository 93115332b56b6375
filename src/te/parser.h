//===- parser.h - Programs from text ----------------------------------------===//
//
// Reads the text form that te/printer.h prints. A .te file is an input of the product like a model:
// nothing in it is trusted. The grammar, with '...' for lists and [[ ]] for what may be left out:
//
//   program    = [[ program NAME ]] statement ...
//   statement  = input head | const head = contents | output NAME [[ as NAME ]]
//              | results = [[ reduction ]] expr [[ @ "origin", ... ]]
//              | results = scan [EXTENT] carry(NAME, ...) capture(NAME, ...) { program }
//              | results = call NAME(NAME, ...) [[ {json} ]]
//   results    = head | (head, ...)
//   head       = NAME[ITERATOR:EXTENT, ...] TYPE [[ facts(low=X, high=X, no_nan, finite) ]]
//   contents   = weights("source") | [LITERAL, ...]
//   reduction  = COMBINER<TYPE>[ITERATOR:EXTENT, ...]     arg forms: then (key, payload)
//   expr       = LITERAL | TYPE(LITERAL) | TYPE(expr) | ITERATOR | {index} | TYPE{index}
//              | NAME[index, ...] | (NAME[index, ...] | fill) | FUNCTION(expr, ...) | -expr
//              | expr OPERATOR expr | (expr) | cases { expr: expr; ... else: expr }
//              | stored TYPE(expr)
//   index      = INTEGER | ITERATOR | index + index | index - index | INTEGER * index
//              | index // INTEGER | index % INTEGER | NAME[index, ...] | {expr} | (index)
//
// What a person writes may be shorter: an iterator without an extent has the one that it was last
// given, a head without a type is f32, and a reduction without one adds up in its result's type.
//
// Braces lead from expressions to indices and back. OPERATORs bind, from the loosest: or; xor; and;
// < <= == != > >=; + -; * /. Outside of definitions the iterators' names may be left out. Names
// that are not plain words, or are words of the language, stand in double quotes. '#' starts a
// comment.
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
