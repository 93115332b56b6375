#include "pipeline/trial_run.h"

#include "base/feeds.h"
#include "pipeline/feeds.h"
#include "pipeline/host_trial.h"
#include "simplify/rebuild.h"
#include "simplify/storage_types.h"
#include "te/check.h"
#include "te/constant.h"
#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

namespace kintsugi::pipeline {

using namespace te;

namespace {

struct Probe {
  Program program;
  std::vector<ValueId> values; ///< Of the original, whose magnitudes the outputs are.
};

int64_t elementsOf(const Value &value) { return *elementCount(plainShape(value.shape)); }

/// max[all dimensions] |value| of what is finite, since the rest says nothing; where none is, -1.
Definition greatestOf(const Value &value, ValueId id) {
  Definition definition;
  definition.reduction = Reduction{Combiner::Max, ElementType::F32, {}};
  llvm::SmallVector<Index> indices;
  for (auto [k, extent] : llvm::enumerate(value.shape)) {
    definition.reduction->iterators.push_back({"r" + std::to_string(k), extent});
    indices.push_back(Index::iterator(k));
  }
  Expr size = Expr::unary(UnaryOp::Abs, Expr::read(id, ElementType::F32, indices));
  Expr infinity = Expr::literal(ElementType::F32, std::numeric_limits<double>::infinity());
  definition.bodies.push_back(Expr::select(Expr::binary(BinaryOp::Less, size, infinity), size,
                                           Expr::literal(ElementType::F32, -1.0)));
  return definition;
}

double greatestOf(const Tensor &feed) {
  float greatest = 0;
  for (float element : feed.as<float>())
    if (std::isfinite(element))
      greatest = std::max(greatest, std::abs(element));
  return greatest;
}

/// The program with the greatest magnitudes as its only outputs, each taken as soon as it is known,
/// so that no value lives longer than it did.
Probe probeOf(const Program &program, bool checksInputs) {
  Program bare = program;
  bare.outputs = checksInputs ? te::checkOutputs(program) : std::vector<Program::Output>();
  simplify::Rebuilder out(bare);
  std::vector<ValueId> values;
  std::vector<bool> isConstant = te::constantNodes(program);
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    out.copy(node);
    if (isConstant[node])
      continue;
    for (ValueId id : program.resultsOf(node)) {
      const Value &value = program.value(id);
      if (value.type != ElementType::F32 || elementsOf(value) <= 1)
        continue;
      std::string name = "greatest." + value.name;
      out.fresh.addOutput(name,
                          out.fresh.define(name, ElementType::F32, greatestOf(value, out[id])));
      values.push_back(id);
    }
  }
  return {out.finish(), std::move(values)};
}

} // namespace

/// The last inputs, which are no caller's.
static size_t numSizes(const CompileOptions &options) {
  return llvm::count_if(options.openInputs,
                        [](const te::OpenInputs &open) { return open.size.has_value(); });
}

/// Of the types that users have.
static Expected<std::vector<Tensor>> usersFeeds(const Program &imported,
                                                const CompileOptions &options, float scale) {
  if (options.calibration.empty())
    return madeUpFeeds(imported, " tried", scale);
  std::vector<FeedPort> inputs;
  for (ValueId input : llvm::ArrayRef(imported.inputs).drop_back(numSizes(options))) {
    const Value &value = imported.value(input);
    inputs.push_back({value.name, value.type, plainShape(value.shape)});
  }
  return readFeeds(options.calibration, inputs);
}

Expected<std::vector<Tensor>> trialFeeds(const Program &imported, const CompileOptions &options,
                                         float scale) {
  KINTSUGI_ASSIGN(std::vector<Tensor> feeds, usersFeeds(imported, options, scale));
  feeds.resize(imported.inputs.size() - numSizes(options)); // Those that are made up are of all.
  for (const te::OpenInputs &open : options.openInputs)
    if (open.size) {
      KINTSUGI_ASSIGN(Tensor size, Tensor::create(ElementType::I64, {}));
      size.as<int64_t>()[0] = open.dimension.high;
      feeds.push_back(std::move(size));
    }
  for (Tensor &feed : feeds)
    if (isStorageOnly(feed.type())) {
      KINTSUGI_ASSIGN(feed, simplify::asStoredBytes(feed));
    }
  return feeds;
}

Expected<std::vector<double>> greatestMagnitudes(const Program &program,
                                                 const std::vector<Tensor> &feeds,
                                                 const CompileOptions &options,
                                                 runtime::Device &host) {
  KINTSUGI_RETURN_IF_ERROR(checkTriable(program));
  std::vector<double> greatest(program.numValues(), 0);
  for (auto [id, feed] : llvm::zip_equal(program.inputs, feeds))
    if (feed.type() == ElementType::F32)
      greatest[id.number] = greatestOf(feed);
  // Inputs that are made up may not keep to what the user's do.
  Probe probe = probeOf(program, !options.calibration.empty());
  if (probe.values.empty())
    return greatest;
  KINTSUGI_ASSIGN(HostTrial trial, HostTrial::compile(probe.program, options, host));
  KINTSUGI_ASSIGN(std::vector<Tensor> numbers, trial.run(feeds));
  for (auto [id, number] : llvm::zip_equal(probe.values, numbers))
    greatest[id.number] = number.as<float>()[0];
  return greatest;
}

} // namespace kintsugi::pipeline
