#include "pipeline/open_model.h"

#include "simplify/rebuild.h"
#include "te/check.h"
#include "te/open_sums.h"
#include "te/same_at_size.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace kintsugi::pipeline {

namespace {

/// Each is imported.
constexpr int64_t mostSizes = 1024;

Expected<te::Program> importAt(int64_t size, const std::string &path, CompileOptions options) {
  options.import.dims[options.open->name] = size;
  Diagnostics said; // The same as for the greatest size.
  KINTSUGI_ASSIGN(te::Program imported, importModel(path, options, said));
  return simplify::withoutUnneeded(imported);
}

Error notOpen(const OpenDimension &open, const std::string &why) {
  return inputError("dimension '" + open.name + "' can't be open in one artifact: " + why +
                    "; give it one size (--dim " + open.name +
                    "=N), or open the model as a session, which compiles for the sizes it meets");
}

/// The dimension along which an input is larger than at another size.
Expected<te::Validity> axisOf(const te::Value &greatest, const te::Value &smaller,
                              const OpenDimension &open) {
  te::Validity result;
  for (unsigned d = 0; d < greatest.shape.size(); ++d) {
    if (greatest.shape[d] == smaller.shape[d])
      continue;
    if (!result.isWhole())
      return notOpen(open, "input '" + greatest.name + "' has it twice");
    result = te::Validity::steps(d, 1);
  }
  if (!result.isWhole() && bitsOf(greatest.type) < 8)
    return notOpen(open, "input '" + greatest.name + "' has packed elements");
  return result;
}

/// Of an output that is `smaller` at another size: also along dimensions that only the size
/// decides, as those of a range of so many numbers.
te::Validity ofOutput(te::Validity validity, llvm::ArrayRef<te::Extent> greatest,
                      llvm::ArrayRef<te::Extent> smaller, const OpenDimension &open) {
  for (unsigned d = 0; d < greatest.size(); ++d) {
    if (greatest[d] == smaller[d] || validity.stepOf(d) > 0)
      continue;
    validity.kind = te::Validity::Kind::Steps;
    validity.axes.push_back({d, greatest[d].constant() / open.high});
  }
  llvm::sort(validity.axes, [](const te::OpenSteps &a, const te::OpenSteps &b) {
    return a.dimension < b.dimension;
  });
  return validity;
}

/// The first node whose results mix what belongs to different steps.
Status checkKeepsSteps(const te::Program &program, llvm::ArrayRef<te::Validity> validity,
                       const OpenDimension &open) {
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    for (te::ValueId result : program.resultsOf(node))
      if (validity[result.number].isMixed())
        return notOpen(open, (program.origins[node].empty() ? "" : "node ") +
                                 te::quotedNode(program, node) +
                                 " mixes what belongs to different steps " +
                                 "of it, or reads places that it computes");
  return Status::success();
}

/// Places that are computed are looked at in all steps, where those that nobody asked for may be
/// wrong.
Status checkChecksInputs(const te::Program &program, const OpenDimension &open) {
  for (const te::Program::Output &output : program.outputs)
    if (auto check = te::checkOf(output);
        check && program.value(output.value).kind == te::ValueKind::Result)
      return notOpen(open, "node '" + check->node + "' reads places that the model computes");
  return Status::success();
}

} // namespace

Expected<OpenModel> openModel(const te::Program &imported, const std::string &path,
                              const CompileOptions &options) {
  const OpenDimension &open = *options.open;
  if (open.high - open.low >= mostSizes)
    return notOpen(open, "more than " + std::to_string(mostSizes) + " sizes are too many");
  KINTSUGI_RETURN_IF_ERROR(checkChecksInputs(imported, open));
  te::Program greatest = simplify::withoutUnneeded(imported);
  OpenModel result;
  result.inputs.dimension = open;
  std::vector<te::Validity> validity;
  std::vector<te::Program::Output> outputs = te::modelOutputs(greatest);
  for (int64_t size = open.low; size < open.high; ++size) {
    KINTSUGI_ASSIGN(te::Program smaller, importAt(size, path, options));
    if (validity.empty()) {
      for (te::ValueId input : greatest.inputs) {
        KINTSUGI_ASSIGN(te::Validity axis,
                        axisOf(greatest.value(input), smaller.value(input), open));
        result.inputs.inputs.push_back(axis);
      }
      result.sums = te::openSums(greatest, smaller);
      validity = te::validityOf(greatest, result.inputs, result.sums);
      KINTSUGI_RETURN_IF_ERROR(checkKeepsSteps(greatest, validity, open));
      for (auto [whole, part] : llvm::zip_equal(outputs, te::modelOutputs(smaller)))
        result.outputs.push_back(ofOutput(validity[whole.value.number], greatest.shape(whole.value),
                                          smaller.shape(part.value), open));
    }
    if (auto why = te::differenceAtSize(greatest, smaller, validity, result.sums, open, size,
                                        &result.numbers))
      return notOpen(open, *why + " is something else at the size " + std::to_string(size));
  }
  for (auto [output, its] : llvm::zip_equal(outputs, result.outputs))
    if (its.axes.size() > 1)
      return notOpen(open, "output '" + output.name + "' has it twice");
  return result;
}

te::Program OpenModel::programOf(const te::Program &imported) const {
  return asksForSize()
             ? te::withSize(simplify::withoutUnneeded(imported), sums, numbers, inputs.dimension)
             : imported;
}

te::OpenInputs OpenModel::programInputs() const {
  te::OpenInputs result = inputs;
  if (asksForSize()) {
    result.inputs.push_back({});
    result.endWithSize = true;
  }
  return result;
}

/// Half of each greatest size, and what lies between two of these where that does not make too
/// many: the middles, of which processors take small ones first, of which a row more is a large
/// part, and GPUs, where those take about as long, the large ones; then the quarters. A processor's
/// small sizes are parted once more, which has each of a short range exactly.
static std::vector<int64_t> greatestSizes(const OpenDimension &all, bool inBlocks) {
  // Compiling takes its time. A processor's few tiles are large, so sizes differ more there.
  const size_t mostParts = inBlocks ? 12 : 24;
  std::vector<int64_t> halves = {all.high};
  while (halves.size() < mostParts && halves.back() > all.low)
    halves.push_back(std::max(all.low, (halves.back() + 1) / 2));
  std::vector<int64_t> sizes = halves;
  auto addBetween = [&](int64_t most, int64_t parts, int64_t taken) {
    int64_t between = (most * taken + parts - 1) / parts;
    if (sizes.size() < mostParts && between > all.low && !llvm::is_contained(sizes, between))
      sizes.push_back(between);
  };
  llvm::ArrayRef<int64_t> wholes = llvm::ArrayRef(halves).drop_back();
  for (size_t k = 0; k < wholes.size(); ++k)
    addBetween(inBlocks ? wholes[k] : wholes[wholes.size() - 1 - k], 4, 3);
  for (int64_t most : wholes)
    for (int64_t eighths : {5, 7})
      addBetween(most, 8, eighths);
  if (!inBlocks)
    for (int64_t most : llvm::reverse(wholes))
      for (int64_t sixteenths : {9, 11, 13, 15})
        addBetween(most, 16, sixteenths);
  llvm::sort(sizes);
  return sizes;
}

std::vector<OpenDimension> smallerSizes(const OpenDimension &all, bool inBlocks) {
  std::vector<OpenDimension> result;
  int64_t low = all.low;
  std::vector<int64_t> sizes = greatestSizes(all, inBlocks);
  for (int64_t high : llvm::ArrayRef(sizes).drop_back()) {
    result.push_back({all.name, low, high});
    low = high + 1;
  }
  if (all.low < all.high)
    result.push_back({all.name, all.high, all.high});
  return result;
}

std::vector<SizesToPlan> inOrderOfPlanning(std::vector<OpenDimension> parts) {
  std::vector<SizesToPlan> landmarks, others;
  int64_t last = std::numeric_limits<int64_t>::max();
  for (auto [number, part] : llvm::enumerate(llvm::reverse(parts))) {
    const int64_t ratio = part.high < 16 ? 4 : 16; // A row more is a large part of few.
    bool isLandmark = number + 1 == parts.size() || part.high <= last / ratio;
    if (isLandmark)
      last = part.high;
    (isLandmark ? landmarks : others).push_back({part, isLandmark});
  }
  llvm::append_range(landmarks, others);
  return landmarks;
}

} // namespace kintsugi::pipeline
