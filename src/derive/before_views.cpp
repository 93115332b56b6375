#include "derive/before_views.h"

#include "derive/digit_map.h"
#include "derive/rule.h"
#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "te/product.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

class ViewMover {
public:
  ViewMover(const Program &program, explain::Log *log)
      : old(program), out(program), log(log), contractionsRead(program.numValues(), false) {
    for (const Node &node : program.nodes)
      if (const auto *definition = std::get_if<Definition>(&node))
        if (definition->isReduction() && isContraction(*definition))
          for (ValueId id : readsOf(definition->bodies[0]))
            contractionsRead[id.number] = true;
  }

  std::optional<Program> run() {
    for (uint32_t node = 0; node < old.nodes.size(); ++node)
      if (!rewrite(node))
        out.copy(node);
    if (!any)
      return std::nullopt;
    return out.finish();
  }

private:
  /// The product that a definition finishes, all of whose reads of it are the same.
  std::optional<Expr> productRead(const Definition &definition) const {
    std::optional<Expr> found;
    bool isSole = true;
    definition.bodies[0].walk([&](const Expr &e) {
      if (e.kind() != ExprKind::Read)
        return;
      const Definition *producer = old.definitionOf(e.readValue());
      if (!producer || !producer->isReduction() || !isContraction(*producer))
        return;
      isSole &= !e.readFill() && (!found || *found == e);
      found = e;
    });
    return isSole ? found : std::nullopt;
  }

  /// Whether a body does nothing to what it reads but store it as another type.
  static bool isMove(const Expr &body) {
    const Expr *moved = &body;
    while (moved->kind() == ExprKind::Cast)
      moved = &moved->operand(0);
    return moved->kind() == ExprKind::Read;
  }

  static bool isInOrder(llvm::ArrayRef<Index> indices, llvm::ArrayRef<Extent> shape) {
    int last = -1;
    for (auto [index, extent] : llvm::zip(indices, shape)) {
      if (extent.constant() == 1)
        continue;
      if (index.asIterator() <= last)
        return false;
      last = index.asIterator();
    }
    return true;
  }

  bool rewrite(uint32_t node) {
    const auto *definition = std::get_if<Definition>(&old.nodes[node]);
    if (!definition || definition->isReduction() || definition->bodies.size() != 1 ||
        isMove(definition->bodies[0]) || !contractionsRead[definition->results[0].number])
      return false;
    std::optional<Expr> read = productRead(*definition);
    if (!read)
      return false;
    llvm::ArrayRef<Extent> shape = old.shape(read->readValue());
    if (isInOrder(read->readIndices(), shape))
      return false;
    auto inverse = invertDigits(read->readIndices(), definition->parallel, shape);
    if (!inverse)
      return false;
    move(node, *definition, *read, *inverse);
    return true;
  }

  void move(uint32_t node, const Definition &definition, const Expr &read,
            llvm::ArrayRef<Index> inverse) {
    const Value &value = old.value(definition.results[0]);
    Definition finished;
    llvm::SmallVector<Index> point;
    for (auto [d, extent] : llvm::enumerate(old.shape(read.readValue()))) {
      finished.parallel.push_back({"i" + std::to_string(d), extent});
      point.push_back(Index::iterator(d));
    }
    Expr body = rewriteReads(definition.bodies[0], read, point, inverse);
    body = simplifyIndices(body, finished.ranges(), [&](ValueId id) { return old.shape(id); });
    finished.bodies = {out.rename(body)};
    out.fresh.currentOrigin = old.origins[node];
    ValueId before = out.fresh.define(value.name + ".finished", value.type, std::move(finished));
    Definition view;
    view.parallel = definition.parallel;
    view.bodies = {Expr::read(before, value.type, read.readIndices())};
    out.define(node, std::move(view));
    out.keepFacts(node);
    any = true;
    if (log)
      log->add({"derive",
                "value '" + value.name + "'",
                "finish the product before it is viewed",
                {"its elements correspond one to one"},
                {}});
  }

  /// The body at the point that the inverse of a read's indices is for; that read is there itself.
  static Expr rewriteReads(const Expr &body, const Expr &read, llvm::ArrayRef<Index> point,
                           llvm::ArrayRef<Index> inverse) {
    Expr here = Expr::read(read.readValue(), read.type(), point);
    Expr there = substitute(read, inverse);
    return te::rewrite(substitute(body, inverse),
                       [&](const Expr &e) { return e == there ? here : e; });
  }

  const Program &old;
  simplify::Rebuilder out;
  explain::Log *log;
  std::vector<bool> contractionsRead; ///< Values, as they stand.
  bool any = false;
};

} // namespace

std::optional<Program> finishBeforeViews(const Program &program, explain::Log *log) {
  return ViewMover(program, log).run();
}

const Rule finishBeforeViewsRule = {
    .name = "finish-before-views",
    .equation = "k[i] = f(p[m(i)]) of a product p seen through transposes and reshapes m => "
                "q[j] = f(p[j]), k[i] = q[m(i)].",
    .source = "",
    .exactness = Exactness::Bitwise,
    .assumes = "",
    .order = RuleOrder::BeforeFormats,
    .helps = runsBlocks,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      std::optional<Program> moved = finishBeforeViews(program, context.log);
      return moved ? simplify::simplify(*moved, context.log) : program;
    },
};

} // namespace kintsugi::derive
