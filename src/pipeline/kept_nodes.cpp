#include "pipeline/kept_nodes.h"

#include "pipeline/host_trial.h"
#include "simplify/rounding_switches.h"
#include "te/check.h"
#include "te/constant.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "verify/policy.h"
#include "llvm/ADT/STLExtras.h"

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
};

class KeptNodes {
public:
  KeptNodes(const Program &program, ElementType narrow, const std::vector<double> &greatest,
            std::vector<Tensor> feeds, const CompileOptions &options, runtime::Device &host)
      : program(onlyFloats(program)), narrow(narrow), greatest(greatest), feeds(std::move(feeds)),
        options(options), host(host), allowed(options.maxError / 2) {}

  Expected<std::vector<bool>> choose(CompileReport &report) {
    KINTSUGI_ASSIGN(HostTrial exact, HostTrial::compile(program, options, host));
    KINTSUGI_ASSIGN(right, exact.run(feeds));
    KINTSUGI_ASSIGN(Moved before, movedWith({}));
    if (before.by <= allowed)
      return std::vector<bool>();
    KINTSUGI_RETURN_IF_ERROR(measureParts());
    KINTSUGI_ASSIGN(std::vector<unsigned> rounded, partsToRound());
    std::vector<bool> kept = allBut(rounded);
    KINTSUGI_ASSIGN(Moved after, movedWith(kept));
    while (after.by > allowed && !rounded.empty()) {
      rounded.pop_back();
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

  /// Of the program as it would be compiled.
  Expected<Moved> movedWith(const std::vector<bool> &kept) {
    Program stored = simplify::storeNarrow(program, narrow, {greatest, kept});
    KINTSUGI_ASSIGN(HostTrial trial, HostTrial::compile(stored, options, host));
    KINTSUGI_ASSIGN(std::vector<Tensor> outputs, trial.run(feeds));
    return movedBy(outputs);
  }

  /// Constants are of the part whose nodes are the first to read them.
  void divide() {
    std::vector<bool> isConstant = constantNodes(program);
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
      if (!isConstant[node])
        parts[partOf[node]].saves += savedBy(node);
  }

  double savedBy(uint32_t node) const {
    double stored = 0, computed = 0;
    for (ValueId result : program.resultsOf(node))
      stored += double(*elementCount(plainShape(program.shape(result))));
    if (const auto *definition = std::get_if<Definition>(&program.nodes[node]))
      computed = operationsOf(*definition);
    else if (const auto *scan = std::get_if<Scan>(&program.nodes[node]))
      computed = double(scan->trip.constant()) * operationsOf(*scan->body);
    return stored + computed;
  }

  Status measureParts() {
    divide();
    Program switched =
        simplify::withRoundingSwitches(program, narrow, {greatest, {}}, partOf, parts.size());
    KINTSUGI_ASSIGN(HostTrial trial, HostTrial::compile(switched, options, host));
    switches.emplace(std::move(trial));
    for (unsigned part = 0; part < parts.size(); ++part) {
      KINTSUGI_ASSIGN(Moved moved, movedByRounding({part}));
      parts[part].moves = moved.by;
    }
    return Status::success();
  }

  Expected<Moved> movedByRounding(llvm::ArrayRef<unsigned> rounded) {
    KINTSUGI_ASSIGN(Tensor flags, Tensor::create(ElementType::Bool, {int64_t(parts.size())}));
    for (unsigned part : rounded)
      storeBits(ElementType::Bool, flags.bytes(), part, 1);
    feeds.push_back(std::move(flags));
    Expected<std::vector<Tensor>> outputs = switches->run(feeds);
    feeds.pop_back();
    if (!outputs.ok())
      return outputs.takeError();
    return movedBy(*outputs);
  }

  /// Errors that don't depend on each other add up in squares; a run says whether they did. In the
  /// order of what they disturb for what they save.
  Expected<std::vector<unsigned>> partsToRound() {
    std::vector<unsigned> order(parts.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](unsigned a, unsigned b) {
      auto price = [&](unsigned part) {
        return std::pair(parts[part].moves * parts[part].moves / (parts[part].saves + 1), part);
      };
      return price(a) < price(b);
    });
    std::vector<unsigned> rounded;
    double squares = 0;
    for (unsigned part : order) {
      squares += parts[part].moves * parts[part].moves;
      if (squares > allowed * allowed)
        break;
      rounded.push_back(part);
    }
    while (!rounded.empty()) {
      KINTSUGI_ASSIGN(Moved moved, movedByRounding(rounded));
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

  void tell(const Moved &before, const Moved &after, const std::vector<bool> &kept,
            CompileReport &report) const {
    auto number = [](double value) {
      char text[32];
      std::snprintf(text, sizeof(text), "%.2g", value);
      return std::string(text);
    };
    report.notes.push_back(
        "--max-error " + number(options.maxError) + ": " + std::to_string(llvm::count(kept, true)) +
        " of " + std::to_string(kept.size()) + " definitions stay f32; " +
        std::string(nameOf(narrow)) + " everywhere moves output '" + before.output + "' by " +
        number(before.by) + " of its largest number, this by " + number(after.by));
  }

  Program program;
  ElementType narrow;
  const std::vector<double> &greatest;
  std::vector<Tensor> feeds;
  const CompileOptions &options;
  runtime::Device &host;
  double allowed;
  std::vector<Tensor> right; ///< The outputs in f32.
  std::vector<Part> parts;
  std::vector<unsigned> partOf; ///< By node.
  std::optional<HostTrial> switches;
};

} // namespace

Expected<std::vector<bool>> keptNodes(const Program &program, ElementType narrow,
                                      const std::vector<double> &greatest,
                                      std::vector<Tensor> feeds, const CompileOptions &options,
                                      runtime::Device &host, CompileReport &report) {
  return KeptNodes(program, narrow, greatest, std::move(feeds), options, host).choose(report);
}

} // namespace kintsugi::pipeline
