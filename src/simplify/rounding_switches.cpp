#include "simplify/rounding_switches.h"

#include "simplify/rebuild.h"
#include "simplify/storage.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

namespace kintsugi::simplify {

using namespace te;

namespace {

class Switching {
public:
  Switching(const Program &program, ElementType narrow, const Tried &tried,
            llvm::ArrayRef<unsigned> partOf, unsigned parts)
      : out(program), narrow(narrow),
        choice(program, narrow, llvm::SmallVector<Magnitude>(program.inputs.size()),
               {tried.greatest, {}}, false),
        partOf(partOf), switches(out.fresh.addInput("rounds", ElementType::Bool, {parts})) {}

  Program run() {
    for (uint32_t node = 0; node < out.old.nodes.size(); ++node) {
      if (choice.isConstantNode(node)) {
        out.copy(node);
        continue;
      }
      withRoundedOperands(node, [&] { out.copy(node); });
      for (ValueId result : out.old.resultsOf(node))
        if (choice.of(result).narrow)
          out.bind(result, rounded(node, result, choice.scales().of(result)));
    }
    return out.finish();
  }

private:
  /// Has a node read rounded copies of what would be copied or is a constant that would be narrow.
  void withRoundedOperands(uint32_t node, llvm::function_ref<void()> copy) {
    llvm::SmallVector<std::pair<ValueId, ValueId>> originals;
    for (ValueId operand : out.old.operandsOf(node)) {
      if (!readsRounded(node, operand))
        continue;
      originals.push_back({operand, out[operand]});
      ValueId &made = copies[{operand.number, partOf[node]}];
      if (made == ValueId())
        made = rounded(node, operand, choice.scales().ofFactor(operand));
      out.bind(operand, made);
    }
    copy();
    for (auto [operand, original] : originals)
      out.bind(operand, original);
  }

  bool readsRounded(uint32_t node, ValueId operand) const {
    const Value &value = out.old.value(operand);
    if (choice.of(operand).narrow) // Others were rounded where they were made.
      return value.kind == ValueKind::Result && choice.isConstantNode(value.node);
    return choice.of(operand).copied && readsCopy(node, operand);
  }

  /// As storeNarrow(): what a scan begins with and what calls take keeps its type.
  bool readsCopy(uint32_t node, ValueId operand) const {
    if (const auto *definition = std::get_if<Definition>(&out.old.nodes[node]))
      return out.old.value(operand).kind == ValueKind::Constant ||
             llvm::any_of(bareFactorsOf(*definition),
                          [&](const Expr &read) { return read.readValue() == operand; });
    const auto *scan = std::get_if<Scan>(&out.old.nodes[node]);
    if (!scan || llvm::is_contained(scan->initial, operand) ||
        choice.scales().ofFactor(operand) != 0)
      return false;
    auto place = llvm::find(scan->captured, operand);
    return place != scan->captured.end() && !handsOn(*scan, place - scan->captured.begin());
  }

  /// A value divided by 2^exponent as the narrow type has it, where the node's part is rounded.
  ValueId rounded(uint32_t node, ValueId id, int exponent) {
    auto scaled = [](const Expr &expr, int by) {
      return by == 0 ? expr : expr * Expr::literal(ElementType::F32, std::ldexp(1.0, by));
    };
    Expr isRounded = Expr::read(switches, ElementType::Bool, {Index(int64_t(partOf[node]))});
    return out.defineFrom(out[id], ElementType::F32, ".rounded", [&](const Expr &exact) {
      Expr coarse = Expr::cast(ElementType::F32, Expr::cast(narrow, scaled(exact, -exponent)));
      return Expr::select(isRounded, scaled(coarse, exponent), exact);
    });
  }

  Rebuilder out;
  ElementType narrow;
  StorageChoice choice;
  llvm::ArrayRef<unsigned> partOf;
  ValueId switches;
  std::map<std::pair<uint32_t, unsigned>, ValueId> copies; ///< By old value and part.
};

} // namespace

Program withRoundingSwitches(const Program &program, ElementType narrow, const Tried &tried,
                             llvm::ArrayRef<unsigned> partOf, unsigned parts) {
  return Switching(program, narrow, tried, partOf, parts).run();
}

} // namespace kintsugi::simplify
