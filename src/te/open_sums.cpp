#include "te/open_sums.h"

#include "te/behind_size.h"
#include "te/neutral.h"
#include "te/open_axis.h"
#include "te/rename.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

namespace {

/// Dimensions of values.
using Places = llvm::SmallVector<std::pair<ValueId, unsigned>>;

class Masking {
public:
  /// `size`: the input that says it.
  Masking(const Program &greatest, llvm::ArrayRef<OpenSum> sums, const SizedNumbers &numbers,
          const OpenDimension &open, ValueId size)
      : from(greatest), sums(sums), numbers(numbers), open(open), high(open.high), size(size) {
    to = greatest;
    to.nodes.clear();
    to.origins.clear();
    to.outputs.clear();
  }

  Program run() {
    for (uint32_t node = 0; node < from.nodes.size(); ++node) {
      to.currentOrigin = from.origins[node];
      Node changed = from.nodes[node];
      if (auto *definition = std::get_if<Definition>(&changed))
        change(*definition, node);
      append(std::move(changed));
    }
    for (const Program::Output &output : from.outputs)
      to.addOutput(output.name, output.value);
    return std::move(to);
  }

private:
  /// Its results are there already.
  void append(Node node) {
    to.nodes.push_back(std::move(node));
    to.origins.push_back(to.currentOrigin);
    for (ValueId result : to.resultsOf(to.nodes.size() - 1))
      to.value(result).node = to.nodes.size() - 1;
  }

  void change(Definition &definition, uint32_t node) {
    lookUp(definition, node, numbers, to, size, open);
    replaceReads(definition, replaced);
    llvm::SmallVector<unsigned> iterators;
    for (const OpenSum &sum : sums)
      if (sum.node == node)
        iterators.push_back(sum.iterator);
    if (iterators.size() == 1)
      hide(definition, iterators.front());
    else
      for (unsigned iterator : iterators)
        choose(definition, iterator);
    if (definition.results.size() == 1)
      findKnown(definition);
  }

  static void replaceReads(Definition &definition, const std::map<ValueId, ValueId> &replaced) {
    if (replaced.empty())
      return;
    auto renamed = [&](ValueId id) {
      auto found = replaced.find(id);
      return found == replaced.end() ? id : found->second;
    };
    for (Expr &body : definition.bodies)
      body = renameReads(body, renamed);
  }

  /// What lies behind the size adds nothing: because of what is read, if that is enough.
  void hide(Definition &definition, unsigned iterator) {
    Expr neutral = neutralOf(definition.reduction->combiner, definition.bodies.front().type());
    bool isReal = isFloat(neutral.type());
    if (isReal && isHidden(definition, iterator, neutral, known))
      return;
    Places places = isReal ? unknownPlaces(definition, iterator) : Places();
    KnownBehind supposed = known;
    for (auto place : places)
      supposed[place] = neutral.literalFloat();
    if (places.empty() || !isHidden(definition, iterator, neutral, supposed))
      return choose(definition, iterator);
    // Whoever reads what is minus infinity now finds zeros, where the exponential is summed.
    bool isForAll = definition.reduction->combiner != Combiner::Sum;
    std::map<ValueId, ValueId> here;
    for (auto [value, dimension] : places)
      here[value] = hidden(value, dimension, neutral.literalFloat());
    replaceReads(definition, here);
    if (isForAll)
      replaced.insert(here.begin(), here.end());
  }

  bool isHidden(const Definition &definition, unsigned iterator, const Expr &neutral,
                const KnownBehind &numbers) const {
    return behindSize(definition.bodies.front(), to, definition, iterator, numbers, high)
        .is(neutral.literalFloat());
  }

  /// Those that are read behind the size where the iterator is.
  Places unknownPlaces(const Definition &definition, unsigned iterator) const {
    Places places;
    llvm::SmallVector<Interval> ranges = definition.ranges();
    definition.bodies.front().walk([&](const Expr &part) {
      if (part.kind() != ExprKind::Read)
        return;
      ValueId value = part.readValue();
      for (auto [dimension, index] : llvm::enumerate(part.readIndices())) {
        int64_t extent = to.shape(value)[dimension].constant();
        if (extent % high == 0 && isFloat(to.value(value).type) &&
            !known.contains({value, dimension}) &&
            isBehind(index, extent / high, iterator, ranges, high))
          places.push_back({value, dimension});
      }
    });
    return places;
  }

  /// A value that is a number behind the size.
  ValueId hidden(ValueId value, unsigned dimension, double number) {
    auto key = std::make_tuple(value, dimension, number);
    if (auto found = made.find(key); found != made.end())
      return found->second;
    const Value &whole = to.value(value);
    Definition definition;
    llvm::SmallVector<Index> indices;
    for (auto [d, extent] : llvm::enumerate(whole.shape)) {
      definition.parallel.push_back({"i" + std::to_string(d), extent});
      indices.push_back(Index::iterator(d));
    }
    int64_t step = whole.shape[dimension].constant() / high;
    definition.bodies.push_back(Expr::select(isBelowSize(indices[dimension].floorDiv(step), size),
                                             Expr::read(value, whole.type, indices),
                                             Expr::literal(whole.type, number)));
    ValueId result = to.define(whole.name + ".before", whole.type, std::move(definition));
    known[{result, dimension}] = number;
    made[key] = result;
    return result;
  }

  /// All of a sum's terms are chosen by the condition.
  void choose(Definition &definition, unsigned iterator) {
    Expr &body = definition.bodies.front();
    unsigned parallel = definition.parallel.size();
    int64_t extent = definition.reduction->iterators[iterator - parallel].extent.constant();
    Index step = Index::iterator(iterator).floorDiv(extent / high);
    body = Expr::select(isBelowSize(step, size), body,
                        neutralOf(definition.reduction->combiner, body.type()));
  }

  /// What its result is behind the size.
  void findKnown(const Definition &definition) {
    bool isSum = definition.reduction && definition.reduction->combiner == Combiner::Sum;
    ElementType type = definition.bodies.front().type();
    bool hasNumbers = isFloat(type) || (type == ElementType::Bool && !definition.reduction);
    if (!hasNumbers || (definition.reduction && !isSum))
      return;
    for (auto [dimension, iterator] : llvm::enumerate(definition.parallel)) {
      if (iterator.extent.constant() == 0 || iterator.extent.constant() % high != 0)
        continue;
      Behind behind = behindSize(definition.bodies.front(), to, definition, dimension, known, high);
      if (behind.kind == Behind::Kind::Number && (!isSum || behind.number == 0))
        known[{definition.results.front(), unsigned(dimension)}] = behind.number;
    }
  }

  const Program &from;
  llvm::ArrayRef<OpenSum> sums;
  const SizedNumbers &numbers;
  const OpenDimension &open;
  int64_t high;
  ValueId size;
  Program to;
  KnownBehind known;
  std::map<ValueId, ValueId> replaced; ///< In all nodes to come.
  std::map<std::tuple<ValueId, unsigned, double>, ValueId> made;
};

} // namespace

std::vector<OpenSum> openSums(const Program &greatest, const Program &smaller) {
  std::vector<OpenSum> sums;
  if (greatest.nodes.size() != smaller.nodes.size())
    return sums;
  for (uint32_t node = 0; node < greatest.nodes.size(); ++node) {
    const auto *whole = std::get_if<Definition>(&greatest.nodes[node]);
    const auto *part = std::get_if<Definition>(&smaller.nodes[node]);
    if (!whole || !part || !whole->reduction || !part->reduction ||
        whole->reduction->iterators.size() != part->reduction->iterators.size())
      continue;
    for (auto [k, pair] :
         llvm::enumerate(llvm::zip(whole->reduction->iterators, part->reduction->iterators)))
      if (std::get<0>(pair).extent != std::get<1>(pair).extent)
        sums.push_back({node, unsigned(whole->parallel.size() + k)});
  }
  return sums;
}

/// Of a program in which their nodes stand elsewhere.
static std::vector<OpenSum> movedTo(const Program &program, llvm::ArrayRef<OpenSum> sums,
                                    const Program &greatest) {
  std::vector<OpenSum> moved;
  for (const OpenSum &sum : sums)
    moved.push_back({program.value(greatest.resultsOf(sum.node).front()).node, sum.iterator});
  return moved;
}

Program withSizes(const Program &greatest, llvm::ArrayRef<SizedParts> parts) {
  Program program = greatest;
  std::vector<ValueId> sizes;
  for (const SizedParts &part : parts) {
    sizes.push_back(program.addInput(part.open.name, ElementType::I64, {}));
    program.value(sizes.back()).facts = {double(part.open.low), double(part.open.high), true, true};
  }
  // Numbers first, by places in bodies that conditions would move.
  for (auto [part, size] : llvm::zip_equal(parts, sizes))
    if (!part.numbers.empty())
      program = Masking(program, {}, part.numbers, part.open, size).run();
  const SizedNumbers none;
  for (auto [part, size] : llvm::zip_equal(parts, sizes))
    if (!part.sums.empty())
      program =
          Masking(program, movedTo(program, part.sums, greatest), none, part.open, size).run();
  return program;
}

} // namespace kintsugi::te
