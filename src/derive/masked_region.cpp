#include "derive/masked_region.h"

#include "derive/constant_expr.h"
#include "simplify/facts.h"
#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <limits>
#include <set>

namespace kintsugi::derive {

using namespace te;

namespace {

/// What is known of an expression at hidden elements.
enum class Hidden { Unknown, Low, Zero, False, True };

/// An iterator of the definition, or -1.
int plainIterator(const Expr &read, unsigned dimension) {
  return read.readIndices()[dimension].asIterator();
}

class RegionFinder {
public:
  RegionFinder(const Program &program, const std::vector<bool> &constantNodes,
               llvm::ArrayRef<llvm::SmallVector<uint32_t>> readers)
      : program(program), constantNodes(constantNodes), readers(readers) {}

  std::optional<MaskedRegion> find(uint32_t node) {
    std::optional<MaskedScore> masked = maskedScore(node);
    if (!masked)
      return std::nullopt;
    region = MaskedRegion{node, *masked, {}, {}};
    proveScore(*masked);
    add(node, {masked->row, static_cast<int>(masked->column)}, Hidden::Low);
    for (uint32_t next = node + 1; next < program.nodes.size(); ++next)
      if (readsRegion(next) && !follow(next))
        return std::nullopt;
    dropLooseRows();
    addProducers();
    if (region.reduces.empty() || !isClosed())
      return std::nullopt;
    return std::move(region);
  }

private:
  struct State {
    Hidden hidden;
    bool isMaximum = false; ///< Of a row, over scores that are low where hidden.
  };

  const Definition *definition(uint32_t node) const {
    return std::get_if<Definition>(&program.nodes[node]);
  }
  const MaskedDimensions *dimensionsOf(ValueId id) const {
    const Value &value = program.value(id);
    if (value.kind != ValueKind::Result || value.result != 0)
      return nullptr;
    auto found = region.nodes.find(value.node);
    return found == region.nodes.end() ? nullptr : &found->second;
  }
  void add(uint32_t node, MaskedDimensions dimensions, Hidden hidden, bool isMaximum = false) {
    region.nodes[node] = dimensions;
    states[node] = {hidden, isMaximum};
  }

  /// Added or chosen by what depends on constants, one row and one column iterator alone.
  std::optional<MaskedScore> maskedScore(uint32_t node) const {
    const Definition *def = definition(node);
    if (!def || def->reduction || def->bodies.size() != 1 || constantNodes[node] ||
        !isFloat(def->bodies[0].type()))
      return std::nullopt;
    const Expr &body = def->bodies[0];
    std::optional<MaskedScore> masked;
    auto isConstant = [&](const Expr &e) { return isConstantExpr(e, program, constantNodes); };
    if (body.kind() == ExprKind::Binary && body.binaryOp() == BinaryOp::Add) {
      for (unsigned side : {0u, 1u})
        if (!masked && isConstant(body.operand(side)))
          masked =
              MaskedScore{MaskedScore::Kind::Added, body.operand(1 - side), body.operand(side)};
    } else if (body.kind() == ExprKind::Select && isConstant(body.operand(0))) {
      for (unsigned side : {1u, 2u})
        if (std::optional<double> low =
                masked
                    ? std::nullopt
                    : lowNumberOf(body.operand(side), def->parallel.size(), program, constantNodes))
          masked = MaskedScore{MaskedScore::Kind::Selected,
                               body.operand(3 - side),
                               body.operand(0),
                               body.operand(side),
                               *low,
                               side == 1};
    }
    if (!masked || !setIterators(*def, *masked))
      return std::nullopt;
    return masked;
  }

  /// The column is the one that a maximum is taken over.
  bool setIterators(const Definition &def, MaskedScore &masked) const {
    llvm::SmallVector<unsigned> used;
    for (unsigned k = 0; k < def.parallel.size(); ++k)
      if (masked.mask.uses(k) && def.parallel[k].extent.constant() > 1)
        used.push_back(k);
    if (used.size() != 2)
      return false;
    for (uint32_t reader : readers[program.value(def.results[0]).node]) {
      const Definition *maximum = definition(reader);
      if (!maximum || !maximum->reduction || maximum->reduction->combiner != Combiner::Max)
        continue;
      std::optional<unsigned> column;
      maximum->bodies[0].walk([&](const Expr &e) {
        if (e.kind() != ExprKind::Read || e.readValue() != def.results[0])
          return;
        for (unsigned k : used)
          if (plainIterator(e, k) >= static_cast<int>(maximum->parallel.size()))
            column = k;
      });
      if (!column)
        continue;
      masked.column = *column;
      masked.row = used[0] == *column ? used[1] : used[0];
      return true;
    }
    return false;
  }

  void proveScore(const MaskedScore &masked) {
    if (masked.kind == MaskedScore::Kind::Selected && std::isinf(masked.lowNumber))
      return; // No open score is less.
    Facts facts = simplify::factsOf(masked.score, program);
    double half = halfGreatest(masked.score.type());
    region.proved &=
        facts.neverNaN && facts.low && facts.high && *facts.low > -half && *facts.high < half;
  }

  bool readsRegion(uint32_t node) const {
    return llvm::any_of(program.operandsOf(node),
                        [&](ValueId id) { return dimensionsOf(id) != nullptr; });
  }
  bool readsColumns(uint32_t node) const {
    return llvm::any_of(program.operandsOf(node), [&](ValueId id) {
      const MaskedDimensions *dimensions = dimensionsOf(id);
      return dimensions && dimensions->column >= 0;
    });
  }

  /// The iterators that stand for rows and columns wherever the region is read; false if they
  /// differ or something else stands there.
  bool iteratorsOf(const Definition &def, int &row, int &column) const {
    row = column = -1;
    bool same = true;
    auto agree = [&](int &known, int here) {
      same &= here >= 0 && (known < 0 || known == here);
      known = here;
    };
    auto visit = [&](const Expr &e) {
      if (e.kind() != ExprKind::Read)
        return;
      const MaskedDimensions *dimensions = dimensionsOf(e.readValue());
      if (!dimensions)
        return;
      same &= e.readFill() == nullptr;
      agree(row, plainIterator(e, dimensions->row));
      if (dimensions->column >= 0)
        agree(column, plainIterator(e, dimensions->column));
      for (auto [dimension, index] : llvm::enumerate(e.readIndices()))
        if (dimension != dimensions->row && int(dimension) != dimensions->column)
          same &= (row < 0 || !index.uses(row)) && (column < 0 || !index.uses(column));
    };
    for (int round = 0; round < 2; ++round) // The second knows both.
      for (const Expr &body : def.bodies)
        body.walk(visit);
    return same && row >= 0 && row < static_cast<int>(def.parallel.size());
  }

  /// Takes a reader of the region in; false where the region can't be blocked because of it.
  bool follow(uint32_t node) {
    const Definition *def = definition(node);
    bool columns = readsColumns(node);
    int row = -1, column = -1;
    if (!def || def->bodies.size() != 1 || !iteratorsOf(*def, row, column))
      return !columns; // What reads rows only may read them as they are stored in the end.
    int parallel = static_cast<int>(def->parallel.size());
    if (!columns) {
      if (!def->reduction)
        add(node, {static_cast<unsigned>(row), -1}, Hidden::Unknown);
      return true;
    }
    Hidden hidden = hiddenState(def->bodies[0]);
    if (column < parallel) {
      if (def->reduction)
        return false;
      add(node, {static_cast<unsigned>(row), column}, hidden);
      return true;
    }
    if (def->reduction->iterators.size() != 1)
      return false;
    Combiner combiner = def->reduction->combiner;
    bool isMaximum = combiner == Combiner::Max && hidden == Hidden::Low;
    bool isSum = combiner == Combiner::Sum && hidden == Hidden::Zero;
    if (!isMaximum && !isSum)
      return false;
    add(node, {static_cast<unsigned>(row), -1}, Hidden::Unknown, isMaximum);
    region.reduces[node] = column;
    return true;
  }

  Hidden hiddenState(const Expr &expr) {
    switch (expr.kind()) {
    case ExprKind::Literal:
      return expr.literalFloat() == 0 ? Hidden::Zero : Hidden::Unknown;
    case ExprKind::Read:
      return dimensionsOf(expr.readValue()) ? states.at(program.value(expr.readValue()).node).hidden
                                            : Hidden::Unknown;
    case ExprKind::Cast:
      return isFloat(expr.type()) && isFloat(expr.operand(0).type()) ? hiddenState(expr.operand(0))
                                                                     : Hidden::Unknown;
    case ExprKind::Unary:
      return hiddenUnary(expr.unaryOp(), hiddenState(expr.operand(0)));
    case ExprKind::Binary:
      return hiddenBinary(expr);
    case ExprKind::Select:
      return hiddenSelect(expr);
    default:
      return Hidden::Unknown;
    }
  }

  static Hidden hiddenUnary(UnaryOp op, Hidden operand) {
    switch (op) {
    case UnaryOp::Exp:
      return operand == Hidden::Low ? Hidden::Zero : Hidden::Unknown;
    case UnaryOp::Neg:
    case UnaryOp::Abs:
      return operand == Hidden::Zero ? Hidden::Zero : Hidden::Unknown;
    case UnaryOp::IsNaN:
      return operand == Hidden::Low || operand == Hidden::Zero ? Hidden::False : Hidden::Unknown;
    case UnaryOp::Not:
      return operand == Hidden::False  ? Hidden::True
             : operand == Hidden::True ? Hidden::False
                                       : Hidden::Unknown;
    default:
      return Hidden::Unknown;
    }
  }

  Hidden hiddenBinary(const Expr &expr) {
    const Expr &left = expr.operand(0), &right = expr.operand(1);
    Hidden a = hiddenState(left), b = hiddenState(right);
    switch (expr.binaryOp()) {
    case BinaryOp::Sub: // Low less the row's maximum, which an open element gives.
      return a == Hidden::Low && isRowMaximum(right) ? Hidden::Low : Hidden::Unknown;
    case BinaryOp::Mul:
      if (a == Hidden::Zero || b == Hidden::Zero) {
        region.proved &= simplify::factsOf(a == Hidden::Zero ? right : left, program).finite;
        return Hidden::Zero;
      }
      return Hidden::Unknown;
    case BinaryOp::Div: // By the row's sum, to which an element of weight one belongs.
      return a == Hidden::Zero ? Hidden::Zero : Hidden::Unknown;
    default:
      return Hidden::Unknown;
    }
  }

  bool isRowMaximum(const Expr &expr) const {
    if (expr.kind() != ExprKind::Read || !dimensionsOf(expr.readValue()))
      return false;
    return states.at(program.value(expr.readValue()).node).isMaximum;
  }

  Hidden hiddenSelect(const Expr &expr) {
    Hidden condition = hiddenState(expr.operand(0));
    if (condition == Hidden::True || condition == Hidden::False)
      return hiddenState(expr.operand(condition == Hidden::True ? 1 : 2));
    Hidden onTrue = hiddenState(expr.operand(1)), onFalse = hiddenState(expr.operand(2));
    return onTrue == onFalse ? onTrue : Hidden::Unknown;
  }

  /// Values of rows stay in only where something of columns needs them.
  void dropLooseRows() {
    for (auto entry = region.nodes.end(); entry != region.nodes.begin();) {
      --entry;
      bool isRow = entry->second.column < 0 && !region.reduces.count(entry->first);
      bool isNeeded = llvm::any_of(readers[entry->first],
                                   [&](uint32_t reader) { return region.nodes.count(reader); });
      if (isRow && !isNeeded)
        entry = region.nodes.erase(entry);
    }
  }

  /// What only the region reads, row by row and column by column, need not be computed where it is
  /// hidden either.
  void addProducers() {
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t node = region.nodes.rbegin()->first; node-- > 0;)
        if (!region.nodes.count(node) && !constantNodes[node])
          changed |= addProducer(node);
    }
  }

  bool addProducer(uint32_t node) {
    const Definition *def = definition(node);
    if (!def || def->results.size() != 1 || def->bodies.size() != 1 || readers[node].empty() ||
        isOutput(def->results[0]))
      return false;
    std::optional<MaskedDimensions> found;
    for (uint32_t reader : readers[node]) {
      auto inside = region.nodes.find(reader);
      if (inside == region.nodes.end())
        return false;
      int row = inside->second.row, column = inside->second.column;
      if (auto reduces = region.reduces.find(reader); reduces != region.reduces.end())
        column = static_cast<int>(reduces->second);
      for (const Expr &body : definition(reader)->bodies) {
        bool fits = true;
        body.walk([&](const Expr &e) {
          if (e.kind() == ExprKind::Read && e.readValue() == def->results[0])
            fits &= fitDimensions(e, row, column, found);
        });
        if (!fits)
          return false;
      }
    }
    if (!found)
      return false;
    add(node, *found, Hidden::Unknown);
    return true;
  }

  static bool fitDimensions(const Expr &read, int row, int column,
                            std::optional<MaskedDimensions> &found) {
    int rowAt = -1, columnAt = -1;
    for (auto [dimension, index] : llvm::enumerate(read.readIndices())) {
      if (index.asIterator() == row)
        rowAt = static_cast<int>(dimension);
      else if (index.asIterator() == column)
        columnAt = static_cast<int>(dimension);
      else if (index.uses(row) || (column >= 0 && index.uses(column)))
        return false;
    }
    if (rowAt < 0 || columnAt < 0 || read.readFill())
      return false;
    bool same = !found || (found->row == unsigned(rowAt) && found->column == columnAt);
    found = MaskedDimensions{unsigned(rowAt), columnAt};
    return same;
  }

  bool isOutput(ValueId id) const {
    return llvm::any_of(program.outputs,
                        [&](const Program::Output &output) { return output.value == id; });
  }

  /// No value with columns is needed outside.
  bool isClosed() const {
    return llvm::all_of(region.nodes, [&](const auto &entry) {
      auto [node, dimensions] = entry;
      return dimensions.column < 0 ||
             (!isOutput(program.resultsOf(node)[0]) &&
              llvm::all_of(
                  readers[node], [&](uint32_t reader) { return region.nodes.count(reader) > 0; }));
    });
  }

  const Program &program;
  const std::vector<bool> &constantNodes;
  llvm::ArrayRef<llvm::SmallVector<uint32_t>> readers;
  MaskedRegion region{0, {MaskedScore::Kind::Added, Expr::boolean(true), Expr::boolean(true)}};
  std::map<uint32_t, State> states;
};

} // namespace

double halfGreatest(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return std::numeric_limits<double>::max() / 2;
  case ElementType::F16:
    return 65504.0 / 2;
  default: // f32, and bf16 with its range.
    return double(std::numeric_limits<float>::max()) / 2;
  }
}

bool isLowNumber(double value, ElementType type) { return value <= -halfGreatest(type); }

std::optional<double> lowNumberOf(const Expr &expr, unsigned numIterators, const Program &program,
                                  const std::vector<bool> &constantNodes) {
  bool moves = llvm::any_of(llvm::seq<unsigned>(0, numIterators),
                            [&](unsigned iterator) { return expr.uses(iterator); });
  if (moves || !isConstantExpr(expr, program, constantNodes))
    return std::nullopt;
  std::optional<std::vector<double>> values = valuesOf(expr, program, {});
  bool isLow = values && values->size() == 1 && isLowNumber((*values)[0], expr.type());
  return isLow ? std::optional((*values)[0]) : std::nullopt;
}

std::vector<MaskedRegion> findMaskedRegions(const Program &program) {
  std::vector<bool> constantNodes = te::constantNodes(program);
  std::vector<llvm::SmallVector<uint32_t>> readers(program.nodes.size());
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    for (ValueId operand : program.operandsOf(node))
      if (program.value(operand).kind == ValueKind::Result &&
          !llvm::is_contained(readers[program.value(operand).node], node))
        readers[program.value(operand).node].push_back(node);
  std::vector<MaskedRegion> regions;
  std::set<uint32_t> taken;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    std::optional<MaskedRegion> region = RegionFinder(program, constantNodes, readers).find(node);
    if (!region || llvm::any_of(region->nodes,
                                [&](const auto &entry) { return taken.count(entry.first) > 0; }))
      continue;
    for (const auto &[covered, dimensions] : region->nodes)
      taken.insert(covered);
    regions.push_back(std::move(*region));
  }
  return regions;
}

} // namespace kintsugi::derive
