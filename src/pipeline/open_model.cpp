#include "pipeline/open_model.h"

#include "simplify/rebuild.h"
#include "te/check.h"
#include "te/open_sums.h"
#include "te/same_at_size.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace kintsugi::pipeline {

namespace {

/// Each is imported.
constexpr int64_t mostSizes = 1024;

Expected<te::Program> importAt(const OpenDimension &open, int64_t size, const std::string &path,
                               CompileOptions options) {
  options.import.dims[open.name] = size;
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

/// Looks at one dimension of several.
class Opening {
public:
  Opening(const te::Program &greatest, const OpenDimension &open, const std::string &path,
          const CompileOptions &options)
      : greatest(greatest), open(open), path(path), options(options) {}

  Expected<OpenAlong> run() {
    if (open.high - open.low >= mostSizes)
      return notOpen(open, "more than " + std::to_string(mostSizes) + " sizes are too many");
    result.inputs.dimension = open;
    for (int64_t size = open.low; size < open.high; ++size) {
      KINTSUGI_ASSIGN(te::Program smaller, importAt(open, size, path, options));
      if (size == open.low)
        KINTSUGI_RETURN_IF_ERROR(findSteps(smaller));
      KINTSUGI_RETURN_IF_ERROR(
          compare(greatest, validity, result.sums, smaller, size, result.numbers));
    }
    for (auto [output, its] : llvm::zip_equal(te::modelOutputs(greatest), result.outputs))
      if (its.axes.size() > 1)
        return notOpen(open, "output '" + output.name + "' has it twice");
    return std::move(result);
  }

  /// That `along`, which this found, holds where `other` has a smaller size, too: at `sizes`.
  Status checkBeside(const OpenDimension &other, int64_t otherSize, const OpenAlong &along,
                     const std::set<int64_t> &sizes) const {
    CompileOptions there = options;
    there.import.dims[other.name] = otherSize;
    KINTSUGI_ASSIGN(te::Program whole, importAt(other, otherSize, path, options));
    std::vector<te::Validity> its = te::validityOf(whole, along.inputs, along.sums);
    KINTSUGI_RETURN_IF_ERROR(checkKeepsSteps(whole, its, open));
    for (int64_t size : sizes) {
      KINTSUGI_ASSIGN(te::Program smaller, importAt(open, size, path, there));
      te::SizedNumbers numbers;
      KINTSUGI_RETURN_IF_ERROR(compare(whole, its, along.sums, smaller, size, numbers));
      if (!areSameAt(size, numbers, along.numbers))
        return notOpen(open, "what depends on it depends on '" + other.name + "' as well");
    }
    return Status::success();
  }

private:
  Status findSteps(const te::Program &smaller) {
    for (te::ValueId input : greatest.inputs) {
      KINTSUGI_ASSIGN(te::Validity axis, axisOf(greatest.value(input), smaller.value(input), open));
      result.inputs.inputs.push_back(axis);
    }
    result.sums = te::openSums(greatest, smaller);
    validity = te::validityOf(greatest, result.inputs, result.sums);
    KINTSUGI_RETURN_IF_ERROR(checkKeepsSteps(greatest, validity, open));
    for (auto [whole, part] :
         llvm::zip_equal(te::modelOutputs(greatest), te::modelOutputs(smaller)))
      result.outputs.push_back(ofOutput(validity[whole.value.number], greatest.shape(whole.value),
                                        smaller.shape(part.value), open));
    return Status::success();
  }

  Status compare(const te::Program &whole, llvm::ArrayRef<te::Validity> its,
                 llvm::ArrayRef<te::OpenSum> sums, const te::Program &smaller, int64_t size,
                 te::SizedNumbers &numbers) const {
    if (auto why = te::differenceAtSize(whole, smaller, its, sums, open, size, &numbers))
      return notOpen(open, *why + " is something else at the size " + std::to_string(size));
    return Status::success();
  }

  /// Whether numbers that one size was compared for are those of all sizes.
  static bool areSameAt(int64_t size, const te::SizedNumbers &some, const te::SizedNumbers &all) {
    auto at = [&](const te::SizedNumber &number) {
      auto found = number.others.find(size);
      return found == number.others.end() ? number.greatest : found->second;
    };
    auto agrees = [&](const te::SizedNumbers &from, const te::SizedNumbers &in) {
      return llvm::all_of(from, [&](const auto &each) {
        const te::SizedNumber &number = each.second;
        auto found = in.find(each.first);
        return found == in.end()
                   ? at(number) == number.greatest
                   : at(number) == at(found->second) && number.greatest == found->second.greatest;
      });
    };
    return agrees(some, all) && agrees(all, some);
  }

  const te::Program &greatest;
  const OpenDimension &open;
  const std::string &path;
  const CompileOptions &options;
  std::vector<te::Validity> validity;
  OpenAlong result;
};

/// Below the greatest.
std::set<int64_t> someSizes(const OpenDimension &open) {
  std::set<int64_t> sizes = {open.low, std::midpoint(open.low, open.high), open.high - 1};
  sizes.erase(open.high);
  return sizes;
}

/// What has an extent that both sizes decide, as rows of all sentences have: such rows are of other
/// steps at each pair.
std::optional<std::string> decidedByBoth(const te::Program &greatest, const te::Program &one,
                                         const te::Program &other) {
  auto differ = [](const te::Extent &whole, const te::Extent &a, const te::Extent &b) {
    return whole != a && whole != b;
  };
  for (uint32_t number = 0; number < greatest.numValues(); ++number)
    for (auto [whole, a, b] : llvm::zip_equal(greatest.values[number].shape,
                                              one.values[number].shape, other.values[number].shape))
      if (differ(whole, a, b))
        return "'" + greatest.values[number].name + "'";
  for (uint32_t node = 0; node < greatest.nodes.size(); ++node) {
    const auto *whole = std::get_if<te::Definition>(&greatest.nodes[node]);
    if (!whole || !whole->reduction)
      continue;
    const auto &a = std::get<te::Definition>(one.nodes[node]),
               &b = std::get<te::Definition>(other.nodes[node]);
    for (auto [all, some, others] : llvm::zip_equal(whole->reduction->iterators,
                                                    a.reduction->iterators, b.reduction->iterators))
      if (differ(all.extent, some.extent, others.extent))
        return te::quotedNode(greatest, node);
  }
  return std::nullopt;
}

/// Each dimension was looked at with the other at its greatest size. Programs are made of the
/// greatest sizes of parts, so these are looked at, and some others.
Status checkTogether(const te::Program &greatest, const OpenModel &model, const std::string &path,
                     const CompileOptions &options) {
  if (model.dimensions.size() < 2)
    return Status::success();
  std::array<std::set<int64_t>, 2> few = {someSizes(options.open[0]), someSizes(options.open[1])},
                                   all = few;
  for (const SizeRanges &part : smallerSizes(options.open, options.machine.threads > 0))
    for (unsigned k : {0, 1})
      if (part[k].high < options.open[k].high)
        all[k].insert(part[k].high);
  KINTSUGI_ASSIGN(te::Program one, importAt(options.open[0], options.open[0].low, path, options));
  KINTSUGI_ASSIGN(te::Program other, importAt(options.open[1], options.open[1].low, path, options));
  if (auto both = decidedByBoth(greatest, one, other))
    return notOpen(options.open[0],
                   *both + " has an extent that '" + options.open[1].name + "' decides, too");
  if (te::haveOneBody(model.dimensions[0].numbers, model.dimensions[1].numbers))
    return notOpen(options.open[0], "a number depends on it and on '" + options.open[1].name + "'");
  for (unsigned k : {0, 1})
    for (int64_t size : (k == 0 ? all : few)[1 - k])
      KINTSUGI_RETURN_IF_ERROR(Opening(greatest, options.open[k], path, options)
                                   .checkBeside(options.open[1 - k], size, model.dimensions[k],
                                                (k == 0 ? all : few)[k]));
  return Status::success();
}

} // namespace

Expected<OpenModel> openModel(const te::Program &imported, const std::string &path,
                              const CompileOptions &options) {
  assert(options.open.size() <= mostOpenDimensions && "settings have no more");
  te::Program greatest = simplify::withoutUnneeded(imported);
  OpenModel result;
  for (const OpenDimension &open : options.open) {
    KINTSUGI_RETURN_IF_ERROR(checkChecksInputs(imported, open));
    KINTSUGI_ASSIGN(OpenAlong along, Opening(greatest, open, path, options).run());
    result.dimensions.push_back(std::move(along));
  }
  KINTSUGI_RETURN_IF_ERROR(checkTogether(greatest, result, path, options));
  return result;
}

/// Whether kernels are told its size.
static bool asks(const OpenAlong &along) {
  const OpenDimension &open = along.inputs.dimension;
  return open.low < open.high && along.asksForSize();
}

te::Program OpenModel::programOf(const te::Program &imported) const {
  std::vector<te::SizedParts> parts;
  for (const OpenAlong &along : dimensions)
    if (asks(along))
      parts.push_back({along.sums, along.numbers, along.inputs.dimension});
  return parts.empty() ? imported : te::withSizes(simplify::withoutUnneeded(imported), parts);
}

std::vector<te::OpenInputs> OpenModel::programInputs() const {
  std::vector<te::OpenInputs> result;
  const unsigned numSizes = llvm::count_if(dimensions, asks);
  unsigned size = 0;
  for (auto [number, along] : llvm::enumerate(dimensions)) {
    const OpenDimension &open = along.inputs.dimension;
    if (open.low == open.high)
      continue;
    result.push_back(along.inputs);
    result.back().number = number;
    if (asks(along))
      result.back().size = along.inputs.inputs.size() + size++;
    result.back().inputs.resize(along.inputs.inputs.size() + numSizes);
  }
  return result;
}

/// Half of each greatest size, and what lies between two of these where that does not make too
/// many: the middles, of which processors take small ones first, of which a row more is a large
/// part, and GPUs, where those take about as long, the large ones; then the quarters. A processor's
/// small sizes are parted once more, which has each of a short range exactly.
static std::vector<int64_t> greatestSizes(const OpenDimension &all, bool inBlocks,
                                          size_t mostParts) {
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

static int64_t countOf(const OpenDimension &open) { return open.high - open.low + 1; }

/// The quarters of the greatest size, and halves of the least of them: of two dimensions on a GPU,
/// where small sizes take about as long as each other, and a sentence's rows are those of the
/// longest. Each size of a range that has no more.
static std::vector<int64_t> quartersOf(const OpenDimension &all, size_t mostParts) {
  std::set<int64_t> sizes;
  auto add = [&](int64_t size) {
    if (sizes.size() < mostParts && size >= all.low)
      sizes.insert(size);
  };
  if (countOf(all) <= int64_t(mostParts))
    for (int64_t size = all.low; size <= all.high; ++size)
      add(size);
  for (int64_t quarters : {4, 3, 2, 1})
    add(llvm::divideCeil(all.high * quarters, 4));
  for (int64_t size = llvm::divideCeil(all.high, 8); size > 1; size = llvm::divideCeil(size, 2))
    add(size);
  add(all.low);
  return {sizes.begin(), sizes.end()};
}

/// All sizes, in parts.
static std::vector<OpenDimension> rangesOf(const OpenDimension &all,
                                           llvm::ArrayRef<int64_t> greatest) {
  std::vector<OpenDimension> result;
  int64_t low = all.low;
  for (int64_t high : greatest) {
    result.push_back({all.name, low, high});
    low = high + 1;
  }
  return result;
}

std::string nameOf(const SizeRanges &sizes) {
  std::string name;
  for (const OpenDimension &open : sizes)
    name += (name.empty() ? "" : "x") + std::to_string(open.high);
  return name;
}

/// How many parts each dimension has: compiling takes its time. A processor's few tiles are large,
/// so sizes differ more there. Of two dimensions a processor's parts are halves down to the least
/// size, on which it depends most how often weights are read.
static std::vector<size_t> partsOfEach(const SizeRanges &all, bool inBlocks) {
  if (all.size() == 1)
    return {size_t(inBlocks ? 12 : 24)};
  const size_t most = inBlocks ? 20 : 48;
  std::vector<size_t> parts;
  for (const OpenDimension &open : all)
    parts.push_back((inBlocks ? 2 : 1) + llvm::Log2_64_Ceil(llvm::divideCeil(open.high, open.low)));
  auto product = [&] {
    return std::accumulate(parts.begin(), parts.end(), size_t(1), std::multiplies<>());
  };
  while (product() > most)
    --*llvm::max_element(parts);
  for (auto [open, number] : llvm::zip_equal(all, parts)) // Each of a short range, if that is few.
    if (size_t each = countOf(open); product() / number * each <= most)
      number = each;
  return parts;
}

std::vector<SizeRanges> smallerSizes(const SizeRanges &all, bool inBlocks) {
  std::vector<SizeRanges> result = {{}};
  SizeRanges greatest;
  for (auto [open, parts] : llvm::zip_equal(all, partsOfEach(all, inBlocks))) {
    std::vector<int64_t> sizes =
        inBlocks && all.size() > 1 ? quartersOf(open, parts) : greatestSizes(open, inBlocks, parts);
    std::vector<SizeRanges> longer;
    for (const SizeRanges &part : result)
      for (const OpenDimension &range : rangesOf(open, sizes)) {
        longer.push_back(part);
        longer.back().push_back(range);
      }
    result = std::move(longer);
    greatest.push_back({open.name, open.high, open.high});
  }
  result.pop_back(); // The plan for all sizes serves it.
  if (greatest != all)
    result.push_back(greatest);
  return result;
}

/// Greatest sizes of a dimension's parts that are far from each other, with the least of them.
static std::set<int64_t> farApart(llvm::ArrayRef<SizeRanges> parts, size_t dimension) {
  std::set<int64_t, std::greater<>> sizes;
  for (const SizeRanges &part : parts)
    sizes.insert(part[dimension].high);
  std::set<int64_t> result;
  int64_t last = std::numeric_limits<int64_t>::max();
  for (int64_t size : sizes) {
    const int64_t ratio = size < 16 ? 4 : 16; // A row more is a large part of few.
    if (size <= last / ratio || size == *sizes.rbegin()) {
      result.insert(size);
      last = size;
    }
  }
  return result;
}

/// The elements of a run, in steps of all dimensions.
static double stepsOf(const SizeRanges &sizes) {
  double steps = 1;
  for (const OpenDimension &open : sizes)
    steps *= double(open.high);
  return steps;
}

std::vector<SizesToPlan> inOrderOfPlanning(std::vector<SizeRanges> parts) {
  std::vector<SizesToPlan> landmarks, others;
  llvm::sort(parts, [](const SizeRanges &a, const SizeRanges &b) {
    return std::tuple(stepsOf(a), a.front().high, a.front().low) >
           std::tuple(stepsOf(b), b.front().high, b.front().low);
  });
  std::vector<std::set<int64_t>> far;
  for (size_t dimension = 0; !parts.empty() && dimension < parts.front().size(); ++dimension)
    far.push_back(farApart(parts, dimension));
  for (SizeRanges &part : parts) {
    bool isLandmark = llvm::all_of(llvm::zip_equal(part, far), [](const auto &each) {
      return std::get<1>(each).contains(std::get<0>(each).high);
    });
    (isLandmark ? landmarks : others).push_back({std::move(part), isLandmark});
  }
  llvm::append_range(landmarks, others);
  return landmarks;
}

} // namespace kintsugi::pipeline
