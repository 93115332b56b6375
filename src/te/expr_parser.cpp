#include "te/expr_parser.h"

#include "te/expr_syntax.h"
#include "te/syntax.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

//===- Syntax tree ----------------------------------------------------------===//

ExprParser::ExprParser(Lexer &lexer, const Program &program, const llvm::StringMap<ValueId> &values,
                       llvm::ArrayRef<std::string> iterators)
    : lexer(lexer), program(program), values(values), iterators(iterators) {}
ExprParser::~ExprParser() = default;

static std::unique_ptr<ExprSyntax> make(ExprKind kind, size_t offset,
                                        std::optional<ElementType> told = std::nullopt) {
  return std::make_unique<ExprSyntax>(ExprSyntax{kind, offset, told});
}

Status ExprParser::enter(size_t offset) {
  if (nesting < maxNesting)
    return Status::success();
  return lexer.errorAt(offset, "brackets are nested too deeply; expected at most " +
                                   std::to_string(maxNesting) + " levels");
}

/// Whether the operand's type is another one than the result's.
static bool changesType(const ExprSyntax &syntax) {
  switch (syntax.unary) {
  case UnaryOp::IsNaN:
  case UnaryOp::IsInf:
  case UnaryOp::Bits:
  case UnaryOp::FromBits:
    return syntax.kind == ExprKind::Unary;
  default:
    return syntax.kind == ExprKind::Binary && isComparison(syntax.binary);
  }
}

/// Of the operand of a node that changes types and should give `type`, where it does not say so.
static ElementType operandType(const ExprSyntax &syntax, ElementType type) {
  if (syntax.kind == ExprKind::Unary && syntax.unary == UnaryOp::Bits)
    return type == ElementType::U64 ? ElementType::F64 : ElementType::F32;
  if (syntax.kind == ExprKind::Unary && syntax.unary == UnaryOp::FromBits)
    return type == ElementType::F64 ? ElementType::U64 : ElementType::U32;
  return ElementType::I64;
}

/// Completes a node that has its children: depth and told type.
Expected<ExprParser::Node> ExprParser::sized(Node node) {
  for (const Node &child : node->children)
    node->depth = std::max(node->depth, child->depth + 1);
  if (node->kind == ExprKind::Select)
    node->depth += node->children.size() / 2;
  if (node->depth > maxExprDepth)
    return lexer.errorAt(node->offset, "the expression is too deep; expected at most " +
                                           std::to_string(maxExprDepth) + " levels (split it)");
  auto tell = [&](const Node &child) {
    if (!node->told)
      node->told = child->told;
  };
  if ((node->kind == ExprKind::Unary || node->kind == ExprKind::Binary) && !changesType(*node))
    llvm::for_each(node->children, tell);
  if (node->kind == ExprKind::Select)
    for (size_t i = 0; i < node->children.size(); ++i)
      if (i % 2 == 1 || i + 1 == node->children.size())
        tell(node->children[i]);
  return node;
}

std::optional<unsigned> ExprParser::iteratorNamed(llvm::StringRef name) const {
  auto found = llvm::find(iterators, name);
  if (found == iterators.end())
    return std::nullopt;
  return found - iterators.begin();
}

//===- Expressions ----------------------------------------------------------===//

namespace {
struct Infix {
  BinaryOp op;
  bool swapped = false; ///< a > b is b < a.
};
} // namespace

static std::optional<Infix> infixOf(const Token &token) {
  if (token.isSign(">"))
    return Infix{BinaryOp::Less, true};
  if (token.isSign(">="))
    return Infix{BinaryOp::LessEqual, true};
  if (token.kind != TokenKind::Sign && token.kind != TokenKind::Word)
    return std::nullopt;
  for (unsigned number = 0; number <= static_cast<unsigned>(BinaryOp::NotEqual); ++number) {
    auto op = static_cast<BinaryOp>(number);
    if (precedenceOf(op) != 0 && token.text == nameOf(op))
      return Infix{op};
  }
  return std::nullopt;
}

Expected<ExprParser::Node> ExprParser::infix(int minimum) {
  KINTSUGI_ASSIGN(Node left, prefix());
  while (true) {
    std::optional<Infix> infixOp = infixOf(lexer.peek());
    if (!infixOp || precedenceOf(infixOp->op) < minimum)
      return left;
    size_t offset = lexer.take().offset;
    int precedence = precedenceOf(infixOp->op);
    KINTSUGI_ASSIGN(Node right, infix(precedence + 1));
    Node node = make(ExprKind::Binary, offset);
    node->binary = infixOp->op;
    if (isComparison(infixOp->op))
      node->told = ElementType::Bool;
    if (infixOp->swapped)
      std::swap(left, right);
    node->children.push_back(std::move(left));
    node->children.push_back(std::move(right));
    KINTSUGI_ASSIGN(left, sized(std::move(node)));
    if (isComparison(infixOp->op) && infixOf(lexer.peek()) &&
        isComparison(infixOf(lexer.peek())->op))
      return lexer.errorAt(lexer.peek().offset,
                           "comparisons don't chain; expected 'and' between them");
  }
}

static bool isNumberWord(const Token &token) { return token.isWord("inf") || token.isWord("nan"); }

Expected<ExprParser::Node> ExprParser::prefix() {
  if (!lexer.peek().isSign("-"))
    return primary();
  size_t offset = lexer.take().offset;
  if (lexer.peek().kind == TokenKind::Number || isNumberWord(lexer.peek())) {
    Node node = make(ExprKind::Literal, offset);
    node->literal = "-" + lexer.take().text.str();
    return node;
  }
  KINTSUGI_RETURN_IF_ERROR(enter(offset));
  ++nesting;
  KINTSUGI_ASSIGN(Node operand, prefix());
  --nesting;
  Node node = make(ExprKind::Unary, offset);
  node->children.push_back(std::move(operand));
  return sized(std::move(node));
}

Expected<ExprParser::Node> ExprParser::primary() {
  const Token &token = lexer.peek();
  KINTSUGI_RETURN_IF_ERROR(enter(token.offset));
  ++nesting;
  auto done = [&](Expected<Node> node) {
    --nesting;
    return node;
  };
  if (token.kind == TokenKind::Number || isNumberWord(token) || token.isWord("true") ||
      token.isWord("false")) {
    Node node = make(ExprKind::Literal, token.offset);
    if (token.isWord("true") || token.isWord("false"))
      node->told = ElementType::Bool;
    node->literal = lexer.take().text.str();
    return done(std::move(node));
  }
  if (token.isSign("("))
    return done(parenthesized());
  if (token.isSign("{"))
    return done(braces(token.offset));
  if (token.isWord("cases"))
    return done(cases());
  if (token.kind == TokenKind::Word && (lexer.peek(1).isSign("(") || lexer.peek(1).isSign("{")))
    if (auto type = elementTypeFromName(token.text))
      return done(typed(*type));
  if (token.isWord("stored") && lexer.peek(1).kind == TokenKind::Word)
    if (auto type = elementTypeFromName(lexer.peek(1).text); type && lexer.peek(2).isSign("(")) {
      lexer.take();
      return done(stored(*type));
    }
  return done(named());
}

/// A name: of a function, a tensor or an iterator, by what follows it.
Expected<ExprParser::Node> ExprParser::named() {
  const Token &token = lexer.peek();
  bool isName = token.kind == TokenKind::Word || token.kind == TokenKind::Quoted;
  bool isWord = token.kind == TokenKind::Word;
  // A bracket after an iterator starts the next statement.
  if (isWord && lexer.peek(1).isSign("(") &&
      (isFunctionWord(token.text) || !iteratorNamed(token.text)))
    return function();
  if (isName && lexer.peek(1).isSign("["))
    return read();
  size_t offset = token.offset;
  KINTSUGI_ASSIGN(std::string name, expectName(lexer, "an expression"));
  auto iterator = iteratorNamed(name);
  if (!iterator)
    return lexer.errorAt(offset, "'" + name +
                                     "' is no iterator here; expected one of the "
                                     "definition's iterators, or '[' after a tensor's name");
  Node node = make(ExprKind::Index, offset);
  node->index = Index::iterator(*iterator);
  return node;
}

Expected<ExprParser::Node> ExprParser::parenthesized() {
  size_t offset = lexer.take().offset;
  KINTSUGI_ASSIGN(Node inner, infix(1));
  if (lexer.peek().isSign("|")) {
    if (inner->kind != ExprKind::Read || !inner->children.empty())
      return lexer.errorAt(offset, "only a read can have a fill; expected (tensor[...] | fill)");
    lexer.take();
    KINTSUGI_ASSIGN(Node fill, infix(1));
    inner->children.push_back(std::move(fill));
    KINTSUGI_ASSIGN(inner, sized(std::move(inner)));
  }
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ")"));
  return inner;
}

/// type(literal), type(expression) or type{index}.
Expected<ExprParser::Node> ExprParser::typed(ElementType type) {
  size_t offset = lexer.take().offset;
  if (lexer.peek().isSign("{")) {
    KINTSUGI_ASSIGN(Node node, braces(offset));
    node->told = type;
    return node;
  }
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "("));
  KINTSUGI_ASSIGN(Node inner, infix(1));
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ")"));
  if (inner->kind == ExprKind::Literal && !inner->told) {
    inner->told = type;
    return inner;
  }
  Node node = make(ExprKind::Cast, offset, type);
  node->children.push_back(std::move(inner));
  return sized(std::move(node));
}

/// stored type(expression).
Expected<ExprParser::Node> ExprParser::stored(ElementType type) {
  size_t offset = lexer.peek().offset;
  KINTSUGI_ASSIGN(Node node, typed(type));
  if (node->kind != ExprKind::Cast)
    return lexer.errorAt(offset, "a literal is of its type as it is; expected an expression that "
                                 "'stored' converts");
  node->stored = true;
  return node;
}

Expected<ExprParser::Node> ExprParser::braces(size_t offset) {
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "{"));
  KINTSUGI_ASSIGN(Index index, indexSum());
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "}"));
  Node node = make(ExprKind::Index, offset);
  node->index = std::move(index);
  return node;
}

Expected<ExprParser::Node> ExprParser::function() {
  Token name = lexer.take();
  std::optional<UnaryOp> unary = unaryFromName(name.text);
  std::optional<BinaryOp> binary = binaryFromName(name.text);
  if (!unary && !binary)
    return lexer.errorAt(name.offset, "'" + name.text.str() +
                                          "' is no function; expected one such "
                                          "as exp, max or isnan, or a type");
  Node node = make(unary ? ExprKind::Unary : ExprKind::Binary, name.offset);
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "("));
  KINTSUGI_ASSIGN(Node first, infix(1));
  node->children.push_back(std::move(first));
  if (unary) {
    node->unary = *unary;
    if (std::optional<ElementType> told = node->children[0]->told; told && supports(*unary, *told))
      node->told = resultType(*unary, *told);
    else if (*unary == UnaryOp::IsNaN || *unary == UnaryOp::IsInf)
      node->told = ElementType::Bool;
  } else {
    node->binary = *binary;
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ","));
    KINTSUGI_ASSIGN(Node second, infix(1));
    node->children.push_back(std::move(second));
  }
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ")"));
  return sized(std::move(node));
}

Expected<ExprParser::Node> ExprParser::read() {
  size_t offset = lexer.peek().offset;
  KINTSUGI_ASSIGN(std::string name, expectName(lexer, "a tensor"));
  auto found = values.find(name);
  if (found == values.end())
    return lexer.errorAt(offset, "'" + name +
                                     "' is not defined; expected a tensor that is defined "
                                     "above");
  const Value &value = program.value(found->second);
  Node node = make(ExprKind::Read, offset, value.type);
  node->value = found->second;
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "["));
  while (!lexer.peek().isSign("]")) {
    if (!node->indices.empty())
      KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ","));
    KINTSUGI_ASSIGN(Index index, indexSum());
    node->indices.push_back(std::move(index));
  }
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "]"));
  if (node->indices.size() != value.shape.size())
    return lexer.errorAt(offset, "'" + name + "' is read with " +
                                     std::to_string(node->indices.size()) + " indices; expected " +
                                     std::to_string(value.shape.size()));
  return node;
}

Expected<ExprParser::Node> ExprParser::cases() {
  Node node = make(ExprKind::Select, lexer.take().offset);
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "{"));
  while (!lexer.peek().isWord("else")) {
    KINTSUGI_ASSIGN(Node condition, infix(1));
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ":"));
    KINTSUGI_ASSIGN(Node value, infix(1));
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ";"));
    node->children.push_back(std::move(condition));
    node->children.push_back(std::move(value));
  }
  lexer.take();
  if (node->children.empty())
    return lexer.errorAt(node->offset, "cases without a case; expected a condition before 'else'");
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ":"));
  KINTSUGI_ASSIGN(Node rest, infix(1));
  node->children.push_back(std::move(rest));
  acceptSign(lexer, ";");
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "}"));
  return sized(std::move(node));
}

//===- Types ----------------------------------------------------------------===//

Expected<Expr> ExprParser::build(const ExprSyntax &syntax, ElementType type) {
  std::string wanted(nameOf(type));
  if (syntax.told && *syntax.told != type)
    return lexer.errorAt(syntax.offset, "this has type " + std::string(nameOf(*syntax.told)) +
                                            "; expected " + wanted + " (convert it by " + wanted +
                                            "(...))");
  switch (syntax.kind) {
  case ExprKind::Literal: {
    std::optional<Expr> literal = readLiteral(syntax.literal, type);
    if (!literal)
      return lexer.errorAt(
          syntax.offset,
          "'" + syntax.literal + "' is no " + wanted + "; expected " +
              (type == ElementType::Bool ? "true or false" : "a number that fits the type"));
    return *literal;
  }
  case ExprKind::Index:
    if (!isInteger(type) && !isFloat(type))
      return lexer.errorAt(syntax.offset, "an index is a number; expected a " + wanted);
    return Expr::index(syntax.index, type);
  case ExprKind::Read: {
    std::optional<Expr> fill;
    if (!syntax.children.empty()) {
      KINTSUGI_ASSIGN(fill, build(*syntax.children[0], type));
    }
    return Expr::read(syntax.value, type, syntax.indices, std::move(fill));
  }
  case ExprKind::Select:
    return buildSelect(syntax, type);
  case ExprKind::Cast: {
    const ExprSyntax &operand = *syntax.children[0];
    KINTSUGI_ASSIGN(Expr inner, build(operand, operand.told.value_or(ElementType::I64)));
    if (!supportsCast(inner.type(), type))
      return lexer.errorAt(syntax.offset, "no conversion from " +
                                              std::string(nameOf(inner.type())) + " to " + wanted +
                                              "; expected numbers or booleans");
    return syntax.stored ? Expr::stored(type, std::move(inner))
                         : Expr::cast(type, std::move(inner));
  }
  case ExprKind::Unary:
  case ExprKind::Binary:
    return buildOperation(syntax, type);
  }
  return internalError("unknown kind of expression");
}

Expected<Expr> ExprParser::buildSelect(const ExprSyntax &syntax, ElementType type) {
  KINTSUGI_ASSIGN(Expr result, build(*syntax.children.back(), type));
  for (size_t i = syntax.children.size() - 1; i >= 2; i -= 2) {
    KINTSUGI_ASSIGN(Expr value, build(*syntax.children[i - 1], type));
    KINTSUGI_ASSIGN(Expr condition, build(*syntax.children[i - 2], ElementType::Bool));
    result = Expr::select(std::move(condition), std::move(value), std::move(result));
  }
  return result;
}

Expected<Expr> ExprParser::buildOperation(const ExprSyntax &syntax, ElementType type) {
  bool unary = syntax.kind == ExprKind::Unary;
  ElementType operands = type;
  if (changesType(syntax)) { // The operands' type is theirs to tell.
    operands = operandType(syntax, type);
    for (const Node &child : llvm::reverse(syntax.children))
      operands = child->told.value_or(operands);
  }
  if (unary ? !supports(syntax.unary, operands) : !supports(syntax.binary, operands))
    return lexer.errorAt(syntax.offset, std::string("'") +
                                            (unary ? nameOf(syntax.unary) : nameOf(syntax.binary)) +
                                            "' of " + std::string(nameOf(operands)) +
                                            "; expected operands of a type that it is defined for");
  if (unary && resultType(syntax.unary, operands) != type)
    return lexer.errorAt(
        syntax.offset, "this has type " + std::string(nameOf(resultType(syntax.unary, operands))) +
                           "; expected " + std::string(nameOf(type)));
  KINTSUGI_ASSIGN(Expr first, build(*syntax.children[0], operands));
  if (unary)
    return Expr::unary(syntax.unary, std::move(first));
  KINTSUGI_ASSIGN(Expr second, build(*syntax.children[1], operands));
  return Expr::binary(syntax.binary, std::move(first), std::move(second));
}

Expected<Expr> ExprParser::parseAs(ElementType type) {
  KINTSUGI_ASSIGN(Node syntax, infix(1));
  return build(*syntax, type);
}

Expected<Expr> ExprParser::parse(ElementType assumed) {
  KINTSUGI_ASSIGN(Node syntax, infix(1));
  return build(*syntax, syntax->told.value_or(assumed));
}

} // namespace kintsugi::te
