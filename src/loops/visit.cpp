#include "loops/visit.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace kintsugi::loops {

using namespace te;

namespace {

/// Visits the indices of expressions, those of what is shared once: as a tree, an expression may
/// have exponentially many.
class IndexVisitor {
public:
  explicit IndexVisitor(llvm::function_ref<void(const Index &)> visit) : visit(visit) {}

  void look(const Expr &expr) {
    if (!seen.insert(expr.identity()).second)
      return;
    if (expr.kind() == ExprKind::Index)
      look(expr.indexValue());
    if (expr.kind() == ExprKind::Read) {
      for (const Index &index : expr.readIndices())
        look(index);
      if (const Expr *fill = expr.readFill())
        look(*fill);
    }
    for (const Expr &operand : expr.operands())
      look(operand);
  }

  /// `index` itself and every index inside it: each is a sum with factors of its own.
  void look(const Index &index) {
    visit(index);
    for (const Term &term : index.terms()) {
      if (term.atom.kind == AtomKind::Data)
        look(*term.atom.data);
      else if (term.atom.kind != AtomKind::Iterator)
        look(term.atom.operand);
    }
  }

private:
  llvm::function_ref<void(const Index &)> visit;
  llvm::SmallPtrSet<const void *, 16> seen;
};

} // namespace

uint64_t usedByIndices(const Expr &expr, unsigned iterators) {
  uint64_t uses = 0;
  auto add = [&](const Index &index) {
    for (unsigned k = 0; k < iterators; ++k)
      uses |= uint64_t(index.uses(k)) << k;
  };
  if (expr.kind() == ExprKind::Read)
    for (const Index &index : expr.readIndices())
      add(index);
  if (expr.kind() == ExprKind::Index)
    add(expr.indexValue());
  return uses;
}

void forEachIndex(const LoopNest &nest, llvm::function_ref<void(const Index &)> visit) {
  IndexVisitor visitor(visit);
  for (const Expr &body : nest.bodies)
    visitor.look(body);
  for (const Expr &finish : nest.epilogue)
    visitor.look(finish);
  visitor.look(nest.destinationIndex);
  for (const Kept &kept : nest.kept) {
    visitor.look(kept.value);
    visitor.look(kept.index);
  }
  for (const Span &span : nest.spans) {
    visit(span.iterator);
    for (const std::optional<Expr> *bound : {&span.begin, &span.end})
      if (*bound)
        visitor.look(**bound);
  }
}

void forEachRead(const LoopNest &nest, llvm::function_ref<void(const Expr &)> visit) {
  auto look = [&](const Expr &e) {
    if (e.kind() == ExprKind::Read && !LoopNest::isAccumulator(e.readValue()))
      visit(e);
  };
  for (const Expr &body : nest.bodies)
    body.walk(look);
  for (const Kept &kept : nest.kept)
    kept.value.walk(look);
  for (const Expr &finish : nest.epilogue)
    finish.walk(look);
}

void replaceIterators(LoopNest &nest, llvm::ArrayRef<Index> replacements) {
  bool staysAsItIs = llvm::all_of(llvm::enumerate(replacements), [](const auto &entry) {
    return entry.value().asIterator() == int(entry.index());
  });
  if (staysAsItIs)
    return;
  for (Expr &body : nest.bodies)
    body = substitute(body, replacements);
  for (Expr &finish : nest.epilogue)
    finish = substitute(finish, replacements);
  nest.destinationIndex = substitute(nest.destinationIndex, replacements);
  for (Kept &kept : nest.kept) {
    kept.value = substitute(kept.value, replacements);
    kept.index = substitute(kept.index, replacements);
  }
  for (Span &span : nest.spans) {
    span.iterator = substitute(span.iterator, replacements);
    for (std::optional<Expr> *bound : {&span.begin, &span.end})
      if (*bound)
        *bound = substitute(**bound, replacements);
  }
}

} // namespace kintsugi::loops
