#include "te/parser.h"

#include "te/constant.h"
#include "te/expr_parser.h"
#include "te/syntax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace kintsugi::te {

namespace {

constexpr size_t maxRank = 64;
constexpr unsigned maxScanDepth = 16;

/// "name[i:4, j:8] f32 facts(...)": what stands left of '=' or after "input".
struct Head {
  struct Dimension {
    std::string name; ///< May be empty.
    size_t offset;
    Extent extent;
  };
  std::string name;
  size_t offset = 0;
  llvm::SmallVector<Dimension> dimensions;
  ElementType type = ElementType::Invalid;
  Facts facts;

  Shape shape() const {
    Shape result;
    for (const Dimension &dimension : dimensions)
      result.push_back(dimension.extent);
    return result;
  }
};

class ProgramParser {
public:
  ProgramParser(Lexer &lexer, const WeightsResolver &weights, unsigned depth)
      : lexer(lexer), weights(weights), depth(depth) {}

  /// Up to the end of the text, or to the '}' of a nested program (left in place).
  Expected<Program> parse() {
    if (acceptWord("program")) {
      KINTSUGI_ASSIGN(program.name, expectName(lexer, "the program's name"));
    }
    while (lexer.peek().kind != TokenKind::End && !(depth && lexer.peek().isSign("}")))
      KINTSUGI_RETURN_IF_ERROR(statement());
    if (Status status = program.verify(); !status.ok())
      return lexer.errorAt(lexer.peek().offset, status.error().message);
    return std::move(program);
  }

private:
  bool acceptWord(llvm::StringRef word) {
    if (!lexer.peek().isWord(word))
      return false;
    lexer.take();
    return true;
  }

  Status statement() {
    if (acceptWord("input"))
      return input();
    if (acceptWord("const"))
      return constant();
    if (acceptWord("output"))
      return output();
    return node();
  }

  //===- Heads --------------------------------------------------------------===//

  Expected<Head> head() {
    Head result;
    result.offset = lexer.peek().offset;
    KINTSUGI_ASSIGN(result.name, expectName(lexer, "a statement: input, const, output or the name "
                                                   "of a result"));
    KINTSUGI_ASSIGN(result.dimensions, dimensions());
    result.type = ElementType::F32;
    if (!lexer.peek().isSign("=") && !lexer.peek().isSign(",") && !lexer.peek().isSign(")")) {
      KINTSUGI_ASSIGN(result.type, expectType(lexer));
    }
    int64_t bits = std::max<int64_t>(bitsOf(result.type), 8);
    auto count = elementCount(plainShape(result.shape()));
    if (!count || !checkedMul(*count, bits))
      return lexer.errorAt(result.offset,
                           "'" + result.name + "' has more elements than memory can ever hold");
    KINTSUGI_ASSIGN(result.facts, facts());
    return result;
  }

  Status declare(const Head &head, ValueId value) {
    program.value(value).facts = head.facts;
    values[head.name] = value;
    return Status::success();
  }

  Status checkFresh(const Head &head) {
    if (!values.contains(head.name))
      return Status::success();
    return lexer.errorAt(head.offset,
                         "'" + head.name + "' is already defined; expected a name of its own");
  }

  Expected<llvm::SmallVector<Head::Dimension>> dimensions() {
    llvm::SmallVector<Head::Dimension> result;
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "["));
    while (!lexer.peek().isSign("]")) {
      if (!result.empty())
        KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ","));
      size_t offset = lexer.peek().offset;
      std::string name;
      if (lexer.peek().kind != TokenKind::Number) {
        KINTSUGI_ASSIGN(name, expectName(lexer, "an extent or an iterator"));
      }
      KINTSUGI_ASSIGN(int64_t extent, extentOf(name));
      result.push_back({std::move(name), offset, Extent(extent)});
      if (result.size() > maxRank)
        return lexer.errorAt(offset,
                             "too many dimensions; expected at most " + std::to_string(maxRank));
    }
    lexer.take();
    return result;
  }

  /// What follows an iterator's name, or what it had when it was last given.
  Expected<int64_t> extentOf(const std::string &name) {
    if (!name.empty() && !lexer.peek().isSign(":")) {
      auto known = extents.find(name);
      if (known == extents.end())
        return unexpected(lexer, lexer.peek(), "':' and the extent of '" + name + "'");
      return known->second;
    }
    if (!name.empty())
      lexer.take();
    KINTSUGI_ASSIGN(int64_t extent, expectInteger(lexer, "an extent", 0, maxIndexNumber));
    if (!name.empty())
      extents[name] = extent;
    return extent;
  }

  Expected<Facts> facts() {
    Facts result;
    if (!acceptWord("facts"))
      return result;
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "("));
    do {
      if (acceptWord("low")) {
        KINTSUGI_ASSIGN(result.low, bound());
      } else if (acceptWord("high")) {
        KINTSUGI_ASSIGN(result.high, bound());
      } else if (acceptWord("no_nan")) {
        result.neverNaN = true;
      } else if (acceptWord("finite")) {
        result.finite = true;
      } else {
        return unexpected(lexer, lexer.peek(), "a fact: low=, high=, no_nan or finite");
      }
    } while (acceptSign(lexer, ","));
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ")"));
    return result;
  }

  Expected<double> bound() {
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "="));
    KINTSUGI_ASSIGN(Expr literal, this->literal(ElementType::F64));
    return literal.literalFloat();
  }

  Expected<Expr> literal(ElementType type) {
    std::string sign = acceptSign(lexer, "-") ? "-" : "";
    const Token &token = lexer.peek();
    auto result = readLiteral(sign + token.text.str(), type);
    if (!result || token.kind == TokenKind::Quoted)
      return unexpected(lexer, token, "an element of type " + std::string(nameOf(type)));
    lexer.take();
    return *result;
  }

  //===- Inputs, constants, outputs -----------------------------------------===//

  Status input() {
    KINTSUGI_ASSIGN(Head head, this->head());
    KINTSUGI_RETURN_IF_ERROR(checkFresh(head));
    return declare(head, program.addInput(head.name, head.type, head.shape()));
  }

  Status constant() {
    KINTSUGI_ASSIGN(Head head, this->head());
    KINTSUGI_RETURN_IF_ERROR(checkFresh(head));
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "="));
    if (!lexer.peek().isSign("[") && !lexer.peek().isWord("weights"))
      return unexpected(lexer, lexer.peek(), "weights(\"name\") or [values]");
    KINTSUGI_ASSIGN(auto source, lexer.peek().isSign("[") ? elements(head) : named(head));
    return declare(head,
                   program.addConstant(head.name, head.type, head.shape(), std::move(source)));
  }

  Expected<std::shared_ptr<const ConstantSource>> named(const Head &head) {
    size_t offset = lexer.take().offset;
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "("));
    if (lexer.peek().kind != TokenKind::Quoted)
      return unexpected(lexer, lexer.peek(), "a quoted name");
    std::string name = lexer.take().value;
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ")"));
    if (!weights)
      return std::shared_ptr<const ConstantSource>(std::make_shared<NamedConstant>(name));
    auto source = weights(name, head.type, head.shape());
    return source.ok() ? std::move(source) : lexer.errorAt(offset, source.error().message);
  }

  Expected<std::shared_ptr<const ConstantSource>> elements(const Head &head) {
    size_t offset = lexer.take().offset;
    if (!hasLiterals(head.type))
      return lexer.errorAt(offset, "values of type " + std::string(nameOf(head.type)) +
                                       " can't be written; expected weights(\"name\")");
    llvm::SmallVector<Expr> list;
    while (!lexer.peek().isSign("]")) {
      if (!list.empty())
        KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ","));
      KINTSUGI_ASSIGN(Expr element, literal(head.type));
      list.push_back(std::move(element));
    }
    lexer.take();
    std::vector<int64_t> shape = plainShape(head.shape());
    if (static_cast<int64_t>(list.size()) != *elementCount(shape))
      return lexer.errorAt(offset, std::to_string(list.size()) + " values are given; expected " +
                                       std::to_string(*elementCount(shape)));
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(head.type, std::move(shape)));
    for (auto [number, element] : llvm::enumerate(list)) {
      if (isFloat(head.type))
        storeDouble(head.type, tensor.bytes(), number, element.literalFloat());
      else
        storeInteger(head.type, tensor.bytes(), number, element.literalInteger());
    }
    return std::shared_ptr<const ConstantSource>(
        std::make_shared<TensorConstant>(std::move(tensor)));
  }

  Expected<ValueId> value() {
    size_t offset = lexer.peek().offset;
    KINTSUGI_ASSIGN(std::string name, expectName(lexer, "a tensor"));
    auto found = values.find(name);
    if (found != values.end())
      return found->second;
    return lexer.errorAt(offset, "'" + name +
                                     "' is not defined; expected a tensor that is defined "
                                     "above");
  }

  Status output() {
    KINTSUGI_ASSIGN(ValueId id, value());
    std::string name = program.value(id).name;
    if (acceptWord("as")) {
      size_t offset = lexer.peek().offset;
      KINTSUGI_ASSIGN(name, expectName(lexer, "the output's name"));
      if (llvm::is_contained(llvm::map_range(program.outputs, [](auto &o) { return o.name; }),
                             name))
        return lexer.errorAt(offset, "there is already an output '" + name +
                                         "'; expected a name of its own");
    }
    program.addOutput(std::move(name), id);
    return Status::success();
  }

  //===- Nodes --------------------------------------------------------------===//

  Status node() {
    llvm::SmallVector<Head> heads;
    size_t offset = lexer.peek().offset;
    bool several = acceptSign(lexer, "(");
    do {
      KINTSUGI_ASSIGN(Head head, this->head());
      KINTSUGI_RETURN_IF_ERROR(checkFresh(head));
      if (llvm::is_contained(llvm::map_range(heads, [](auto &h) { return h.name; }), head.name))
        return lexer.errorAt(head.offset,
                             "'" + head.name + "' is already defined; expected a name of its own");
      heads.push_back(std::move(head));
    } while (several && acceptSign(lexer, ","));
    if (several)
      KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ")"));
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "="));
    program.currentOrigin.clear();
    KINTSUGI_ASSIGN(llvm::SmallVector<ValueId> results, acceptWord("scan")   ? scan(heads)
                                                        : acceptWord("call") ? call(heads)
                                                                             : definition(heads));
    for (auto [head, result] : llvm::zip(heads, results))
      KINTSUGI_RETURN_IF_ERROR(declare(head, result));
    KINTSUGI_RETURN_IF_ERROR(origins());
    if (Status status = program.verifyNode(program.nodes.size() - 1); !status.ok())
      return lexer.errorAt(offset, status.error().message);
    return Status::success();
  }

  Status origins() {
    if (!acceptSign(lexer, "@"))
      return Status::success();
    do {
      if (lexer.peek().kind != TokenKind::Quoted)
        return unexpected(lexer, lexer.peek(), "the quoted name of an original node");
      program.origins.back().push_back(lexer.take().value);
    } while (acceptSign(lexer, ","));
    return Status::success();
  }

  static llvm::SmallVector<std::string> names(llvm::ArrayRef<Head> heads) {
    llvm::SmallVector<std::string> result;
    for (const Head &head : heads)
      result.push_back(head.name);
    return result;
  }

  static llvm::SmallVector<ElementType> types(llvm::ArrayRef<Head> heads) {
    llvm::SmallVector<ElementType> result;
    for (const Head &head : heads)
      result.push_back(head.type);
    return result;
  }

  /// Adds iterators for dimensions, which must all be named.
  template <typename List>
  Status addIterators(llvm::ArrayRef<Head::Dimension> dimensions, List &iterators,
                      llvm::SmallVector<std::string> &names) {
    for (const Head::Dimension &dimension : dimensions) {
      if (dimension.name.empty())
        return lexer.errorAt(dimension.offset, "a definition names its iterators; expected "
                                               "name:extent");
      if (llvm::is_contained(names, dimension.name))
        return lexer.errorAt(dimension.offset, "there are two iterators '" + dimension.name +
                                                   "'; expected different names");
      iterators.push_back({dimension.name, dimension.extent});
      names.push_back(dimension.name);
    }
    return Status::success();
  }

  Expected<llvm::SmallVector<ValueId>> definition(llvm::ArrayRef<Head> heads) {
    Definition result;
    llvm::SmallVector<std::string> iterators;
    KINTSUGI_RETURN_IF_ERROR(addIterators(heads[0].dimensions, result.parallel, iterators));
    for (const Head &head : heads.drop_front())
      if (!llvm::equal(head.dimensions, heads[0].dimensions,
                       [](auto &a, auto &b) { return a.name == b.name && a.extent == b.extent; }))
        return lexer.errorAt(head.offset, "'" + head.name + "' has other iterators than '" +
                                              heads[0].name + "'; expected the same");
    size_t offset = lexer.peek().offset;
    KINTSUGI_RETURN_IF_ERROR(reduction(result, iterators, heads[0].type));
    if (heads.size() != (result.reduction ? resultsOf(result.reduction->combiner) : 1))
      return lexer.errorAt(offset, "the expression gives another number of results than there are "
                                   "names for; expected as many");
    ExprParser body(lexer, program, values, iterators);
    if (!result.reduction) {
      KINTSUGI_ASSIGN(Expr expr, body.parseAs(heads[0].type));
      result.bodies.push_back(std::move(expr));
    } else {
      KINTSUGI_RETURN_IF_ERROR(reductionBodies(result, body, heads[0].type));
    }
    return program.defineMany(names(heads), types(heads), std::move(result));
  }

  /// "sum<f32>[k:3]" or "sum[k:3]", if that is what follows.
  Status reduction(Definition &definition, llvm::SmallVector<std::string> &iterators,
                   ElementType resultType) {
    const Token &word = lexer.peek();
    auto combiner = word.kind == TokenKind::Word ? combinerFromName(word.text) : std::nullopt;
    bool isShort = lexer.peek(1).isSign("[") && !values.contains(word.text);
    if (!combiner || (!isShort && !lexer.peek(1).isSign("<")))
      return Status::success();
    size_t offset = lexer.take().offset;
    Reduction result{*combiner, resultType, {}};
    if (acceptSign(lexer, "<")) {
      KINTSUGI_ASSIGN(result.accumulator, expectType(lexer));
      KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ">"));
    }
    KINTSUGI_ASSIGN(auto reduced, dimensions());
    KINTSUGI_RETURN_IF_ERROR(addIterators(reduced, result.iterators, iterators));
    int64_t steps = 1;
    for (const auto *list : {&definition.parallel})
      for (const Iterator &iterator : *list)
        steps = checkedMul(steps, iterator.extent.constant()).value_or(-1);
    for (const Iterator &iterator : result.iterators)
      steps = steps < 0 ? -1 : checkedMul(steps, iterator.extent.constant()).value_or(-1);
    if (steps < 0)
      return lexer.errorAt(offset, "the reduction has more steps than can ever be computed");
    definition.reduction = std::move(result);
    return Status::success();
  }

  Status reductionBodies(Definition &definition, ExprParser &body, ElementType resultType) {
    ElementType accumulator = definition.reduction->accumulator;
    if (bodiesOf(definition.reduction->combiner) == 1) {
      KINTSUGI_ASSIGN(Expr expr, body.parse(accumulator));
      definition.bodies.push_back(std::move(expr));
      return Status::success();
    }
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "("));
    KINTSUGI_ASSIGN(Expr key, body.parse(accumulator));
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ","));
    KINTSUGI_ASSIGN(Expr payload, body.parse(resultType));
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ")"));
    definition.bodies.push_back(std::move(key));
    definition.bodies.push_back(std::move(payload));
    return Status::success();
  }

  /// "(a, b)"
  Expected<llvm::SmallVector<ValueId, 4>> valueList() {
    llvm::SmallVector<ValueId, 4> list;
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "("));
    while (!lexer.peek().isSign(")")) {
      if (!list.empty())
        KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ","));
      KINTSUGI_ASSIGN(ValueId id, value());
      list.push_back(id);
    }
    lexer.take();
    return list;
  }

  bool isCondition(const Scan &scan) const {
    if (scan.initial.empty())
      return false;
    const Value &first = program.value(scan.initial[0]);
    return first.type == ElementType::Bool && first.shape.empty();
  }

  Expected<llvm::SmallVector<ValueId>> scan(llvm::ArrayRef<Head> heads) {
    size_t offset = lexer.peek().offset;
    if (depth >= maxScanDepth)
      return lexer.errorAt(offset, "scans are nested too deeply; expected at most " +
                                       std::to_string(maxScanDepth) + " levels");
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "["));
    KINTSUGI_ASSIGN(int64_t trip, expectInteger(lexer, "how often it runs", 0, maxIndexNumber));
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "]"));
    Scan result{Extent(trip), nullptr, {}, {}, {}};
    if (acceptWord("while")) {
      result.goesOnWhile = acceptWord("true");
      if (!*result.goesOnWhile && !acceptWord("false"))
        return unexpected(lexer, lexer.peek(), "true or false");
    }
    if (!acceptWord("carry"))
      return unexpected(lexer, lexer.peek(), "carry(...)");
    KINTSUGI_ASSIGN(result.initial, valueList());
    if (result.goesOnWhile && !isCondition(result))
      return lexer.errorAt(offset, "what a scan goes on by is no boolean; expected a bool[] as the "
                                   "first that it carries");
    if (result.goesOnWhile == false && trip != 1)
      return lexer.errorAt(offset, "a scan of several steps goes on while true");
    if (!acceptWord("capture"))
      return unexpected(lexer, lexer.peek(), "capture(...)");
    KINTSUGI_ASSIGN(result.captured, valueList());
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "{"));
    KINTSUGI_ASSIGN(Program body, ProgramParser(lexer, weights, depth + 1).parse());
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "}"));
    if (body.outputs.size() != heads.size() || result.initial.size() > heads.size())
      return lexer.errorAt(offset, "the scan's body has " + std::to_string(body.outputs.size()) +
                                       " outputs for " + std::to_string(heads.size()) +
                                       " results; expected one for each, the carried first");
    result.body = std::make_shared<const Program>(std::move(body));
    llvm::SmallVector<ValueId> results = program.addScan(names(heads), std::move(result));
    for (auto [head, id] : llvm::zip(heads, results))
      if (program.value(id).type != head.type || program.value(id).shape != head.shape())
        return lexer.errorAt(head.offset, "'" + head.name +
                                              "' is declared as another type or "
                                              "shape than the scan gives; expected " +
                                              std::string(nameOf(program.value(id).type)) +
                                              shapeString(plainShape(program.shape(id))));
    return results;
  }

  Expected<llvm::SmallVector<ValueId>> call(llvm::ArrayRef<Head> heads) {
    Call result;
    KINTSUGI_ASSIGN(result.callee, expectName(lexer, "the name of an operation"));
    KINTSUGI_ASSIGN(result.operands, valueList());
    result.attributes = Json::object();
    if (lexer.peek().isSign("{")) {
      size_t offset = lexer.peek().offset;
      KINTSUGI_ASSIGN(llvm::StringRef object, lexer.takeObject());
      Expected<Json> attributes = parseJson(object);
      if (!attributes.ok())
        return lexer.errorAt(offset, "attributes: " + attributes.error().message);
      result.attributes = std::move(*attributes);
    }
    llvm::SmallVector<Shape> shapes;
    for (const Head &head : heads)
      shapes.push_back(head.shape());
    return program.addCall(names(heads), types(heads), shapes, std::move(result));
  }

  Lexer &lexer;
  const WeightsResolver &weights;
  unsigned depth;
  Program program;
  llvm::StringMap<ValueId> values;
  llvm::StringMap<int64_t> extents; ///< By iterator: as it was last given.
};

} // namespace

Expected<Program> parseProgram(llvm::StringRef text, llvm::StringRef file,
                               const WeightsResolver &weights) {
  Lexer lexer(text, file);
  return ProgramParser(lexer, weights, 0).parse();
}

} // namespace kintsugi::te
