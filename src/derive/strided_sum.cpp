#include "derive/strided_sum.h"

#include "derive/finite.h"
#include "te/index.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

bool isZero(const Expr &e) { return e.isLiteral() && e.literalFloat() == 0; }

/// Of which an element is zero unless `index` is divisible by `divisor`.
struct Divisible {
  Index index;
  int64_t divisor;
};

/// Of which an element is zero where `index` is negative.
struct Bounded {
  Index index;
};

/// Takes conditions off expressions that are zero where they don't hold.
class Peeler {
public:
  Peeler(const Program &program, llvm::ArrayRef<Interval> ranges)
      : program(program), ranges(ranges) {}

  Expr peel(const Expr &e, unsigned depth = 0) {
    if (e.kind() == ExprKind::Select && isZero(e.operand(2))) {
      addCondition(e.operand(0));
      return peel(e.operand(1), depth);
    }
    if (e.kind() == ExprKind::Cast) {
      Expr operand = peel(e.operand(0), depth);
      return e.isStored() ? Expr::stored(e.type(), operand) : Expr::cast(e.type(), operand);
    }
    if (const Definition *source = e.kind() == ExprKind::Read ? conditionalOf(e) : nullptr;
        source && depth < mostDefinitions)
      return peel(inlineInto(e, *source, program.shape(e.readValue())), depth + 1);
    return e;
  }

  llvm::SmallVector<Divisible> divisible;
  llvm::SmallVector<Bounded> bounded;
  bool fits = true; ///< No condition is of another kind.

private:
  static constexpr unsigned mostDefinitions = 4; ///< One after the other.

  /// The definition of a value that is padded with zeros, or has them between its elements.
  const Definition *conditionalOf(const Expr &read) const {
    if (const Expr *fill = read.readFill(); fill && !isZero(*fill))
      return nullptr;
    const Definition *source = program.definitionOf(read.readValue());
    if (!source || source->reduction || source->bodies.size() != 1)
      return nullptr;
    const Expr *body = &source->bodies[0];
    while (body->kind() == ExprKind::Cast)
      body = &body->operand(0);
    bool isPadding =
        body->kind() == ExprKind::Read && body->readFill() && isZero(*body->readFill());
    bool hasCondition = body->kind() == ExprKind::Select && isZero(body->operand(2));
    return isPadding || hasCondition ? source : nullptr;
  }

  void addCondition(const Expr &e) {
    std::optional<Index> left, right;
    if (e.kind() == ExprKind::Binary && e.binaryOp() == BinaryOp::And) {
      addCondition(e.operand(0));
      addCondition(e.operand(1));
      return;
    }
    if (e.kind() == ExprKind::Binary && isComparison(e.binaryOp())) {
      left = indexOf(e.operand(0));
      right = indexOf(e.operand(1));
    }
    fits &= left && right && compare(*left, e.binaryOp(), *right);
  }

  static std::optional<Index> indexOf(const Expr &e) {
    if (e.kind() == ExprKind::Index)
      return e.indexValue();
    bool isNumber = e.isLiteral() && isInteger(e.type()) &&
                    std::abs(double(e.literalInteger())) < double(maxIndexNumber);
    return isNumber ? std::optional(Index(e.literalInteger())) : std::nullopt;
  }

  bool compare(const Index &left, BinaryOp op, const Index &right) {
    if (op == BinaryOp::Equal && left == right)
      return true;
    if (op == BinaryOp::Equal)
      return left.isConstant() ? addEqual(right - left) : addEqual(left - right);
    if (op != BinaryOp::Less && op != BinaryOp::LessEqual)
      return false;
    addBounded({right - left - int64_t(op == BinaryOp::Less)});
    return true;
  }

  bool addEqual(const Index &zero) {
    int64_t remainder = -zero.constantTerm();
    if (zero.terms().size() != 1 || zero.terms()[0].factor != 1 ||
        zero.terms()[0].atom.kind != AtomKind::Mod || remainder < 0 ||
        remainder >= zero.terms()[0].atom.divisor)
      return false;
    divisible.push_back({zero.terms()[0].atom.operand - remainder, zero.terms()[0].atom.divisor});
    return true;
  }

  void addBounded(Bounded condition) {
    if (rangeOf(condition.index, ranges).low < 0)
      bounded.push_back(std::move(condition));
  }

  const Program &program;
  llvm::ArrayRef<Interval> ranges;
};

/// What an index times the divisor of its only division is where nothing remains; nullopt where
/// that is not affine.
std::optional<Index> multiplied(const Index &index, int64_t divisor) {
  Index whole(index.constantTerm() * divisor);
  unsigned divisions = 0;
  for (const Term &term : index.terms()) {
    if (term.atom.kind == AtomKind::Iterator) {
      whole = whole + Index::iterator(term.atom.iterator) * (term.factor * divisor);
    } else if (term.atom.kind == AtomKind::FloorDiv && term.atom.divisor == divisor &&
               term.factor == 1 && term.atom.operand.isAffine()) {
      whole = whole + term.atom.operand;
      ++divisions;
    } else {
      return std::nullopt;
    }
  }
  return divisions == 1 ? std::optional(whole) : std::nullopt;
}

bool isMultipleOf(const Index &index, int64_t divisor) {
  return index.isAffine() && index.constantTerm() % divisor == 0 &&
         llvm::all_of(index.terms(), [&](const Term &term) { return term.factor % divisor == 0; });
}

class Finder {
public:
  Finder(const Program &program, const Definition &definition)
      : program(program), definition(definition), ranges(definition.ranges()) {}

  std::optional<StridedSum> run() {
    Peeler peeler(program, ranges);
    Expr body = peeler.peel(definition.bodies[0]);
    size_t ofTerms = peeler.divisible.size();
    if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
      return std::nullopt;
    llvm::SmallVector<Expr, 2> factors;
    for (const Expr &factor : body.operands())
      factors.push_back(simplifyIndices(peeler.peel(factor), ranges,
                                        [&](ValueId id) { return program.shape(id); }));
    if (!peeler.fits || peeler.divisible.empty())
      return std::nullopt;
    bool timesZeros = peeler.divisible.size() > ofTerms;
    for (unsigned input : {0u, 1u}) {
      StridedSum found{factors[input], factors[1 - input], input == 0, timesZeros, {}};
      if (isInput(found.input) && addStrides(found, peeler.divisible) &&
          llvm::all_of(peeler.bounded, [&](const Bounded &b) { return isOutside(b, found); }))
        return found;
    }
    return std::nullopt;
  }

private:
  static bool isInput(const Expr &factor) {
    const Expr *read = readBehindCasts(factor);
    return read && (!read->readFill() || isZero(*read->readFill())) &&
           llvm::all_of(read->readIndices(), [](const Index &index) { return index.isStatic(); });
  }

  bool addStrides(StridedSum &sum, llvm::ArrayRef<Divisible> conditions) const {
    return llvm::all_of(conditions, [&](const Divisible &condition) {
      llvm::ArrayRef<Index> indices = sum.inputRead().readIndices();
      for (unsigned d = 0; d < indices.size(); ++d)
        if (std::optional<Stride> stride = strideAt(sum, d, condition)) {
          sum.strides.push_back(*stride);
          return true;
        }
      return false;
    });
  }

  std::optional<Stride> strideAt(const StridedSum &sum, unsigned d,
                                 const Divisible &condition) const {
    llvm::ArrayRef<Index> indices = sum.inputRead().readIndices();
    std::optional<Index> place = multiplied(indices[d], condition.divisor);
    if (!place || place->isConstant() ||
        !(isMultipleOf(*place - condition.index, condition.divisor) ||
          isMultipleOf(*place + condition.index, condition.divisor)))
      return std::nullopt;
    Stride stride{-1, -1, d, condition.divisor, 0, place->constantTerm()};
    int parallel = definition.parallel.size();
    for (const Term &term : place->terms()) {
      int iterator = term.atom.iterator;
      bool isOutput = iterator < parallel;
      int &role = isOutput ? stride.output : stride.tap;
      if (role >= 0 || (isOutput && (term.factor != 1 || sum.kernel.uses(iterator))) ||
          llvm::count_if(indices, [&](const Index &i) { return i.uses(iterator); }) != 1)
        return std::nullopt;
      role = iterator;
    }
    if (stride.tap >= 0)
      stride.step = place->coefficientOf(stride.tap);
    bool isOther =
        llvm::none_of(sum.strides, [&](const Stride &other) { return other.dimension == d; });
    return isOther && isModest(stride, inputExtent(sum, d)) ? std::optional(stride) : std::nullopt;
  }

  int64_t inputExtent(const StridedSum &sum, unsigned dimension) const {
    return program.shape(sum.inputRead().readValue())[dimension].constant();
  }

  /// Whether no number that is made of them overflows.
  bool isModest(const Stride &stride, int64_t inputExtent) const {
    double taps = stride.tap < 0 ? 1 : double(ranges[stride.tap].size());
    double outputs = stride.output < 0 ? 1 : double(ranges[stride.output].size());
    double reach = double(inputExtent) + outputs + std::abs(double(stride.step)) * taps +
                   std::abs(double(stride.offset)) + double(stride.stride);
    double factor = double(stride.stride) + std::abs(double(stride.step));
    return reach * factor < double(int64_t(1) << 60);
  }

  /// Whether a condition hides nothing but what is outside of the input.
  bool isOutside(const Bounded &condition, const StridedSum &sum) const {
    return llvm::any_of(sum.strides, [&](const Stride &s) {
      Index place(s.offset);
      if (s.output >= 0)
        place = place + Index::iterator(s.output);
      if (s.tap >= 0)
        place = place + Index::iterator(s.tap) * s.step;
      Index fromFirst = condition.index - place, toLast = condition.index + place;
      if (fromFirst.isConstant())
        return fromFirst.constantTerm() >= 0;
      int64_t last = (inputExtent(sum, s.dimension) - 1) * s.stride;
      return toLast.isConstant() && toLast.constantTerm() >= last;
    });
  }

  const Program &program;
  const Definition &definition;
  const llvm::SmallVector<Interval> ranges;
};

} // namespace

const Expr &StridedSum::inputRead() const { return *readBehindCasts(input); }

std::optional<StridedSum> findStridedSum(const Program &program, const Definition &definition) {
  if (!definition.reduction || definition.reduction->combiner != Combiner::Sum ||
      definition.bodies.size() != 1)
    return std::nullopt;
  return Finder(program, definition).run();
}

} // namespace kintsugi::derive
