#include "loops/fuse.h"

#include "loops/factor_move.h"
#include "loops/reindex.h"
#include "te/divisions.h"
#include "te/neutral.h"
#include "te/product.h"
#include "te/share.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

llvm::SmallVector<Interval> Member::ranges() const {
  Definition shape;
  shape.parallel = parallel;
  shape.reduction = reduction;
  return shape.ranges();
}

llvm::SmallVector<Expr> Member::expressions() const {
  llvm::SmallVector<Expr> all(bodies.begin(), bodies.end());
  all.append(epilogue.begin(), epilogue.end());
  for (const KeptValue &each : kept)
    all.push_back(each.expr);
  for (const Bound &bound : bounds)
    all.push_back(bound.end);
  return all;
}

const KeptValue *Member::keptValue(ValueId value) const {
  const KeptValue *found =
      llvm::find_if(kept, [&](const KeptValue &k) { return k.value == value; });
  return found == kept.end() ? nullptr : found;
}

bool Member::stores(ValueId value) const {
  return llvm::is_contained(results, value) || keptValue(value);
}

static double unaryCost(UnaryOp op) {
  switch (op) {
  case UnaryOp::Neg:
  case UnaryOp::Abs:
  case UnaryOp::Sign:
  case UnaryOp::Ceil:
  case UnaryOp::Floor:
  case UnaryOp::Round:
  case UnaryOp::Not:
  case UnaryOp::IsNaN:
  case UnaryOp::IsInf:
  case UnaryOp::Bits:
  case UnaryOp::FromBits:
    return 1;
  case UnaryOp::Sqrt:
    return 6;
  case UnaryOp::Exp:
  case UnaryOp::Log:
    return 14;
  case UnaryOp::Tanh:
  case UnaryOp::Erf:
    return 20;
  default:
    return 60;
  }
}

static double binaryCost(BinaryOp op) {
  switch (op) {
  case BinaryOp::Div:
    return 5;
  case BinaryOp::Rem:
  case BinaryOp::Mod:
    return 20;
  case BinaryOp::Pow:
    return 60;
  default:
    return 1;
  }
}

double ownOperations(const Expr &expr) {
  switch (expr.kind()) {
  case ExprKind::Unary:
    return unaryCost(expr.unaryOp());
  case ExprKind::Binary:
    return binaryCost(expr.binaryOp());
  case ExprKind::Select:
  case ExprKind::Cast:
    return 1;
  default:
    return 0;
  }
}

double operationsOf(const Expr &expr) {
  double total = 0;
  expr.walk([&](const Expr &e) { total += ownOperations(e); });
  return total;
}

bool isCleanMap(const Expr &body) {
  return body.kind() == ExprKind::Read && !body.readFill() &&
         llvm::all_of(body.readIndices(), [](const Index &index) { return index.isAffine(); });
}

namespace {

double points(llvm::ArrayRef<Interval> ranges) {
  double product = 1;
  for (const Interval &range : ranges)
    product *= static_cast<double>(range.size());
  return product;
}

/// Whether a body has what makes an inner loop slow: bounds, gathers, divided indices.
bool isDirty(const Expr &body) {
  bool dirty = false;
  body.walk([&](const Expr &e) {
    if (e.kind() == ExprKind::Select)
      dirty = true;
    if (e.kind() == ExprKind::Read)
      dirty |= e.readFill() ||
               llvm::any_of(e.readIndices(), [](const Index &index) { return !index.isAffine(); });
  });
  return dirty;
}

/// The type of 16 bits that both factors of a sum of products are read in.
std::optional<ElementType> factorsOf(const Definition &definition) {
  if (!definition.reduction || definition.reduction->combiner != Combiner::Sum)
    return std::nullopt;
  const Expr &body = definition.bodies[0];
  if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
    return std::nullopt;
  ElementType type = unwidened(body.operand(0)).type();
  bool isShared = isFloat(type) && bitsOf(type) == 16 && unwidened(body.operand(1)).type() == type;
  return isShared ? std::optional(type) : std::nullopt;
}

class Fuser {
public:
  Fuser(const Program &program, const Group &group, const FuseOptions &options)
      : program(program), group(group), options(options) {}

  std::vector<Member> run() {
    for (uint32_t node : group.nodes)
      members.push_back(memberOf(node));
    inlineProducers();
    attachEpilogues();
    return std::move(members);
  }

private:
  Member memberOf(uint32_t node) {
    const auto &definition = std::get<Definition>(program.nodes[node]);
    Member member{node};
    member.parallel = definition.parallel;
    member.reduction = definition.reduction;
    member.bodies = definition.bodies;
    member.results = definition.results;
    member.factors = factorsOf(definition);
    for (unsigned k = 0; k < member.parallel.size(); ++k)
      member.resultIndices.push_back(Index::iterator(k));
    member.isOutput = llvm::any_of(
        member.results, [&](ValueId id) { return llvm::is_contained(group.outputs, id); });
    return member;
  }

  /// How often `value` is read when every member runs as it stands; equal reads of one member count
  /// once, since generated code shares them.
  double readsOfValue(ValueId value) const {
    double total = 0;
    for (const Member &member : members) {
      llvm::SmallVector<Expr> distinct;
      for (const Expr &body : member.expressions())
        body.walk([&](const Expr &e) {
          if (e.kind() == ExprKind::Read && e.readValue() == value &&
              !llvm::is_contained(distinct, e))
            distinct.push_back(e);
        });
      total += static_cast<double>(distinct.size()) * points(member.ranges());
    }
    return total;
  }

  bool shouldInline(const Member &producer) const {
    if (producer.reduction || producer.isOutput)
      return false;
    const Expr &body = producer.bodies[0];
    if (isCleanMap(body) || body.isLiteral())
      return true;
    if (divisionsIn(body) > mostDivisions)
      return false;
    if (options.fillsAreFree && isBorder(body) && isFactorOnly(producer.results[0]))
      return true;
    double factor = readsOfValue(producer.results[0]) / std::max(1.0, points(producer.ranges()));
    if (factor <= 1.01)
      return !(isDirty(body) && readByReduction(producer.results[0]));
    return !isDirty(body) && factor <= 4 && operationsOf(body) * (factor - 1) <= options.mostAgain;
  }

  static bool isZero(const Expr &expr) {
    return isFloat(expr.type()) && isNeutral(expr, Combiner::Sum);
  }

  /// Whether a condition compares places with integers, which a copy of some elements can ask for.
  static bool isOfPlaces(const Expr &condition) {
    bool areIntegers = true;
    condition.walk([&](const Expr &e) {
      areIntegers &= isInteger(e.type()) || e.type() == ElementType::Bool;
      if (e.kind() == ExprKind::Read)
        areIntegers &= !e.readFill() && llvm::all_of(e.readIndices(), [](const Index &index) {
          return index.isStatic();
        });
    });
    constexpr double most = 4;
    return areIntegers && operationsOf(condition) <= most;
  }

  /// Whether a body is what it reads, or zero: outside of it, or where a condition does not hold.
  static bool isBorder(const Expr &body) {
    bool isChosen = body.kind() == ExprKind::Select && isZero(body.operand(2)) &&
                    isOfPlaces(body.operand(0)) && isCleanMap(body.operand(1));
    const Expr *fill = body.kind() == ExprKind::Read ? body.readFill() : nullptr;
    return isChosen ||
           (fill && isZero(*fill) &&
            llvm::all_of(body.readIndices(), [](const Index &index) { return index.isAffine(); }));
  }

  /// Whether all that read a value are sums of products of two matrices, of which it is one.
  bool isFactorOnly(ValueId value) const {
    return llvm::all_of(members, [&](const Member &member) {
      bool isRead = llvm::any_of(member.expressions(), [&](const Expr &expr) {
        return llvm::is_contained(readsOf(expr), value);
      });
      return !isRead || isProduct(member);
    });
  }

  static bool isProduct(const Member &member) {
    return member.reduction && member.reduction->combiner == Combiner::Sum &&
           member.bodies.size() == 1 &&
           multipliesMatrices(member.bodies[0], member.parallel.size());
  }

  bool readByReduction(ValueId value) const {
    return llvm::any_of(members, [&](const Member &member) {
      return member.reduction && llvm::any_of(member.bodies, [&](const Expr &body) {
               return llvm::is_contained(readsOf(body), value);
             });
    });
  }

  void inlineProducers() {
    for (size_t number = 0; number < members.size();) {
      if (!shouldInline(members[number])) {
        ++number;
        continue;
      }
      Member producer = std::move(members[number]);
      members.erase(members.begin() + number);
      Definition definition;
      definition.parallel = producer.parallel;
      definition.bodies = producer.bodies;
      definition.results = producer.results;
      for (Member &consumer : members)
        for (Expr &body : consumer.bodies)
          if (llvm::is_contained(readsOf(body), producer.results[0]))
            body = withSharing(
                simplifyIndices(inlineInto(body, definition, program.shape(producer.results[0])),
                                consumer.ranges(), [&](ValueId id) { return program.shape(id); }));
    }
  }

  /// The only member that reads `value`, or -1.
  int soleReader(ValueId value) const {
    int reader = -1;
    for (auto [number, member] : llvm::enumerate(members))
      for (const Expr &expr : member.expressions())
        if (llvm::is_contained(readsOf(expr), value)) {
          if (reader >= 0 && reader != static_cast<int>(number))
            return -1;
          reader = number;
        }
    return reader;
  }

  void attachEpilogues() {
    for (size_t number = 0; number < members.size();) {
      const Member &reduction = members[number];
      int reader = -1;
      if (reduction.reduction && !reduction.isOutput && reduction.results.size() == 1)
        reader = soleReader(reduction.results[0]);
      std::optional<Member> joined;
      if (reader > static_cast<int>(number) && !members[reader].reduction &&
          members[reader].results.size() == 1)
        joined = joinEpilogue(program, reduction, members[reader]);
      if (!joined) {
        ++number;
        continue;
      }
      members[reader] = std::move(*joined);
      members.erase(members.begin() + number);
    }
  }

  const Program &program;
  const Group &group;
  const FuseOptions options;
  std::vector<Member> members;
};

} // namespace

std::vector<Member> fuse(const Program &program, const Group &group, const FuseOptions &options) {
  return Fuser(program, group, options).run();
}

} // namespace kintsugi::loops
