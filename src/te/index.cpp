#include "te/index.h"

#include "te/expr.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace kintsugi::te {

namespace {

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}

int64_t floorRemainder(int64_t a, int64_t b) { return a - floorDivide(a, b) * b; }

template <typename T> int threeWay(const T &a, const T &b) { return a < b ? -1 : b < a ? 1 : 0; }

Atom iteratorAtom(unsigned number) {
  Atom atom{AtomKind::Iterator};
  atom.iterator = number;
  return atom;
}

Atom dividingAtom(AtomKind kind, Index operand, int64_t divisor) {
  Atom atom{kind};
  atom.operand = std::move(operand);
  atom.divisor = divisor;
  return atom;
}

} // namespace

int Atom::compare(const Atom &other) const {
  if (int order = threeWay(kind, other.kind))
    return order;
  switch (kind) {
  case AtomKind::Iterator:
    return threeWay(iterator, other.iterator);
  case AtomKind::FloorDiv:
  case AtomKind::Mod:
    if (int order = threeWay(divisor, other.divisor))
      return order;
    return operand.compare(other.operand);
  case AtomKind::Data:
    return data->compare(*other.data);
  }
  return 0;
}

Index::Index(int64_t constant) {
  if (constant == 0)
    return; // Zero has no node: indices of several threads would all count its owners.
  auto fresh = std::make_shared<IndexNode>();
  fresh->constant = constant;
  node = std::move(fresh);
}

Index Index::fromTerms(int64_t constant, std::vector<Term> terms) {
  llvm::sort(terms, [](const Term &a, const Term &b) { return a.atom.compare(b.atom) < 0; });
  auto fresh = std::make_shared<IndexNode>();
  fresh->constant = constant;
  for (Term &term : terms) {
    if (!fresh->terms.empty() && fresh->terms.back().atom.compare(term.atom) == 0)
      fresh->terms.back().factor += term.factor;
    else
      fresh->terms.push_back(std::move(term));
    if (fresh->terms.back().factor == 0)
      fresh->terms.pop_back();
  }
  return Index(std::shared_ptr<const IndexNode>(std::move(fresh)));
}

Index Index::iterator(unsigned number) {
  auto fresh = std::make_shared<IndexNode>();
  fresh->terms.push_back({1, iteratorAtom(number)});
  return Index(std::shared_ptr<const IndexNode>(std::move(fresh)));
}

Index Index::data(Expr value) {
  Atom atom{AtomKind::Data};
  atom.data = std::make_shared<const Expr>(std::move(value));
  return fromTerms(0, {Term{1, std::move(atom)}});
}

int64_t Index::constantTerm() const { return node ? node->constant : 0; }
llvm::ArrayRef<Term> Index::terms() const {
  return node ? llvm::ArrayRef<Term>(node->terms) : llvm::ArrayRef<Term>();
}

Index Index::operator+(const Index &other) const {
  if (!node)
    return other;
  if (!other.node)
    return *this;
  auto fresh = std::make_shared<IndexNode>();
  fresh->constant = constantTerm() + other.constantTerm();
  const Term *mine = terms().begin(), *theirs = other.terms().begin();
  while (mine != terms().end() || theirs != other.terms().end()) {
    int order = mine == terms().end()           ? 1
                : theirs == other.terms().end() ? -1
                                                : mine->atom.compare(theirs->atom);
    fresh->terms.push_back(order <= 0 ? *mine++ : *theirs++);
    if (order == 0 && (fresh->terms.back().factor += theirs++->factor) == 0)
      fresh->terms.pop_back();
  }
  return Index(std::shared_ptr<const IndexNode>(std::move(fresh)));
}

Index Index::operator-(const Index &other) const { return *this + other * -1; }

Index Index::operator*(int64_t factor) const {
  if (factor == 1 || !node)
    return *this;
  if (factor == 0)
    return Index(0);
  auto fresh = std::make_shared<IndexNode>(*node);
  fresh->constant *= factor;
  for (Term &term : fresh->terms)
    term.factor *= factor;
  return Index(std::shared_ptr<const IndexNode>(std::move(fresh)));
}

Index Index::floorDiv(int64_t divisor) const {
  assert(divisor > 0 && "division of an index by a positive constant");
  if (divisor == 1)
    return *this;
  if (isConstant())
    return Index(floorDivide(constantTerm(), divisor));
  return fromTerms(0, {Term{1, dividingAtom(AtomKind::FloorDiv, *this, divisor)}});
}

Index Index::mod(int64_t divisor) const {
  assert(divisor > 0 && "remainder of an index by a positive constant");
  if (divisor == 1)
    return Index(0);
  if (isConstant())
    return Index(floorRemainder(constantTerm(), divisor));
  return fromTerms(0, {Term{1, dividingAtom(AtomKind::Mod, *this, divisor)}});
}

int Index::asIterator() const {
  if (constantTerm() != 0 || terms().size() != 1 || terms()[0].factor != 1 ||
      terms()[0].atom.kind != AtomKind::Iterator)
    return -1;
  return static_cast<int>(terms()[0].atom.iterator);
}

int64_t Index::coefficientOf(unsigned iterator) const {
  for (const Term &term : terms())
    if (term.atom.kind == AtomKind::Iterator && term.atom.iterator == iterator)
      return term.factor;
  return 0;
}

bool Index::uses(unsigned iterator) const {
  return llvm::any_of(terms(), [&](const Term &term) {
    switch (term.atom.kind) {
    case AtomKind::Iterator:
      return term.atom.iterator == iterator;
    case AtomKind::FloorDiv:
    case AtomKind::Mod:
      return term.atom.operand.uses(iterator);
    case AtomKind::Data:
      return term.atom.data->uses(iterator);
    }
    return false;
  });
}

bool Index::isAffine() const {
  return llvm::all_of(terms(), [](const Term &t) { return t.atom.kind == AtomKind::Iterator; });
}

bool Index::isStatic() const {
  return llvm::all_of(terms(), [](const Term &term) {
    return term.atom.kind != AtomKind::Data &&
           (term.atom.kind == AtomKind::Iterator || term.atom.operand.isStatic());
  });
}

int Index::compare(const Index &other) const {
  if (node == other.node)
    return 0;
  if (int order = threeWay(terms().size(), other.terms().size()))
    return order;
  for (auto [mine, theirs] : llvm::zip(terms(), other.terms())) {
    if (int order = mine.atom.compare(theirs.atom))
      return order;
    if (int order = threeWay(mine.factor, theirs.factor))
      return order;
  }
  return threeWay(constantTerm(), other.constantTerm());
}

void Index::forEachData(llvm::function_ref<void(const Expr &)> visit) const {
  for (const Term &term : terms()) {
    if (term.atom.kind == AtomKind::Data)
      visit(*term.atom.data);
    else if (term.atom.kind != AtomKind::Iterator)
      term.atom.operand.forEachData(visit);
  }
}

Index substitute(const Index &index, llvm::ArrayRef<Index> replacements) {
  bool staysAsItIs = llvm::all_of(index.terms(), [&](const Term &term) {
    return term.atom.kind == AtomKind::Iterator &&
           replacements[term.atom.iterator].asIterator() == int(term.atom.iterator);
  });
  if (staysAsItIs)
    return index;
  Index result(index.constantTerm());
  for (const Term &term : index.terms()) {
    switch (term.atom.kind) {
    case AtomKind::Iterator:
      assert(term.atom.iterator < replacements.size() && "an iterator without a replacement");
      result = result + replacements[term.atom.iterator] * term.factor;
      break;
    case AtomKind::FloorDiv:
      result = result + substitute(term.atom.operand, replacements).floorDiv(term.atom.divisor) *
                            term.factor;
      break;
    case AtomKind::Mod:
      result =
          result + substitute(term.atom.operand, replacements).mod(term.atom.divisor) * term.factor;
      break;
    case AtomKind::Data:
      result = result + Index::data(substitute(*term.atom.data, replacements)) * term.factor;
      break;
    }
  }
  return result;
}

llvm::SmallVector<Index> substitute(llvm::ArrayRef<Index> map, llvm::ArrayRef<Index> replacements) {
  llvm::SmallVector<Index> result;
  for (const Index &index : map)
    result.push_back(substitute(index, replacements));
  return result;
}

/// Bounds are clamped to this, so that sums of products of bounds can't overflow.
constexpr int64_t farAway = int64_t(1) << 61;

static int64_t clampFar(__int128 value) {
  return static_cast<int64_t>(std::clamp<__int128>(value, -farAway, farAway));
}

static Interval rangeOfAtom(const Atom &atom, llvm::ArrayRef<Interval> ranges) {
  switch (atom.kind) {
  case AtomKind::Iterator:
    assert(atom.iterator < ranges.size() && "an iterator without a range");
    return ranges[atom.iterator];
  case AtomKind::FloorDiv: {
    Interval inner = rangeOf(atom.operand, ranges);
    if (inner.empty())
      return inner;
    return {floorDivide(inner.low, atom.divisor), floorDivide(inner.high, atom.divisor)};
  }
  case AtomKind::Mod: {
    Interval inner = rangeOf(atom.operand, ranges);
    if (inner.empty())
      return inner;
    if (floorDivide(inner.low, atom.divisor) == floorDivide(inner.high, atom.divisor))
      return {floorRemainder(inner.low, atom.divisor), floorRemainder(inner.high, atom.divisor)};
    return {0, atom.divisor - 1};
  }
  case AtomKind::Data:
    return {-farAway, farAway};
  }
  return {};
}

Interval rangeOf(const Index &index, llvm::ArrayRef<Interval> ranges) {
  __int128 low = index.constantTerm(), high = low;
  for (const Term &term : index.terms()) {
    Interval range = rangeOfAtom(term.atom, ranges);
    if (range.empty())
      return range;
    __int128 a = __int128(range.low) * term.factor, b = __int128(range.high) * term.factor;
    low += std::min(a, b);
    high += std::max(a, b);
  }
  return {clampFar(low), clampFar(high)};
}

namespace {

/// c*d*(x floordiv d) + c*(x mod d) is c*x.
Index recombine(const Index &index) {
  llvm::ArrayRef<Term> terms = index.terms();
  for (const Term &quotient : terms) {
    if (quotient.atom.kind != AtomKind::FloorDiv)
      continue;
    for (const Term &remainder : terms) {
      if (remainder.atom.kind != AtomKind::Mod || remainder.atom.divisor != quotient.atom.divisor ||
          quotient.factor != remainder.factor * quotient.atom.divisor ||
          remainder.atom.operand.compare(quotient.atom.operand) != 0)
        continue;
      const Index &x = quotient.atom.operand;
      Index rest = index - x.floorDiv(quotient.atom.divisor) * quotient.factor -
                   x.mod(remainder.atom.divisor) * remainder.factor;
      return recombine(rest + x * remainder.factor);
    }
  }
  return index;
}

/// x split into divisor * `multiple` + `rest`, where no term of `rest` has a factor that the
/// divisor divides and its constant lies in [0, divisor).
struct Split {
  Index multiple, rest;
};

Split splitBy(const Index &x, int64_t divisor) {
  Index multiple(floorDivide(x.constantTerm(), divisor));
  for (const Term &term : x.terms())
    if (term.factor % divisor == 0) {
      Index atom = term.atom.kind == AtomKind::Iterator ? Index::iterator(term.atom.iterator)
                   : term.atom.kind == AtomKind::FloorDiv
                       ? term.atom.operand.floorDiv(term.atom.divisor)
                   : term.atom.kind == AtomKind::Mod ? term.atom.operand.mod(term.atom.divisor)
                                                     : Index::data(*term.atom.data);
      multiple = multiple + atom * (term.factor / divisor);
    }
  return {multiple, x - multiple * divisor};
}

int64_t commonFactor(const Index &x) {
  int64_t factor = 0;
  for (const Term &term : x.terms())
    factor = std::gcd(factor, term.factor);
  return factor;
}

/// x / factor for an x whose every term and constant `factor` divides.
Index exactDivide(const Index &x, int64_t factor) { return splitBy(x, factor).multiple; }

Index simplifyFloorDiv(const Index &x, int64_t divisor, llvm::ArrayRef<Interval> ranges);
Index simplifyMod(const Index &x, int64_t divisor, llvm::ArrayRef<Interval> ranges);

/// The only atom of an index that is exactly one atom, else null.
const Atom *soleAtom(const Index &x) {
  if (x.constantTerm() != 0 || x.terms().size() != 1 || x.terms()[0].factor != 1)
    return nullptr;
  return &x.terms()[0].atom;
}

Index simplifyFloorDiv(const Index &x, int64_t divisor, llvm::ArrayRef<Interval> ranges) {
  auto [multiple, rest] = splitBy(x, divisor);
  Interval range = rangeOf(rest, ranges);
  if (range.empty())
    return multiple;
  int64_t low = floorDivide(range.low, divisor);
  if (low == floorDivide(range.high, divisor))
    return multiple + Index(low);
  // (g*y + c) floordiv d is (y + c floordiv g) floordiv (d/g): the remainder c mod g is lost in it.
  int64_t shared = std::gcd(commonFactor(rest), divisor);
  if (shared > 1) {
    Index constant(floorDivide(rest.constantTerm(), shared));
    Index scaled = exactDivide(rest - Index(rest.constantTerm()), shared) + constant;
    return multiple + simplifyFloorDiv(scaled, divisor / shared, ranges);
  }
  if (const Atom *atom = soleAtom(rest)) {
    if (atom->kind == AtomKind::FloorDiv)
      return multiple + simplifyFloorDiv(atom->operand, atom->divisor * divisor, ranges);
    if (atom->kind == AtomKind::Mod && atom->divisor % divisor == 0)
      return multiple + simplifyMod(simplifyFloorDiv(atom->operand, divisor, ranges),
                                    atom->divisor / divisor, ranges);
  }
  return multiple + rest.floorDiv(divisor);
}

Index simplifyMod(const Index &x, int64_t divisor, llvm::ArrayRef<Interval> ranges) {
  Index rest = splitBy(x, divisor).rest;
  Interval range = rangeOf(rest, ranges);
  if (range.empty())
    return rest;
  int64_t quotient = floorDivide(range.low, divisor);
  if (quotient == floorDivide(range.high, divisor))
    return rest - Index(quotient * divisor);
  int64_t shared = std::gcd(commonFactor(rest), divisor);
  if (shared > 1) {
    int64_t loose = floorRemainder(rest.constantTerm(), shared);
    Index scaled = exactDivide(rest - Index(loose), shared);
    return simplifyMod(scaled, divisor / shared, ranges) * shared + Index(loose);
  }
  if (const Atom *atom = soleAtom(rest))
    if (atom->kind == AtomKind::Mod && atom->divisor % divisor == 0)
      return simplifyMod(atom->operand, divisor, ranges);
  return rest.mod(divisor);
}

} // namespace

Index simplify(const Index &index, llvm::ArrayRef<Interval> ranges) {
  bool staysAsItIs = llvm::all_of(index.terms(), [&](const Term &term) {
    return term.atom.kind == AtomKind::Iterator && ranges[term.atom.iterator].size() != 1;
  });
  if (staysAsItIs)
    return index;
  Index result(index.constantTerm());
  for (const Term &term : index.terms()) {
    Index atom;
    switch (term.atom.kind) {
    case AtomKind::Iterator: {
      Interval range = ranges[term.atom.iterator];
      atom = range.size() == 1 ? Index(range.low) : Index::iterator(term.atom.iterator);
      break;
    }
    case AtomKind::FloorDiv:
      atom = simplifyFloorDiv(simplify(term.atom.operand, ranges), term.atom.divisor, ranges);
      break;
    case AtomKind::Mod:
      atom = simplifyMod(simplify(term.atom.operand, ranges), term.atom.divisor, ranges);
      break;
    case AtomKind::Data:
      atom = Index::data(simplifyIndices(*term.atom.data, ranges, nullptr));
      break;
    }
    result = result + atom * term.factor;
  }
  return recombine(result);
}

Index linearize(llvm::ArrayRef<Index> coordinates, llvm::ArrayRef<Extent> shape) {
  assert(coordinates.size() == shape.size() && "one coordinate a dimension");
  Index position(0);
  for (auto [coordinate, extent] : llvm::zip(coordinates, shape))
    position = position * extent.constant() + coordinate;
  return position;
}

llvm::SmallVector<Index> delinearize(const Index &position, llvm::ArrayRef<Extent> shape) {
  llvm::SmallVector<Index> coordinates(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    int64_t extent = shape[d].constant();
    if (extent > 1) {
      Index quotient = position.floorDiv(stride);
      coordinates[d] = d == 0 ? quotient : quotient.mod(extent);
    }
    stride *= std::max<int64_t>(extent, 1);
  }
  return coordinates;
}

} // namespace kintsugi::te
