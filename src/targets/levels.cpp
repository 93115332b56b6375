//===- levels.cpp - Each value computed once, at the loop it depends on ---===//

#include "targets/levels.h"

using namespace mlir;

namespace kintsugi::targets {

Levels::Levels(OpBuilder &builder, unsigned count, Block *block) : builder(builder), levels(count) {
  levels[0].block = block;
}

void Levels::enter(unsigned level, Block *block) {
  for (unsigned inner = level; inner < levels.size(); ++inner)
    levels[inner] = Level();
  levels[level].block = block;
}

static void toEnd(OpBuilder &builder, Block *block) {
  if (block->mightHaveTerminator() && !block->empty() &&
      block->back().hasTrait<OpTrait::IsTerminator>())
    builder.setInsertionPoint(&block->back());
  else
    builder.setInsertionPointToEnd(block);
}

void Levels::placeAtEnd(unsigned level) { toEnd(builder, levels[level].block); }

void Levels::loopCreated(unsigned level, Operation *loop) {
  for (unsigned outer = 0; outer <= level; ++outer)
    if (levels[outer].block == loop->getBlock() && !levels[outer].anchor)
      levels[outer].anchor = loop;
}

void Levels::place(unsigned level) {
  if (levels[level].anchor)
    builder.setInsertionPoint(levels[level].anchor);
  else
    toEnd(builder, levels[level].block);
}

Value Levels::once(unsigned level, Key key, llvm::function_ref<Value()> make) {
  if (Value known = find(level, key))
    return known;
  place(level);
  Value value = make();
  know(level, key, value);
  return value;
}

} // namespace kintsugi::targets
