#include "simplify/simplify.h"

#include "simplify/facts.h"
#include "simplify/rebuild.h"
#include "simplify/rules.h"
#include "te/constant.h"
#include "te/divisions.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

namespace kintsugi::simplify {

using namespace te;

namespace {

/// A definition whose body is one read at fixed positions: a transpose, a reshape, a slice.
const Definition *viewOf(const Program &program, ValueId id) {
  const Definition *definition = program.definitionOf(id);
  if (!definition || definition->reduction)
    return nullptr;
  const Expr &body = definition->bodies[0];
  bool isView = body.kind() == ExprKind::Read && !body.readFill() &&
                llvm::all_of(body.readIndices(), [](const Index &i) { return i.isStatic(); });
  return isView ? definition : nullptr;
}

class Simplifier {
public:
  Simplifier(const Program &program, explain::Log *log) : out(program), log(log) {}

  Program run() {
    std::vector<bool> needed = neededNodes(out.old);
    for (uint32_t node = 0; node < out.old.nodes.size(); ++node) {
      if (!needed[node]) {
        note(node, "dropped", "no output needs it");
        continue;
      }
      if (const auto *definition = std::get_if<Definition>(&out.old.nodes[node])) {
        simplifyDefinition(node, *definition);
        continue;
      }
      std::shared_ptr<const Program> body;
      if (const auto *scan = std::get_if<Scan>(&out.old.nodes[node]))
        body = std::make_shared<const Program>(simplify(*scan->body, log));
      out.copyNode(node, body);
      out.keepOriginals(node);
    }
    noteRules();
    return out.finish();
  }

private:
  void simplifyDefinition(uint32_t node, const Definition &old) {
    Definition definition = old;
    definition.results.clear();
    llvm::SmallVector<Interval> ranges = definition.ranges();
    auto shapeOf = [&](ValueId id) { return out.fresh.shape(id); };
    auto facts = [&](const Expr &e) { return factsOf(e, out.fresh); };
    std::string composed;
    bool isView = !definition.reduction && definition.bodies[0].kind() == ExprKind::Read;
    for (Expr &body : definition.bodies) {
      body = simplifyIndices(out.rename(body), ranges, shapeOf);
      body = composeViews(body, ranges, isView, composed);
      body = withNumbers(body);
      body = applyRules(body, facts, [&](size_t rule) { ++timesApplied[rule]; });
    }
    if (!composed.empty())
      note(node, "reads through views", "the composed maps are as simple as before: " + composed);
    if (std::optional<ValueId> same = identity(definition)) {
      note(node, "dropped", "it copies '" + out.fresh.value(*same).name + "' as it is");
      out.bind(old.results[0], *same);
      return;
    }
    std::string key = keyOf(definition, old);
    auto [entry, isNew] = known.try_emplace(key);
    if (!isNew) {
      note(node, "merged into '" + out.fresh.value(entry->second[0]).name + "'",
           "both compute the same");
      for (auto [before, after] : llvm::zip(old.results, entry->second))
        out.bind(before, after);
      return;
    }
    out.define(node, std::move(definition));
    out.keepOriginals(node);
    for (ValueId id : old.results)
      entry->second.push_back(out[id]);
    ValueId first = out[old.results[0]];
    if (old.results.size() == 1)
      out.fresh.value(first).facts = factsOf(*out.fresh.definitionOf(first), out.fresh);
  }

  /// Elements of what is one number everywhere, and of constants that have one alone, where they
  /// can be loaded.
  Expr withNumbers(const Expr &body) const {
    return rewrite(body, [&](const Expr &e) -> Expr {
      if (e.kind() != ExprKind::Read || e.readFill())
        return e;
      const Definition *definition = out.fresh.definitionOf(e.readValue());
      if (definition && !definition->reduction && definition->bodies[0].isLiteral())
        return definition->bodies[0];
      const Value &value = out.fresh.value(e.readValue());
      bool isOne = value.kind == ValueKind::Constant &&
                   llvm::all_of(value.shape, [](Extent extent) { return extent.constant() == 1; });
      if (!isOne || isComplex(value.type) || bitsOf(value.type) < 8)
        return e;
      Expected<Tensor> tensor = loadConstant(value);
      if (!tensor.ok())
        return e;
      if (!isFloat(value.type))
        return Expr::literal(value.type, loadInteger(tensor->view(), 0));
      double number = loadDouble(tensor->view(), 0);
      return std::isnan(number) ? e : Expr::literal(value.type, number);
    });
  }

  void note(uint32_t node, std::string decision, std::string reason) {
    if (log)
      log->add({"simplify",
                "value '" + out.old.value(out.old.resultsOf(node)[0]).name + "'",
                std::move(decision),
                {std::move(reason)},
                {}});
  }

  void noteRules() const {
    if (!log)
      return;
    for (auto [rule, times] : llvm::zip(scalarRules(), timesApplied))
      if (times > 0)
        log->add({"simplify",
                  "program '" + out.old.name + "'",
                  std::string("applied the rule ") + rule.name,
                  {},
                  {{"times", static_cast<double>(times), ""}}});
  }

  /// Reads through views where the composed map stays affine; a view reads through any view. Adds
  /// the names of the views to `composedViews`.
  Expr composeViews(const Expr &body, llvm::ArrayRef<Interval> ranges, bool readerIsView,
                    std::string &composedViews) {
    auto shapeOf = [&](ValueId id) { return out.fresh.shape(id); };
    return rewrite(body, [&](const Expr &e) {
      Expr read = e;
      while (read.kind() == ExprKind::Read) {
        const Definition *view = viewOf(out.fresh, read.readValue());
        if (!view || (read.readFill() && !coversSource(*view)))
          break;
        Expr composed = substitute(view->bodies[0], read.readIndices());
        if (read.readFill())
          composed = Expr::read(composed.readValue(), composed.type(), composed.readIndices(),
                                *read.readFill());
        composed = simplifyIndices(composed, ranges, shapeOf);
        if (!readerIsView && isAffineRead(read) && !isAffineRead(composed))
          break;
        if (divisionsIn(composed) > mostDivisions)
          break;
        if (log)
          composedViews +=
              (composedViews.empty() ? "'" : ", '") + out.fresh.value(read.readValue()).name + "'";
        read = composed;
      }
      return read;
    });
  }

  /// Whether a view leaves its source exactly where its own index leaves the view: it only reorders
  /// whole dimensions, so a fill means the same.
  bool coversSource(const Definition &view) const {
    const Expr &read = view.bodies[0];
    llvm::SmallVector<bool> used(view.parallel.size(), false);
    for (auto [index, extent] : llvm::zip(read.readIndices(), out.fresh.shape(read.readValue()))) {
      int iterator = index.asIterator();
      if (iterator < 0 || used[iterator] || view.parallel[iterator].extent != extent)
        return false;
      used[iterator] = true;
    }
    return llvm::all_of(used, [](bool u) { return u; });
  }

  /// The value that a definition copies element by element, if that is all it does.
  std::optional<ValueId> identity(const Definition &definition) const {
    if (definition.reduction || definition.bodies[0].kind() != ExprKind::Read ||
        definition.bodies[0].readFill())
      return std::nullopt;
    const Expr &read = definition.bodies[0];
    llvm::ArrayRef<Extent> shape = out.fresh.shape(read.readValue());
    if (shape.size() != definition.parallel.size())
      return std::nullopt;
    for (auto [k, index] : llvm::enumerate(read.readIndices())) {
      if (shape[k] != definition.parallel[k].extent)
        return std::nullopt;
      bool unit = shape[k].constant() == 1 && index == Index(0);
      if (!unit && index.asIterator() != static_cast<int>(k))
        return std::nullopt;
    }
    return read.readValue();
  }

  std::string keyOf(const Definition &definition, const Definition &old) const {
    std::string key;
    for (const Iterator &iterator : definition.parallel)
      key += std::to_string(iterator.extent.constant()) + ",";
    if (definition.reduction) {
      key += nameOf(definition.reduction->combiner);
      key += std::to_string(static_cast<int>(definition.reduction->accumulator));
      for (const Iterator &iterator : definition.reduction->iterators)
        key += "," + std::to_string(iterator.extent.constant());
    }
    for (ValueId result : old.results)
      key += ";" + std::to_string(static_cast<int>(out.old.value(result).type));
    for (const Expr &body : definition.bodies)
      key += " " + std::to_string(bodyNumber(body));
    return key;
  }

  /// Numbers bodies by structure.
  unsigned bodyNumber(const Expr &body) const {
    return bodies.try_emplace(body, bodies.size()).first->second;
  }

  struct Less {
    bool operator()(const Expr &a, const Expr &b) const { return a.compare(b) < 0; }
  };

  Rebuilder out;
  explain::Log *log;
  std::vector<unsigned> timesApplied = std::vector<unsigned>(scalarRules().size(), 0);
  std::map<std::string, llvm::SmallVector<ValueId>> known;
  mutable std::map<Expr, unsigned, Less> bodies;
};

} // namespace

bool isAffineRead(const Expr &read) {
  return llvm::all_of(read.readIndices(), [](const Index &i) { return i.isAffine(); });
}

Program simplify(const Program &program, explain::Log *log) {
  return withoutUnneeded(Simplifier(program, log).run());
}

} // namespace kintsugi::simplify
