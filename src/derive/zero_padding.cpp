#include "derive/zero_padding.h"

#include "derive/finite.h"

namespace kintsugi::derive {

using namespace te;

bool hasZerosOutside(const Expr &read) {
  const Expr *fill = read.readFill();
  return fill && fill->isLiteral() && isFloat(fill->type()) && fill->literalFloat() == 0;
}

const Definition *zeroPaddingOf(const Program &program, ValueId value) {
  const Definition *definition = program.definitionOf(value);
  if (!definition || definition->reduction || definition->bodies.size() != 1)
    return nullptr;
  const Expr *read = readBehindCasts(definition->bodies[0]);
  return read && hasZerosOutside(*read) ? definition : nullptr;
}

Expr withinPadding(const Expr &factor, const Program &program) {
  const Expr *read = readBehindCasts(factor);
  if (!read || read->readFill())
    return factor;
  const Definition *padding = zeroPaddingOf(program, read->readValue());
  return padding ? inlineInto(factor, *padding, program.shape(read->readValue())) : factor;
}

} // namespace kintsugi::derive
