#include "derive/split_dimensions.h"

#include "derive/rule.h"
#include "derive/split_iterator.h"
#include "simplify/rebuild.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace kintsugi::derive {

using namespace te;

namespace {

struct Split {
  unsigned dimension;
  int64_t size; ///< Of a part.
};

/// How a read of a split dimension is one of two; nothing where it isn't within one part.
std::optional<std::pair<Index, Index>> parted(const Index &index, int64_t size,
                                              llvm::ArrayRef<Interval> ranges) {
  Index part = te::simplify(index.floorDiv(size), ranges),
        place = te::simplify(index.mod(size), ranges);
  if (!part.isAffine() || !place.isAffine() || place.isConstant())
    return std::nullopt;
  return std::pair(part, place);
}

void copyScan(uint32_t node, simplify::Rebuilder &out, explain::Log *log) {
  const auto &scan = std::get<Scan>(out.old.nodes[node]);
  out.copyNode(node, std::make_shared<const Program>(splitDimensions(*scan.body, log)));
  out.keepFacts(node);
}

class Splitter {
public:
  Splitter(const Program &program, explain::Log *log)
      : log(log), old(program), definitions(program.nodes.size()), readers(program.numValues()) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (const auto *definition = std::get_if<Definition>(&program.nodes[node]))
        definitions[node] = *definition;
      for (ValueId operand : program.operandsOf(node))
        readers[operand.number].push_back(node);
    }
  }

  Program run() {
    for (uint32_t node = old.nodes.size(); node-- > 0;)
      if (definitions[node] && definitions[node]->results.size() == 1 && isInside(node))
        while (std::optional<Split> split = find(node))
          apply(node, *split);
    simplify::Rebuilder out(old);
    for (uint32_t node = 0; node < old.nodes.size(); ++node)
      copy(node, out);
    return out.finish();
  }

private:
  using Visit = llvm::function_ref<void(const Expr &, const Definition &)>;

  /// Whether definitions alone read a node's result.
  bool isInside(uint32_t node) const {
    ValueId id = definitions[node]->results[0];
    return llvm::none_of(old.outputs, [&](const auto &output) { return output.value == id; }) &&
           llvm::all_of(readers[id.number], [&](uint32_t reader) { return definitions[reader]; });
  }

  void forEachRead(ValueId id, Visit visit) const {
    for (uint32_t reader : readers[id.number])
      for (const Expr &body : definitions[reader]->bodies)
        body.walk([&](const Expr &e) {
          if (e.kind() == ExprKind::Read && e.readValue() == id)
            visit(e, *definitions[reader]);
        });
  }

  std::optional<Split> find(uint32_t node) const {
    const Definition &definition = *definitions[node];
    for (unsigned d = 0; d < definition.parallel.size(); ++d)
      if (std::optional<int64_t> size = partOf(definition, d))
        return Split{d, *size};
    return std::nullopt;
  }

  /// The size of the parts in which all reads see a dimension.
  std::optional<int64_t> partOf(const Definition &definition, unsigned dimension) const {
    int64_t extent = definition.parallel[dimension].extent.constant(), size = extent;
    bool isPlain = true;
    forEachRead(definition.results[0], [&](const Expr &read, const Definition &) {
      const Index &index = read.readIndices()[dimension];
      isPlain &= index.isAffine() && !read.readFill();
      size = std::gcd(size, index.constantTerm());
      for (const Term &term : index.terms())
        if (term.factor != 1)
          size = std::gcd(size, term.factor);
    });
    if (!isPlain || size <= 1 || size == extent)
      return std::nullopt;
    bool fits = true;
    forEachRead(definition.results[0], [&](const Expr &read, const Definition &reader) {
      fits &= parted(read.readIndices()[dimension], size, reader.ranges()).has_value();
    });
    return fits ? std::optional(size) : std::nullopt;
  }

  void apply(uint32_t node, Split split) {
    ValueId id = definitions[node]->results[0];
    for (uint32_t reader : readers[id.number])
      readParts(*definitions[reader], id, split);
    splitIterator(*definitions[node], split.dimension, split.size);
    if (log)
      log->add({"derive",
                "value '" + old.value(id).name + "'",
                "split dimension " + std::to_string(split.dimension) + " into parts of " +
                    std::to_string(split.size),
                {"every read of it is within one part"},
                {}});
  }

  static void readParts(Definition &reader, ValueId id, Split split) {
    llvm::SmallVector<Interval> ranges = reader.ranges();
    for (Expr &body : reader.bodies)
      body = rewrite(body, [&](const Expr &e) {
        if (e.kind() != ExprKind::Read || e.readValue() != id)
          return e;
        llvm::SmallVector<Index> indices(e.readIndices().begin(), e.readIndices().end());
        auto [part, place] = *parted(indices[split.dimension], split.size, ranges);
        indices[split.dimension] = place;
        indices.insert(indices.begin() + split.dimension, part);
        return Expr::read(id, e.type(), indices);
      });
  }

  void copy(uint32_t node, simplify::Rebuilder &out) const {
    if (std::holds_alternative<Scan>(old.nodes[node]))
      return copyScan(node, out, log);
    if (!definitions[node])
      return out.copy(node);
    out.copyAs(node, *definitions[node]);
  }

  explain::Log *log;
  const Program &old;
  std::vector<std::optional<Definition>> definitions;
  std::vector<llvm::SmallVector<uint32_t>> readers; ///< Nodes, by value.
};

} // namespace

Program splitDimensions(const Program &program, explain::Log *log) {
  return Splitter(program, log).run();
}

Program splitInScans(const Program &program, explain::Log *log) {
  simplify::Rebuilder out(program);
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    if (std::holds_alternative<Scan>(program.nodes[node]))
      copyScan(node, out, log);
    else
      out.copy(node);
  return out.finish();
}

const Rule splitGatesRule = {
    .name = "split-gates",
    .equation = "In the bodies of scans: y[i:n] = s[i] + s[i+n] + s[i+2*n], of s[i:3*n] => "
                "y[i:n] = s[0, i] + s[1, i] + s[2, i], of s[g:3, i:n].",
    .source = "",
    .exactness = Exactness::Bitwise,
    .assumes = "",
    .order = RuleOrder::OfScans,
    .helps = runsBlocks,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return splitInScans(program, context.log);
    },
};

} // namespace kintsugi::derive
