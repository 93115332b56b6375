//===- restrict_to_reads.cpp - Values where they are read, and nowhere else --===//
//
// Of a product of which some rows, columns or positions are read, by an index that may be data, the
// rest need not be computed: the definition is made anew over the iterators of whoever reads it.
// What that one reads is then read at fewer places too, and so it goes on: what leads to the scores
// of the last token is computed for the last token, back to where tokens are mixed.
//
//===----------------------------------------------------------------------===//

#include "derive/multiply_adds.h"
#include "derive/renumbered.h"
#include "derive/rule.h"
#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "te/product.h"
#include "te/rename.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace kintsugi::derive {

using namespace te;

namespace {

/// The places of a value that a read has, over iterators of their own.
struct Places {
  llvm::SmallVector<Iterator, 4> iterators;
  llvm::SmallVector<Index, 4> indices; ///< Over those.

  bool operator==(const Places &other) const {
    auto isSame = [](const Iterator &a, const Iterator &b) { return a.extent == b.extent; };
    return llvm::equal(iterators, other.iterators, isSame) && indices == other.indices;
  }
};

bool usesInIndices(const Expr &read, unsigned iterator) {
  return llvm::any_of(read.readIndices(), [&](const Index &index) { return index.uses(iterator); });
}

bool readsInIndices(const Expr &read, ValueId value) {
  bool found = false;
  for (const Index &index : read.readIndices())
    index.forEachData([&](const Expr &data) {
      data.walk(
          [&](const Expr &e) { found |= e.kind() == ExprKind::Read && e.readValue() == value; });
    });
  return found;
}

/// A definition of the program that is made.
struct Piece {
  Definition definition; ///< Reads values of the old program, and pieces.
  std::string name;
  ElementType type;
  Facts facts;
  uint32_t node; ///< Of the old program, for which it is.
};

class Restrictor {
public:
  explicit Restrictor(const Program &program)
      : old(program), constant(constantNodes(program)), isWhole(program.numValues(), false),
        leadsToSums(program.nodes.size(), false), changed(program.nodes.size()),
        restricted(program.nodes.size()), readers(program.numValues()) {
    for (uint32_t node = 0; node < old.nodes.size(); ++node)
      note(node);
    for (const Program::Output &output : old.outputs)
      isWhole[output.value.number] = true;
  }

  /// What is spared, all over the program.
  MultiplyAdds run() {
    for (uint32_t node = old.nodes.size(); node-- > 0;)
      if (isCandidate(node))
        restrict(node);
    return total;
  }

  /// What was decided of a node's values.
  bool isRestricted(uint32_t node) const { return !restricted[node].empty(); }

  Program program() const {
    simplify::Rebuilder out(old);
    std::vector<std::optional<ValueId>> values(pieces.size());
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      if (isRestricted(node))
        continue;
      if (!changed[node]) {
        out.copy(node);
        continue;
      }
      out.define(node, renamed(*changed[node], out, values));
      out.keepFacts(node);
    }
    return simplify::withoutUnneeded(out.finish());
  }

private:
  using PieceValues = std::vector<std::optional<ValueId>>;

  /// A definition over new values. A piece is written where it is first read: only there is all
  /// that the index of its reader is made of.
  Definition renamed(Definition definition, simplify::Rebuilder &out, PieceValues &values) const {
    for (Expr &body : definition.bodies)
      body = renameReads(body, [&](ValueId id) {
        return isPiece(id) ? written(id.number - firstPiece, out, values) : out[id];
      });
    definition.results.clear();
    return definition;
  }

  ValueId written(unsigned number, simplify::Rebuilder &out, PieceValues &values) const {
    const Piece &piece = pieces[number];
    std::optional<ValueId> &value = values[number];
    if (value)
      return *value;
    if (std::optional<unsigned> other = copiedBy(piece.definition)) {
      value = written(*other, out, values);
      return *value;
    }
    Definition definition = renamed(piece.definition, out, values);
    out.fresh.currentOrigin = old.origins[piece.node];
    value = out.fresh.define(piece.name, piece.type, std::move(definition));
    out.fresh.value(*value).facts = piece.facts;
    return *value;
  }

  /// The piece that a definition has as it is: it was gathered before it was known that it is
  /// computed there alone.
  static std::optional<unsigned> copiedBy(const Definition &definition) {
    const Expr &body = definition.bodies[0];
    if (definition.reduction || body.kind() != ExprKind::Read || !isPiece(body.readValue()) ||
        body.readIndices().size() != definition.parallel.size())
      return std::nullopt;
    for (auto [k, index] : llvm::enumerate(body.readIndices()))
      if (index.asIterator() != int(k))
        return std::nullopt;
    return body.readValue().number - firstPiece;
  }

  static constexpr uint32_t firstPiece = 1u << 31;
  static constexpr unsigned mostPlaces = 2; ///< Of one value.
  static constexpr size_t mostPieces = 4096;
  static constexpr unsigned mostTerms = 1000; ///< Expressions of one definition.

  /// Who reads a value: a node of the old program, or a piece.
  struct Reader {
    bool isPiece;
    uint32_t number;
  };

  static bool isPiece(ValueId id) { return id.number >= firstPiece; }

  void note(uint32_t node) {
    const auto *definition = std::get_if<Definition>(&old.nodes[node]);
    for (ValueId operand : old.operandsOf(node)) {
      readers[operand.number].push_back({false, node});
      isWhole[operand.number] = isWhole[operand.number] || !definition;
      if (definition && old.value(operand).kind == ValueKind::Result)
        leadsToSums[node] = leadsToSums[node] || leadsToSums[old.value(operand).node];
    }
    if (definition && !constant[node])
      leadsToSums[node] = leadsToSums[node] || definition->isReduction();
  }

  bool isCandidate(uint32_t node) const {
    const auto *definition = std::get_if<Definition>(&old.nodes[node]);
    return definition && !constant[node] && definition->results.size() == 1 && leadsToSums[node] &&
           !isWhole[definition->results[0].number] && pieces.size() < mostPieces;
  }

  /// As it stands now.
  const Definition &definitionAt(Reader reader) const {
    if (reader.isPiece)
      return pieces[reader.number].definition;
    const std::optional<Definition> &its = changed[reader.number];
    return its ? *its : std::get<Definition>(old.nodes[reader.number]);
  }

  Definition &changedDefinition(Reader reader) {
    if (reader.isPiece)
      return pieces[reader.number].definition;
    std::optional<Definition> &its = changed[reader.number];
    if (!its)
      its = std::get<Definition>(old.nodes[reader.number]);
    return *its;
  }

  /// Those that still read the value.
  std::vector<Reader> readersOf(ValueId value) const {
    std::vector<Reader> result;
    for (Reader reader : readers[value.number])
      if (reader.isPiece || !isRestricted(reader.number))
        result.push_back(reader);
    return result;
  }

  static Places placesOf(const Expr &read, const Definition &reader) {
    Renumbered used(reader, [&](unsigned k) { return usesInIndices(read, k); });
    return {used.iterators, substitute(read.readIndices(), used.numbers)};
  }

  /// Whether there are elements at all places, also where a condition of the reader, as of one that
  /// puts parts together, looks at none.
  static bool areWithin(const Places &places, llvm::ArrayRef<Extent> shape) {
    llvm::SmallVector<Interval> ranges;
    for (const Iterator &iterator : places.iterators)
      ranges.push_back(Interval::of(iterator.extent));
    return llvm::all_of(llvm::zip_equal(places.indices, shape), [&](const auto &each) {
      const auto &[index, extent] = each;
      return !index.isStatic() || rangeOf(index, ranges).within(Interval::of(extent));
    });
  }

  /// All places at which a value is read; nullopt: there are too many.
  std::optional<std::vector<Places>> placesOf(ValueId value) const {
    std::vector<Places> all;
    bool isRestrictable = true;
    for (Reader reader : readersOf(value)) {
      const Definition &definition = definitionAt(reader);
      unsigned terms = 0;
      for (const Expr &body : definition.bodies)
        body.walk([&](const Expr &e) {
          ++terms;
          if (e.kind() != ExprKind::Read || e.readValue() != value)
            return;
          isRestrictable &= !e.readFill() && !readsInIndices(e, value);
          Places its = placesOf(e, definition);
          isRestrictable &= areWithin(its, old.shape(value));
          if (!llvm::is_contained(all, its))
            all.push_back(std::move(its));
        });
      if (!isRestrictable || terms > mostTerms || all.size() > mostPlaces)
        return std::nullopt;
    }
    return all;
  }

  /// Whether a dimension that is read by position becomes one of the places: windows and digits
  /// would have a product's factors at more places than there are.
  static bool keepsProducts(const Places &places) {
    llvm::SmallDenseSet<unsigned, 8> moved;
    return llvm::all_of(places.indices, [&](const Index &index) {
      if (!index.isStatic() || index.isConstant())
        return true;
      const Atom &atom = index.terms()[0].atom;
      return index.terms().size() == 1 && atom.kind == AtomKind::Iterator &&
             moved.insert(atom.iterator).second;
    });
  }

  /// Whether what data are outside of the value, which the nearest element stands for, finds the
  /// same where the definition reads.
  bool keepsEnds(const Places &places, const Definition &definition) const {
    bool keeps = true;
    for (auto [d, at] : llvm::enumerate(places.indices)) {
      if (at.isStatic())
        continue;
      for (const Expr &body : definition.bodies)
        body.walk([&](const Expr &e) {
          if (e.kind() == ExprKind::Index)
            keeps &= !e.uses(d);
          if (e.kind() == ExprKind::Read)
            keeps &= isAlong(e, d, definition.parallel[d].extent);
        });
    }
    return keeps;
  }

  /// Whether a read goes along dimensions of an extent with an iterator, as far as it does.
  bool isAlong(const Expr &read, unsigned iterator, const Extent &extent) const {
    for (auto [index, its] : llvm::zip_equal(read.readIndices(), old.shape(read.readValue())))
      if (index.uses(iterator) &&
          (read.readFill() || index.asIterator() != int(iterator) || its != extent))
        return false;
    return true;
  }

  void restrict(uint32_t node) {
    const auto &definition = std::get<Definition>(old.nodes[node]);
    ValueId value = definition.results[0];
    std::optional<std::vector<Places>> places = placesOf(value);
    if (!places || places->empty())
      return;
    double elements = elementsOf(old.shape(value)), points = 0;
    for (const Places &its : *places)
      points += pointsOf(its.iterators);
    if (points > mostShare * elements ||
        (isContraction(definition) && !llvm::all_of(*places, keepsProducts)) ||
        !llvm::all_of(*places, [&](const Places &its) { return keepsEnds(its, definition); }))
      return;
    size_t before = pieces.size();
    std::vector<unsigned> made;
    for (const Places &its : *places) {
      std::optional<unsigned> piece = pieceOf(node, its);
      if (!piece) {
        pieces.erase(pieces.begin() + before, pieces.end());
        return;
      }
      made.push_back(*piece);
    }
    for (Reader reader : readersOf(value))
      readPieces(changedDefinition(reader), value, *places, made);
    account(definition, points, before);
    for (size_t piece = before; piece < pieces.size(); ++piece)
      noteReads(piece);
    restricted[node] = std::move(made);
  }

  /// What has a larger share is computed whole.
  static constexpr double mostShare = 0.75;

  void noteReads(unsigned piece) {
    std::set<uint32_t> read;
    for (const Expr &body : pieces[piece].definition.bodies)
      body.walk([&](const Expr &e) {
        if (e.kind() == ExprKind::Read && !isPiece(e.readValue()) &&
            read.insert(e.readValue().number).second)
          readers[e.readValue().number].push_back({true, piece});
      });
  }

  /// The definition at some places of its value, and what of data it reads gathered before.
  std::optional<unsigned> pieceOf(uint32_t node, const Places &places) {
    const auto &definition = std::get<Definition>(old.nodes[node]);
    const Value &value = old.value(definition.results[0]);
    Piece piece{definition, value.name + ".read", value.type, value.facts, node};
    llvm::SmallVector<Index> at(places.indices.begin(), places.indices.end());
    for (unsigned k = definition.parallel.size(); k < definition.numIterators(); ++k)
      at.push_back(Index::iterator(places.iterators.size() + k - definition.parallel.size()));
    piece.definition.parallel = places.iterators;
    bool isProduct = isContraction(definition), fits = true;
    for (Expr &body : piece.definition.bodies) {
      body = simplifyIndices(substitute(body, at), piece.definition.ranges(),
                             [&](ValueId id) { return shapeOf(id); });
      if (isProduct)
        body = rewrite(body, [&](const Expr &e) {
          std::optional<Expr> its = fits ? gathered(e, piece) : std::nullopt;
          fits = fits && its;
          return its ? *its : e;
        });
    }
    if (!fits)
      return std::nullopt;
    pieces.push_back(std::move(piece));
    return pieces.size() - 1;
  }

  llvm::ArrayRef<Extent> shapeOf(ValueId id) const {
    return isPiece(id) ? llvm::ArrayRef<Extent>() : llvm::ArrayRef<Extent>(old.shape(id));
  }

  /// A read by data in a product: of a value that has what is read in the product's order. nullopt
  /// where that would be much more than there is.
  std::optional<Expr> gathered(const Expr &read, Piece &piece) {
    constexpr double most = 2;
    if (read.kind() != ExprKind::Read || isPiece(read.readValue()) ||
        llvm::all_of(read.readIndices(), [](const Index &index) { return index.isStatic(); }))
      return read;
    Renumbered used(piece.definition, [&](unsigned k) { return usesInIndices(read, k); });
    if (pointsOf(used.iterators) > most * elementsOf(old.shape(read.readValue())))
      return std::nullopt;
    const Value &value = old.value(read.readValue());
    Definition moved{used.iterators, std::nullopt, {substitute(read, used.numbers)}, {}};
    pieces.push_back({std::move(moved), value.name + ".read", value.type, value.facts, piece.node});
    uint32_t number = pieces.size() - 1;
    return Expr::read({firstPiece + number}, read.type(), used.old);
  }

  /// Has a reader read what there is of a value.
  static void readPieces(Definition &reader, ValueId value, llvm::ArrayRef<Places> places,
                         llvm::ArrayRef<unsigned> made) {
    for (Expr &body : reader.bodies)
      body = rewrite(body, [&](const Expr &e) {
        if (e.kind() != ExprKind::Read || e.readValue() != value)
          return e;
        Renumbered used(reader, [&](unsigned k) { return usesInIndices(e, k); });
        size_t number = llvm::find(places, placesOf(e, reader)) - places.begin();
        assert(number < places.size() && "all of them were found before");
        return Expr::read({firstPiece + made[number]}, e.type(), used.old);
      });
  }

  void account(const Definition &definition, double points, size_t firstOfIts) {
    for (size_t piece = firstOfIts; piece < pieces.size(); ++piece)
      total.bytes += pointsOf(pieces[piece].definition.parallel) * bitsOf(pieces[piece].type) / 8;
    total.definitions += pieces.size() - firstOfIts;
    if (!definition.isReduction())
      return;
    double each = pointsOf(definition.reduction->iterators);
    total.before += pointsOf(definition.parallel) * each;
    total.after += points * each;
  }

  const Program &old;
  std::vector<bool> constant;                     ///< By node.
  std::vector<bool> isWhole;                      ///< By value: something needs all of it.
  std::vector<bool> leadsToSums;                  ///< By node: something is reduced up to there.
  std::vector<std::optional<Definition>> changed; ///< By node: it reads pieces.
  std::vector<std::vector<unsigned>> restricted;  ///< By node: the pieces in its place.
  std::vector<std::vector<Reader>> readers;       ///< By value.
  std::vector<Piece> pieces;
  MultiplyAdds total;
};

Program restrictToReads(const Program &program, const RuleContext &context, bool isDominant) {
  Restrictor restrictor(program);
  MultiplyAdds spared = restrictor.run();
  spared.areNarrow = context.willBeNarrow;
  const machine::Machine &machine = context.space.schedule.machine;
  if (!(isDominant ? spared.areDominant(machine)
                   : spared.areFewer(machine, context.margins.commutedSums)))
    return program;
  if (context.log)
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (restrictor.isRestricted(node))
        context.log->add({"derive",
                          "value '" + program.value(program.resultsOf(node)[0]).name + "'",
                          "it is computed where it is read",
                          {"few of its elements are"},
                          {}});
  return restrictor.program();
}

} // namespace

const Rule restrictToReadsRule = {
    .name = "restrict-to-reads",
    .equation = "p[i, j] = sum[k] x[i, k] * w[k, j], y[r, j] = p[at[r], j] => x'[r, k] = "
                "x[at[r], k], y[r, j] = sum[k] x'[r, k] * w[k, j], and so on for what x is made "
                "of, where less is read of p than there is.",
    .source = "EinNet (Zheng et al. 2023), views move across products",
    .exactness = Exactness::Bitwise,
    .assumes = "",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return restrictToReads(program, context, false);
    },
    .applyDominant = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return restrictToReads(program, context, true);
    },
    .movesAcrossOperators = true,
};

} // namespace kintsugi::derive
