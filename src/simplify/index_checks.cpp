#include "simplify/index_checks.h"

#include "simplify/integer_ranges.h"
#include "simplify/rebuild.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::simplify {

using namespace te;

namespace {

/// The elements of an input that a value is made of, one by one.
struct Piece {
  unsigned port;
  ElementRange range;
};

/// Whether a type has all numbers of another one.
bool holds(ElementType type, ElementType other) {
  if (!isInteger(type) || !isInteger(other))
    return false;
  if (isSigned(type) == isSigned(other))
    return bitsOf(type) >= bitsOf(other);
  return isSigned(type) && bitsOf(type) > bitsOf(other);
}

/// An integer as it was before casts that changed no number.
Expr withoutCasts(Expr expr) {
  while (expr.kind() == ExprKind::Cast && holds(expr.type(), expr.operand(0).type()))
    expr = expr.operand(0);
  return expr;
}

/// Of a value that is an input, or moves elements of one about.
std::optional<Piece> pieceOf(const Program &program, ValueId id) {
  llvm::SmallVector<Index> identity;
  llvm::SmallVector<Interval> ranges;
  for (auto [number, extent] : llvm::enumerate(program.shape(id))) {
    identity.push_back(Index::iterator(number));
    ranges.push_back(Interval::of(extent));
  }
  Expr expr = Expr::read(id, program.value(id).type, identity);
  while (program.value(expr.readValue()).kind == ValueKind::Result) {
    const Definition *definition = program.definitionOf(expr.readValue());
    if (!definition || definition->reduction)
      return std::nullopt;
    expr = withoutCasts(substitute(definition->bodies[0], expr.readIndices()));
    if (expr.kind() != ExprKind::Read || expr.readFill())
      return std::nullopt;
  }
  auto input = llvm::find(program.inputs, expr.readValue());
  if (input == program.inputs.end())
    return std::nullopt;
  Index place = te::simplify(linearize(expr.readIndices(), program.shape(*input)), ranges);
  if (!place.isAffine())
    return std::nullopt;
  Piece piece{unsigned(input - program.inputs.begin()), {}};
  piece.range.first = place.constantTerm();
  for (auto [number, range] : llvm::enumerate(ranges))
    if (int64_t step = place.coefficientOf(number); step != 0 || range.size() == 0)
      piece.range.loops.push_back({range.size(), step});
  return piece;
}

/// One number for a tensor: 0, or an element outside.
Definition reportOf(const Program &program, ValueId id, const Check &check) {
  Definition definition;
  definition.reduction = Reduction{Combiner::Max, ElementType::U64, {}};
  llvm::SmallVector<Index> indices;
  for (auto [number, extent] : llvm::enumerate(program.shape(id))) {
    definition.reduction->iterators.push_back({"r" + std::to_string(number), extent});
    indices.push_back(Index::iterator(number));
  }
  if (indices.empty()) // A reduction has something to reduce over.
    definition.reduction->iterators.push_back({"r", Extent(1)});
  ElementType type = program.value(id).type;
  Expr element = Expr::cast(ElementType::I64, Expr::read(id, type, indices));
  auto number = [](int64_t value) { return Expr::literal(ElementType::I64, value); };
  Expr isBelow = Expr::binary(BinaryOp::Less, element, number(check.low));
  Expr isAbove = Expr::binary(BinaryOp::LessEqual, number(check.high), element);
  Expr wrong = Expr::select(Expr::binary(BinaryOp::Or, isBelow, isAbove), element, number(0));
  definition.bodies.push_back(Expr::cast(ElementType::U64, wrong));
  return definition;
}

class Lowering {
public:
  Lowering(const Program &program, explain::Log *log)
      : result{program, {}}, ranges(program), log(log) {}

  LoweredChecks run(const Program &program) {
    result.program.outputs.clear();
    for (const Program::Output &output : program.outputs) {
      if (std::optional<Check> check = checkOf(output))
        lower(program, output, *check);
      else
        result.program.outputs.push_back(output);
    }
    result.program = withoutUnneeded(result.program);
    return std::move(result);
  }

private:
  void lower(const Program &program, const Program::Output &output, const Check &check) {
    Interval range = ranges.of(output.value);
    if (range.within({check.low, check.high - 1}))
      return note(output, "is not looked at",
                  "the expressions say that it is within " + std::to_string(range.low) + " to " +
                      std::to_string(range.high));
    if (std::optional<Piece> piece = pieceOf(program, output.value)) {
      piece->range.low = check.low;
      piece->range.high = check.high;
      result.inputs.push_back({piece->port, check, std::move(piece->range)});
      return note(output, "is looked at before a run",
                  "it is what input '" + program.value(program.inputs[piece->port]).name +
                      "' holds");
    }
    Program &fresh = result.program;
    fresh.currentOrigin.clear();
    if (!check.node.empty())
      fresh.currentOrigin.push_back(check.node);
    ValueId report = fresh.define(program.value(output.value).name + ".check", ElementType::I64,
                                  reportOf(program, output.value, check));
    fresh.addOutput(output.name, report);
    note(output, "is looked at while it is computed", "it depends on data");
  }

  void note(const Program::Output &output, std::string decision, std::string reason) const {
    if (log)
      log->add({"checks",
                "value '" + result.program.value(output.value).name + "'",
                std::move(decision),
                {std::move(reason)},
                {}});
  }

  LoweredChecks result;
  IntegerRanges ranges;
  explain::Log *log;
};

} // namespace

LoweredChecks lowerChecks(const Program &program, explain::Log *log) {
  return Lowering(program, log).run(program);
}

} // namespace kintsugi::simplify
