#include "derive/scan_chain.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// Whether each read of `value` has the present step as its first index.
bool isReadAtStep(const Program &body, ValueId value, ValueId step) {
  const Index now = Index::data(Expr::read(step, ElementType::I64, {}));
  bool all = true;
  for (const Node &node : body.nodes)
    for (const Expr &expr : std::get<Definition>(node).bodies)
      expr.walk([&](const Expr &e) {
        if (e.kind() == ExprKind::Read && e.readValue() == value)
          all &= !e.readIndices().empty() && e.readIndices()[0] == now && !e.readFill();
      });
  bool isOutput = llvm::any_of(body.outputs, [&](const auto &o) { return o.value == value; });
  return all && !isOutput;
}

llvm::SmallVector<bool> stepInputsOf(const Program &program, const Scan &scan) {
  llvm::SmallVector<bool> result;
  for (auto [number, value] : llvm::enumerate(scan.captured)) {
    const Program &body = *scan.body;
    llvm::ArrayRef<Extent> shape = program.shape(value);
    ValueId input = body.inputs[1 + scan.initial.size() + number];
    result.push_back(!shape.empty() && shape[0] == scan.trip &&
                     isReadAtStep(body, input, body.inputs[0]));
  }
  return result;
}

/// A scan of definitions alone, each of whose results one of them makes: none is an input (its step
/// among them) or a constant as it stands. All its steps are made.
bool isSimple(const Scan &scan) {
  if (scan.goesOnWhile)
    return false;
  const Program &body = *scan.body;
  bool makesAll = llvm::all_of(body.outputs, [&](const Program::Output &output) {
    return body.value(output.value).kind == ValueKind::Result;
  });
  return makesAll && llvm::all_of(body.nodes, [](const Node &node) {
           return std::holds_alternative<Definition>(node);
         });
}

class ChainFinder {
public:
  explicit ChainFinder(const Program &program) : program(program) {}

  std::vector<ScanChain> run() {
    std::vector<ScanChain> chains;
    std::vector<bool> taken(program.nodes.size(), false);
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      const Scan *first = scanAt(node);
      if (!first || taken[node])
        continue;
      ScanChain chain{first->trip.constant(), {{node, {}, {}, stepInputsOf(program, *first)}}};
      while (std::optional<ChainedScan> next = after(chain.scans.back().node, taken)) {
        next->earliest = earliest(chain, *next);
        taken[next->node] = true;
        chain.scans.push_back(std::move(*next));
      }
      if (chain.scans.size() > 1)
        chains.push_back(std::move(chain));
    }
    return chains;
  }

private:
  const Scan *scanAt(uint32_t node) const {
    const auto *scan = std::get_if<Scan>(&program.nodes[node]);
    return scan && isSimple(*scan) ? scan : nullptr;
  }

  /// Which nodes depend on a node, itself included.
  std::vector<bool> dependents(uint32_t on) const {
    std::vector<bool> result(program.nodes.size(), false);
    result[on] = true;
    for (uint32_t node = on + 1; node < program.nodes.size(); ++node)
      result[node] =
          llvm::any_of(program.operandsOf(node), [&](ValueId id) { return isOf(id, result); });
    return result;
  }

  bool isOf(ValueId id, const std::vector<bool> &nodes) const {
    const Value &value = program.value(id);
    return value.kind == ValueKind::Result && nodes[value.node];
  }

  std::optional<ChainedScan> after(uint32_t from, const std::vector<bool> &taken) const {
    std::vector<bool> depends = dependents(from);
    for (uint32_t node = from + 1; node < program.nodes.size(); ++node)
      if (depends[node] && !taken[node] && scanAt(node))
        if (std::optional<ChainedScan> link = linkTo(from, node, depends))
          return link;
    return std::nullopt;
  }

  std::optional<ChainedScan> linkTo(uint32_t from, uint32_t to,
                                    const std::vector<bool> &depends) const {
    const Scan &before = *scanAt(from), &scan = *scanAt(to);
    if (before.trip != scan.trip ||
        llvm::any_of(scan.initial, [&](ValueId id) { return isOf(id, depends); }))
      return std::nullopt;
    ChainedScan link{to, {}, {}, stepInputsOf(program, scan)};
    for (auto [captured, isStepInput] : llvm::zip_equal(scan.captured, link.stepInputs))
      if (isOf(captured, depends) && (!isStepInput || !addSource(captured, from, depends, link)))
        return std::nullopt;
    llvm::sort(link.products);
    return link.sources.empty() ? std::nullopt : std::optional(std::move(link));
  }

  /// Follows a value that depends on `from` back to its stacked results.
  bool addSource(ValueId id, uint32_t from, const std::vector<bool> &depends,
                 ChainedScan &link) const {
    const Value &value = program.value(id);
    const Scan &before = *scanAt(from);
    if (value.node == from) {
      if (!llvm::is_contained(link.sources, id))
        link.sources.push_back(id);
      return value.result >= before.initial.size();
    }
    if (llvm::is_contained(link.products, value.node))
      return true;
    const Definition *definition = program.definitionOf(id);
    if (!definition || definition->results.size() != 1 ||
        !keepsStepsApart(*definition, before.trip, depends))
      return false;
    link.products.push_back(value.node);
    return llvm::all_of(program.operandsOf(value.node), [&](ValueId operand) {
      return !isOf(operand, depends) || addSource(operand, from, depends, link);
    });
  }

  /// Whether step t of the result comes from step t of what depends on the scan, and is computed
  /// alike at each step.
  bool keepsStepsApart(const Definition &definition, Extent steps,
                       const std::vector<bool> &depends) const {
    if (definition.parallel.empty() || definition.parallel[0].extent != steps)
      return false;
    bool apart = true;
    auto check = [&](const Expr &e) {
      if (e.kind() == ExprKind::Index)
        apart &= !e.indexValue().uses(0);
      if (e.kind() != ExprKind::Read)
        return;
      llvm::ArrayRef<Index> indices = e.readIndices();
      if (isOf(e.readValue(), depends)) {
        apart &= !indices.empty() && indices[0].asIterator() == 0 && !e.readFill();
        if (!indices.empty())
          indices = indices.drop_front();
      }
      apart &= llvm::none_of(indices, [](const Index &index) { return index.uses(0); });
    };
    for (const Expr &body : definition.bodies)
      body.walk(check);
    return apart;
  }

  unsigned earliest(const ScanChain &chain, const ChainedScan &next) const {
    unsigned first = chain.scans.size() - 1;
    while (first > 0 && isIndependent(next, chain.scans[first - 1].node))
      --first;
    return first;
  }

  /// Whether nothing that a link reads, but for its sources, depends on a scan.
  bool isIndependent(const ChainedScan &link, uint32_t scan) const {
    std::vector<bool> depends = dependents(scan);
    auto reads = [&](uint32_t node) {
      return llvm::none_of(program.operandsOf(node), [&](ValueId id) {
        return isOf(id, depends) && !llvm::is_contained(link.sources, id) &&
               !llvm::is_contained(link.products, program.value(id).node);
      });
    };
    return reads(link.node) && llvm::all_of(link.products, reads);
  }

  const Program &program;
};

} // namespace

std::vector<ScanChain> findScanChains(const Program &program) { return ChainFinder(program).run(); }

} // namespace kintsugi::derive
