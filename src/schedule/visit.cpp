#include "schedule/visit.h"

namespace kintsugi::schedule {

using namespace te;

namespace {

using VisitIndex = llvm::function_ref<void(const Index &)>;

void forEachIndex(const Expr &expr, VisitIndex visit);

/// `index` itself and every index inside it: each is a sum with factors of its own.
void forEachNested(const Index &index, VisitIndex visit) {
  visit(index);
  for (const Term &term : index.terms()) {
    if (term.atom.kind == AtomKind::Data)
      forEachIndex(*term.atom.data, visit);
    else if (term.atom.kind != AtomKind::Iterator)
      forEachNested(term.atom.operand, visit);
  }
}

void forEachIndex(const Expr &expr, VisitIndex visit) {
  if (expr.kind() == ExprKind::Index)
    forEachNested(expr.indexValue(), visit);
  if (expr.kind() == ExprKind::Read) {
    for (const Index &index : expr.readIndices())
      forEachNested(index, visit);
    if (const Expr *fill = expr.readFill())
      forEachIndex(*fill, visit);
  }
  for (const Expr &operand : expr.operands())
    forEachIndex(operand, visit);
}

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

void forEachIndex(const LoopNest &nest, VisitIndex visit) {
  for (const Expr &body : nest.bodies)
    forEachIndex(body, visit);
  for (const Expr &finish : nest.epilogue)
    forEachIndex(finish, visit);
  forEachNested(nest.destinationIndex, visit);
  for (const Kept &kept : nest.kept) {
    forEachIndex(kept.value, visit);
    forEachNested(kept.index, visit);
  }
  for (const Span &span : nest.spans) {
    visit(span.iterator);
    for (const std::optional<Expr> *bound : {&span.begin, &span.end})
      if (*bound)
        forEachIndex(**bound, visit);
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

} // namespace kintsugi::schedule
