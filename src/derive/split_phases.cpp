#include "derive/finite.h"
#include "derive/phases.h"
#include "derive/rule.h"
#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// Phases have results for places around the whole's, in each dimension up to twice as many where
/// it has few.
constexpr double mostResults = 16;

/// The sum of all phases in place of a strided sum, and where its results are in that.
class PhaseWriter {
public:
  PhaseWriter(const Program &program, const Definition &whole, StridedSum sum)
      : program(program), whole(whole), sum(std::move(sum)) {
    llvm::SmallVector<Interval> ranges = whole.ranges();
    for (const Stride &stride : this->sum.strides)
      phases.emplace_back(stride, stride.output < 0 ? 1 : ranges[stride.output].size(),
                          stride.tap < 0 ? 1 : ranges[stride.tap].size());
    layOutResults();
    layOutTerms();
  }

  /// Whether that is less to compute, and taps that a phase doesn't have are told apart.
  bool isWorthIt() const {
    if (pointsOf(byPhase.parallel) > mostResults * pointsOf(whole.parallel))
      return false;
    double points = pointsOf(byPhase.parallel) * pointsOf(byPhase.reduction->iterators);
    bool isEmpty = llvm::any_of(phases, [](const Phases &p) { return p.quotients() == 0; });
    return !isEmpty && points > 0 &&
           points < pointsOf(whole.parallel) * pointsOf(whole.reduction->iterators) &&
           canFillKernel();
  }

  /// Whether the kernel has zeros for taps that a phase doesn't have.
  bool fillsKernel() const {
    return llvm::any_of(phases, [](const Phases &p) { return !p.missingTaps().empty(); });
  }

  void write(simplify::Rebuilder &out, uint32_t node) {
    const te::Value &result = program.value(whole.results[0]);
    out.fresh.currentOrigin = program.origins[node];
    Expr input = partOf(out, inputOfPhases(), result.name + ".padded");
    Expr kernel = partOf(out, kernelOfPhases(), result.name + ".phases");
    byPhase.bodies = {sum.inputFirst ? input * kernel : kernel * input};
    ValueId sums = out.fresh.define(result.name + ".byphase", result.type, byPhase);
    out.define(node, picking(sums, result.type));
    out.keepFacts(node);
  }

private:
  unsigned numParallel() const { return whole.parallel.size(); }
  const Stride *strideOfTap(unsigned iterator) const {
    const auto *found =
        llvm::find_if(sum.strides, [&](const Stride &s) { return s.tap == int(iterator); });
    return found == sum.strides.end() ? nullptr : found;
  }

  /// Quotients stand where places stood, then phases.
  void layOutResults() {
    byPhase.parallel = whole.parallel;
    for (auto [stride, its] : llvm::zip_equal(sum.strides, phases)) {
      if (stride.output < 0) {
        quotient.push_back(its.quotientOf(0));
        phase.push_back(its.phaseOf(0));
        continue;
      }
      byPhase.parallel[stride.output].extent = Extent(its.quotients());
      quotient.push_back(Index::iterator(stride.output));
      phase.push_back(Index::iterator(byPhase.parallel.size()));
      byPhase.parallel.push_back(
          {whole.parallel[stride.output].name + ".phase", Extent(its.count())});
    }
    for (unsigned k = 0; k < numParallel(); ++k)
      replacements.push_back(Index::iterator(k));
  }

  /// A tap that is the only one is no iterator where there are others: it would be in the way of
  /// whoever looks for a product of matrices.
  void layOutTerms() {
    byPhase.reduction = whole.reduction;
    llvm::SmallVector<Iterator, 3> &iterators = byPhase.reduction->iterators;
    iterators.clear();
    for (auto [number, iterator] : llvm::enumerate(whole.reduction->iterators)) {
      Index its = Index::iterator(byPhase.numIterators());
      const Stride *stride = strideOfTap(numParallel() + number);
      unsigned which = stride ? stride - sum.strides.begin() : 0;
      iterators.push_back(iterator);
      if (stride)
        iterators.back().extent = Extent(phases[which].taps());
      bool isLast = number + 1 == whole.reduction->iterators.size();
      if (stride && phases[which].taps() == 1 && !(isLast && iterators.size() == 1)) {
        its = Index(0);
        iterators.pop_back();
      }
      taps.push_back(its);
      replacements.push_back(stride ? phases[which].tapOf(phase[which], its) : its);
    }
  }

  Expr simplified(const Expr &e) const {
    return simplifyIndices(e, byPhase.ranges(), [&](ValueId id) { return program.shape(id); });
  }

  static Expr withRead(const Expr &factor, const Expr &read) {
    return rewrite(factor, [&](const Expr &e) { return e.kind() == ExprKind::Read ? read : e; });
  }

  /// Over the iterators of byPhase: zero outside.
  Expr inputOfPhases() const {
    const Expr &read = sum.inputRead();
    llvm::SmallVector<Index> indices = te::substitute(read.readIndices(), replacements);
    for (auto [number, stride] : llvm::enumerate(sum.strides))
      indices[stride.dimension] = quotient[number] + phases[number].firstInput() +
                                  (stride.tap < 0 ? Index(0) : taps[stride.tap - numParallel()]) *
                                      phases[number].dilation();
    return simplified(withRead(sum.input, Expr::read(read.readValue(), read.type(), indices,
                                                     Expr::literal(read.type(), 0.0))));
  }

  Expr kernelOfPhases() const {
    Expr kernel = substitute(sum.kernel, replacements);
    if (fillsKernel()) {
      const Expr &read = *readBehindCasts(kernel);
      kernel = withRead(kernel, Expr::read(read.readValue(), read.type(), read.readIndices(),
                                           Expr::literal(read.type(), 0.0)));
    }
    return simplified(kernel);
  }

  /// Whether the kernel's element of each tap that a phase doesn't have is outside of its tensor.
  bool canFillKernel() const {
    if (!fillsKernel())
      return true;
    const Expr *read = readBehindCasts(sum.kernel);
    if (!read || (read->readFill() &&
                  !(read->readFill()->isLiteral() && read->readFill()->literalFloat() == 0)))
      return false;
    llvm::ArrayRef<Extent> shape = program.shape(read->readValue());
    for (auto [stride, its] : llvm::zip_equal(sum.strides, phases)) {
      if (its.missingTaps().empty())
        continue;
      llvm::SmallVector<Interval> ranges = whole.ranges();
      ranges[stride.tap] = its.missingTaps();
      if (llvm::none_of(llvm::zip_equal(read->readIndices(), shape), [&](const auto &dimension) {
            Interval range = rangeOf(std::get<0>(dimension), ranges);
            return range.high < 0 || range.low >= std::get<1>(dimension).constant();
          }))
        return false;
    }
    return true;
  }

  /// A factor with what it needs of a tensor and of what is outside in a definition of its own, if
  /// it needs anything outside. Dimensions that a phase picks from become those of phases and taps.
  Expr partOf(simplify::Rebuilder &out, const Expr &factor, const std::string &name) const {
    const Expr *read = readBehindCasts(factor);
    if (!read || !read->readFill())
      return out.rename(factor);
    llvm::SmallVector<Interval> ranges = byPhase.ranges();
    Definition part;
    llvm::SmallVector<Index> from, to;
    llvm::SmallVector<Index> ofPart(byPhase.numIterators(), Index(0));
    auto add = [&](const Index &index) {
      Interval range = rangeOf(index, ranges);
      to.push_back(index - range.low);
      part.parallel.push_back({"i" + std::to_string(part.parallel.size()), Extent(range.size())});
      return Index::iterator(part.parallel.size() - 1) + range.low;
    };
    auto picks = [&](const Index &index) {
      return llvm::any_of(
          phase, [&](const Index &p) { return !p.isConstant() && index.uses(p.asIterator()); });
    };
    for (const Index &index : read->readIndices())
      from.push_back(picks(index) ? index : add(index));
    for (unsigned k = numParallel(); k < byPhase.numIterators(); ++k)
      if (llvm::any_of(read->readIndices(),
                       [&](const Index &index) { return picks(index) && index.uses(k); }))
        ofPart[k] = add(Index::iterator(k));
    for (auto [index, its] : llvm::zip_equal(read->readIndices(), from))
      if (picks(index))
        its = substitute(index, ofPart);
    part.bodies = {
        out.rename(Expr::read(read->readValue(), read->type(), from, *read->readFill()))};
    ValueId its = out.fresh.define(name, read->type(), std::move(part));
    return withRead(factor, Expr::read(its, read->type(), to));
  }

  /// The results among the sums of all phases.
  Definition picking(ValueId sums, ElementType type) const {
    Definition definition;
    definition.parallel = whole.parallel;
    llvm::SmallVector<Index> indices;
    for (unsigned k = 0; k < numParallel(); ++k)
      indices.push_back(Index::iterator(k));
    std::optional<Expr> meets;
    for (auto [stride, its] : llvm::zip_equal(sum.strides, phases)) {
      if (stride.output < 0)
        continue;
      Index output = Index::iterator(stride.output);
      indices[stride.output] = its.quotientOf(output);
      indices.push_back(its.phaseOf(output));
      if (its.apart() == 1)
        continue;
      Expr here = Expr::binary(BinaryOp::Equal,
                               Expr::index(its.meeting(output).mod(its.apart()), ElementType::I64),
                               Expr::literal(ElementType::I64, int64_t(0)));
      meets = meets ? Expr::binary(BinaryOp::And, *meets, here) : here;
    }
    Expr element = Expr::read(sums, type, indices);
    definition.bodies = {meets ? Expr::select(*meets, element, Expr::literal(type, 0.0)) : element};
    return definition;
  }

  const Program &program;
  const Definition &whole;
  const StridedSum sum;
  llvm::SmallVector<Phases, 3> phases;         ///< By stride.
  llvm::SmallVector<Index, 3> quotient, phase; ///< By stride: byPhase's iterator.
  llvm::SmallVector<Index> taps;         ///< By the whole's reduction iterator: what stands there.
  llvm::SmallVector<Index> replacements; ///< Of the whole's iterators, outputs aside.
  Definition byPhase;
};

/// nullopt where nothing changes.
std::optional<Program> splitPhases(const Program &program, const RuleContext &context);

/// The same in the steps of a scan; null where nothing changes.
std::shared_ptr<const Program> splitInSteps(const Scan &scan, const RuleContext &context) {
  std::optional<Program> body = splitPhases(*scan.body, context);
  return body ? std::make_shared<const Program>(std::move(*body)) : nullptr;
}

void tell(const Program &program, uint32_t node, explain::Log *log) {
  if (log)
    log->add({"derive",
              "value '" + program.value(program.resultsOf(node)[0]).name + "'",
              "computed phase by phase",
              {"other taps meet nothing there"},
              {}});
}

std::optional<Program> splitPhases(const Program &program, const RuleContext &context) {
  simplify::Rebuilder out(program);
  bool changes = false;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    if (const auto *scan = std::get_if<Scan>(&program.nodes[node])) {
      std::shared_ptr<const Program> body = splitInSteps(*scan, context);
      changes |= body != nullptr;
      out.copyNode(node, std::move(body));
      out.keepFacts(node);
      continue;
    }
    const auto *whole = std::get_if<Definition>(&program.nodes[node]);
    std::optional<StridedSum> sum = whole ? findStridedSum(program, *whole) : std::nullopt;
    std::optional<PhaseWriter> writer;
    if (sum)
      writer.emplace(program, *whole, *sum);
    if (!writer || !writer->isWorthIt()) {
      out.copy(node);
      continue;
    }
    bool assumes = (writer->fillsKernel() && !isFiniteFactor(sum->input, program)) ||
                   (sum->timesZeros && !isFiniteFactor(sum->kernel, program));
    if (assumes && context.assumed)
      context.assumed->add(splitPhasesRule.name);
    tell(program, node, context.log);
    writer->write(out, node);
    changes = true;
  }
  if (!changes)
    return std::nullopt;
  return simplify::simplify(simplify::withoutUnneeded(out.finish()));
}

Expected<Program> inPhases(const Program &program, const RuleContext &context) {
  return splitPhases(program, context).value_or(program);
}

} // namespace

const Rule splitPhasesRule = {
    .name = "split-phases",
    .equation =
        "y[h] = sum[r] (x[(h - d*r) // s] | 0) * k[r] where {(h - d*r) % s} == 0, else 0 => y[h] "
        "= p[h//s - d*f//s, f], f = (h/d) % s; p[q, f] = sum[t] (x[q - d*t] | 0) * k[f + s*t].",
    .source = "EinNet (Zheng et al. 2023), transposed convolutions",
    .exactness = Exactness::Reassociates,
    .assumes = "what zeros that pad are multiplied with",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = inPhases,
    .applyDominant = inPhases,
    .isOfReals = true,
};

} // namespace kintsugi::derive
