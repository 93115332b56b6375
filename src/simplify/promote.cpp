#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::simplify {

using namespace te;

namespace {

ElementType promoted(ElementType type) { return isFloat(type) ? ElementType::F64 : type; }

/// The same computation where reals are f64: reads are converted, literals and operators follow.
Expr promote(const Expr &expr, const Program &fresh) {
  auto below = [&](const Expr &e) { return promote(e, fresh); };
  switch (expr.kind()) {
  case ExprKind::Literal:
    return isFloat(expr.type()) ? Expr::literal(ElementType::F64, expr.literalFloat()) : expr;
  case ExprKind::Index:
    return Expr::index(expr.indexValue(), promoted(expr.type()));
  case ExprKind::Read: {
    // Values of the new program may be of the old type (inputs, constants) or already f64.
    ElementType stored = fresh.value(expr.readValue()).type;
    Expr read = Expr::read(expr.readValue(), stored, expr.readIndices());
    if (const Expr *fill = expr.readFill())
      read = Expr::read(expr.readValue(), stored, expr.readIndices(),
                        Expr::cast(stored, below(*fill)));
    return Expr::cast(promoted(expr.type()), read);
  }
  case ExprKind::Unary:
    return Expr::unary(expr.unaryOp(), below(expr.operand(0)));
  case ExprKind::Binary:
    return Expr::binary(expr.binaryOp(), below(expr.operand(0)), below(expr.operand(1)));
  case ExprKind::Select:
    return Expr::select(below(expr.operand(0)), below(expr.operand(1)), below(expr.operand(2)));
  case ExprKind::Cast:
    return Expr::cast(promoted(expr.type()), below(expr.operand(0)));
  }
  return expr;
}

class Promoter {
public:
  explicit Promoter(const Program &program) : out(program) {}

  Program run() {
    for (uint32_t node = 0; node < out.old.nodes.size(); ++node) {
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
    for (Expr &body : definition.bodies)
      body = promote(renamed(body), out.fresh);
    out.fresh.currentOrigin = out.old.origins[node];
    llvm::SmallVector<std::string> names;
    llvm::SmallVector<ElementType> types;
    for (ValueId result : old.results) {
      names.push_back(out.old.value(result).name);
      types.push_back(promoted(out.old.value(result).type));
    }
    for (auto [before, after] :
         llvm::zip(old.results, out.fresh.defineMany(names, types, std::move(definition))))
      out.bind(before, after);
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
      body = std::make_shared<const Program>(promoteToDouble(*scan->body));
    out.copyNode(node, body);
    for (auto [operand, value] : llvm::zip(operands, promotedValues))
      out.bind(operand, value);
  }

  /// Reads renamed; their types are put right by promote.
  Expr renamed(const Expr &expr) { return out.rename(expr); }

  /// A value converted back to `type`.
  ValueId stored(ValueId id, ElementType type) {
    ValueId now = out[id];
    if (out.fresh.value(now).type == type)
      return now;
    Definition conversion;
    llvm::SmallVector<Index> indices;
    for (auto [k, extent] : llvm::enumerate(out.fresh.shape(now))) {
      conversion.parallel.push_back({"i" + std::to_string(k), extent});
      indices.push_back(Index::iterator(k));
    }
    conversion.bodies.push_back(
        Expr::cast(type, Expr::read(now, out.fresh.value(now).type, indices)));
    return out.fresh.define(out.fresh.value(now).name + ".out", type, std::move(conversion));
  }

  Rebuilder out;
};

} // namespace

Program promoteToDouble(const Program &program) { return Promoter(program).run(); }

} // namespace kintsugi::simplify
