#include "cost/cost.h"
#include "derive/rule.h"
#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "te/operations.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::derive {

using namespace te;

namespace {

/// Definitions that all steps of a scan become together.
constexpr double mostDefinitions = 64;
/// Steps, whose stacks are put together by a choice each.
constexpr int64_t mostSteps = 8;

class Converter {
public:
  Converter(const Program &program, const machine::Machine &machine, explain::Log *log)
      : out(program), machine(machine), log(log) {}

  std::optional<Program> run() {
    bool changes = false;
    for (uint32_t node = 0; node < out.old.nodes.size(); ++node) {
      const auto *scan = std::get_if<Scan>(&out.old.nodes[node]);
      if (!scan || !canConvert(*scan) || !isWorthIt(*scan)) {
        out.copy(node);
        continue;
      }
      tell(node);
      convert(node, *scan);
      changes = true;
    }
    if (!changes)
      return std::nullopt;
    return simplify::simplify(out.finish());
  }

private:
  static bool canConvert(const Scan &scan) {
    return scan.goesOnWhile && scan.trip.constant() > 0 && scan.trip.constant() <= mostSteps &&
           double(scan.trip.constant()) * double(scan.body->nodes.size()) <= mostDefinitions &&
           llvm::all_of(scan.body->nodes,
                        [](const Node &node) { return std::holds_alternative<Definition>(node); });
  }

  /// Whether computing what is not wanted takes no longer than to wait for who says that it is not,
  /// and to start what reads it by itself.
  bool isWorthIt(const Scan &scan) const {
    int64_t most = scan.trip.constant();
    double decisions = cost::predictSteps(most) + (most > 1 ? 1 : 0);
    return secondsOf(*scan.body) * (double(most) - cost::predictSteps(most)) <=
           decisions * cost::predictDecisionSeconds(machine) + machine.stageSeconds;
  }

  double secondsOf(const Program &body) const {
    double bytes = 0;
    for (const Value &value : body.values)
      bytes += value.bytes();
    double arithmetic = operationsOf(body) / (machine.flopsPerSecond * machine.cores);
    return std::max(arithmetic, bytes / std::max(1e9, machine.memory().bytesPerSecondAll));
  }

  void convert(uint32_t node, const Scan &scan) {
    out.fresh.currentOrigin = out.old.origins[node];
    llvm::SmallVector<ValueId> states;
    for (ValueId initial : scan.initial)
      states.push_back(out[initial]);
    std::vector<llvm::SmallVector<ValueId>> stacked(scan.results.size() - states.size());
    std::map<uint32_t, ValueId> constants;
    for (int64_t step = 0; step < scan.trip.constant(); ++step) {
      llvm::SmallVector<ValueId> made = addStep(node, scan, step, states, constants);
      ValueId isMade = states[0];
      for (auto [k, state] : llvm::enumerate(states))
        state =
            choose(out.old.value(scan.results[k]).name, isMade, *scan.goesOnWhile, made[k], state);
      for (auto [stack, one] : llvm::zip_equal(stacked, llvm::drop_begin(made, states.size())))
        stack.push_back(one);
    }
    for (auto [k, state] : llvm::enumerate(states))
      out.bind(scan.results[k], state);
    for (auto [k, stack] : llvm::enumerate(stacked))
      out.bind(scan.results[states.size() + k], stackOf(scan.results[states.size() + k], stack));
  }

  /// What the step makes, if it is made.
  llvm::SmallVector<ValueId> addStep(uint32_t node, const Scan &scan, int64_t step,
                                     llvm::ArrayRef<ValueId> states,
                                     std::map<uint32_t, ValueId> &constants) {
    const Program &body = *scan.body;
    std::map<uint32_t, ValueId> standsFor;
    Definition number;
    number.bodies = {Expr::literal(ElementType::I64, step)};
    standsFor[body.inputs[0].number] =
        out.fresh.define(body.value(body.inputs[0]).name, ElementType::I64, std::move(number));
    for (auto [k, state] : llvm::enumerate(states))
      standsFor[body.inputs[1 + k].number] = state;
    for (auto [k, captured] : llvm::enumerate(scan.captured))
      standsFor[body.inputs[1 + states.size() + k].number] = out[captured];
    auto renamed = [&](ValueId id) {
      const Value &value = body.value(id);
      if (value.kind != ValueKind::Constant)
        return standsFor.at(id.number);
      auto [entry, isNew] = constants.try_emplace(id.number);
      if (isNew)
        entry->second = out.fresh.addConstant(value.name, value.type, value.shape, value.constant);
      return entry->second;
    };
    for (uint32_t inner = 0; inner < body.nodes.size(); ++inner) {
      out.fresh.currentOrigin =
          body.origins[inner].empty() ? out.old.origins[node] : body.origins[inner];
      for (auto [old, fresh] :
           llvm::zip_equal(body.resultsOf(inner), copyNode(body, inner, out.fresh, renamed)))
        standsFor[old.number] = fresh;
    }
    out.fresh.currentOrigin = out.old.origins[node];
    llvm::SmallVector<ValueId> made;
    for (const Program::Output &output : body.outputs)
      made.push_back(renamed(output.value));
    return made;
  }

  ValueId choose(const std::string &name, ValueId condition, bool wanted, ValueId ifWanted,
                 ValueId otherwise) {
    const Value &value = out.fresh.value(ifWanted);
    Expr decides = Expr::read(condition, ElementType::Bool, {});
    return define(name, value.type, value.shape, [&](llvm::ArrayRef<Index> at) {
      Expr yes = Expr::read(ifWanted, value.type, at), no = Expr::read(otherwise, value.type, at);
      return wanted ? Expr::select(decides, yes, no) : Expr::select(decides, no, yes);
    });
  }

  /// What steps made, one behind the other.
  ValueId stackOf(ValueId old, llvm::ArrayRef<ValueId> made) {
    const Value &stack = out.old.value(old);
    return define(stack.name, stack.type, stack.shape, [&](llvm::ArrayRef<Index> at) {
      auto ofStep = [&](size_t step) {
        return Expr::read(made[step], stack.type, at.drop_front());
      };
      Expr element = ofStep(made.size() - 1);
      for (size_t step = made.size() - 1; step-- > 0;)
        element =
            Expr::select(Expr::binary(BinaryOp::LessEqual, Expr::index(at[0], ElementType::I64),
                                      Expr::literal(ElementType::I64, int64_t(step))),
                         ofStep(step), element);
      return element;
    });
  }

  ValueId define(const std::string &name, ElementType type, llvm::ArrayRef<Extent> shape,
                 llvm::function_ref<Expr(llvm::ArrayRef<Index>)> body) {
    Definition definition;
    llvm::SmallVector<Index> at;
    for (auto [k, extent] : llvm::enumerate(shape)) {
      definition.parallel.push_back({"i" + std::to_string(k), extent});
      at.push_back(Index::iterator(k));
    }
    definition.bodies.push_back(body(at));
    return out.fresh.define(name, type, std::move(definition));
  }

  void tell(uint32_t node) const {
    if (log)
      log->add({"derive",
                "scan '" + out.old.value(out.old.resultsOf(node)[0]).name + "'",
                "computed whether it is wanted or not",
                {"a run would wait longer for what decides"},
                {}});
  }

  simplify::Rebuilder out;
  const machine::Machine &machine;
  explain::Log *log;
};

} // namespace

const Rule ifConversionRule = {
    .name = "if-conversion",
    .equation =
        "y = scan[1] while c {f(x)} => y = f(x); of more steps each is chosen, or the state "
        "before it.",
    .source = "",
    .exactness = Exactness::Bitwise,
    .assumes = "",
    .order = RuleOrder::OfScans,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return Converter(program, context.space.schedule.machine, context.log)
          .run()
          .value_or(program);
    },
};

} // namespace kintsugi::derive
