#include "pipeline/kept_nodes.h"

#include "pipeline/host_trial.h"
#include "simplify/rounding_switches.h"
#include "te/check.h"
#include "te/constant.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "verify/policy.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstdio>
#include <numeric>

namespace kintsugi::pipeline {

using namespace te;

namespace {

/// How far some outputs are from the right ones.
struct Moved {
  double by = 0;      ///< Of the largest magnitude, of a whole output or of a slice.
  std::string output; ///< The one that is moved furthest.
};

/// Nodes that are rounded together, next to each other.
struct Part {
  double saves = 0; ///< About what rounding it makes quicker: operations, and elements stored.
  double moves = 0; ///< The outputs, if nothing else is rounded.
  bool hasScan = false;
};

class KeptNodes {
public:
  KeptNodes(const Program &program, ElementType narrow, const std::vector<double> &greatest,
            std::vector<Tensor> feeds, const CompileOptions &options, runtime::Device &host)
      : program(onlyFloats(program)), checks(checkOutputs(program)), narrow(narrow),
        greatest(greatest), feeds(std::move(feeds)), options(options), host(host),
        allowed(options.maxError / 2), isConstant(constantNodes(this->program)) {}

  Expected<std::vector<bool>> choose(CompileReport &report) {
    KINTSUGI_RETURN_IF_ERROR(checkTriable(program));
    if (program.outputs.empty())
      return std::vector<bool>();
    KINTSUGI_RETURN_IF_ERROR(runExactly());
    tellOfWhatSaysNothing(report);
    KINTSUGI_ASSIGN(Moved before, movedWith({}));
    if (before.by <= allowed)
      return std::vector<bool>();
    divide();
    if (parts.empty()) // All is known when the model is compiled.
      return std::vector<bool>();
    KINTSUGI_ASSIGN(std::vector<unsigned> rounded, partsToRound());
    std::vector<bool> kept = allBut(rounded);
    KINTSUGI_ASSIGN(Moved after, movedWith(kept));
    while (after.by > allowed && !rounded.empty()) {
      rounded.resize(rounded.size() * 3 / 4);
      kept = allBut(rounded);
      KINTSUGI_ASSIGN(after, movedWith(kept));
    }
    tell(before, after, kept, report);
    return kept;
  }

private:
  static constexpr unsigned mostParts = 32;

  static Program onlyFloats(const Program &program) {
    Program result = program;
    result.outputs = modelOutputs(program);
    llvm::erase_if(result.outputs, [&](const Program::Output &output) {
      return !isFloat(program.value(output.value).type);
    });
    return result;
  }

  /// What is no number in f32 already can't be moved.
  void tellOfWhatSaysNothing(CompileReport &report) const {
    for (auto [output, tensor] : llvm::zip_equal(program.outputs, right)) {
      int64_t count = tensor.view().count(), finite = 0;
      for (int64_t k = 0; k < count; ++k)
        finite += std::isfinite(loadDouble(tensor.view(), k));
      if (finite < count)
        report.notes.push_back(flag() + std::to_string(count - finite) + " of " +
                               std::to_string(count) + " numbers of output '" + output.name +
                               "' are not finite on the inputs that were tried, and don't say how "
                               "far rounding moves them; give others by --calibrate");
    }
  }

  Moved movedBy(const std::vector<Tensor> &outputs) const {
    Moved furthest;
    for (auto [output, actual, expected] : llvm::zip_equal(program.outputs, outputs, right)) {
      double leastShare = verify::leastShareOfSlice(actual.type(), {1, narrow});
      verify::Difference found = verify::difference(actual.view(), expected.view(), leastShare);
      double by = std::max(found.relative, found.inSlices);
      if (by >= furthest.by)
        furthest = {by, output.name};
    }
    return furthest;
  }

  /// Inputs that are made up may not keep to what the user's do.
  Status runExactly() {
    Program exact = program;
    if (!options.calibration.empty())
      llvm::append_range(exact.outputs, checks);
    KINTSUGI_ASSIGN(HostTrial trial, HostTrial::compile(exact, options, host));
    KINTSUGI_ASSIGN(right, trial.run(feeds));
    return Status::success();
  }

  /// With values stored as they would be.
  Expected<Moved> movedWith(const std::vector<bool> &kept) {
    Program stored = simplify::storeNarrow(program, narrow, {greatest, kept});
    KINTSUGI_ASSIGN(HostTrial trial, HostTrial::compile(stored, options, host));
    KINTSUGI_ASSIGN(std::vector<Tensor> outputs, trial.run(feeds));
    return movedBy(outputs);
  }

  /// Constants are of the part whose nodes are the first to read them.
  void divide() {
    unsigned count = llvm::count(isConstant, false), number = 0;
    parts.resize(std::min(mostParts, count));
    partOf.assign(program.nodes.size(), parts.size() - 1);
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (!isConstant[node])
        partOf[node] = uint64_t(number++) * parts.size() / count;
    for (uint32_t node = program.nodes.size(); node-- > 0;)
      for (ValueId operand : program.operandsOf(node))
        if (const Value &value = program.value(operand);
            value.kind == ValueKind::Result && isConstant[value.node])
          partOf[value.node] = std::min(partOf[value.node], partOf[node]);
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (!isConstant[node]) {
        parts[partOf[node]].saves += savedBy(node);
        parts[partOf[node]].hasScan |= std::holds_alternative<Scan>(program.nodes[node]);
      }
  }

  double savedBy(uint32_t node) const {
    double stored = 0, computed = 0;
    for (ValueId result : program.resultsOf(node))
      stored += double(*elementCount(plainShape(program.shape(result))));
    if (const auto *definition = std::get_if<Definition>(&program.nodes[node]))
      computed = operationsOf(*definition);
    else if (const auto *scan = std::get_if<Scan>(&program.nodes[node]))
      computed = stepsOf(*scan) * operationsOf(*scan->body);
    return stored + computed;
  }

  Expected<HostTrial> switchedTrial() {
    Program switched =
        simplify::withRoundingSwitches(program, narrow, {greatest, {}}, partOf, parts.size());
    return HostTrial::compile(switched, options, host);
  }

  Expected<Moved> movedByRounding(llvm::ArrayRef<unsigned> rounded, HostTrial &switched) {
    ++runs;
    if (options.progress && !options.progress("trying", runs, std::max(runs, parts.size())))
      return usageError("stopped while the model was tried");
    KINTSUGI_ASSIGN(Tensor flags, Tensor::create(ElementType::Bool, {int64_t(parts.size())}));
    for (unsigned part : rounded)
      storeBits(ElementType::Bool, flags.bytes(), part, 1);
    feeds.push_back(std::move(flags));
    Expected<std::vector<Tensor>> outputs = switched.run(feeds);
    feeds.pop_back();
    if (!outputs.ok())
      return outputs.takeError();
    return movedBy(*outputs);
  }

  Status measureParts(HostTrial &switched) {
    for (unsigned part = 0; part < parts.size(); ++part) {
      // What is rounded inside of a scan no switch tells.
      KINTSUGI_ASSIGN(Moved moved, parts[part].hasScan ? movedWith(allBut({part}))
                                                       : movedByRounding({part}, switched));
      parts[part].moves = moved.by;
    }
    return Status::success();
  }

  /// In the order of what they disturb for what they save.
  std::vector<unsigned> partsByPrice() const {
    std::vector<unsigned> order(parts.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](unsigned a, unsigned b) {
      auto price = [&](unsigned part) {
        return std::pair(parts[part].moves * parts[part].moves / (parts[part].saves + 1), part);
      };
      return price(a) < price(b);
    });
    return order;
  }

  /// Errors that don't depend on each other add up in squares; a run says whether they did.
  Expected<std::vector<unsigned>> partsToRound() {
    KINTSUGI_ASSIGN(HostTrial switched, switchedTrial());
    KINTSUGI_RETURN_IF_ERROR(measureParts(switched));
    std::vector<unsigned> rounded;
    double squares = 0;
    for (unsigned part : partsByPrice()) {
      double square = parts[part].moves * parts[part].moves;
      if (squares + square > allowed * allowed)
        continue;
      squares += square;
      rounded.push_back(part);
    }
    while (!rounded.empty()) {
      KINTSUGI_ASSIGN(Moved moved, movedByRounding(rounded, switched));
      if (moved.by <= allowed)
        break;
      rounded.pop_back();
    }
    return rounded;
  }

  std::vector<bool> allBut(llvm::ArrayRef<unsigned> rounded) const {
    std::vector<bool> kept(program.nodes.size());
    for (uint32_t node = 0; node < kept.size(); ++node)
      kept[node] = !llvm::is_contained(rounded, partOf[node]);
    return kept;
  }

  /// What stores f32 though it needn't: of what runs with the model.
  unsigned countOf(const std::vector<bool> &nodes) const {
    unsigned count = 0;
    for (auto [node, isAmong] : llvm::enumerate(nodes))
      count += isAmong && !isConstant[node] &&
               llvm::any_of(program.resultsOf(node), [&](ValueId result) {
                 return program.value(result).type == ElementType::F32;
               });
    return count;
  }

  std::string flag() const {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", options.maxError);
    return "--max-error " + std::string(text) + ": ";
  }

  void tell(const Moved &before, const Moved &after, const std::vector<bool> &kept,
            CompileReport &report) const {
    auto number = [](double value) {
      char text[32];
      std::snprintf(text, sizeof(text), "%.2g", value);
      return std::string(text);
    };
    std::string type(nameOf(narrow));
    report.notes.push_back(flag() + std::to_string(countOf(kept)) + " of " +
                           std::to_string(countOf(std::vector<bool>(kept.size(), true))) +
                           " definitions stay f32; " + type + " everywhere moved output '" +
                           before.output + "' by " + number(before.by) +
                           " of the largest number in it or in a slice of it, this '" +
                           after.output + "' by " + number(after.by));
    if (after.by > allowed)
      report.notes.push_back(flag() + "no choice of what is stored as " + type + " does better");
  }

  Program program;
  std::vector<Program::Output> checks; ///< Of the whole program.
  ElementType narrow;
  const std::vector<double> &greatest;
  std::vector<Tensor> feeds;
  const CompileOptions &options;
  runtime::Device &host;
  const double allowed;
  const std::vector<bool> isConstant; ///< By node.
  std::vector<Tensor> right;          ///< The outputs in f32.
  std::vector<Part> parts;
  std::vector<unsigned> partOf; ///< By node.
  size_t runs = 0;              ///< Of the program whose roundings are inputs.
};

} // namespace

Expected<std::vector<bool>> keptNodes(const Program &program, ElementType narrow,
                                      const std::vector<double> &greatest,
                                      std::vector<Tensor> feeds, const CompileOptions &options,
                                      runtime::Device &host, CompileReport &report) {
  return KeptNodes(program, narrow, greatest, std::move(feeds), options, host).choose(report);
}

} // namespace kintsugi::pipeline
