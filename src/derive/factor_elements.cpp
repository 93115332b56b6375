#include "derive/factor_elements.h"

#include "derive/constant_expr.h"
#include "derive/finite.h"
#include "te/constant.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

/// Lays the elements of a factor out by rows, then by summed iterators.
static FactorElements packed(const SumFactor &factor, llvm::ArrayRef<Interval> ranges) {
  FactorElements elements;
  for (auto [iterators, axes] :
       {std::pair(&factor.rows, &elements.rows), std::pair(&factor.summed, &elements.summed)})
    for (unsigned k : *iterators)
      axes->push_back({ranges[k].size(), 0});
  int64_t stride = 1;
  for (std::vector<MemoryAxis> *axes : {&elements.summed, &elements.rows})
    for (MemoryAxis &axis : llvm::reverse(*axes)) {
      axis.stride = stride;
      stride *= axis.extent;
    }
  elements.all = stride;
  return elements;
}

Expr SumFactor::withStored(const Program &program, const Expr &elements) const {
  const Expr *read = stored(program);
  if (!read)
    return elements;
  return te::rewrite(factor, [&](const Expr &e) { return e == *read ? elements : e; });
}

FactorElements elementsInPlace(const SumFactor &factor, const Expr &stored,
                               llvm::ArrayRef<Interval> ranges, const Program &program) {
  FactorElements elements = packed(factor, ranges);
  const Value &value = program.value(stored.readValue());
  Index place = linearize(stored.readIndices(), value.shape);
  elements.source = value.constant;
  elements.type = value.type;
  elements.all = int64_t(elementsOf(value.shape));
  elements.first = place.constantTerm();
  for (auto [k, axis] : llvm::zip_equal(factor.rows, elements.rows))
    axis.stride = place.coefficientOf(k);
  for (auto [k, axis] : llvm::zip_equal(factor.summed, elements.summed))
    axis.stride = place.coefficientOf(k);
  return elements;
}

std::optional<FactorElements>
elementsComputed(const SumFactor &factor, llvm::ArrayRef<Interval> ranges, const Program &program) {
  FactorElements elements = packed(factor, ranges);
  elements.type = factor.factor.type();
  llvm::SmallVector<Index> numbers(ranges.size(), Index(0));
  llvm::SmallVector<Extent> extents;
  for (auto [iterators, axes] :
       {std::pair(&factor.rows, &elements.rows), std::pair(&factor.summed, &elements.summed)})
    for (auto [k, axis] : llvm::zip_equal(*iterators, *axes)) {
      numbers[k] = Index::iterator(extents.size());
      extents.push_back(axis.extent);
    }
  std::optional<std::vector<double>> values =
      valuesOf(substitute(factor.factor, numbers), program, extents, mostComputed);
  Expected<Tensor> tensor = Tensor::create(elements.type, {elements.all});
  if (!values || !tensor.ok())
    return std::nullopt;
  for (auto [k, value] : llvm::enumerate(*values))
    storeDouble(elements.type, tensor->bytes(), int64_t(k), value);
  elements.source = std::make_shared<TensorConstant>(std::move(*tensor));
  return elements;
}

static int64_t pointsOf(llvm::ArrayRef<MemoryAxis> axes) {
  int64_t points = 1;
  for (const MemoryAxis &axis : axes)
    points *= axis.extent;
  return points;
}

int64_t FactorElements::numRows() const { return pointsOf(rows); }
int64_t FactorElements::points() const { return numRows() * pointsOf(summed); }

bool isLookedAt(ElementType type) {
  unsigned width = bitsOf(type);
  return (isFloat(type) || isInteger(type) || type == ElementType::Bool) &&
         (width == 8 || width == 16 || width == 32 || width == 64);
}

Status FactorElements::withBytes(llvm::function_ref<void(const std::byte *)> visit) const {
  if (const std::byte *data = source->bytes()) {
    visit(data);
    return Status::success();
  }
  KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(type, {all}));
  KINTSUGI_RETURN_IF_ERROR(source->load(tensor.bytes().data()));
  visit(tensor.bytes().data());
  return Status::success();
}

SumFactor SumFactor::of(const Definition &sum, unsigned number) {
  SumFactor result{sum.bodies[0].operand(number), {}, {}};
  for (unsigned k = 0; k < sum.numIterators(); ++k)
    if (result.factor.uses(k))
      (k < sum.parallel.size() ? result.rows : result.summed).push_back(k);
  return result;
}

const Expr *SumFactor::stored(const Program &program) const {
  const Expr *read = readBehindCasts(factor);
  bool isStored = read && !read->readFill() &&
                  program.value(read->readValue()).kind == ValueKind::Constant &&
                  isLookedAt(read->type()) &&
                  llvm::all_of(read->readIndices(), [](const Index &i) { return i.isAffine(); });
  return isStored ? read : nullptr;
}

} // namespace kintsugi::derive
