#include "derive/rematerialize.h"

#include "derive/rule.h"
#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// Expressions of which a value that is computed again may consist; readers don't grow by more for
/// each read.
constexpr unsigned mostExpressions = 24;

class Rematerializer {
public:
  Rematerializer(const Program &program, explain::Log *log)
      : program(program), log(log), definitions(program.nodes.size()),
        gone(program.nodes.size(), false), constant(constantNodes(program)),
        isNeeded(program.nodes.size(), false), readers(program.nodes.size()) {}

  std::optional<Program> run() {
    countReaders();
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (const auto *definition = std::get_if<Definition>(&program.nodes[node])) {
        definitions[node] = withoutGone(*definition);
        gone[node] = isCheap(node);
      }
    if (llvm::none_of(gone, [](bool g) { return g; }))
      return std::nullopt;
    simplify::Rebuilder out(program);
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (gone[node])
        note(node);
      else if (definitions[node])
        out.copyAs(node, *definitions[node]);
      else
        out.copy(node);
    }
    return out.finish();
  }

private:
  void countReaders() {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      for (ValueId operand : program.operandsOf(node))
        if (const Value &value = program.value(operand); value.kind == ValueKind::Result) {
          ++readers[value.node];
          if (!std::holds_alternative<Definition>(program.nodes[node]))
            isNeeded[value.node] = true;
        }
    for (const Program::Output &output : program.outputs)
      if (const Value &value = program.value(output.value); value.kind == ValueKind::Result) {
        ++readers[value.node];
        isNeeded[value.node] = true;
      }
  }

  Definition withoutGone(const Definition &definition) const {
    Definition result = definition;
    for (Expr &body : result.bodies)
      for (ValueId operand : readsOf(body)) {
        const Value &value = program.value(operand);
        if (value.kind == ValueKind::Result && gone[value.node])
          body = inlineInto(body, *definitions[value.node], value.shape);
      }
    return result;
  }

  /// What one reader alone reads, fusion computes there.
  bool isCheap(uint32_t node) const {
    const Definition &definition = *definitions[node];
    if (constant[node] || definition.reduction || definition.results.size() != 1 ||
        readers[node] < 2 || isNeeded[node])
      return false;
    unsigned expressions = definition.bodies[0].sizeUpTo(mostExpressions);
    return expressions > 1 && expressions <= mostExpressions &&
           llvm::all_of(readsOf(definition.bodies[0]), [&](ValueId operand) {
             return isStoredAnyway(operand) || isMuchSmaller(operand, definition.results[0]);
           });
  }

  /// Whatever was stored in the value's place would be read as often.
  bool isStoredAnyway(ValueId id) const {
    const Value &value = program.value(id);
    return value.kind != ValueKind::Result || constant[value.node] || readers[value.node] > 1;
  }

  bool isMuchSmaller(ValueId id, ValueId than) const {
    return 2 * elementsOf(program.shape(id)) <= elementsOf(program.shape(than));
  }

  void note(uint32_t node) const {
    if (log)
      log->add({"derive",
                "value '" + program.value(program.resultsOf(node)[0]).name + "'",
                "computed again where it is read",
                {"it is made point by point of little"},
                {{"readers", double(readers[node]), ""}}});
  }

  const Program &program;
  explain::Log *log;
  std::vector<std::optional<Definition>> definitions; ///< By node, with what is gone inside.
  std::vector<bool> gone, constant;                   ///< By node.
  std::vector<bool> isNeeded;    ///< By node: an output, or a scan or a call reads it.
  std::vector<unsigned> readers; ///< By node.
};

} // namespace

std::optional<Program> rematerialize(const Program &program, explain::Log *log) {
  return Rematerializer(program, log).run();
}

const Rule rematerializeRule = {
    .name = "rematerialize",
    .equation = "x[i] = f(i), y[j] = g(x[m(j)]), z[k] = h(x[n(k)]) => y[j] = g(f(m(j))), z[k] = "
                "h(f(n(k))), without a sum in f.",
    .source = "Korch (Hu et al. 2024), redundant computation",
    .exactness = Exactness::Bitwise,
    .assumes = "",
    .order = RuleOrder::Alone,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      std::optional<Program> changed = rematerialize(program, context.log);
      return changed ? simplify::simplify(*changed) : program;
    },
};

} // namespace kintsugi::derive
