#include "derive/hidden_blocks.h"

#include "derive/constant_expr.h"
#include "derive/rule.h"
#include "simplify/rebuild.h"
#include "te/constant.h"
#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <deque>
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
  Expr sum, scores, mask;
  unsigned column;                  ///< The iterator along which the softmax goes.
  llvm::SmallVector<unsigned> used; ///< The mask's iterators, ascending; the column is the last.
  /// Conditions that hide columns of the sum, as those behind a size, hide none before this one.
  int64_t shownColumns;
  uint32_t outermost; ///< The node of the scores, which may read the sum through conditions.
};

bool isHidden(double value) { return value <= std::numeric_limits<float>::lowest() / 2; }

/// What a mask's rows say, one after the other.
class MaskScan {
public:
  /// `rows`: that share blocks, before others begin.
  MaskScan(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), across((columns + blockSize - 1) / blockSize) {}

  void add(const double *row) {
    bool isWhole = true;
    if (number % rows % blockSize == 0) {
      isOneHidden = false;
      open.resize(open.size() + across, false);
    }
    words.resize(words.size() + across, 0);
    auto openHere = open.end() - across;
    uint64_t *wordsHere = &*(words.end() - across);
    for (int64_t column = 0; column < columns; ++column) {
      isZero &= row[column] == 0;
      if (isHidden(row[column]))
        continue;
      if (isWhole)
        lastFirst = std::max(lastFirst, column);
      isWhole = false;
      isBinary &= row[column] == 0;
      openHere[column / blockSize] = true;
      wordsHere[column / blockSize] |= uint64_t(1) << column % blockSize;
    }
    isOneHidden |= isWhole;
    isBinary &= !isWhole;
    if (isOneHidden)
      std::fill(openHere, open.end(), true);
    ++number;
  }

  double hidden() const { return double(llvm::count(open, false)) / double(open.size()); }

  int64_t rows, columns, across;
  std::vector<bool> open; ///< By blocks of rows and of columns.
  std::vector<uint64_t>
      words; ///< By rows and blocks of columns, a bit of each column that is shown.
  bool isZero = true;
  bool isBinary = true;  ///< Zeros and what hides, but no row is hidden as a whole.
  int64_t lastFirst = 0; ///< The last of the columns at which rows begin to be shown.

private:
  int64_t number = 0;
  bool isOneHidden = false; ///< Of the rows that share the newest blocks.
};

class BlockHider {
public:
  BlockHider(const Program &program, explain::Log *log, Assumptions *assumed)
      : old(program), out(program), log(log), assumed(assumed),
        constant(te::constantNodes(program)), readers(program.numValues()) {
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
    if (column)
      findSum(read.readValue(), *column);
  }

  /// The sum may stand under conditions, as those behind a size, in the scores or in a value that
  /// only they read.
  void findSum(ValueId value, unsigned column) {
    uint32_t outermost = old.value(value).node;
    const Definition *at = old.definitionOf(value);
    const Expr *body = &at->bodies[0];
    int64_t shown = at->parallel[column].extent.constant();
    while (true) {
      if (body->kind() == ExprKind::Select && isLow(body->operand(2))) {
        shown = std::min(shown, shownBefore(body->operand(0), column));
        body = &body->operand(1);
      } else if (const Definition *read = onlyReadBy(*body, *at)) {
        value = body->readValue();
        at = read;
        body = &at->bodies[0];
      } else {
        break;
      }
    }
    if (body->kind() != ExprKind::Binary || body->binaryOp() != BinaryOp::Add)
      return;
    for (unsigned side : {0, 1}) {
      Masked masked{*body,    body->operand(1 - side), body->operand(side), column, {}, shown,
                    outermost};
      for (unsigned k = 0; k < at->parallel.size(); ++k)
        if (masked.mask.uses(k))
          masked.used.push_back(k);
      if (isConstantExpr(masked.mask, old, constant) && !masked.used.empty() &&
          masked.used.back() == column)
        found.try_emplace(old.value(value).node, masked);
    }
  }

  static bool isLow(const Expr &expr) {
    return expr.kind() == ExprKind::Literal && expr.literalFloat() == -INFINITY;
  }

  /// Of columns before a number of the run, its lowest; of other conditions nothing is known.
  int64_t shownBefore(const Expr &condition, unsigned column) const {
    bool isBound = condition.kind() == ExprKind::Binary && condition.binaryOp() == BinaryOp::Less &&
                   condition.operand(0).kind() == ExprKind::Index &&
                   condition.operand(0).indexValue().asIterator() == int(column) &&
                   condition.operand(1).kind() == ExprKind::Read;
    if (!isBound)
      return 0;
    std::optional<double> low = old.value(condition.operand(1).readValue()).facts.low;
    return low && *low > 0 ? int64_t(std::min(*low, 0x1p62)) : 0;
  }

  /// What a read of the same place reads, if that is computed point by point for this alone.
  const Definition *onlyReadBy(const Expr &expr, const Definition &reader) const {
    if (expr.kind() != ExprKind::Read || expr.readFill())
      return nullptr;
    const Definition *read = old.definitionOf(expr.readValue());
    bool isPointwise = read && !read->reduction && read->bodies.size() == 1 &&
                       read->parallel.size() == reader.parallel.size() &&
                       expr.type() == ElementType::F32;
    if (!isPointwise || readers[expr.readValue().number].size() != 1 || isOutput(expr.readValue()))
      return nullptr;
    for (auto [k, index] : llvm::enumerate(expr.readIndices())) {
      bool isSame = index.asIterator() == int(k) || reader.parallel[k].extent.constant() == 1;
      if (!isSame || read->parallel[k].extent != reader.parallel[k].extent)
        return nullptr;
    }
    return read;
  }

  bool isOutput(ValueId id) const {
    return llvm::any_of(old.outputs, [&](const auto &output) { return output.value == id; });
  }

  bool servesSoftmax(ValueId scores, const Definition &stats) const {
    return !isOutput(scores) && llvm::all_of(readers[scores.number], [&](uint32_t reader) {
      const auto *definition = std::get_if<Definition>(&old.nodes[reader]);
      return definition && (definition->results == stats.results ||
                            llvm::is_contained(old.operandsOf(reader), stats.results[0]));
    });
  }

  /// A mask that was looked at, which the scores of several layers may have in common.
  struct Known {
    Expr mask;
    llvm::SmallVector<int64_t> extents; ///< Of its iterators.
    llvm::SmallVector<unsigned> used;
    MaskScan scan;
    std::map<std::string, ValueId> tables; ///< By suffix.
  };

  /// Null: there are too many values, or their bytes are not at hand.
  Known *look(const Masked &masked, const Definition &scores) {
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

  std::optional<MaskScan> scan(const Masked &masked, const Definition &scores) const {
    constexpr int64_t mostAtOnce = int64_t(1) << 22;
    auto extentOf = [&](unsigned iterator) { return scores.parallel[iterator].extent.constant(); };
    llvm::SmallVector<Index> places(scores.parallel.size(), Index(0));
    llvm::SmallVector<Extent> extents;
    for (auto [position, iterator] : llvm::enumerate(masked.used)) {
      places[iterator] = Index::iterator(position);
      extents.push_back(scores.parallel[iterator].extent);
    }
    int64_t columns = extentOf(masked.column);
    int64_t rows = masked.used.size() > 1 ? extentOf(masked.used.end()[-2]) : 1, atOnce = rows;
    Expr mask = opened(masked.mask);
    // What stands alone is looked at part by part; what others make has to be made as a whole.
    bool isAlone = masked.used.size() == 2 && llvm::all_of(readsOf(mask), [&](ValueId id) {
                     return old.value(id).kind == ValueKind::Constant;
                   });
    if (isAlone)
      atOnce = std::max<int64_t>(1, mostAtOnce / columns);
    MaskScan found(rows, columns);
    for (int64_t first = 0; first < rows; first += atOnce) {
      if (isAlone) {
        places[masked.used[0]] = Index::iterator(0) + Index(first);
        extents[0] = Extent(std::min(atOnce, rows - first));
      }
      std::optional<std::vector<double>> values = valuesOf(substitute(mask, places), old, extents);
      if (!values)
        return std::nullopt;
      for (size_t row = 0; row < values->size(); row += columns)
        found.add(&(*values)[row]);
    }
    return found;
  }

  Status rewrite(uint32_t node, const Masked &masked) {
    const auto &scores = std::get<Definition>(old.nodes[node]);
    Known *looked = look(masked, scores);
    const MaskScan *mask = looked ? &looked->scan : nullptr;
    bool showsRows = mask && mask->lastFirst < masked.shownColumns;
    bool skips = showsRows && mask->hidden() >= leastHidden;
    bool isBinary = mask && mask->isBinary && (showsRows || mask->isZero);
    if (!isBinary && !skips) {
      out.copy(node);
      return Status::success();
    }
    Expr body = out.rename(isBinary ? masked.scores : masked.sum);
    if (mask->isZero) {
      note(node, "leave the mask out", "it adds zeros");
    } else {
      if (assumed)
        assumed->add(maskBlocksRule.name);
      if (isBinary) {
        KINTSUGI_ASSIGN(Expr shown, shownAt(node, masked, *looked));
        body = Expr::select(shown, body, low());
        note(node, "read the mask as bits", "it hides or adds zeros");
      }
      if (skips) {
        KINTSUGI_ASSIGN(Expr isOpen, openAt(node, masked, *looked));
        open.emplace(masked.outermost, isOpen);
        note(node, "leave hidden blocks out",
             std::to_string(int(100 * mask->hidden() + 0.5)) + " % of blocks of " +
                 std::to_string(blockSize) + " columns are hidden");
      }
    }
    define(node, underConditions(scores.bodies[0], masked, body));
    return Status::success();
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

  Expr underConditions(const Expr &body, const Masked &masked, const Expr &sum) {
    if (body == masked.sum)
      return sum;
    return Expr::select(out.rename(body.operand(0)), underConditions(body.operand(1), masked, sum),
                        out.rename(body.operand(2)));
  }

  /// A table of constants by the mask's iterators, the last `inBlocks` of them in blocks, read
  /// where those are.
  Expected<Expr> tableAt(uint32_t node, const Masked &masked, Known &looked, const char *suffix,
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

  Expected<Expr> openAt(uint32_t node, const Masked &masked, Known &looked) {
    return tableAt(node, masked, looked, ".open", ElementType::Bool, 2,
                   [&](size_t k) { return int64_t(looked.scan.open[k]); });
  }

  /// The bit of a column in the word of its row and block.
  Expected<Expr> shownAt(uint32_t node, const Masked &masked, Known &looked) {
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
  std::vector<bool> constant;                       ///< By node.
  std::vector<llvm::SmallVector<uint32_t>> readers; ///< Nodes, by value.
  std::map<uint32_t, Masked> found;                 ///< By the scores' node.
  std::map<uint32_t, Expr> open;                    ///< Of scores whose blocks are left out.
  std::deque<Known> known;
};

} // namespace

Expected<Program> hideBlocks(const Program &program, explain::Log *log, Assumptions *assumed) {
  return BlockHider(program, log, assumed).run();
}

const Rule maskBlocksRule = {
    .name = "mask-blocks",
    .equation = "x[i, j] = s[i, j] + m[i, j] with a constant m, of softmaxes that "
                "defer-division changed => -inf without s in blocks that m hides as a "
                "whole.",
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
