#include "derive/split_repeats.h"

#include "derive/rule.h"
#include "derive/split_iterator.h"
#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "te/product.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace kintsugi::derive {

using namespace te;

namespace {

/// An iterator that becomes two: the part, and the place in it.
struct Split {
  unsigned iterator;
  int64_t size; ///< Of a part.
};

/// Definitions that are split together, by their nodes.
using Splits = std::map<uint32_t, Split>;

/// What divides an iterator wherever an index uses it, if that is all that is done to it: all
/// places of a part, or all parts, read the same.
int64_t divisorOf(const Index &index, unsigned iterator) {
  if (index.terms().size() != 1 || index.constantTerm() != 0)
    return 0;
  const Term &term = index.terms()[0];
  bool divides = term.atom.kind == AtomKind::FloorDiv || term.atom.kind == AtomKind::Mod;
  bool isPlain = divides && term.factor == 1 && term.atom.operand.asIterator() == int(iterator);
  return isPlain ? term.atom.divisor : 0;
}

/// The iterator along which a view reads its elements several times.
std::optional<Split> repeatOf(const Definition &definition) {
  const Expr &read = definition.bodies[0];
  if (definition.reduction || read.kind() != ExprKind::Read || read.readFill())
    return std::nullopt;
  for (unsigned k = 0; k < definition.parallel.size(); ++k) {
    auto uses = llvm::make_filter_range(read.readIndices(),
                                        [&](const Index &index) { return index.uses(k); });
    if (llvm::range_size(uses) != 1)
      continue;
    int64_t size = divisorOf(*uses.begin(), k), extent = definition.parallel[k].extent.constant();
    if (size > 1 && size < extent && extent % size == 0)
      return Split{k, size};
  }
  return std::nullopt;
}

int64_t extentOf(const Definition &definition, unsigned iterator) {
  Interval range = definition.ranges()[iterator];
  return range.high - range.low + 1;
}

bool isCopy(const Definition &definition) {
  if (definition.reduction || definition.bodies.size() != 1)
    return false;
  const Expr &body = definition.bodies[0];
  return body.kind() == ExprKind::Read && !body.readFill() &&
         body.readIndices().size() == definition.parallel.size() &&
         llvm::all_of(llvm::enumerate(body.readIndices()), [](const auto &index) {
           return index.value().asIterator() == int(index.index());
         });
}

class RepeatSplitter {
public:
  RepeatSplitter(const Program &program, explain::Log *log)
      : log(log), old(program), definitions(program.nodes.size()), readers(program.numValues()) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (const auto *definition = std::get_if<Definition>(&program.nodes[node]))
        definitions[node] = *definition;
      for (ValueId operand : program.operandsOf(node))
        readers[operand.number].push_back(node);
    }
  }

  /// Outputs with a dimension that would have been split.
  std::set<ValueId> outputs;

  std::optional<Program> run() {
    bool any = false;
    for (uint32_t node = 0; node < old.nodes.size(); ++node)
      if (std::optional<Split> split =
              definitions[node] ? repeatOf(*definitions[node]) : std::nullopt)
        any |= splitFrom(node, *split);
    if (!any)
      return std::nullopt;
    simplify::Rebuilder out(old);
    for (uint32_t node = 0; node < old.nodes.size(); ++node)
      copy(node, out);
    return out.finish();
  }

private:
  bool isOutput(ValueId id) const {
    return llvm::any_of(old.outputs, [&](const auto &output) { return output.value == id; });
  }

  bool isOutput(uint32_t node) const {
    return llvm::any_of(old.resultsOf(node), [&](ValueId id) { return isOutput(id); });
  }

  /// Whether definitions alone read a node's results.
  bool isInside(uint32_t node) {
    bool isInside = true;
    for (ValueId id : definitions[node]->results) {
      if (isOutput(id))
        outputs.insert(id);
      isInside &= !isOutput(id) && llvm::all_of(readers[id.number], [&](uint32_t reader) {
        return definitions[reader].has_value();
      });
    }
    return isInside;
  }

  /// Whether an output is a copy, whose dimensions stay what they are.
  bool isCopiedOutput(uint32_t node) const { return isOutput(node) && isCopy(*definitions[node]); }

  bool splitFrom(uint32_t view, Split split) {
    std::optional<Splits> splits = withReaders(view, split);
    if (!splits || llvm::none_of(*splits, [&](const auto &entry) {
          return isContraction(*definitions[entry.first]);
        }))
      return false;
    std::map<uint32_t, Definition> found;
    for (uint32_t node : touched(*splits)) {
      Definition definition = splitDefinition(node, *splits);
      if (!isCopiedOutput(node) && !isAsSimple(*definitions[node], definition))
        return false;
      found.emplace(node, std::move(definition));
    }
    for (auto &[node, definition] : found)
      definitions[node] = std::move(definition);
    if (log)
      log->add({"derive",
                "value '" + old.value(old.resultsOf(view)[0]).name + "'",
                "read in parts of " + std::to_string(split.size),
                {"it repeats its elements, which contractions then share"},
                {}});
    return true;
  }

  /// The definitions whose iterators follow that of a view; nothing where one can't be split.
  std::optional<Splits> withReaders(uint32_t view, Split split) {
    Splits splits = {{view, split}};
    llvm::SmallVector<uint32_t> open = {view};
    while (!open.empty()) {
      uint32_t node = open.pop_back_val();
      unsigned dimension = splits.at(node).iterator;
      if (!isInside(node) || dimension >= definitions[node]->parallel.size())
        return std::nullopt;
      for (ValueId id : definitions[node]->results)
        for (uint32_t reader : readers[id.number]) {
          if (isCopiedOutput(reader))
            continue;
          bool fits = true;
          forEachRead(reader, id, [&](const Expr &read) {
            int iterator = read.readIndices()[dimension].asIterator();
            fits &= !read.readFill();
            if (iterator < 0)
              return;
            auto [entry, isNew] = splits.try_emplace(reader, Split{unsigned(iterator), split.size});
            fits &= entry->second.iterator == unsigned(iterator) &&
                    extentOf(*definitions[reader], iterator) % split.size == 0;
            if (isNew)
              open.push_back(reader);
          });
          if (!fits)
            return std::nullopt;
        }
    }
    return splits;
  }

  void forEachRead(uint32_t reader, ValueId id,
                   llvm::function_ref<void(const Expr &)> visit) const {
    for (const Expr &body : definitions[reader]->bodies)
      body.walk([&](const Expr &e) {
        if (e.kind() == ExprKind::Read && e.readValue() == id)
          visit(e);
      });
  }

  /// Those that are split, and those that read one of them.
  std::set<uint32_t> touched(const Splits &splits) const {
    std::set<uint32_t> nodes;
    for (const auto &[node, split] : splits) {
      nodes.insert(node);
      for (ValueId id : definitions[node]->results)
        nodes.insert(readers[id.number].begin(), readers[id.number].end());
    }
    return nodes;
  }

  Definition splitDefinition(uint32_t node, const Splits &splits) const {
    Definition definition = *definitions[node];
    for (Expr &body : definition.bodies)
      body = rewrite(body, [&](const Expr &e) { return inParts(e, splits); });
    if (auto own = splits.find(node); own != splits.end())
      splitIterator(definition, own->second.iterator, own->second.size);
    llvm::SmallVector<Interval> ranges = definition.ranges();
    for (Expr &body : definition.bodies)
      body = simplifyIndices(body, ranges, [&](ValueId id) { return old.shape(id); });
    return definition;
  }

  /// A read of a split dimension as one of two.
  Expr inParts(const Expr &e, const Splits &splits) const {
    if (e.kind() != ExprKind::Read || old.value(e.readValue()).kind != ValueKind::Result)
      return e;
    auto source = splits.find(old.value(e.readValue()).node);
    if (source == splits.end())
      return e;
    auto [dimension, size] = source->second;
    llvm::SmallVector<Index> indices(e.readIndices());
    Index index = indices[dimension];
    indices[dimension] = index.mod(size);
    indices.insert(indices.begin() + dimension, index.floorDiv(size));
    return Expr::read(e.readValue(), e.type(), indices);
  }

  /// Whether no read that was affine has become another.
  static bool isAsSimple(const Definition &before, const Definition &after) {
    auto countOthers = [](const Definition &definition) {
      unsigned others = 0;
      for (const Expr &body : definition.bodies)
        body.walk([&](const Expr &e) {
          others += e.kind() == ExprKind::Read && !simplify::isAffineRead(e);
        });
      return others;
    };
    return countOthers(after) <= countOthers(before);
  }

  void copy(uint32_t node, simplify::Rebuilder &out) const {
    if (!definitions[node])
      return out.copy(node);
    out.copyAs(node, *definitions[node]);
  }

  explain::Log *log;
  const Program &old;
  std::vector<std::optional<Definition>> definitions;
  std::vector<llvm::SmallVector<uint32_t>> readers; ///< Nodes, by value.
};

constexpr const char *grouped = ".grouped"; ///< The end of a copied value's name.

/// With copies of values as outputs, so that they may have other dimensions themselves.
Program withCopiesOf(const std::set<ValueId> &values, const Program &program) {
  simplify::Rebuilder out(program);
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    out.copy(node);
    for (ValueId id : program.resultsOf(node))
      if (values.count(id)) {
        ValueId copy = out.defineFrom(out[id], program.value(id).type, grouped,
                                      [](const Expr &read) { return read; });
        Value &asOutput = out.fresh.values[copy.number];
        std::swap(asOutput.original, out.fresh.values[out[id].number].original);
        std::swap(asOutput.name, out.fresh.values[out[id].number].name);
        out.bind(id, copy);
      }
  }
  return out.finish();
}

/// Without copies of what kept its dimensions.
Program withoutCopies(const Program &program) {
  simplify::Rebuilder out(program);
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    const auto *definition = std::get_if<Definition>(&program.nodes[node]);
    if (!definition || !isCopy(*definition)) {
      out.copy(node);
      continue;
    }
    ValueId source = definition->bodies[0].readValue(), copy = definition->results[0];
    bool isOurs = program.value(source).kind == ValueKind::Result &&
                  program.shape(source) == program.shape(copy) &&
                  llvm::StringRef(program.value(source).name).ends_with(grouped);
    if (!isOurs) {
      out.copy(node);
      continue;
    }
    Value &kept = out.fresh.values[out[source].number];
    kept.original = program.value(copy).original;
    kept.name = program.value(copy).name;
    out.bind(copy, out[source]);
  }
  return out.finish();
}

} // namespace

std::optional<Program> splitRepeats(const Program &program, explain::Log *log) {
  RepeatSplitter trial(program, nullptr);
  bool isSplit = trial.run().has_value();
  if (trial.outputs.empty())
    return isSplit ? RepeatSplitter(program, log).run() : std::nullopt;
  Program copied = withCopiesOf(trial.outputs, program);
  std::optional<Program> further = RepeatSplitter(copied, log).run();
  return further ? std::optional(withoutCopies(*further)) : std::nullopt;
}

const Rule shareRepeatedRule = {
    .name = "share-repeated",
    .equation = "k[h, j, r] = x[h//p, j, r], s[h, j] = sum[r] q[h, r] * k[h, j, r] => s[g, "
                "a:p, j] = sum[r] q[p*g + a, r] * x[g, j, r].",
    .source = "",
    .exactness = Exactness::Bitwise,
    .assumes = "",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      std::optional<Program> split = splitRepeats(program, context.log);
      return split ? simplify::simplify(*split, context.log) : program;
    },
};

} // namespace kintsugi::derive
