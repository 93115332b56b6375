#include "derive/finite.h"

#include "simplify/facts.h"
#include "te/constant.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::derive {

using namespace te;

const Expr *readBehindCasts(const Expr &factor) {
  const Expr *read = &factor;
  while (read->kind() == ExprKind::Cast)
    read = &read->operand(0);
  return read->kind() == ExprKind::Read ? read : nullptr;
}

static bool isFiniteConstant(const Value &value) {
  if (value.kind != ValueKind::Constant || !isFloat(value.type))
    return false;
  Expected<Tensor> tensor = loadConstant(value);
  if (!tensor.ok())
    return false;
  for (int64_t k = 0, count = tensor->view().count(); k < count; ++k)
    if (!std::isfinite(loadDouble(tensor->view(), k)))
      return false;
  return true;
}

bool isFiniteFactor(const Expr &factor, const Program &program) {
  if (simplify::factsOf(factor, program).finite)
    return true;
  if (factor.kind() == ExprKind::Binary && factor.binaryOp() == BinaryOp::Mul)
    return llvm::all_of(factor.operands(),
                        [&](const Expr &e) { return isFiniteFactor(e, program); });
  const Expr *read = readBehindCasts(factor);
  if (!read)
    return false;
  const Definition *definition = program.definitionOf(read->readValue());
  if (definition && !definition->reduction && definition->bodies.size() == 1)
    return isFiniteFactor(definition->bodies[0], program);
  return isFiniteConstant(program.value(read->readValue()));
}

} // namespace kintsugi::derive
