#include "verify/policy.h"

#include "te/check.h"
#include "te/operations.h"

#include <algorithm>
#include <cmath>

namespace kintsugi::verify {

using namespace te;

namespace {

/// Of two float types the one with fewer bits of precision.
ElementType coarser(ElementType a, ElementType b) {
  auto rank = [](ElementType type) {
    switch (type) {
    case ElementType::F64:
      return 0;
    case ElementType::F32:
      return 1;
    case ElementType::F16:
      return 2;
    default:
      return 3;
    }
  };
  return rank(b) > rank(a) ? b : a;
}

/// Of the real numbers that a type holds; nothing for integers and the like.
std::optional<ElementType> realTypeOf(ElementType type) {
  if (isComplex(type))
    return type == ElementType::C64 ? ElementType::F32 : ElementType::F64;
  return isFloat(type) ? std::optional(type) : std::nullopt;
}

/// How many rounded steps one element of a definition adds up.
double termsOf(const Definition &definition) {
  if (!definition.reduction)
    return 0;
  switch (definition.reduction->combiner) {
  case Combiner::Sum:
  case Combiner::Prod:
  case Combiner::SoftmaxStats:
    break;
  default:
    return 0;
  }
  double terms = 1;
  for (const Iterator &iterator : definition.reduction->iterators)
    terms *= static_cast<double>(iterator.extent.constant());
  return terms;
}

/// The exactness of every value of a program, given that of its inputs.
class Walk {
public:
  Walk(const Program &program, llvm::ArrayRef<Exactness> inputs)
      : program(program), known(program.numValues(), Exactness{0, ElementType::F64}) {
    for (size_t i = 0; i < inputs.size(); ++i)
      known[program.inputs[i].number] = inputs[i];
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      visit(node);
  }

  Exactness of(ValueId id) const { return known[id.number]; }

private:
  void visit(uint32_t node) {
    if (const auto *scan = std::get_if<Scan>(&program.nodes[node]))
      return visitScan(*scan);
    Exactness before{0, ElementType::F64};
    for (ValueId operand : program.operandsOf(node))
      before = join(before, of(operand));
    if (const auto *definition = std::get_if<Definition>(&program.nodes[node]))
      before.depth += termsOf(*definition);
    for (ValueId result : program.resultsOf(node))
      known[result.number] = rounded(before, program.value(result).type);
  }

  /// A step from values that nothing was added up for tells what a step adds.
  void visitScan(const Scan &scan) {
    std::vector<Exactness> inputs{{0, ElementType::F64}};
    double start = 0;
    for (llvm::ArrayRef<ValueId> values :
         {llvm::ArrayRef<ValueId>(scan.initial), llvm::ArrayRef<ValueId>(scan.captured)})
      for (ValueId value : values) {
        inputs.push_back({0, of(value).coarsest});
        start = std::max(start, of(value).depth);
      }
    Walk body = stepFrom(scan, inputs, scan.initial.size());
    for (size_t k = 0; k < scan.results.size(); ++k) {
      Exactness after = body.of(scan.body->outputs[k].value);
      after.depth = start + after.depth * stepsOf(scan);
      known[scan.results[k].number] = after;
    }
  }

  /// As coarse as some step: states may change places, so that each has what the others had.
  static Walk stepFrom(const Scan &scan, std::vector<Exactness> inputs, size_t rounds) {
    Walk body(*scan.body, inputs);
    bool changes = false;
    for (size_t k = 0; k < scan.initial.size(); ++k) {
      ElementType &before = inputs[1 + k].coarsest;
      ElementType after = coarser(before, body.of(scan.body->outputs[k].value).coarsest);
      changes |= after != before;
      before = after;
    }
    return changes && rounds > 0 ? stepFrom(scan, std::move(inputs), rounds - 1) : body;
  }

  static Exactness join(Exactness a, Exactness b) {
    return {std::max(a.depth, b.depth), coarser(a.coarsest, b.coarsest)};
  }

  static Exactness rounded(Exactness exactness, ElementType type) {
    if (std::optional<ElementType> real = realTypeOf(type))
      exactness.coarsest = coarser(exactness.coarsest, *real);
    return exactness;
  }

  const Program &program;
  std::vector<Exactness> known;
};

} // namespace

std::vector<Exactness> exactnessOf(const Program &program, Precision precision) {
  std::vector<Exactness> inputs(program.inputs.size(), {0, ElementType::F64});
  Walk walk(program, inputs);
  std::vector<Exactness> result;
  for (const Program::Output &output : modelOutputs(program)) {
    Exactness exactness = walk.of(output.value);
    exactness.depth = std::max(1.0, exactness.depth);
    if (exactness.coarsest != ElementType::F64)
      exactness.coarsest = coarser(exactness.coarsest, roundingOf(precision));
    result.push_back(exactness);
  }
  return result;
}

ElementType judgedBy(ElementType output, const Exactness &exactness) {
  return coarser(realTypeOf(output).value_or(ElementType::F64), exactness.coarsest);
}

static Limits limitsOf(ElementType type, double k) {
  if (type == ElementType::F32) {
    double root = std::pow(k, 0.25);
    return {std::min(6e-7 * root, 1e-3), std::min(1.2e-6 * root, shareOfSlices * 1e-3)};
  }
  double half = std::min(2e-3 * std::sqrt(1 + std::log2(k)), 2e-2);
  double whole = type == ElementType::F64   ? std::min(1e-14 * std::sqrt(k), 1e-11)
                 : type == ElementType::F16 ? half
                                            : 8 * half;
  return {whole, shareOfSlices * whole};
}

Limits limitsOf(ElementType output, const Exactness &exactness) {
  if (!realTypeOf(output))
    return {};
  return limitsOf(judgedBy(output, exactness), std::max(1.0, exactness.depth));
}

double leastShareOfSlice(ElementType output, const Exactness &exactness) {
  ElementType type = judgedBy(output, exactness);
  return type == ElementType::F64 || type == ElementType::F32 ? shareOfSlice : 0.125;
}

Limits widestOf(ElementType output, const Exactness &exactness) {
  constexpr double ofFewBits = 0.1;
  if (judgedBy(output, exactness) != ElementType::F32)
    return {ofFewBits, ofFewBits};
  double most = std::min(2e-6 * std::sqrt(std::max(1.0, exactness.depth)), 1e-3);
  return {most, shareOfSlices * most};
}

Limits widened(Limits limits, const Difference &rounding, ElementType output,
               const Exactness &exactness) {
  bool isF32 = judgedBy(output, exactness) == ElementType::F32;
  double times = isF32 ? 15 : 1.5;
  Limits most = widestOf(output, exactness);
  auto wider = [&](double limit, double off, double most) {
    return std::isfinite(off) ? std::max(limit, std::min(times * off, most)) : limit;
  };
  return {wider(limits.whole, rounding.relative, most.whole),
          wider(limits.inSlices, (isF32 ? shareOfSlices : 1) * rounding.inSlices, most.inSlices)};
}

std::string_view nameOf(Verdict verdict) {
  constexpr std::string_view names[] = {"inside", "rounding", "outside"};
  return names[static_cast<unsigned>(verdict)];
}

} // namespace kintsugi::verify
