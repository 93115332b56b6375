#include "te/share.h"

#include <set>

namespace kintsugi::te {

namespace {

template <typename T> int threeWay(const T &a, const T &b) { return a < b ? -1 : b < a ? 1 : 0; }

int compareIdentities(const Expr &a, const Expr &b) {
  return threeWay(reinterpret_cast<uintptr_t>(a.identity()),
                  reinterpret_cast<uintptr_t>(b.identity()));
}

int compareReads(const Expr &a, const Expr &b) {
  if (int order = threeWay(a.readValue(), b.readValue()))
    return order;
  if (int order = threeWay(a.readIndices().size(), b.readIndices().size()))
    return order;
  for (size_t k = 0; k < a.readIndices().size(); ++k)
    if (int order = a.readIndices()[k].compare(b.readIndices()[k]))
      return order;
  const Expr *fill = a.readFill(), *other = b.readFill();
  if (!fill || !other)
    return threeWay(fill != nullptr, other != nullptr);
  return compareIdentities(*fill, *other);
}

/// Of expressions whose operands are the same where they are equal.
int compareShallow(const Expr &a, const Expr &b) {
  if (int order = threeWay(a.kind(), b.kind()))
    return order;
  if (int order = threeWay(a.type(), b.type()))
    return order;
  int order = 0;
  switch (a.kind()) {
  case ExprKind::Literal:
    return a.compare(b);
  case ExprKind::Index:
    return a.indexValue().compare(b.indexValue());
  case ExprKind::Read:
    return compareReads(a, b);
  case ExprKind::Unary:
    order = threeWay(a.unaryOp(), b.unaryOp());
    break;
  case ExprKind::Binary:
    order = threeWay(a.binaryOp(), b.binaryOp());
    break;
  case ExprKind::Cast:
    order = threeWay(a.isStored(), b.isStored());
    break;
  case ExprKind::Select:
    break;
  }
  for (size_t k = 0; order == 0 && k < a.operands().size(); ++k)
    order = compareIdentities(a.operand(k), b.operand(k));
  return order;
}

struct Less {
  bool operator()(const Expr &a, const Expr &b) const { return compareShallow(a, b) < 0; }
};

} // namespace

Expr withSharing(const Expr &expr) {
  std::set<Expr, Less> distinct;
  return rewrite(expr, [&](const Expr &e) { return *distinct.insert(e).first; });
}

} // namespace kintsugi::te
