#include "targets/nvidia/tensor_box.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kintsugi::targets {

int64_t LinearForm::factorOf(Value value) const {
  for (const auto &[of, factor] : terms)
    if (of == value)
      return factor;
  return 0;
}

void LinearForm::add(Value value, int64_t factor) {
  auto term = llvm::find_if(terms, [&](const auto &each) { return each.first == value; });
  if (term == terms.end())
    terms.push_back({value, factor});
  else
    term->second += factor;
  llvm::erase_if(terms, [](const auto &each) { return each.second == 0; });
}

namespace {

/// A condition of a read: low <= place < high.
struct Range {
  LinearForm place;
  std::optional<int64_t> low, high;
};

class WalkFinder {
public:
  explicit WalkFinder(tile::ReadOp read)
      : read(read), nest(read->getParentOfType<tile::ComputeOp>()),
        kernel(read->getParentOfType<tile::KernelOp>()) {}

  std::optional<Walk> find() {
    std::optional<LinearForm> whole = formOf(read.getMap(), read.getIndices());
    if (!nest || !whole || (read.getMask() && !addRanges(read.getMask())))
      return std::nullopt;
    rest = *whole;
    for (const Range &range : ranges)
      if (!takeRange(range))
        return std::nullopt;
    if (!takeRest() || !staysInside())
      return std::nullopt;
    return walk;
  }

private:
  /// The last of a value's numbers, which start at 0; nullopt: it is neither iterator nor origin.
  std::optional<int64_t> lastOf(Value value) {
    if (auto iterator = dyn_cast<BlockArgument>(value))
      return nest.extentOf(iterator.getArgNumber()) - 1;
    auto origin = value.getDefiningOp<tile::OriginOp>();
    if (!origin)
      return std::nullopt;
    uint64_t dimension = origin.getDimension();
    return kernel.getExtents()[dimension] - kernel.getSizes()[dimension];
  }

  bool addTo(LinearForm &form, AffineExpr expr, ValueRange operands, int64_t factor) {
    switch (expr.getKind()) {
    case AffineExprKind::Constant:
      form.constant += factor * cast<AffineConstantExpr>(expr).getValue();
      return true;
    case AffineExprKind::DimId: {
      Value operand = operands[cast<AffineDimExpr>(expr).getPosition()];
      std::optional<int64_t> last = lastOf(operand);
      if (last && *last > 0)
        form.add(operand, factor);
      return last.has_value();
    }
    case AffineExprKind::Add:
    case AffineExprKind::Mul: {
      auto both = cast<AffineBinaryOpExpr>(expr);
      if (expr.getKind() == AffineExprKind::Add)
        return addTo(form, both.getLHS(), operands, factor) &&
               addTo(form, both.getRHS(), operands, factor);
      auto by = dyn_cast<AffineConstantExpr>(both.getRHS());
      return by && addTo(form, both.getLHS(), operands, factor * by.getValue());
    }
    default:
      return false;
    }
  }

  std::optional<LinearForm> formOf(AffineMap map, ValueRange operands) {
    LinearForm form;
    return addTo(form, map.getResult(0), operands, 1) ? std::optional(form) : std::nullopt;
  }

  bool addRanges(Value condition) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      return addRanges(both.getLhs()) && addRanges(both.getRhs());
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return false;
    APInt bound;
    if (compare.getPredicate() == arith::CmpIPredicate::sle &&
        matchPattern(compare.getLhs(), m_ConstantInt(&bound)))
      return setBound(compare.getRhs(), &Range::low, bound.getSExtValue());
    if (compare.getPredicate() == arith::CmpIPredicate::slt &&
        matchPattern(compare.getRhs(), m_ConstantInt(&bound)))
      return setBound(compare.getLhs(), &Range::high, bound.getSExtValue());
    return false;
  }

  bool setBound(Value number, std::optional<int64_t> Range::*bound, int64_t value) {
    auto index = number.getDefiningOp<tile::IndexOp>();
    std::optional<LinearForm> place;
    if (index)
      place = formOf(index.getMap(), index.getIndices());
    if (!place || place->terms.empty())
      return false;
    auto range = llvm::find_if(ranges, [&](const Range &each) { return each.place == *place; });
    if (range == ranges.end())
      range = ranges.insert(ranges.end(), Range{*place, {}, {}});
    if ((*range).*bound)
      return false;
    (*range).*bound = value;
    return true;
  }

  /// The least and the greatest number of a form.
  std::pair<int64_t, int64_t> reach(const LinearForm &form) {
    int64_t least = form.constant, most = form.constant;
    for (const auto &[value, factor] : form.terms)
      (factor < 0 ? least : most) += factor * *lastOf(value);
    return {least, most};
  }

  /// An index with bounds is a dimension: what moves it moves the read by its stride.
  bool takeRange(const Range &range) {
    const auto &[value, factor] = range.place.terms.front();
    int64_t all = rest.factorOf(value);
    auto [least, most] = reach(range.place);
    if (all % factor != 0 || all / factor <= 0 || range.low.value_or(least) != 0)
      return false;
    int64_t end = std::min(range.high.value_or(most + 1), most + 1);
    WalkDimension dimension{all / factor, end, range.place};
    for (const auto &[of, times] : range.place.terms) {
      if (rest.factorOf(of) != times * dimension.stride)
        return false;
      rest.add(of, -times * dimension.stride);
    }
    rest.constant -= range.place.constant * dimension.stride;
    walk.dimensions.push_back(dimension);
    return dimension.extent > 0;
  }

  /// What moves the read without bounds never leaves its buffer.
  bool takeRest() {
    while (!rest.terms.empty()) {
      WalkDimension dimension{rest.terms.front().second, 1, {}};
      if (dimension.stride <= 0)
        return false;
      for (const auto &[value, factor] : LinearForm(rest).terms)
        if (factor == dimension.stride) {
          dimension.place.add(value, 1);
          dimension.extent += *lastOf(value);
          rest.add(value, -factor);
        }
      walk.dimensions.push_back(dimension);
    }
    walk.start = rest.constant;
    return true;
  }

  /// Whether all places of all dimensions are the buffer's.
  bool staysInside() {
    int64_t last = walk.start;
    for (const WalkDimension &dimension : walk.dimensions)
      last += (dimension.extent - 1) * dimension.stride;
    return walk.start >= 0 && last < cast<MemRefType>(read.getBuffer().getType()).getNumElements();
  }

  tile::ReadOp read;
  tile::ComputeOp nest;
  tile::KernelOp kernel;
  SmallVector<Range> ranges;
  LinearForm rest;
  Walk walk;
};

/// Along a dimension: how often an axis moves it, and how far each time.
struct Along {
  int64_t count = 1, step = 1;
};

bool isWithinLimits(const WalkDimension &dimension, const Along &along, bool isFirst) {
  bool isAligned = dimension.stride * KIN_TENSOR_ELEMENT_BYTES % KIN_TENSOR_ALIGNMENT == 0;
  int64_t span = (along.count - 1) * along.step + 1;
  bool suits = isFirst ? dimension.stride == 1 && along.step == 1
                       : isAligned && along.step >= 1 && along.step <= KIN_TENSOR_MAX_STEP;
  return suits && span <= KIN_TENSOR_MAX_BOX;
}

bool areChunks(int64_t elements) {
  return elements % (KIN_TENSOR_ALIGNMENT / KIN_TENSOR_ELEMENT_BYTES) == 0;
}

/// Whether a value's numbers, so many times, are whole chunks: an origin's are tiles apart.
bool movesByChunks(Value value, int64_t times) {
  if (auto origin = value.getDefiningOp<tile::OriginOp>()) {
    auto kernel = origin->getParentOfType<tile::KernelOp>();
    uint64_t dimension = origin.getDimension();
    int64_t size = kernel.getSizes()[dimension], extent = kernel.getExtents()[dimension];
    return areChunks(times * size) && areChunks(times * (extent - size));
  }
  return areChunks(times);
}

/// The engine faults on lines that begin amid a chunk of the tensor's. `line` moves by whole lines.
bool beginsWithChunks(const LinearForm &place, Value line) {
  return areChunks(place.constant) && llvm::all_of(place.terms, [&](const auto &term) {
           return term.first == line || movesByChunks(term.first, term.second);
         });
}

} // namespace

std::optional<Walk> walkOf(tile::ReadOp read) { return WalkFinder(read).find(); }

std::optional<TensorBox> boxOf(const Walk &walk, ArrayRef<BoxAxis> axes, int64_t lineBytes) {
  SmallVector<std::pair<const WalkDimension *, Along>> order;
  for (const BoxAxis &axis : axes) {
    auto moves = [&](const WalkDimension &each) { return each.place.factorOf(axis.iterator) != 0; };
    const WalkDimension *dimension = llvm::find_if(walk.dimensions, moves);
    if (dimension == walk.dimensions.end() ||
        llvm::any_of(order, [&](const auto &each) { return each.first == dimension; }))
      return std::nullopt;
    order.push_back({dimension, {axis.count, dimension->place.factorOf(axis.iterator)}});
  }
  for (const WalkDimension &dimension : walk.dimensions)
    if (llvm::none_of(order, [&](const auto &each) { return each.first == &dimension; }))
      order.push_back({&dimension, {}});
  if (order.size() > KIN_TENSOR_RANK ||
      !beginsWithChunks(order.front().first->place, axes.front().iterator) ||
      walk.start * KIN_TENSOR_ELEMENT_BYTES % KIN_TENSOR_ALIGNMENT != 0)
    return std::nullopt;
  TensorBox box{{}, {}, KIN_TENSOR_ELEMENT_BYTES};
  box.map.rank = uint16_t(order.size());
  box.map.start = uint64_t(walk.start * KIN_TENSOR_ELEMENT_BYTES);
  box.map.line_bytes = uint16_t(lineBytes);
  for (auto [d, each] : llvm::enumerate(order)) {
    const auto &[dimension, along] = each;
    if (!isWithinLimits(*dimension, along, d == 0))
      return std::nullopt;
    box.map.extents[d] = uint64_t(dimension->extent);
    box.map.strides[d] = uint64_t(dimension->stride * KIN_TENSOR_ELEMENT_BYTES);
    box.map.box[d] = uint32_t((along.count - 1) * along.step + 1);
    box.map.steps[d] = uint32_t(along.step);
    box.places.push_back(dimension->place);
    box.bytes *= along.count;
  }
  return box;
}

} // namespace kintsugi::targets
