#include "derive/scan_segment.h"

#include "simplify/rebuild.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

Expr integer(int64_t number) { return Expr::literal(ElementType::I64, number); }

class SegmentBuilder {
public:
  SegmentBuilder(const Program &old, const ChainedScan &link, const Segment &segment,
                 const SegmentPlace &place)
      : old(old), link(link), segment(segment), place(place), target(place.target),
        scan(std::get<Scan>(old.nodes[link.node])) {}

  Products takeProducts() {
    for (uint32_t node : link.products)
      addProduct(node);
    return std::move(products);
  }

  llvm::SmallVector<ValueId> run() {
    products = takeProducts();
    target.currentOrigin = old.origins[link.node];
    Scan part{Extent(segment.count), body(), {}, {}, {}};
    part.initial.assign(segment.initial.begin(), segment.initial.end());
    for (unsigned number = 0; number < scan.captured.size(); ++number)
      part.captured.push_back(captured(number));
    if (place.block)
      part.captured.push_back(*place.block);
    llvm::SmallVector<std::string> names;
    for (ValueId result : scan.results)
      names.push_back(nameHere(result));
    return target.addScan(names, std::move(part));
  }

private:
  std::string nameHere(ValueId id) const { return old.value(id).name + place.suffix; }

  /// A value of the chain: a source or a product.
  std::optional<ValueId> chained(ValueId id) const {
    if (auto made = products.find(id); made != products.end())
      return made->second;
    const auto *source = llvm::find(link.sources, id);
    return source == link.sources.end()
               ? std::nullopt
               : std::optional(segment.sources[source - link.sources.begin()]);
  }

  /// A product for the segment's steps alone.
  void addProduct(uint32_t node) {
    Definition definition = std::get<Definition>(old.nodes[node]);
    ValueId result = definition.results[0];
    definition.results.clear();
    definition.parallel[0].extent = Extent(segment.count);
    for (Expr &body : definition.bodies)
      body = rewrite(body, [&](const Expr &e) { return readHere(e); });
    target.currentOrigin = old.origins[node];
    products[result] = target.define(nameHere(result), old.value(result).type, definition);
    target.value(products[result]).facts = old.value(result).facts;
  }

  Expr readHere(const Expr &e) {
    if (e.kind() != ExprKind::Read)
      return e;
    std::optional<ValueId> value = chained(e.readValue());
    llvm::SmallVector<Index> indices(e.readIndices().begin(), e.readIndices().end());
    if (value && llvm::is_contained(link.sources, e.readValue()))
      indices[0] = indices[0] + Index(segment.begin - segment.sourcesBegin);
    std::optional<Expr> fill;
    if (const Expr *f = e.readFill())
      fill = *f;
    return Expr::read(value ? *value : place.other(e.readValue()), e.type(), indices, fill);
  }

  /// What the scan captures here: of step inputs the segment's steps.
  ValueId captured(unsigned number) {
    ValueId id = scan.captured[number];
    std::optional<ValueId> value = chained(id);
    if (!link.stepInputs[number])
      return place.other(id);
    if (value && !llvm::is_contained(link.sources, id))
      return *value;
    if (value)
      return stepsOf(target, nameHere(id), *value, Index(segment.begin - segment.sourcesBegin),
                     segment.count);
    Index begin(segment.begin);
    if (place.block)
      begin = begin + Index::data(Expr::read(*place.block, ElementType::I64, {})) * place.blockSize;
    return stepsOf(target, nameHere(id), place.other(id), begin, segment.count);
  }

  /// The scan's body with step inputs of the segment's steps; anything else that looks at the step
  /// sees the scan's own.
  std::shared_ptr<const Program> body() {
    simplify::Rebuilder out(*scan.body);
    ValueId step = scan.body->inputs[0];
    size_t firstCaptured = 1 + scan.initial.size();
    llvm::SmallVector<ValueId> stepInputs;
    for (auto [number, isStepInput] : llvm::enumerate(link.stepInputs))
      if (isStepInput) {
        stepInputs.push_back(out[scan.body->inputs[firstCaptured + number]]);
        out.fresh.value(stepInputs.back()).shape[0] = Extent(segment.count);
      }
    Expr now = Expr::read(out[step], ElementType::I64, {}), absolute = absoluteStep(out.fresh, now);
    auto here = [&](const Expr &e) {
      if (e.kind() != ExprKind::Read)
        return e;
      if (e.readValue() == out[step])
        return absolute;
      if (!llvm::is_contained(stepInputs, e.readValue()))
        return e;
      llvm::SmallVector<Index> indices(e.readIndices().begin(), e.readIndices().end());
      indices[0] = Index::data(now);
      return Expr::read(e.readValue(), e.type(), indices);
    };
    for (uint32_t node = 0; node < scan.body->nodes.size(); ++node) {
      Definition definition = std::get<Definition>(scan.body->nodes[node]);
      definition.results.clear();
      for (Expr &expr : definition.bodies)
        expr = rewrite(out.rename(expr), here);
      out.define(node, std::move(definition));
      out.keepFacts(node);
    }
    return std::make_shared<const Program>(out.finish());
  }

  /// The scan's own step, in its body, which takes the block's number as one more input.
  Expr absoluteStep(Program &body, Expr step) const {
    if (segment.begin != 0)
      step = step + integer(segment.begin);
    if (!place.block)
      return step;
    ValueId block = body.addInput("block", ElementType::I64, {});
    return step + Expr::read(block, ElementType::I64, {}) * integer(place.blockSize);
  }

  const Program &old;
  const ChainedScan &link;
  const Segment &segment;
  const SegmentPlace &place;
  Program &target;
  const Scan &scan;
  Products products;
};

} // namespace

Products addProducts(const Program &old, const ChainedScan &link, const Segment &segment,
                     const SegmentPlace &place) {
  return SegmentBuilder(old, link, segment, place).takeProducts();
}

llvm::SmallVector<ValueId> addSegment(const Program &old, const ChainedScan &link,
                                      const Segment &segment, const SegmentPlace &place) {
  return SegmentBuilder(old, link, segment, place).run();
}

ValueId stepsOf(Program &target, std::string name, ValueId value, const Index &begin,
                int64_t count) {
  llvm::ArrayRef<Extent> shape = target.shape(value);
  if (begin == Index(0) && shape[0] == Extent(count))
    return value;
  Definition definition;
  llvm::SmallVector<Index> indices;
  for (auto [k, extent] : llvm::enumerate(shape)) {
    definition.parallel.push_back({"i" + std::to_string(k), k == 0 ? Extent(count) : extent});
    indices.push_back(Index::iterator(k));
  }
  indices[0] = indices[0] + begin;
  ElementType type = target.value(value).type;
  definition.bodies = {Expr::read(value, type, indices)};
  return target.define(std::move(name), type, std::move(definition));
}

} // namespace kintsugi::derive
