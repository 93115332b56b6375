#include "derive/correlation.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

bool Correlation::isTap(unsigned iterator) const {
  return llvm::any_of(windows, [&](const Window &window) { return window.tap == iterator; });
}

const Window *Correlation::windowAlong(unsigned inputDimension) const {
  const auto *found = llvm::find_if(
      windows, [&](const Window &window) { return window.inputDimension == inputDimension; });
  return found == windows.end() ? nullptr : found;
}

namespace {

bool fillsWithZero(const Expr &read) {
  const Expr *fill = read.readFill();
  return !fill || (fill->isLiteral() && fill->literalFloat() == 0);
}

unsigned uses(llvm::ArrayRef<Index> indices, unsigned iterator) {
  return llvm::count_if(indices, [&](const Index &index) { return index.uses(iterator); });
}

/// h + dilation r + offset in one dimension of the input, where nothing else uses h or r.
std::optional<Window> windowAt(const Definition &definition, const Expr &input, const Expr &kernel,
                               unsigned dimension) {
  const Index &index = input.readIndices()[dimension];
  if (!index.isAffine() || index.terms().size() != 2)
    return std::nullopt;
  unsigned h = index.terms()[0].atom.iterator, r = index.terms()[1].atom.iterator;
  if (h > r)
    std::swap(h, r);
  unsigned parallel = definition.parallel.size();
  if (h >= parallel || r < parallel || index.coefficientOf(h) != 1 || index.coefficientOf(r) < 1)
    return std::nullopt;
  if (uses(input.readIndices(), h) != 1 || uses(input.readIndices(), r) != 1 ||
      uses(kernel.readIndices(), h) != 0 || uses(kernel.readIndices(), r) == 0)
    return std::nullopt;
  Window window;
  window.output = h;
  window.tap = r;
  window.inputDimension = dimension;
  window.dilation = index.coefficientOf(r);
  window.offset = index.constantTerm();
  window.extent = definition.parallel[h].extent.constant();
  window.taps = definition.reduction->iterators[r - parallel].extent.constant();
  return window;
}

} // namespace

std::optional<Correlation> findCorrelation(const Program &program, const Definition &definition) {
  if (!definition.reduction || definition.reduction->combiner != Combiner::Sum ||
      definition.reduction->accumulator != ElementType::F32 || definition.bodies.size() != 1)
    return std::nullopt;
  const Expr &body = definition.bodies[0];
  if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
    return std::nullopt;
  for (unsigned first : {0u, 1u}) {
    const Expr &input = body.operand(first), &kernel = body.operand(1 - first);
    auto isPlain = [](const Expr &read) {
      return read.kind() == ExprKind::Read && read.type() == ElementType::F32 &&
             llvm::all_of(read.readIndices(), [](const Index &i) { return i.isStatic(); });
    };
    if (!isPlain(input) || !isPlain(kernel) || !fillsWithZero(input) || kernel.readFill())
      continue;
    Correlation found{input, kernel, {}, 1};
    for (unsigned d = 0; d < input.readIndices().size(); ++d)
      if (std::optional<Window> window = windowAt(definition, input, kernel, d))
        found.windows.push_back(*window);
    if (found.windows.empty())
      continue;
    for (auto [k, iterator] : llvm::enumerate(definition.reduction->iterators))
      if (!found.isTap(definition.parallel.size() + k))
        found.depth *= iterator.extent.constant();
    return found;
  }
  return std::nullopt;
}

} // namespace kintsugi::derive
