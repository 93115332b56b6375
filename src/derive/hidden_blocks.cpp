#include "derive/hidden_blocks.h"

#include "derive/constant_expr.h"
#include "derive/mask_scan.h"
#include "derive/rule.h"
#include "derive/score_mask.h"
#include "simplify/rebuild.h"
#include "te/constant.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <deque>
#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

constexpr int64_t blockSize = MaskScan::blockSize;
/// Of all blocks, so that asking for each of them pays.
constexpr double leastHidden = 0.1;
/// Of a mask that differs between matrices, of one that all have in common, and of a piece.
constexpr int64_t mostElements = int64_t(1) << 24, mostOfOne = int64_t(1) << 32;
constexpr int64_t mostAtOnce = int64_t(1) << 22;
/// Of a mask that definitions make, these are evaluated one by one, as it is written: as one
/// expression many of them are long. Larger masks are looked at in pieces, of which few may do, and
/// so are those of which the definitions have much more than is read.
constexpr int64_t fewElements = int64_t(1) << 20, mostOfEach = 2;

class BlockHider {
public:
  BlockHider(const Program &program, explain::Log *log, Assumptions *assumed)
      : old(program), out(program), log(log), assumed(assumed),
        constant(te::constantNodes(program)) {}

  Expected<Program> run() {
    ScoreMasks masks(old, constant);
    for (const Node &node : old.nodes)
      if (const auto *definition = std::get_if<Definition>(&node))
        if (std::optional<ScoreMask> masked = masks.of(*definition))
          found.try_emplace(masked->node, *masked);
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      auto masked = found.find(node);
      if (masked != found.end())
        KINTSUGI_RETURN_IF_ERROR(rewrite(node, masked->second));
      else if (open.count(node))
        define(node, out.rename(std::get<Definition>(old.nodes[node]).bodies[0]));
      else
        out.copy(node);
    }
    return simplify::withoutUnneeded(out.finish());
  }

private:
  /// A mask that was looked at, which the scores of several layers may have in common.
  struct Known {
    Expr mask;
    llvm::SmallVector<int64_t> extents; ///< Of its iterators.
    llvm::SmallVector<unsigned> used;
    MaskScan scan;
    std::map<std::string, ValueId> tables; ///< By suffix.
  };

  /// Null: there are too many values, or their bytes are not at hand.
  Known *look(const ScoreMask &masked, const Definition &scores) {
    llvm::SmallVector<int64_t> extents;
    for (unsigned iterator : masked.used)
      extents.push_back(scores.parallel[iterator].extent.constant());
    for (Known &each : known)
      if (each.mask == masked.mask && each.extents == extents && each.used == masked.used)
        return &each;
    std::optional<MaskScan> found = scan(masked, scores);
    if (!found)
      return nullptr;
    known.push_back({masked.mask, std::move(extents), masked.used, std::move(*found), {}});
    return &known.back();
  }

  /// What is computed point by point is part of the expression, as far as it goes.
  Expr opened(Expr expr) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (ValueId id : readsOf(expr)) {
        const Definition *definition = old.definitionOf(id);
        changed = definition && !definition->reduction && definition->bodies.size() == 1;
        if (changed) {
          expr = inlineInto(expr, *definition, old.shape(id));
          break;
        }
      }
    }
    return expr;
  }

  /// Null where it can't be looked at, or begins such that nothing comes of the rest of it.
  std::optional<MaskScan> scan(const ScoreMask &masked, const Definition &scores) const {
    llvm::SmallVector<Index> places(scores.parallel.size(), Index(0));
    llvm::SmallVector<Extent> extents;
    for (auto [position, iterator] : llvm::enumerate(masked.used)) {
      places[iterator] = Index::iterator(position);
      extents.push_back(scores.parallel[iterator].extent);
    }
    int64_t rows = extents.size() > 1 ? extents.end()[-2].constant() : 1;
    MaskScan found(rows, extents.back().constant());
    if (elementsOf(extents) == 0 ||
        elementsOf(extents) > (extents.size() > 2 ? mostElements : mostOfOne))
      return std::nullopt;
    const int64_t extent = extents[0].constant(), all = int64_t(elementsOf(extents));
    auto isConstant = [&](ValueId id) { return old.value(id).kind == ValueKind::Constant; };
    if (all <= fewElements && !llvm::all_of(readsOf(masked.mask), isConstant)) {
      std::optional<std::vector<double>> values =
          valuesOf(substitute(masked.mask, places), old, extents, mostOfEach * all);
      if (values) {
        addRows(found, *values);
        return found;
      }
    }
    Expr mask = opened(masked.mask);
    // What stands alone is looked at part by part; what others make has to be made as a whole.
    bool isAlone = extents.size() > 1 && llvm::all_of(readsOf(mask), isConstant);
    int64_t most = isAlone ? std::max<int64_t>(1, mostAtOnce / (all / extent)) : extent;
    int64_t atOnce = isAlone ? 1 : extent;
    for (int64_t first = 0; first < extent; first += atOnce, atOnce = std::min(2 * atOnce, most)) {
      places[masked.used[0]] = Index::iterator(0) + Index(first);
      extents[0] = Extent(std::min(atOnce, extent - first));
      std::optional<std::vector<double>> values = valuesOf(substitute(mask, places), old, extents);
      if (!values)
        return std::nullopt;
      addRows(found, *values);
      bool mayBeBits = found.isBinary && !masked.isWithin;
      if (!mayBeBits && found.mostHidden(all / found.columns) < leastHidden)
        return std::nullopt;
    }
    return found;
  }

  static void addRows(MaskScan &scan, const std::vector<double> &values) {
    for (size_t row = 0; row < values.size(); row += scan.columns)
      scan.add(&values[row]);
  }

  Status rewrite(uint32_t node, const ScoreMask &masked) {
    const auto &scores = std::get<Definition>(old.nodes[node]);
    Known *looked = look(masked, scores);
    const MaskScan *mask = looked ? &looked->scan : nullptr;
    // What is minus infinity has no weight whatever hides the others of its row.
    bool showsRows = mask && (mask->isInfinite || mask->lastFirst < masked.shownColumns);
    bool skips = showsRows && mask->hidden() >= leastHidden;
    bool isBinary = mask && !masked.isWithin && mask->isBinary && (showsRows || mask->isZero);
    if (!isBinary && !skips) {
      out.copy(node);
      return Status::success();
    }
    Expr body = out.rename(scores.bodies[0]);
    if (isBinary) {
      KINTSUGI_ASSIGN(Expr shown, shownScores(node, masked, *looked));
      Expr whole = out.rename(*masked.whole);
      body = te::rewrite(body, [&](const Expr &each) { return each == whole ? shown : each; });
    }
    if (skips) {
      KINTSUGI_ASSIGN(Expr isOpen, openAt(node, masked, *looked));
      open.emplace(masked.outermost, isOpen);
      note(node, "leave hidden blocks out",
           std::to_string(int(100 * mask->hidden() + 0.5)) + " % of blocks of " +
               std::to_string(blockSize) + " columns are hidden");
    }
    if (assumed && !mask->isZero)
      assumed->add(maskBlocksRule.name);
    define(node, std::move(body));
    return Status::success();
  }

  /// The scores without a mask that adds zeros, or by the bits of one that hides.
  Expected<Expr> shownScores(uint32_t node, const ScoreMask &masked, Known &looked) {
    Expr scores = out.rename(*masked.scores);
    if (looked.scan.isZero) {
      note(node, "leave the mask out", "it hides nothing");
      return scores;
    }
    KINTSUGI_ASSIGN(Expr shown, shownAt(node, masked, looked));
    note(node, "read the mask as bits", "it hides or adds zeros");
    return Expr::select(shown, scores, low());
  }

  static Expr low() { return Expr::literal(ElementType::F32, -INFINITY); }

  /// With another body, which counts where the node's blocks are open.
  void define(uint32_t node, Expr body) {
    Definition changed = std::get<Definition>(old.nodes[node]);
    changed.results.clear();
    if (auto isOpen = open.find(node); isOpen != open.end())
      body = Expr::select(isOpen->second, body, low());
    changed.bodies = {body};
    out.fresh.currentOrigin = old.origins[node];
    out.define(node, std::move(changed));
  }

  /// A table of constants by the mask's iterators, the last `inBlocks` of them in blocks, read
  /// where those are.
  Expected<Expr> tableAt(uint32_t node, const ScoreMask &masked, Known &looked, const char *suffix,
                         ElementType type, size_t inBlocks,
                         llvm::function_ref<int64_t(size_t)> element) {
    const auto &scores = std::get<Definition>(old.nodes[node]);
    std::vector<int64_t> extents;
    Shape shape;
    llvm::SmallVector<Index> place;
    for (auto [k, iterator] : llvm::enumerate(masked.used)) {
      bool isCut = k + inBlocks >= masked.used.size();
      int64_t extent = scores.parallel[iterator].extent.constant();
      extents.push_back(isCut ? (extent + blockSize - 1) / blockSize : extent);
      shape.push_back(Extent(extents.back()));
      Index at = Index::iterator(iterator);
      place.push_back(isCut ? at.floorDiv(blockSize) : at);
    }
    auto table = looked.tables.find(suffix);
    if (table == looked.tables.end()) {
      KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(type, extents));
      for (int64_t k = 0; k < tensor.count(); ++k)
        storeInteger(type, tensor.bytes(), k, element(size_t(k)));
      const std::string &name = old.value(old.resultsOf(node)[0]).name;
      ValueId constant = out.fresh.addConstant(name + suffix, type, shape,
                                               std::make_shared<TensorConstant>(std::move(tensor)));
      table = looked.tables.emplace(suffix, constant).first;
    }
    return Expr::read(table->second, type, place);
  }

  Expected<Expr> openAt(uint32_t node, const ScoreMask &masked, Known &looked) {
    return tableAt(node, masked, looked, ".open", ElementType::Bool, 2,
                   [&](size_t k) { return int64_t(looked.scan.open[k]); });
  }

  /// The bit of a column in the word of its row and block.
  Expected<Expr> shownAt(uint32_t node, const ScoreMask &masked, Known &looked) {
    constexpr ElementType type = ElementType::U64;
    KINTSUGI_ASSIGN(Expr words, tableAt(node, masked, looked, ".shown", type, 1,
                                        [&](size_t k) { return int64_t(looked.scan.words[k]); }));
    Expr bit = Expr::index(Index::iterator(masked.column).mod(blockSize), type);
    Expr shifted = Expr::binary(BinaryOp::ShiftRight, words, bit);
    Expr one = Expr::literal(type, int64_t(1)), zero = Expr::literal(type, int64_t(0));
    return Expr::binary(BinaryOp::NotEqual, Expr::binary(BinaryOp::And, shifted, one), zero);
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
  Assumptions *assumed;
  std::vector<bool> constant;          ///< By node.
  std::map<uint32_t, ScoreMask> found; ///< By the node of the scores with the mask.
  std::map<uint32_t, Expr> open;       ///< Of scores whose blocks are left out.
  std::deque<Known> known;
};

} // namespace

Expected<Program> hideBlocks(const Program &program, explain::Log *log, Assumptions *assumed) {
  return BlockHider(program, log, assumed).run();
}

const Rule maskBlocksRule = {
    .name = "mask-blocks",
    .equation = "x[i, j] = s[i, j] + m[i, j] with a constant m, or a choice by a constant "
                "condition, of softmaxes that defer-division changed => -inf without s in blocks "
                "that are hidden as a whole.",
    .source = "STOF (Dai et al. 2025), block masks",
    .exactness = Exactness::Bitwise,
    .assumes = "what masks hide",
    .order = RuleOrder::BeforeFormats,
    .helps = runsBlocks,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return hideBlocks(program, context.log, context.assumed);
    },
};

} // namespace kintsugi::derive
