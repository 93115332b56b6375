#include "loops/loop_order.h"

#include "loops/visit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <utility>

namespace kintsugi::loops {

using namespace te;

int64_t strideOf(const Index &position, unsigned iterator) {
  for (const Term &term : position.terms()) {
    if (term.atom.kind == AtomKind::Iterator)
      continue;
    bool inside = term.atom.kind == AtomKind::Data ? term.atom.data->uses(iterator)
                                                   : term.atom.operand.uses(iterator);
    if (inside)
      return irregular;
  }
  return position.coefficientOf(iterator);
}

llvm::SmallVector<unsigned> reductionOrder(const LoopNest &nest, llvm::ArrayRef<Buffer> buffers) {
  llvm::SmallVector<unsigned> order = llvm::to_vector(llvm::seq(0u, nest.numReductions()));
  if (nest.bodies.size() != 1 || nest.reduction->combiner == Combiner::SoftmaxStats)
    return order;
  llvm::SmallVector<int64_t> farthest(order.size(), 0);
  nest.bodies[0].walk([&](const Expr &e) {
    if (e.kind() != ExprKind::Read || buffers[e.readValue().number].packable)
      return;
    for (unsigned k = 0; k < order.size(); ++k) {
      int64_t stride = strideOf(e.readIndices()[0], nest.parallel.size() + k);
      if (stride != irregular)
        farthest[k] = std::max(farthest[k], std::abs(stride));
    }
  });
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return farthest[a] != farthest[b] ? farthest[a] > farthest[b] : a < b;
  });
  return order;
}

int payloadOrder(const LoopNest &nest) {
  const Expr &payload = nest.bodies[1];
  if (payload.kind() != ExprKind::Index)
    return 0;
  int order = 0;
  int64_t inside = 0; // How far the loops inside of one move it.
  for (unsigned k = nest.numReductions(); k-- > 0;) {
    int64_t extent = nest.reduction->iterators[k].extent.constant();
    int64_t stride = strideOf(payload.indexValue(), nest.parallel.size() + k);
    if (extent < 2)
      continue;
    if (order == 0)
      order = stride < 0 ? -1 : 1;
    if (stride == irregular || stride * order <= inside)
      return 0;
    inside += stride * order * (extent - 1);
  }
  return order;
}

namespace {

/// Puts the iterators in the given orders (numbers from 0 in each).
void permute(LoopNest &nest, llvm::ArrayRef<unsigned> order, llvm::ArrayRef<unsigned> reductions,
             unsigned tileDimensions) {
  if (llvm::is_sorted(order) && llvm::is_sorted(reductions))
    return;
  unsigned numParallel = nest.parallel.size();
  llvm::SmallVector<Index> replacements(numParallel + reductions.size());
  llvm::SmallVector<Iterator, 4> parallel;
  for (auto [position, old] : llvm::enumerate(order)) {
    replacements[old] = Index::iterator(position);
    parallel.push_back(nest.parallel[old]);
  }
  llvm::SmallVector<Iterator, 3> reduced;
  for (auto [position, old] : llvm::enumerate(reductions)) {
    replacements[numParallel + old] = Index::iterator(numParallel + position);
    reduced.push_back(nest.reduction->iterators[old]);
  }
  for (unsigned d = 0; d < tileDimensions; ++d)
    replacements.push_back(Index::iterator(replacements.size()));
  replaceIterators(nest, replacements);
  nest.parallel = std::move(parallel);
  if (nest.reduction)
    nest.reduction->iterators = std::move(reduced);
}

double timesBroughtIn(const LoopNest &nest, const Index &position, llvm::ArrayRef<unsigned> order) {
  double times = 1, again = 1;
  for (unsigned k : order) {
    int64_t step = nest.registers.stepOf(k);
    if (position.uses(k))
      times *= std::exchange(again, 1);
    else
      again *= std::ceil(double(nest.parallel[k].extent.constant()) / double(step));
  }
  return times;
}

/// Bytes that the reads of a sum bring past the near cache when its parallel loops stand in
/// `order`, outermost first. What the near cache holds is brought at a tenth of the price.
double trafficOf(const LoopNest &nest, llvm::ArrayRef<Buffer> buffers,
                 llvm::ArrayRef<unsigned> order, int64_t nearBytes) {
  double total = 0;
  auto add = [&](const Expr &read) {
    const Buffer &buffer = buffers[read.readValue().number];
    const Index &index = read.readIndices()[0];
    double footprint = 1;
    for (auto [k, iterator] : llvm::enumerate(nest.parallel))
      footprint *= index.uses(k) ? double(iterator.extent.constant()) : 1;
    for (auto [k, iterator] : llvm::enumerate(nest.reduction->iterators))
      footprint *= index.uses(nest.parallel.size() + k) ? double(iterator.extent.constant()) : 1;
    footprint = std::min(footprint, double(buffer.elements)) * bitsOf(buffer.type) / 8;
    double times = timesBroughtIn(nest, index, order);
    total += footprint * (footprint > 0.5 * double(nearBytes) ? times : 1 + 0.1 * (times - 1));
  };
  for (const Expr &body : nest.bodies)
    body.walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read)
        add(e);
    });
  return total;
}

/// A sum's rows stand innermost; the vectors just outside of them, or outermost where that brings
/// less.
llvm::SmallVector<unsigned> parallelOrder(const LoopNest &nest, llvm::ArrayRef<Buffer> buffers,
                                          int64_t nearBytes) {
  const RegisterTile &tile = nest.registers;
  llvm::SmallVector<unsigned> order;
  for (unsigned k = 0; k < nest.parallel.size(); ++k)
    if (int(k) != tile.vectorIterator && int(k) != tile.rowIterator)
      order.push_back(k);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return nest.destinationIndex.coefficientOf(a) > nest.destinationIndex.coefficientOf(b);
  });
  bool vectorIsParallel =
      tile.vectorIterator >= 0 && tile.vectorIterator < int(nest.parallel.size());
  llvm::SmallVector<unsigned> outermost;
  if (vectorIsParallel) {
    outermost.push_back(tile.vectorIterator);
    outermost.append(order);
    order.push_back(tile.vectorIterator);
  }
  // Blocks that are turned follow the destination: whole lines of it, one after the other.
  if (tile.rowIterator >= 0 && !nest.reduction && vectorIsParallel) {
    order.insert(order.end() - 1, tile.rowIterator);
    return order;
  }
  for (auto *list : {&order, &outermost})
    if (tile.rowIterator >= 0)
      list->push_back(tile.rowIterator);
  bool betterOutermost = vectorIsParallel && nest.reduction &&
                         trafficOf(nest, buffers, outermost, nearBytes) <
                             0.9 * trafficOf(nest, buffers, order, nearBytes);
  return betterOutermost ? outermost : order;
}

} // namespace

void moveReductionInnermost(LoopNest &nest, unsigned reduction, unsigned tileDimensions) {
  llvm::SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, nest.parallel.size()));
  llvm::SmallVector<unsigned> reductions =
      llvm::to_vector(llvm::seq<unsigned>(0, nest.numReductions()));
  std::rotate(reductions.begin() + reduction, reductions.begin() + reduction + 1, reductions.end());
  permute(nest, order, reductions, tileDimensions);
}

double timesBrought(const LoopNest &nest, const Index &position) {
  return timesBroughtIn(nest, position,
                        llvm::to_vector(llvm::seq<unsigned>(0, nest.parallel.size())));
}

void orderForThreads(LoopNest &nest, unsigned tileDimensions, llvm::ArrayRef<Buffer> buffers) {
  llvm::SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, nest.parallel.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    int64_t first = nest.destinationIndex.coefficientOf(a);
    int64_t second = nest.destinationIndex.coefficientOf(b);
    return first != second ? first > second : a < b;
  });
  llvm::SmallVector<unsigned> reductions;
  if (nest.reduction)
    reductions = reductionOrder(nest, buffers);
  permute(nest, order, reductions, tileDimensions);
}

void orderLoops(LoopNest &nest, unsigned tileDimensions, llvm::ArrayRef<Buffer> buffers,
                int64_t nearBytes) {
  RegisterTile &tile = nest.registers;
  int numParallel = nest.parallel.size();
  llvm::SmallVector<unsigned> order = parallelOrder(nest, buffers, nearBytes), reductions;
  if (nest.reduction)
    reductions = reductionOrder(nest, buffers);
  permute(nest, order, reductions, tileDimensions);
  auto moved = [](llvm::ArrayRef<unsigned> list, int old) -> int {
    return old < 0 ? old : llvm::find(list, unsigned(old)) - list.begin();
  };
  if (tile.vectorIterator >= numParallel)
    tile.vectorIterator = numParallel + moved(reductions, tile.vectorIterator - numParallel);
  else
    tile.vectorIterator = moved(order, tile.vectorIterator);
  tile.rowIterator = moved(order, tile.rowIterator);
}

} // namespace kintsugi::loops
