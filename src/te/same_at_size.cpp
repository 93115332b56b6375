#include "te/same_at_size.h"

#include "te/constant.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstring>

namespace kintsugi::te {

namespace {

/// Of a constant that is computed or copied: more is not looked into.
constexpr double mostConstantBytes = double(uint64_t(1) << 28);

class Comparison {
public:
  Comparison(const Program &greatest, const Program &smaller, llvm::ArrayRef<Validity> validity,
             llvm::ArrayRef<OpenSum> sums, const OpenDimension &open, int64_t size,
             SizedNumbers *numbers)
      : greatest(greatest), smaller(smaller), validity(validity), sums(sums), open(open),
        size(size), numbers(numbers) {}

  std::optional<std::string> run() const {
    if (greatest.nodes.size() != smaller.nodes.size() ||
        greatest.numValues() != smaller.numValues() || greatest.inputs != smaller.inputs ||
        !llvm::equal(greatest.outputs, smaller.outputs, areSameOutputs))
      return "its graph";
    for (uint32_t number = 0; number < greatest.numValues(); ++number)
      if (!isSameValue(number))
        return "'" + greatest.values[number].name + "'";
    for (uint32_t node = 0; node < greatest.nodes.size(); ++node)
      if (!isSameNode(node))
        return quotedNode(greatest, node);
    return std::nullopt;
  }

private:
  static bool areSameOutputs(const Program::Output &a, const Program::Output &b) {
    return a.name == b.name && a.value == b.value;
  }

  /// Or so many steps of an extent.
  bool isSameOrSteps(Extent whole, Extent part) const {
    return whole == part || (whole.constant() % open.high == 0 &&
                             part.constant() == whole.constant() / open.high * size);
  }

  bool isSameShape(const Validity &its, llvm::ArrayRef<Extent> whole,
                   llvm::ArrayRef<Extent> part) const {
    if (whole.size() != part.size())
      return false;
    for (size_t d = 0; d < whole.size(); ++d) {
      int64_t step = its.stepOf(d);
      bool isSame = step > 0 ? part[d] == Extent(step * size) : isSameOrSteps(whole[d], part[d]);
      if (!isSame)
        return false;
    }
    return true;
  }

  bool isSameValue(uint32_t number) const {
    const Value &whole = greatest.values[number], &part = smaller.values[number];
    return whole.type == part.type && whole.kind == part.kind &&
           isSameShape(validity[number], whole.shape, part.shape) &&
           (whole.kind != ValueKind::Constant || isSameConstant(whole, part));
  }

  static bool isSameConstant(const Value &whole, const Value &part) {
    if (whole.constant->identity() == part.constant->identity())
      return true;
    if (whole.bytes() > mostConstantBytes || bitsOf(whole.type) < 8)
      return false;
    std::vector<std::byte> a(size_t(whole.bytes())), b(size_t(part.bytes()));
    if (!whole.constant->load(a.data()).ok() || !part.constant->load(b.data()).ok())
      return false;
    return isPart(a.data(), whole.shape, b.data(), part.shape, bitsOf(whole.type) / 8);
  }

  /// Whether the leading `partShape` of a tensor is another.
  static bool isPart(const std::byte *whole, llvm::ArrayRef<Extent> shape, const std::byte *part,
                     llvm::ArrayRef<Extent> partShape, size_t bytes) {
    if (shape.empty())
      return std::memcmp(whole, part, bytes) == 0;
    size_t wholeStride = bytes, partStride = bytes;
    for (Extent extent : shape.drop_front())
      wholeStride *= size_t(extent.constant());
    for (Extent extent : partShape.drop_front())
      partStride *= size_t(extent.constant());
    for (int64_t i = 0; i < partShape.front().constant(); ++i)
      if (!isPart(whole + i * wholeStride, shape.drop_front(), part + i * partStride,
                  partShape.drop_front(), bytes))
        return false;
    return true;
  }

  bool isSameNode(uint32_t node) const {
    const Node &whole = greatest.nodes[node], &part = smaller.nodes[node];
    if (whole.index() != part.index())
      return false;
    if (const auto *definition = std::get_if<Definition>(&whole))
      return isSame(*definition, std::get<Definition>(part), node);
    if (const auto *scan = std::get_if<Scan>(&whole))
      return isSame(*scan, std::get<Scan>(part));
    const auto &a = std::get<Call>(whole), &b = std::get<Call>(part);
    auto isUnchanged = [&](ValueId id) {
      return greatest.value(id).shape == smaller.value(id).shape;
    };
    return a.callee == b.callee && a.attributes == b.attributes && a.operands == b.operands &&
           a.results == b.results && llvm::all_of(a.operands, isUnchanged) &&
           llvm::all_of(a.results, isUnchanged);
  }

  bool isSame(const Definition &whole, const Definition &part, uint32_t node) const {
    if (whole.results != part.results || whole.bodies.size() != part.bodies.size() ||
        whole.parallel.size() != part.parallel.size() || !isSameReduction(whole, part, node))
      return false;
    llvm::SmallVector<Interval> ranges = part.ranges();
    auto shapeOf = [&](ValueId id) { return smaller.shape(id); };
    for (auto [number, bodies] : llvm::enumerate(llvm::zip(whole.bodies, part.bodies))) {
      Expr a = simplifyIndices(std::get<0>(bodies), ranges, shapeOf);
      Expr b = simplifyIndices(std::get<1>(bodies), ranges, shapeOf);
      bool isSame = numbers ? areAlike(a, b, {node, unsigned(number), 0}, size, *numbers) : a == b;
      if (!isSame)
        return false;
    }
    return whole.numIterators() == part.numIterators();
  }

  /// A sum over more terms is another sum, unless it ends at the size.
  bool isSameReduction(const Definition &whole, const Definition &part, uint32_t node) const {
    const std::optional<Reduction> &a = whole.reduction, &b = part.reduction;
    if (!a || !b)
      return a.has_value() == b.has_value();
    if (a->combiner != b->combiner || a->accumulator != b->accumulator ||
        a->iterators.size() != b->iterators.size())
      return false;
    for (unsigned k = 0; k < a->iterators.size(); ++k) {
      Extent all = a->iterators[k].extent, some = b->iterators[k].extent;
      bool isOpen = llvm::is_contained(sums, OpenSum{node, unsigned(whole.parallel.size() + k)});
      if (isOpen ? all.constant() % open.high != 0 ||
                       some.constant() != all.constant() / open.high * size
                 : all != some)
        return false;
    }
    return true;
  }

  bool isSame(const Scan &whole, const Scan &part) const {
    if (!(whole.trip == part.trip) || whole.goesOnWhile != part.goesOnWhile ||
        whole.initial != part.initial || whole.captured != part.captured ||
        whole.results != part.results)
      return false;
    OpenInputs inner{open, {Validity()}};
    for (size_t k = 0; k < whole.initial.size(); ++k)
      inner.inputs.push_back(validity[whole.results[k].number]);
    for (ValueId captured : whole.captured)
      inner.inputs.push_back(validity[captured.number]);
    std::vector<Validity> body = validityOf(*whole.body, inner, {}, true);
    return !Comparison(*whole.body, *part.body, body, {}, open, size, nullptr).run();
  }

  const Program &greatest, &smaller;
  llvm::ArrayRef<Validity> validity;
  llvm::ArrayRef<OpenSum> sums;
  const OpenDimension &open;
  int64_t size;
  SizedNumbers *numbers; ///< Null: none may differ.
};

} // namespace

std::string quotedNode(const Program &program, uint32_t node) {
  const std::vector<std::string> &origins = program.origins[node];
  ValueId result = program.resultsOf(node).front();
  return "'" + (origins.empty() ? program.value(result).name : llvm::join(origins, "', '")) + "'";
}

std::optional<std::string> differenceAtSize(const Program &greatest, const Program &smaller,
                                            llvm::ArrayRef<Validity> validity,
                                            llvm::ArrayRef<OpenSum> sums, const OpenDimension &open,
                                            int64_t size, SizedNumbers *numbers) {
  return Comparison(greatest, smaller, validity, sums, open, size, numbers).run();
}

} // namespace kintsugi::te
