#include "pipeline/trial_run.h"

#include "base/checked.h"
#include "base/feeds.h"
#include "pipeline/feeds.h"
#include "runtime/context.h"
#include "simplify/rebuild.h"
#include "te/constant.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::pipeline {

using namespace te;

namespace {

/// A trial is to be short beside the compilation that it serves.
constexpr double mostOperations = 1.5e11;
constexpr double mostConstantBytes = 2e9;

struct Probe {
  Program program;
  std::vector<ValueId> values; ///< Of the original, whose magnitudes the outputs are.
};

int64_t elementsOf(const Value &value) { return *elementCount(plainShape(value.shape)); }

/// max[all dimensions] |value|
Definition greatestOf(const Value &value, ValueId id) {
  Definition definition;
  definition.reduction = Reduction{Combiner::Max, ElementType::F32, {}};
  llvm::SmallVector<Index> indices;
  for (auto [k, extent] : llvm::enumerate(value.shape)) {
    definition.reduction->iterators.push_back({"r" + std::to_string(k), extent});
    indices.push_back(Index::iterator(k));
  }
  definition.bodies.push_back(Expr::unary(UnaryOp::Abs, Expr::read(id, ElementType::F32, indices)));
  return definition;
}

/// The program with the greatest magnitudes as its only outputs, each taken as soon as it is known,
/// so that no value lives longer than it did.
Probe probeOf(const Program &program) {
  Program bare = program;
  bare.outputs.clear();
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

double constantBytesOf(const Program &program) {
  double bytes = 0;
  for (const Value &value : program.values)
    if (value.kind == ValueKind::Constant)
      bytes += double(elementsOf(value)) * bitsOf(value.type) / 8;
  return bytes;
}

/// Every definition a kernel, for a machine that is the same wherever the compiler runs.
CompileOptions trialOptions(const CompileOptions &options) {
  CompileOptions trial;
  trial.machine = *machine::Machine::forLevel(machine::nameOf(machine::Level::V3));
  trial.plan = orchestrate::PlanMode::Separate;
  trial.threads = options.threads;
  trial.constantBudget = options.constantBudget;
  if (options.progress)
    trial.progress = [&options](std::string_view, uint64_t step, uint64_t steps) {
      return options.progress("trying", step, steps);
    };
  trial.disabled = withoutSearch();
  return trial;
}

Expected<std::vector<float>> run(const Program &program, const std::vector<Tensor> &feeds,
                                 std::shared_ptr<const runtime::Model> model, unsigned threads) {
  KINTSUGI_ASSIGN(std::unique_ptr<runtime::Context> context,
                  runtime::Context::create(std::move(model), {threads}));
  std::vector<runtime::InputTensor> inputs;
  for (const Tensor &feed : feeds)
    inputs.push_back({{}, feed.type(), feed.shape(), feed.bytes().data(), feed.bytes().size()});
  std::vector<Tensor> results;
  std::vector<runtime::OutputTensor> outputs;
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    KINTSUGI_ASSIGN(Tensor result, Tensor::create(ElementType::F32, {}));
    results.push_back(std::move(result));
    outputs.push_back({{}, results.back().bytes().data(), results.back().bytes().size(), {}});
  }
  KINTSUGI_RETURN_IF_ERROR(context->run(inputs, outputs));
  std::vector<float> numbers;
  for (const Tensor &result : results)
    numbers.push_back(result.as<float>()[0]);
  return numbers;
}

} // namespace

Expected<std::vector<Tensor>> trialFeeds(const Program &program, const CompileOptions &options) {
  constexpr float scale = 2;
  if (options.calibration.empty())
    return madeUpFeeds(program, " tried", scale);
  std::vector<FeedPort> inputs;
  for (ValueId input : program.inputs) {
    const Value &value = program.value(input);
    inputs.push_back({value.name, value.type, plainShape(value.shape)});
  }
  return readFeeds(options.calibration, inputs);
}

Expected<std::vector<double>> greatestMagnitudes(const Program &program,
                                                 const std::vector<Tensor> &feeds,
                                                 const CompileOptions &options,
                                                 runtime::Device &host) {
  std::vector<double> greatest(program.numValues(), 0);
  if (operationsOf(program) > mostOperations || constantBytesOf(program) > mostConstantBytes)
    return machineError("the model is too large to be tried on the processor while it is compiled");
  Probe probe = probeOf(program);
  if (probe.values.empty())
    return greatest;
  std::vector<std::byte> bytes;
  runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(bytes);
  KINTSUGI_RETURN_IF_ERROR(compile(probe.program, trialOptions(options), host, writer).status());
  KINTSUGI_ASSIGN(runtime::Artifact artifact,
                  runtime::Artifact::fromMemory(std::move(bytes), program.name));
  std::shared_ptr<runtime::Device> borrowed(std::shared_ptr<void>(), &host);
  KINTSUGI_ASSIGN(std::shared_ptr<const runtime::Model> model,
                  runtime::Model::create(std::move(artifact), borrowed));
  KINTSUGI_ASSIGN(std::vector<float> numbers, run(probe.program, feeds, model, options.threads));
  for (auto [id, number] : llvm::zip_equal(probe.values, numbers))
    greatest[id.number] = number;
  return greatest;
}

} // namespace kintsugi::pipeline
