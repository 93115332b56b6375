#include "derive/band_forms.h"

#include "derive/finite.h"
#include "derive/renumbered.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

Index add(llvm::SmallVectorImpl<Iterator> &iterators, const Iterator &iterator) {
  iterators.push_back(iterator);
  return Index::iterator(iterators.size() - 1);
}

/// An expression of a definition that the program gets.
Expr simplified(const Expr &expr, const Definition &definition, const Program &program) {
  return simplifyIndices(expr, definition.ranges(),
                         [&](ValueId id) { return llvm::ArrayRef<Extent>(program.shape(id)); });
}

/// Adds the product of blocks, and what it is for, in place of an old node.
class BlockWriter {
public:
  BlockWriter(simplify::Rebuilder &out, uint32_t node, const Band &band, int64_t block)
      : out(out), node(node), band(band), block(block),
        whole(std::get<Definition>(out.old.nodes[node])) {}

  void write() {
    constexpr int64_t multiple = 16; ///< Of columns.
    unsigned numParallel = whole.parallel.size();
    bool isSummed = band.window >= numParallel;
    rows = whole.ranges()[band.rows].size();
    window = whole.ranges()[band.window].size();
    columns = llvm::alignTo(block + window - 1, multiple);
    Definition product;
    llvm::SmallVector<Index> at(whole.numIterators(), Index(0)), point;
    for (unsigned k = 0; k < numParallel; ++k) {
      if (k == band.rows || k == band.window)
        continue;
      at[k] = add(product.parallel, whole.parallel[k]);
      point.push_back(Index::iterator(k));
    }
    bool hasPhases = band.step > 1;
    Index phase = hasPhases ? add(product.parallel, {"phase", Extent(band.step)}) : Index(0);
    Index number =
        add(product.parallel,
            {"block", Extent(llvm::divideCeil(llvm::divideCeil(rows, band.step), block))});
    Index row = add(product.parallel, {"row", Extent(block)});
    Index column = isSummed ? Index(0) : add(product.parallel, {"column", Extent(columns)});
    product.reduction = whole.reduction;
    product.reduction->iterators.clear();
    for (unsigned k = numParallel; k < whole.numIterators(); ++k) {
      const Iterator &its = whole.reduction->iterators[k - numParallel];
      bool isWindow = k == band.window;
      product.reduction->iterators.push_back(
          {isWindow ? "column" : its.name, isWindow ? Extent(columns) : its.extent});
      at[k] = Index::iterator(product.numIterators() - 1);
      if (isWindow)
        column = at[k];
    }
    at[band.rows] = (number * block + row) * band.step + phase;
    at[band.window] = column - row;
    out.fresh.currentOrigin = out.old.origins[node];
    product.bodies = {bodyOf(product, at)};
    const std::string &name = out.old.value(whole.results[0]).name;
    ValueId blocks = out.fresh.define(name + ".blocks", out.old.value(whole.results[0]).type,
                                      std::move(product));
    Index old = Index::iterator(band.rows), inPhase = old.floorDiv(band.step);
    if (hasPhases)
      point.push_back(old.mod(band.step));
    point.append({inPhase.floorDiv(block), inPhase.mod(block)});
    if (!isSummed)
      point.push_back(inPhase.mod(block) + Index::iterator(band.window));
    Definition result;
    result.parallel = whole.parallel;
    result.bodies = {Expr::read(blocks, out.fresh.value(blocks).type, point)};
    out.define(node, std::move(result));
    out.keepFacts(node);
  }

private:
  /// Factors where blocks have them: zeros beyond their ends, and outside of a band that is summed.
  Expr bodyOf(const Definition &product, llvm::ArrayRef<Index> at) {
    const Expr &body = whole.bodies[0];
    llvm::SmallVector<Expr, 2> factors;
    for (unsigned factor : {0, 1}) {
      Expr its = rewrite(substitute(body.operand(factor), at), [&](const Expr &e) {
        if (e.kind() != ExprKind::Read)
          return e;
        bool isWindow = factor != band.factor && band.window >= whole.parallel.size();
        return isWindow ? inBand(e, product, at[band.window]) : withFill(e);
      });
      factors.push_back(simplified(its, product, out.fresh));
    }
    return factors[0] * factors[1];
  }

  Expr withFill(const Expr &read) {
    return Expr::read(out[read.readValue()], read.type(), read.readIndices(),
                      read.readFill() ? *read.readFill() : Expr::literal(read.type(), 0.0));
  }

  /// A read of a value that has the band in the columns of blocks.
  Expr inBand(const Expr &read, const Definition &product, const Index &place) {
    Renumbered used(product, [&](unsigned k) { return read.uses(k); });
    Definition blocks{used.iterators, std::nullopt, {}, {}};
    Index at = substitute(place, used.numbers);
    auto number = [](const Index &index) { return Expr::index(index, ElementType::I64); };
    Expr isInBand =
        Expr::binary(BinaryOp::And, Expr::binary(BinaryOp::Less, number(-1), number(at)),
                     Expr::binary(BinaryOp::Less, number(at), number(window)));
    Expr zero = Expr::literal(read.type(), 0.0);
    Expr body = Expr::select(isInBand, withFill(substitute(read, used.numbers)), zero);
    const Value &value = out.old.value(read.readValue());
    blocks.bodies = {simplified(body, blocks, out.fresh)};
    return Expr::read(out.fresh.define(value.name + ".band", read.type(), std::move(blocks)),
                      read.type(), used.old);
  }

  simplify::Rebuilder &out;
  uint32_t node;
  const Band &band;
  int64_t block;
  const Definition &whole;
  int64_t rows = 0, window = 0, columns = 0; ///< Columns of a block.
};

/// A sum by phases of its band's dilation.
class PhaseWriter {
public:
  PhaseWriter(simplify::Rebuilder &out, uint32_t node, const Band &band, RowsOfCopy order)
      : out(out), node(node), band(band), order(order),
        whole(std::get<Definition>(out.old.nodes[node])),
        rows(llvm::divideCeil(whole.ranges()[band.rows].size(), band.step)) {}

  void write() {
    Definition product;
    llvm::SmallVector<Index> at, point;
    Index old = Index::iterator(band.rows), phase(0);
    for (unsigned k = 0; k < whole.parallel.size(); ++k) {
      if (k != band.rows) {
        at.push_back(add(product.parallel, whole.parallel[k]));
        point.push_back(Index::iterator(k));
        continue;
      }
      if (band.step > 1) {
        phase = add(product.parallel, {"phase", Extent(band.step)});
        point.push_back(old.mod(band.step));
      }
      Index row = add(product.parallel, {whole.parallel[k].name, Extent(rows)});
      at.push_back(row * band.step + phase);
      point.push_back(old.floorDiv(band.step));
    }
    product.reduction = whole.reduction;
    for (unsigned k = whole.parallel.size(); k < whole.numIterators(); ++k)
      at.push_back(Index::iterator(k + product.parallel.size() - whole.parallel.size()));
    out.fresh.currentOrigin = out.old.origins[node];
    product.bodies = {bodyOf(product, at, phase)};
    const Value &value = out.old.value(whole.results[0]);
    ValueId phases = out.fresh.define(value.name + ".phases", value.type, std::move(product));
    Definition result{whole.parallel, std::nullopt, {}, {}};
    result.bodies = {Expr::read(phases, value.type, point)};
    out.define(node, std::move(result));
    out.keepFacts(node);
  }

private:
  Expr bodyOf(const Definition &product, llvm::ArrayRef<Index> at, const Index &phase) {
    llvm::SmallVector<Expr, 2> factors;
    for (unsigned factor : {0, 1}) {
      const Expr &its = whole.bodies[0].operand(factor);
      Expr changed = rewrite(its, [&](const Expr &e) {
        if (e.kind() != ExprKind::Read)
          return e;
        return factor == band.factor ? byPhases(e, at, phase) : withFill(substitute(e, at));
      });
      factors.push_back(simplified(changed, product, out.fresh));
    }
    return factors[0] * factors[1];
  }

  /// Rows beyond the last are computed for phases that have fewer.
  Expr withFill(const Expr &read) {
    std::optional<Expr> fill;
    if (read.readFill())
      fill = *read.readFill();
    else if (whole.ranges()[band.rows].size() % band.step != 0)
      fill = Expr::literal(read.type(), 0.0);
    return Expr::read(out[read.readValue()], read.type(), read.readIndices(), std::move(fill));
  }

  /// A read of the banded factor's copy: what moves with rows has a dimension of phases there, and
  /// one of rows; what else it is read with is where it was.
  Expr byPhases(const Expr &read, llvm::ArrayRef<Index> at, const Index &phase) {
    Definition copy;
    llvm::SmallVector<Index> inCopy(whole.numIterators(), Index(0)), point;
    llvm::SmallVector<bool> isPlaced(whole.numIterators(), false);
    auto place = [&](unsigned k, const Iterator &iterator) {
      isPlaced[k] = true;
      inCopy[k] = add(copy.parallel, iterator);
      point.push_back(at[k]);
    };
    auto placeRows = [&] {
      isPlaced[band.rows] = true;
      Index its(0);
      if (band.step > 1) {
        its = add(copy.parallel, {"phase", Extent(band.step)});
        point.push_back(phase);
      }
      int64_t columns = rows + whole.ranges()[band.window].size() - 1;
      inCopy[band.rows] = add(copy.parallel, {"column", Extent(columns)}) * band.step + its;
      point.push_back((at[band.rows] - phase).floorDiv(band.step) + at[band.window]);
    };
    isPlaced[band.window] = true;
    for (const Index &index : read.readIndices())
      for (unsigned k = 0; k < whole.numIterators(); ++k) {
        if (isPlaced[k] || !index.uses(k))
          continue;
        if (k != band.rows)
          place(k, {"i" + std::to_string(copy.parallel.size()), Extent(whole.ranges()[k].size())});
        else if (order == RowsOfCopy::InPlace)
          placeRows();
      }
    if (order == RowsOfCopy::Last)
      placeRows();
    copy.bodies = {simplified(withFill(substitute(read, inCopy)), copy, out.fresh)};
    ValueId value = out.fresh.define(out.old.value(read.readValue()).name + ".phases", read.type(),
                                     std::move(copy));
    return Expr::read(value, read.type(), point);
  }

  simplify::Rebuilder &out;
  uint32_t node;
  const Band &band;
  RowsOfCopy order;
  const Definition &whole;
  int64_t rows; ///< Of a phase.
};

} // namespace

void writeBlocks(simplify::Rebuilder &out, uint32_t node, const Band &band, int64_t rows) {
  BlockWriter(out, node, band, rows).write();
}

bool hasPhases(const Definition &definition, const Band &band) {
  const Expr *banded = readBehindCasts(definition.bodies[0].operand(band.factor));
  return band.step > 1 || banded->readFill();
}

void writePhases(simplify::Rebuilder &out, uint32_t node, const Band &band, RowsOfCopy order) {
  PhaseWriter(out, node, band, order).write();
}

} // namespace kintsugi::derive
