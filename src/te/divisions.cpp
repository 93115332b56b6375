#include "te/divisions.h"

namespace kintsugi::te {

static unsigned divisionsIn(const Index &index) {
  unsigned count = 0;
  for (const Term &term : index.terms())
    if (term.atom.kind == AtomKind::FloorDiv || term.atom.kind == AtomKind::Mod)
      count += 1 + divisionsIn(term.atom.operand);
  return count;
}

unsigned divisionsIn(const Expr &expr) {
  unsigned count = 0;
  expr.walk([&](const Expr &e) {
    if (e.kind() == ExprKind::Read)
      for (const Index &index : e.readIndices())
        count += divisionsIn(index);
  });
  return count;
}

} // namespace kintsugi::te
