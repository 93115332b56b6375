#include "simplify/storage_types.h"

#include "base/half.h"
#include "simplify/storage_codes.h"
#include "te/constant.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace kintsugi::simplify {

using namespace te;

namespace {

bool isPacked(ElementType type) { return isStorageOnly(type) && bitsOf(type) < 8; }

ElementType keptAs(ElementType type) { return isStorageOnly(type) ? codeType(type) : type; }

/// Of the bytes that a user's tensor consists of.
Shape shapeOfBytes(const Value &value) {
  if (!isPacked(value.type))
    return value.shape;
  return {Extent(*bytesOf(value.type, plainShape(value.shape)))};
}

class StorageTypes {
public:
  /// `whose`: a scan's body takes and gives values of the program around it.
  enum class Ports : uint8_t { Users, Program };

  StorageTypes(const Program &old, Ports ports) : old(old), ports(ports), table(old.numValues()) {}

  Program run() {
    fresh.name = old.name;
    for (ValueId id : old.inputs)
      addInput(id);
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      fresh.currentOrigin = old.origins[node];
      std::visit([&](const auto &each) { add(node, each); }, old.nodes[node]);
    }
    fresh.currentOrigin.clear();
    for (const Program::Output &output : old.outputs)
      fresh.addOutput(output.name, packed(output.value));
    return std::move(fresh);
  }

private:
  //===- Values ---------------------------------------------------------------===//

  void addInput(ValueId id) {
    const Value &value = old.value(id);
    bool isUsers = ports == Ports::Users && isStorageOnly(value.type);
    ValueId bytes = isUsers ? fresh.addInput(value.name, ElementType::U8, shapeOfBytes(value))
                            : fresh.addInput(value.name, keptAs(value.type), value.shape);
    fresh.value(bytes).facts = isStorageOnly(value.type) ? Facts() : value.facts;
    table[id.number] = isUsers ? unpacked(id, bytes) : bytes;
  }

  ValueId of(ValueId id) {
    std::optional<ValueId> &known = table[id.number];
    if (known)
      return *known;
    const Value &value = old.value(id);
    assert(value.kind == ValueKind::Constant && "a value is used before it was rebuilt");
    bool isStored = isStorageOnly(value.type);
    ValueId bytes = fresh.addConstant(value.name, isStored ? ElementType::U8 : value.type,
                                      shapeOfBytes(value), value.constant);
    if (!isStored)
      fresh.value(bytes).facts = value.facts;
    known = isStored ? unpacked(id, bytes) : bytes;
    return *known;
  }

  /// The codes that are in a user's bytes.
  ValueId unpacked(ValueId id, ValueId bytes) {
    const Value &value = old.value(id);
    if (!isPacked(value.type))
      return bytes;
    Definition definition = over(value.shape);
    definition.bodies = {value.isEmpty() ? Expr::literal(keptAs(value.type), int64_t(0))
                                         : codeIn(bytes, value)};
    return fresh.define(value.name + ".codes", keptAs(value.type), std::move(definition));
  }

  /// An element's code, which lies in one byte or across two.
  Expr codeIn(ValueId bytes, const Value &value) {
    int64_t bits = bitsOf(value.type);
    Index start = linearize(iterators(value.shape.size()), value.shape) * bits;
    Index first = start.floorDiv(8);
    auto byte = [&](const Index &at) {
      Expr zero = Expr::literal(ElementType::U8, int64_t(0));
      return Expr::cast(ElementType::U16, Expr::read(bytes, ElementType::U8, {at}, zero));
    };
    Expr word = byte(first);
    if (8 % bits != 0)
      word = Expr::binary(BinaryOp::Or, word,
                          Expr::binary(BinaryOp::ShiftLeft, byte(first + Index(1)),
                                       Expr::literal(ElementType::U16, int64_t(8))));
    Expr code =
        Expr::binary(BinaryOp::ShiftRight, word, Expr::index(start.mod(8), ElementType::U16));
    if (isInteger(value.type))
      return encoded(value.type, code);
    return lowBits(Expr::cast(ElementType::U8, code), bits);
  }

  /// What a user gets of a value.
  ValueId packed(ValueId id) {
    const Value &value = old.value(id);
    ValueId codes = of(id);
    if (ports == Ports::Program || !isPacked(value.type))
      return codes;
    Definition definition = over(shapeOfBytes(value));
    definition.bodies = {byteOf(flattened(codes), value.type)};
    return fresh.define(value.name + ".packed", ElementType::U8, std::move(definition));
  }

  /// The byte that parts of two or more codes of a row lie in.
  Expr byteOf(ValueId row, ElementType type) {
    int64_t bits = bitsOf(type);
    int64_t number = 8 % bits == 0 ? 8 / bits : 8 / bits + 2;
    Index start = Index::iterator(0) * 8, first = start.floorDiv(bits);
    Expr word = Expr::literal(ElementType::U32, int64_t(0));
    for (int64_t k = 0; k < number; ++k) {
      Expr zero = Expr::literal(keptAs(type), int64_t(0));
      Expr code = Expr::read(row, keptAs(type), {first + Index(k)}, zero);
      Expr low = Expr::cast(ElementType::U32, lowBits(Expr::cast(ElementType::U8, code), bits));
      Expr by = Expr::literal(ElementType::U32, k * bits);
      word = Expr::binary(BinaryOp::Or, word, Expr::binary(BinaryOp::ShiftLeft, low, by));
    }
    Expr by = Expr::index(start.mod(bits), ElementType::U32);
    return Expr::cast(ElementType::U8, Expr::binary(BinaryOp::ShiftRight, word, by));
  }

  ValueId flattened(ValueId id) {
    const Value &value = fresh.value(id);
    if (value.shape.size() == 1)
      return id;
    int64_t count = *elementCount(plainShape(value.shape));
    Definition definition = over({Extent(count)});
    definition.bodies = {
        count == 0 ? Expr::literal(value.type, int64_t(0))
                   : Expr::read(id, value.type, delinearize(Index::iterator(0), value.shape))};
    return fresh.define(value.name + ".row", value.type, std::move(definition));
  }

  static Expr lowBits(const Expr &code, unsigned bits) {
    Expr mask = Expr::literal(ElementType::U8, (int64_t(1) << bits) - 1);
    return Expr::binary(BinaryOp::And, code, mask);
  }

  static Definition over(llvm::ArrayRef<Extent> shape) {
    Definition definition;
    for (auto [k, extent] : llvm::enumerate(shape))
      definition.parallel.push_back({"i" + std::to_string(k), extent});
    return definition;
  }

  static llvm::SmallVector<Index> iterators(size_t count) {
    llvm::SmallVector<Index> result;
    for (unsigned k = 0; k < count; ++k)
      result.push_back(Index::iterator(k));
    return result;
  }

  //===- Nodes ----------------------------------------------------------------===//

  void bind(uint32_t node, llvm::ArrayRef<ValueId> results) {
    for (auto [before, after] : llvm::zip_equal(old.resultsOf(node), results)) {
      table[before.number] = after;
      if (!isStorageOnly(old.value(before).type))
        fresh.value(after).facts = old.value(before).facts;
    }
  }

  llvm::SmallVector<std::string> namesOf(uint32_t node) const {
    return llvm::map_to_vector(old.resultsOf(node), [&](ValueId id) { return old.value(id).name; });
  }

  llvm::SmallVector<ElementType> typesOf(uint32_t node) const {
    return llvm::map_to_vector(old.resultsOf(node),
                               [&](ValueId id) { return keptAs(old.value(id).type); });
  }

  void add(uint32_t node, const Definition &definition) {
    Definition copy = definition;
    copy.results.clear();
    Expressions expressions(*this);
    for (Expr &body : copy.bodies)
      body = definition.reduction ? expressions.number(body) : expressions(body);
    bind(node, fresh.defineMany(namesOf(node), typesOf(node), std::move(copy)));
  }

  void add(uint32_t node, const Scan &scan) {
    Scan copy = scan;
    copy.results.clear();
    copy.body = std::make_shared<Program>(StorageTypes(*scan.body, Ports::Program).run());
    for (auto *values : {&copy.initial, &copy.captured})
      for (ValueId &id : *values)
        id = of(id);
    bind(node, fresh.addScan(namesOf(node), std::move(copy)));
  }

  /// Calls know numbers, not codes: floats of few bits are f32 for them.
  void add(uint32_t node, const Call &call) {
    Call copy = call;
    copy.results.clear();
    for (ValueId &id : copy.operands) {
      ElementType type = old.value(id).type;
      id = isCodedFloat(type) ? converted(of(id), ".numbers", ElementType::F32, type) : of(id);
    }
    llvm::SmallVector<Shape> shapes;
    llvm::SmallVector<ElementType> types;
    for (ValueId id : old.resultsOf(node)) {
      ElementType type = old.value(id).type;
      shapes.push_back(old.value(id).shape);
      types.push_back(isCodedFloat(type) ? ElementType::F32 : keptAs(type));
    }
    llvm::SmallVector<ValueId> results =
        fresh.addCall(namesOf(node), types, shapes, std::move(copy));
    for (auto [id, result] : llvm::zip_equal(old.resultsOf(node), results))
      if (ElementType type = old.value(id).type; isCodedFloat(type))
        result = converted(result, ".codes", ElementType::U8, type);
    bind(node, results);
  }

  static bool isCodedFloat(ElementType type) { return isStorageOnly(type) && isFloat(type); }

  /// The numbers that codes of the storage type stand for, or codes of numbers.
  ValueId converted(ValueId id, llvm::StringRef suffix, ElementType type, ElementType storage) {
    const Value value = fresh.value(id);
    Definition definition = over(value.shape);
    Expr element = Expr::read(id, value.type, iterators(value.shape.size()));
    definition.bodies = {type == ElementType::U8 ? encoded(storage, element)
                                                 : decoded(storage, element)};
    return fresh.define(value.name + suffix.str(), type, std::move(definition));
  }

  /// Expressions over codes; what is shared in them stays shared.
  class Expressions {
  public:
    explicit Expressions(StorageTypes &types) : types(types) {}

    /// An expression of a storage-only type becomes that of its code.
    Expr operator()(const Expr &expr) {
      auto found = done.find(expr.identity());
      if (found == done.end())
        found = done.try_emplace(expr.identity(), ofCodes(expr)).first;
      return found->second;
    }

    Expr number(const Expr &expr) {
      Expr code = (*this)(expr);
      return isStorageOnly(expr.type()) ? decoded(expr.type(), code) : code;
    }

  private:
    Expr ofCodes(const Expr &expr) {
      ElementType type = expr.type();
      auto below = [&](unsigned operand) { return (*this)(expr.operand(operand)); };
      switch (expr.kind()) {
      case ExprKind::Literal:
        if (isStorageOnly(type) && isFloat(type))
          return Expr::literal(ElementType::U8, int64_t(encodeFloat(type, expr.literalFloat())));
        return isStorageOnly(type) ? Expr::literal(codeType(type), expr.literalInteger()) : expr;
      case ExprKind::Index:
        return isStorageOnly(type)
                   ? encoded(type, Expr::index(indexOf(expr.indexValue()), ElementType::I64))
                   : Expr::index(indexOf(expr.indexValue()), type);
      case ExprKind::Read:
        return read(expr);
      case ExprKind::Unary:
        return Expr::unary(expr.unaryOp(), below(0));
      case ExprKind::Binary:
        return Expr::binary(expr.binaryOp(), below(0), below(1));
      case ExprKind::Select:
        return Expr::select(below(0), below(1), below(2));
      case ExprKind::Cast:
        if (isStorageOnly(type))
          return encoded(type, number(expr.operand(0)));
        return expr.isStored() ? Expr::stored(type, number(expr.operand(0)))
                               : Expr::cast(type, number(expr.operand(0)));
      }
      return expr;
    }

    Expr read(const Expr &expr) {
      std::optional<Expr> fill;
      if (const Expr *old = expr.readFill())
        fill = (*this)(*old);
      llvm::SmallVector<Index> indices;
      for (const Index &index : expr.readIndices())
        indices.push_back(indexOf(index));
      return Expr::read(types.of(expr.readValue()), keptAs(expr.type()), indices, std::move(fill));
    }

    Index indexOf(const Index &index) {
      return index.isStatic() ? index : mapData(index, [&](const Expr &e) { return number(e); });
    }

    StorageTypes &types;
    std::map<const void *, Expr> done; ///< By identity of the old expression, which is alive.
  };

  const Program &old;
  Ports ports;
  Program fresh;
  std::vector<std::optional<ValueId>> table; ///< By number of the old value.
};

} // namespace

bool hasStorageTypes(const Program &program) {
  auto inside = [](const Node &node) {
    const auto *scan = std::get_if<Scan>(&node);
    if (const auto *definition = std::get_if<Definition>(&node)) {
      bool found = false;
      for (const Expr &body : definition->bodies)
        body.walk([&](const Expr &e) { found |= isStorageOnly(e.type()); });
      return found;
    }
    return scan && hasStorageTypes(*scan->body);
  };
  auto isStored = [](const Value &value) { return isStorageOnly(value.type); };
  return llvm::any_of(program.values, isStored) || llvm::any_of(program.nodes, inside);
}

Program withoutStorageTypes(const Program &program) {
  return StorageTypes(program, StorageTypes::Ports::Users).run();
}

Expected<Tensor> asStoredBytes(const Tensor &tensor) {
  std::vector<int64_t> shape = tensor.shape();
  if (isPacked(tensor.type()))
    shape = {int64_t(tensor.bytes().size())};
  return Tensor::copyOf({ElementType::U8, shape, tensor.bytes()});
}

} // namespace kintsugi::simplify
