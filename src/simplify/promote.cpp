#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>
#include <set>

namespace kintsugi::simplify {

using namespace te;

namespace {

ElementType promoted(ElementType type) { return isFloat(type) ? ElementType::F64 : type; }

/// The same computation where reals are f64: reads are converted, literals and operators follow.
/// What is shared in an expression stays shared.
class Promotion {
public:
  explicit Promotion(const Program &fresh) : fresh(fresh) {}

  Expr operator()(const Expr &expr) {
    auto found = done.find(expr.identity());
    if (found == done.end())
      found = done.emplace(expr.identity(), promote(expr)).first;
    return found->second;
  }

private:
  Expr promote(const Expr &expr) {
    auto below = [&](unsigned operand) { return (*this)(expr.operand(operand)); };
    switch (expr.kind()) {
    case ExprKind::Literal:
      return isFloat(expr.type()) ? Expr::literal(ElementType::F64, expr.literalFloat()) : expr;
    case ExprKind::Index:
      return Expr::index(promote(expr.indexValue()), promoted(expr.type()));
    case ExprKind::Read:
      return promoteRead(expr);
    case ExprKind::Unary:
      return promoteUnary(expr);
    case ExprKind::Binary:
      return Expr::binary(expr.binaryOp(), below(0), below(1));
    case ExprKind::Select:
      return Expr::select(below(0), below(1), below(2));
    case ExprKind::Cast:
      return Expr::cast(promoted(expr.type()), below(0));
    }
    return expr;
  }

  /// Bits are those of the number in its own type.
  Expr promoteUnary(const Expr &expr) {
    Expr operand = (*this)(expr.operand(0));
    if (expr.unaryOp() == UnaryOp::Bits)
      return Expr::unary(UnaryOp::Bits, Expr::cast(expr.operand(0).type(), operand));
    Expr result = Expr::unary(expr.unaryOp(), operand);
    return Expr::cast(promoted(result.type()), result);
  }

  /// Values of the new program may be of the old type (inputs, constants) or already f64.
  Expr promoteRead(const Expr &read) {
    ElementType stored = fresh.value(read.readValue()).type;
    llvm::SmallVector<Index> indices;
    for (const Index &index : read.readIndices())
      indices.push_back(promote(index));
    std::optional<Expr> fill;
    if (const Expr *f = read.readFill())
      fill = Expr::cast(stored, (*this)(*f));
    return Expr::cast(promoted(read.type()),
                      Expr::read(read.readValue(), stored, indices, std::move(fill)));
  }

  /// Indices that are read from data may be computed from reals.
  Index promote(const Index &index) {
    return index.isStatic() ? index : mapData(index, [&](const Expr &e) { return (*this)(e); });
  }

  const Program &fresh;
  std::map<const void *, Expr> done; ///< By identity of the old expression, which is alive.
};

/// How many digits a float type has, the one before the point included.
unsigned digitsOf(ElementType type) {
  return type == ElementType::BF16 ? 8 : type == ElementType::F16 ? 11 : 24;
}

/// An f64 expression rounded to fewer digits, by Veltkamp's split; its range stays as it is.
Expr roundedTo(unsigned digits, const Expr &x) {
  constexpr double beforeSplitOverflows = 1e290;
  auto number = [](double value) { return Expr::literal(ElementType::F64, value); };
  Expr spread = x * number(std::ldexp(1.0, 53 - int(digits)) + 1);
  Expr fits =
      Expr::binary(BinaryOp::Less, Expr::unary(UnaryOp::Abs, x), number(beforeSplitOverflows));
  return Expr::select(fits, spread - (spread - x), x);
}

class Promoter {
public:
  Promoter(const Program &program, std::optional<ElementType> rounding)
      : out(program), rounding(rounding), isCoarse(rounding && rounding != ElementType::F32) {}

  Program run() {
    for (ValueId input : out.old.inputs)
      roundGiven(input);
    for (uint32_t node = 0; node < out.old.nodes.size(); ++node) {
      for (ValueId operand : out.old.operandsOf(node))
        if (out.old.value(operand).kind == ValueKind::Constant)
          roundGiven(operand);
      if (const auto *definition = std::get_if<Definition>(&out.old.nodes[node]))
        promoteDefinition(node, *definition);
      else
        copyWithOldTypes(node);
    }
    for (const Program::Output &output : out.old.outputs)
      out.bind(output.value, stored(output.value, out.old.value(output.value).type));
    return out.finish();
  }

private:
  void promoteDefinition(uint32_t node, const Definition &old) {
    Definition definition = old;
    definition.results.clear();
    if (definition.reduction)
      definition.reduction->accumulator = promoted(definition.reduction->accumulator);
    // Renamed all at once: an identity stands for one expression only as long as that is alive.
    for (Expr &body : definition.bodies)
      body = out.rename(body);
    Promotion promotion(out.fresh);
    llvm::SmallVector<Expr, 1> promotedBodies;
    bool isRounded = !definition.reduction && isRoundedValue(old.results[0]);
    for (const Expr &body : definition.bodies)
      promotedBodies.push_back(isRounded ? rounded(promotion(body)) : promotion(body));
    definition.bodies = std::move(promotedBodies);
    out.fresh.currentOrigin = out.old.origins[node];
    llvm::SmallVector<std::string> names;
    llvm::SmallVector<ElementType> types;
    for (ValueId result : old.results) {
      names.push_back(out.old.value(result).name);
      ElementType type = out.old.value(result).type;
      types.push_back(isRoundedValue(result) ? type : promoted(type));
    }
    bool isReduction = definition.isReduction();
    for (auto [before, after] :
         llvm::zip(old.results, out.fresh.defineMany(names, types, std::move(definition)))) {
      bool isRoundedApart = isReduction && isCoarse && isRoundedValue(before);
      out.bind(before, isRoundedApart ? roundedCopy(after) : after);
    }
  }

  /// An input or a constant is rounded once, before anything reads it.
  void roundGiven(ValueId old) {
    if (isCoarse && isRoundedValue(old) && given.insert(old.number).second)
      out.bind(old, roundedCopy(out[old]));
  }

  /// Scans and calls take and give values of their old types; a scan's body is promoted inside.
  void copyWithOldTypes(uint32_t node) {
    llvm::SmallVector<ValueId> operands = out.old.operandsOf(node), promotedValues;
    for (ValueId operand : operands) {
      promotedValues.push_back(out[operand]);
      out.bind(operand, stored(operand, out.old.value(operand).type));
    }
    std::shared_ptr<const Program> body;
    if (const auto *scan = std::get_if<Scan>(&out.old.nodes[node]))
      body = std::make_shared<const Program>(promoteToDouble(*scan->body, rounding));
    out.copyNode(node, body);
    for (auto [operand, value] : llvm::zip(operands, promotedValues))
      out.bind(operand, value);
  }

  bool isRoundedValue(ValueId old) const {
    return rounding && out.old.value(old).type == ElementType::F32;
  }

  /// An f64 expression as it is stored in an f32 value.
  Expr rounded(const Expr &expr) const {
    return Expr::cast(ElementType::F32, isCoarse ? roundedTo(digitsOf(*rounding), expr) : expr);
  }

  ValueId roundedCopy(ValueId id) {
    return out.defineFrom(id, ElementType::F32, ".rounded", [&](const Expr &read) {
      return rounded(Expr::cast(ElementType::F64, read));
    });
  }

  /// A value converted back to `type`.
  ValueId stored(ValueId id, ElementType type) {
    ValueId now = out[id];
    return out.fresh.value(now).type == type
               ? now
               : out.defineFrom(now, type, ".out",
                                [&](const Expr &read) { return Expr::cast(type, read); });
  }

  Rebuilder out;
  std::optional<ElementType> rounding;
  bool isCoarse;            ///< f32 itself does not round enough.
  std::set<uint32_t> given; ///< Inputs and constants that are rounded, by number.
};

} // namespace

Program promoteToDouble(const Program &program, std::optional<ElementType> rounding) {
  return Promoter(program, rounding).run();
}

} // namespace kintsugi::simplify
