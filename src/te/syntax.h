//===- syntax.h - The words of the text form --------------------------------===//
//
// What the printer and the parser must agree on: which names stand as they are, which words are
// taken, how operators bind, how numbers are written.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_SYNTAX_H
#define KINTSUGI_TE_SYNTAX_H

#include "te/program.h"

namespace kintsugi::te {

/// Constants of at most this many elements stand in the text.
inline constexpr int64_t maxInlineElements = 32;

/// Whether a word means something of its own, so that a name of that spelling must be quoted.
bool isReservedWord(llvm::StringRef word);

/// A name as it stands in the text: plain ([A-Za-z_][A-Za-z0-9_.]*) or else quoted.
std::string spellName(llvm::StringRef name);
/// Between double quotes, with backslash escapes.
std::string quote(llvm::StringRef text);

/// How strongly an infix operator binds: 1 (or) to 6 (*, /); 0 for those written as a function.
int precedenceOf(BinaryOp op);
/// Binds stronger than every infix operator.
inline constexpr int unaryPrecedence = 7;

std::optional<UnaryOp> unaryFromName(llvm::StringRef name);
/// Of the operators written as a function.
std::optional<BinaryOp> binaryFromName(llvm::StringRef name);
/// Whether a bracket after the word makes it an operation or a conversion.
bool isFunctionWord(llvm::StringRef word);
std::optional<Combiner> combinerFromName(llvm::StringRef name);

/// Whether elements of the type can be written as literals.
bool hasLiterals(ElementType type);

/// " while true" for a scan that data end, else nothing.
std::string spellWhile(const Scan &scan);

/// A literal without its type: "3", "-0.1", "inf", "true". The shortest text that readLiteral gives
/// back exactly (every NaN is "nan").
std::string spellLiteral(const Expr &literal);
/// The literal of that type, or nothing where the text is none or does not fit.
std::optional<Expr> readLiteral(llvm::StringRef text, ElementType type);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_SYNTAX_H
