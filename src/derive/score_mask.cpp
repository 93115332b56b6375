#include "derive/score_mask.h"

#include "derive/constant_expr.h"
#include "derive/masked_region.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::derive {

using namespace te;

/// An expression on the way from what a softmax reads to its scores.
struct ScoreMasks::Path {
  const Definition *definition;
  uint32_t node;
  Expr body; ///< Of the definition, or a part of it.
  unsigned column;
  int64_t shown;
  uint32_t outermost;
};

static bool isBinary(const Expr &expr, BinaryOp op) {
  return expr.kind() == ExprKind::Binary && expr.binaryOp() == op;
}

static bool isMinusInfinity(const Expr &expr) {
  return expr.kind() == ExprKind::Literal && isFloat(expr.type()) &&
         expr.literalFloat() == -INFINITY;
}

static Expr single(double value) { return Expr::literal(ElementType::F32, value); }

static Expr inSingle(const Expr &expr) {
  return expr.type() == ElementType::F32 ? expr : Expr::cast(ElementType::F32, expr);
}

/// Comparisons of places with each other, of which kernels for GPUs find the interval of columns
/// themselves (targets/nvidia/streamed_range.cpp), without a table.
static bool comparesPlaces(const Expr &condition) {
  if (condition.kind() != ExprKind::Binary)
    return false;
  auto isPlace = [](const Expr &expr) {
    return expr.isLiteral() || (expr.kind() == ExprKind::Index && expr.indexValue().isAffine());
  };
  switch (condition.binaryOp()) {
  case BinaryOp::And:
    return llvm::all_of(condition.operands(), comparesPlaces);
  case BinaryOp::Less:
  case BinaryOp::LessEqual:
    return llvm::all_of(condition.operands(), isPlace);
  default:
    return false;
  }
}

ScoreMasks::ScoreMasks(const Program &program, const std::vector<bool> &constant)
    : program(program), constant(constant), readers(program.numValues()) {
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    for (ValueId operand : program.operandsOf(node))
      readers[operand.number].push_back(node);
}

std::optional<ScoreMask> ScoreMasks::of(const Definition &stats) const {
  if (!stats.reduction || stats.reduction->combiner != Combiner::SoftmaxStats ||
      stats.reduction->iterators.size() != 1 || stats.bodies[0].kind() != ExprKind::Read)
    return std::nullopt;
  const Expr &read = stats.bodies[0];
  const Definition *scores = program.definitionOf(read.readValue());
  if (!scores || scores->reduction || scores->bodies.size() != 1 || read.readFill() ||
      read.type() != ElementType::F32 || !servesSoftmax(read.readValue(), stats))
    return std::nullopt;
  std::optional<unsigned> column;
  for (auto [k, index] : llvm::enumerate(read.readIndices()))
    if (index.uses(stats.parallel.size())) {
      if (column || index.asIterator() != int(stats.parallel.size()))
        return std::nullopt;
      column = k;
    }
  if (!column)
    return std::nullopt;
  std::optional<ScoreMask> found = outer(read.readValue(), *column);
  return found ? found : within(read.readValue(), *column);
}

/// Behind masks of a run, in the scores or in values that only they read.
std::optional<ScoreMask> ScoreMasks::outer(ValueId scores, unsigned column) const {
  const Definition *definition = program.definitionOf(scores);
  uint32_t outermost = program.value(scores).node;
  int64_t extent = definition->parallel[column].extent.constant();
  Path path{definition, outermost, definition->bodies[0], column, extent, outermost};
  while (true) {
    if (std::optional<ScoreMask> found = at(path))
      return found;
    const Expr body = path.body;
    if (body.kind() == ExprKind::Select && isMinusInfinity(body.operand(2))) {
      path.shown = std::min(path.shown, shownBefore(body.operand(0), column));
      path.body = body.operand(1);
    } else if (body.kind() == ExprKind::Select && isMinusInfinity(body.operand(1))) {
      path.shown = 0;
      path.body = body.operand(2);
    } else if (const Definition *read = onlyReadBy(body, *path.definition)) {
      path.node = program.value(body.readValue()).node;
      path.definition = read;
      path.body = read->bodies[0];
    } else {
      return std::nullopt;
    }
  }
}

/// The mask that stands outermost in an expression.
std::optional<ScoreMask> ScoreMasks::at(const Path &path) const {
  const Expr &body = path.body;
  auto mask = [&](const Expr &scores, Expr mask) {
    ScoreMask result{body,        scores, path.node,  std::move(mask),
                     path.column, {},     path.shown, path.outermost};
    return made(std::move(result));
  };
  if (isBinary(body, BinaryOp::Add)) {
    for (unsigned side : {1, 0})
      if (isMask(body.operand(side), path.column))
        return mask(body.operand(1 - side), body.operand(side));
  } else if (body.kind() == ExprKind::Select && isMask(body.operand(0), path.column)) {
    const Expr &condition = body.operand(0);
    for (unsigned side : {2, 1})
      if (lowNumberOf(body.operand(side), path.definition->parallel.size(), program, constant) &&
          !(side == 2 && isMinusInfinity(body.operand(2)) && comparesPlaces(condition))) {
        const Expr &low = body.operand(side);
        return mask(body.operand(3 - side), side == 2 ? Expr::select(condition, single(0), low)
                                                      : Expr::select(condition, low, single(0)));
      }
  }
  return std::nullopt;
}

/// Anywhere among masks of a run, if what it hides is minus infinity then whatever those say.
std::optional<ScoreMask> ScoreMasks::within(ValueId scores, unsigned column) const {
  const Definition *definition = program.definitionOf(scores);
  uint32_t node = program.value(scores).node;
  std::vector<Expr> terms;
  addTerms(definition->bodies[0], column, terms);
  if (terms.empty())
    return std::nullopt;
  Expr sum = terms[0];
  for (const Expr &term : llvm::ArrayRef(terms).drop_front())
    sum = sum + term;
  return made({{}, {}, node, sum, column, {}, 0, node, /*isWithin=*/true});
}

std::optional<ScoreMask> ScoreMasks::made(ScoreMask mask) const {
  size_t rank = std::get<Definition>(program.nodes[mask.node]).parallel.size();
  for (unsigned k = 0; k < rank; ++k)
    if (mask.mask.uses(k))
      mask.used.push_back(k);
  return mask.used.back() == mask.column ? std::optional(std::move(mask)) : std::nullopt;
}

/// What is added to the scores and constant, of choices what adding would do the same.
void ScoreMasks::addTerms(const Expr &expr, unsigned column, std::vector<Expr> &terms) const {
  Expr here = opened(expr);
  if (isBinary(here, BinaryOp::Add)) {
    for (const Expr &side : here.operands())
      if (isMask(side, column))
        terms.push_back(inSingle(side));
      else
        addTerms(side, column, terms);
  } else if (here.kind() == ExprKind::Select && isMinusInfinity(here.operand(2))) {
    addConditions(here.operand(0), column, terms);
    addTerms(here.operand(1), column, terms);
  } else if (here.kind() == ExprKind::Select && isMinusInfinity(here.operand(1))) {
    if (isMask(here.operand(0), column))
      terms.push_back(Expr::select(here.operand(0), single(-INFINITY), single(0)));
    addTerms(here.operand(2), column, terms);
  } else if (here.kind() == ExprKind::Cast && isFloat(here.operand(0).type())) {
    addTerms(here.operand(0), column, terms);
  }
}

/// All that have to hold for a score to be shown.
void ScoreMasks::addConditions(const Expr &condition, unsigned column,
                               std::vector<Expr> &terms) const {
  Expr here = opened(condition);
  if (isMask(here, column) && !comparesPlaces(here)) {
    terms.push_back(Expr::select(here, single(0), single(-INFINITY)));
  } else if (isBinary(here, BinaryOp::And)) {
    for (const Expr &side : here.operands())
      addConditions(side, column, terms);
  }
}

/// What a read finds, where that is computed point by point and not constant.
Expr ScoreMasks::opened(Expr expr) const {
  while (expr.kind() == ExprKind::Read && !expr.readFill() &&
         !isConstantExpr(expr, program, constant)) {
    const Definition *read = program.definitionOf(expr.readValue());
    if (!read || read->reduction || read->bodies.size() != 1)
      break;
    expr = inlineInto(expr, *read, program.shape(expr.readValue()));
  }
  return expr;
}

bool ScoreMasks::isMask(const Expr &expr, unsigned column) const {
  return expr.uses(column) && isConstantExpr(expr, program, constant);
}

/// Of columns before a number of the run, its lowest; of other conditions nothing is known.
int64_t ScoreMasks::shownBefore(const Expr &condition, unsigned column) const {
  bool isBound = isBinary(condition, BinaryOp::Less) &&
                 condition.operand(0).kind() == ExprKind::Index &&
                 condition.operand(0).indexValue().asIterator() == int(column) &&
                 condition.operand(1).kind() == ExprKind::Read;
  if (!isBound)
    return 0;
  std::optional<double> low = program.value(condition.operand(1).readValue()).facts.low;
  return low && *low > 0 ? int64_t(std::min(*low, 0x1p62)) : 0;
}

/// What a read of the same place reads, if that is computed point by point for this alone.
const Definition *ScoreMasks::onlyReadBy(const Expr &expr, const Definition &reader) const {
  if (expr.kind() != ExprKind::Read || expr.readFill())
    return nullptr;
  const Definition *read = program.definitionOf(expr.readValue());
  bool isPointwise = read && !read->reduction && read->bodies.size() == 1 &&
                     read->parallel.size() == reader.parallel.size() &&
                     expr.type() == ElementType::F32;
  if (!isPointwise || readers[expr.readValue().number].size() != 1 || isOutput(expr.readValue()))
    return nullptr;
  for (auto [k, index] : llvm::enumerate(expr.readIndices())) {
    bool isSame = index.asIterator() == int(k) || reader.parallel[k].extent.constant() == 1;
    if (!isSame || read->parallel[k].extent != reader.parallel[k].extent)
      return nullptr;
  }
  return read;
}

bool ScoreMasks::isOutput(ValueId id) const {
  return llvm::any_of(program.outputs, [&](const auto &output) { return output.value == id; });
}

bool ScoreMasks::servesSoftmax(ValueId scores, const Definition &stats) const {
  return !isOutput(scores) && llvm::all_of(readers[scores.number], [&](uint32_t reader) {
    const auto *definition = std::get_if<Definition>(&program.nodes[reader]);
    return definition && (definition->results == stats.results ||
                          llvm::is_contained(program.operandsOf(reader), stats.results[0]));
  });
}

} // namespace kintsugi::derive
