#include "derive/hidden_blocks.h"

#include "derive/constant_expr.h"
#include "simplify/rebuild.h"
#include "space/constants.h"
#include "te/constant.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

constexpr int64_t blockSize = 64;
/// Of all blocks, so that asking for each of them pays.
constexpr double leastHidden = 0.1;

/// Scores as a sum with a constant mask.
struct Masked {
  Expr scores, mask;
  unsigned column;                  ///< The iterator along which the softmax goes.
  llvm::SmallVector<unsigned> used; ///< The mask's iterators, ascending; the column is the last.
};

/// Which blocks are open: by the mask's iterators, the last two in blocks.
struct Blocks {
  std::vector<int64_t> shape;
  std::vector<bool> open;
  bool hasRows = false; ///< The iterator ahead of the column is in blocks, too.
  double hidden = 0;    ///< Share.
};

bool isHidden(double value) { return value <= std::numeric_limits<float>::lowest() / 2; }

class BlockHider {
public:
  BlockHider(const Program &program, explain::Log *log)
      : old(program), out(program), log(log), constant(space::constantNodes(program)),
        readers(program.numValues()) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      for (ValueId operand : program.operandsOf(node))
        readers[operand.number].push_back(node);
  }

  Expected<Program> run() {
    for (uint32_t node = 0; node < old.nodes.size(); ++node)
      if (const auto *definition = std::get_if<Definition>(&old.nodes[node]))
        find(*definition);
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      auto masked = found.find(node);
      if (masked == found.end()) {
        out.copy(node);
        continue;
      }
      KINTSUGI_RETURN_IF_ERROR(rewrite(node, masked->second));
    }
    return simplify::withoutUnneeded(out.finish());
  }

private:
  /// The scores of a softmax's maximum and sum, where nothing but those and the powers reads them.
  void find(const Definition &stats) {
    if (!stats.reduction || stats.reduction->combiner != Combiner::SoftmaxStats ||
        stats.reduction->iterators.size() != 1 || stats.bodies[0].kind() != ExprKind::Read)
      return;
    const Expr &read = stats.bodies[0];
    const Definition *scores = old.definitionOf(read.readValue());
    if (!scores || scores->reduction || scores->bodies.size() != 1 || read.readFill() ||
        read.type() != ElementType::F32 || !servesSoftmax(read.readValue(), stats))
      return;
    std::optional<unsigned> column;
    for (auto [k, index] : llvm::enumerate(read.readIndices()))
      if (index.uses(stats.parallel.size())) {
        if (column || index.asIterator() != int(stats.parallel.size()))
          return;
        column = k;
      }
    const Expr &body = scores->bodies[0];
    if (!column || body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Add)
      return;
    for (unsigned side : {0, 1}) {
      Masked masked{body.operand(1 - side), body.operand(side), *column, {}};
      for (unsigned k = 0; k < scores->parallel.size(); ++k)
        if (masked.mask.uses(k))
          masked.used.push_back(k);
      if (isConstantExpr(masked.mask, old, constant) && !masked.used.empty() &&
          masked.used.back() == *column)
        found.try_emplace(old.value(read.readValue()).node, masked);
    }
  }

  bool servesSoftmax(ValueId scores, const Definition &stats) const {
    return llvm::none_of(old.outputs, [&](const auto &o) { return o.value == scores; }) &&
           llvm::all_of(readers[scores.number], [&](uint32_t reader) {
             const auto *definition = std::get_if<Definition>(&old.nodes[reader]);
             return definition && (definition->results == stats.results ||
                                   llvm::is_contained(old.operandsOf(reader), stats.results[0]));
           });
  }

  /// In the order of the mask's iterators; none: too many, or their bytes are not at hand.
  std::optional<std::vector<double>> valuesOfMask(const Masked &masked,
                                                  const Definition &scores) const {
    llvm::SmallVector<Index> places(scores.parallel.size(), Index(0));
    llvm::SmallVector<Extent> extents;
    for (auto [position, iterator] : llvm::enumerate(masked.used)) {
      places[iterator] = Index::iterator(position);
      extents.push_back(scores.parallel[iterator].extent);
    }
    return valuesOf(substitute(masked.mask, places), old, extents);
  }

  static Blocks blocksOf(const std::vector<double> &values, const Masked &masked,
                         const Definition &scores) {
    Blocks blocks;
    int64_t columns = scores.parallel[masked.column].extent.constant();
    int64_t rows = 1, outer = 1;
    blocks.hasRows = masked.used.size() > 1;
    for (unsigned k = 0; k + 1 < masked.used.size(); ++k) {
      int64_t extent = scores.parallel[masked.used[k]].extent.constant();
      bool isRow = k + 2 == masked.used.size();
      (isRow ? rows : outer) *= extent;
      blocks.shape.push_back(isRow ? (extent + blockSize - 1) / blockSize : extent);
    }
    int64_t across = (columns + blockSize - 1) / blockSize;
    blocks.shape.push_back(across);
    int64_t hidden = 0;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t first = 0; first < rows; first += blockSize) {
        std::vector<bool> open(across, false);
        bool isOneHidden = false;
        for (int64_t row = first; row < std::min(rows, first + blockSize); ++row) {
          bool isWhole = true;
          for (int64_t column = 0; column < columns; ++column)
            if (!isHidden(values[(o * rows + row) * columns + column])) {
              open[column / blockSize] = true;
              isWhole = false;
            }
          isOneHidden |= isWhole;
        }
        for (bool each : open) {
          blocks.open.push_back(each || isOneHidden);
          hidden += !blocks.open.back();
        }
      }
    blocks.hidden = double(hidden) / double(blocks.open.size());
    return blocks;
  }

  Status rewrite(uint32_t node, const Masked &masked) {
    const auto &scores = std::get<Definition>(old.nodes[node]);
    std::optional<std::vector<double>> values = valuesOfMask(masked, scores);
    if (!values) {
      out.copy(node);
      return Status::success();
    }
    Definition changed = scores;
    changed.results.clear();
    if (llvm::all_of(*values, [](double value) { return value == 0; })) {
      changed.bodies = {out.rename(masked.scores)};
      note(node, "leave the mask out", "it adds zeros");
    } else {
      Blocks blocks = blocksOf(*values, masked, scores);
      if (blocks.hidden < leastHidden) {
        out.copy(node);
        return Status::success();
      }
      KINTSUGI_ASSIGN(Expr open, openAt(node, masked, blocks));
      changed.bodies = {Expr::select(open, out.rename(scores.bodies[0]),
                                     Expr::literal(ElementType::F32, -INFINITY))};
      note(node, "leave hidden blocks out",
           std::to_string(int(100 * blocks.hidden + 0.5)) + " % of blocks of " +
               std::to_string(blockSize) + " columns are hidden");
    }
    out.fresh.currentOrigin = old.origins[node];
    out.define(node, std::move(changed));
    return Status::success();
  }

  Expected<Expr> openAt(uint32_t node, const Masked &masked, const Blocks &blocks) {
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(ElementType::Bool, blocks.shape));
    for (size_t k = 0; k < blocks.open.size(); ++k)
      storeDouble(ElementType::Bool, tensor.bytes(), int64_t(k), blocks.open[k]);
    Shape shape;
    llvm::SmallVector<Index> place;
    for (auto [k, extent] : llvm::enumerate(blocks.shape)) {
      shape.push_back(Extent(extent));
      bool isInBlocks = k + (blocks.hasRows ? 2 : 1) >= blocks.shape.size();
      Index at = Index::iterator(masked.used[k]);
      place.push_back(isInBlocks ? at.floorDiv(blockSize) : at);
    }
    const std::string &name = old.value(old.resultsOf(node)[0]).name;
    ValueId table = out.fresh.addConstant(name + ".open", ElementType::Bool, shape,
                                          std::make_shared<TensorConstant>(std::move(tensor)));
    return Expr::read(table, ElementType::Bool, place);
  }

  void note(uint32_t node, const char *what, std::string why) {
    if (log)
      log->add({"derive",
                "value '" + old.value(old.resultsOf(node)[0]).name + "'",
                what,
                {std::move(why)},
                {}});
  }

  const Program &old;
  simplify::Rebuilder out;
  explain::Log *log;
  std::vector<bool> constant;                       ///< By node.
  std::vector<llvm::SmallVector<uint32_t>> readers; ///< Nodes, by value.
  std::map<uint32_t, Masked> found;                 ///< By the scores' node.
};

} // namespace

Expected<Program> hideBlocks(const Program &program, explain::Log *log) {
  return BlockHider(program, log).run();
}

} // namespace kintsugi::derive
