//===- compile_and_run.h - Programs through the whole pipeline --------------===//
//
// What tests of whole programs share: the machines that they are compiled for, a run, and how
// results are compared.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_UNIT_PIPELINE_COMPILE_AND_RUN_H
#define KINTSUGI_TEST_UNIT_PIPELINE_COMPILE_AND_RUN_H

#include "base/tensor.h"
#include "devices/cpu/cpu_device.h"
#include "pipeline/pipeline.h"
#include "runtime/context.h"
#include "runtime/model.h"
#include "unit/te/random_program.h"
#include "llvm/ADT/ArrayRef.h"
#include "gtest/gtest.h"

#include <cmath>

namespace kintsugi::test {

/// A fixed description for each level of the instruction set that this machine runs, so that what
/// is compiled does not depend on where.
inline std::vector<machine::Machine> hostMachines() {
  std::vector<machine::Machine> machines;
  for (const machine::Machine &found : machine::Machine::detectLevels())
    machines.push_back(*machine::Machine::forLevel(found.level));
  return machines;
}

/// One whose cores run blocks of threads, whose work a processor of the given level does here.
inline machine::Machine blocksOn(const std::string &level) {
  machine::Machine machine = *machine::Machine::forLevel("sm_90a");
  machine.level = level;
  machine.core = machine::BlockCore::of(level);
  return machine;
}

/// What te::randomInputs gives, as tensors of the inputs' types.
inline Expected<std::vector<Tensor>> randomFeeds(const te::Program &program, uint64_t seed) {
  std::vector<Tensor> feeds;
  for (const te::ExactTensor &input : te::randomInputs(program, seed)) {
    KINTSUGI_ASSIGN(Tensor feed, input.rounded());
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

struct Ran {
  std::vector<Tensor> results;
  unsigned launches = 0;
  bool hasLanes = false; ///< Parts of its plan run side by side.
};

inline bool hasLanes(const runtime::Plan &plan) {
  if (plan.kind == runtime::Plan::Kind::Lanes)
    return true;
  for (const runtime::Plan &child : plan.children)
    if (hasLanes(child))
      return true;
  return false;
}

inline Expected<Ran> compileAndRun(const te::Program &program,
                                   const pipeline::CompileOptions &options,
                                   llvm::ArrayRef<Tensor> feeds) {
  auto device = std::make_shared<devices::CpuDevice>();
  std::vector<std::byte> bytes;
  runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(bytes);
  KINTSUGI_ASSIGN(pipeline::CompileReport report,
                  pipeline::compile(program, options, *device, writer));
  KINTSUGI_ASSIGN(runtime::Artifact artifact, runtime::Artifact::fromMemory(bytes, "model.kin"));
  KINTSUGI_ASSIGN(auto model, runtime::Model::create(std::move(artifact), device));
  KINTSUGI_ASSIGN(auto context, runtime::Context::create(model, {2}));
  std::vector<runtime::InputTensor> inputs;
  for (const Tensor &feed : feeds)
    inputs.push_back({"", feed.type(), feed.shape(), feed.bytes().data(), feed.bytes().size()});
  Ran ran{{}, report.launches, hasLanes(model->manifest().plan)};
  std::vector<runtime::OutputTensor> outputs;
  for (const runtime::Port &port : model->manifest().outputs) {
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(port.type, port.shape));
    ran.results.push_back(std::move(tensor));
  }
  for (Tensor &result : ran.results)
    outputs.push_back({"", result.bytes().data(), result.bytes().size(), {}});
  KINTSUGI_RETURN_IF_ERROR(context->run(inputs, outputs));
  return ran;
}

/// Fails where integers differ, where a float is no number in one of the two only, or where two
/// differ by more than `tolerance` of the largest number.
inline void expectAgreement(const Tensor &result, const Tensor &right, double tolerance) {
  ASSERT_EQ(result.shape(), right.shape());
  ASSERT_EQ(result.type(), right.type());
  double largest = 0;
  for (int64_t k = 0; k < right.count(); ++k)
    if (double x = std::abs(loadDouble(right.view(), k)); std::isfinite(x))
      largest = std::max(largest, x);
  for (int64_t k = 0; k < right.count(); ++k) {
    double a = loadDouble(result.view(), k), b = loadDouble(right.view(), k);
    if (!isFloat(right.type()))
      ASSERT_EQ(loadInteger(result.view(), k), loadInteger(right.view(), k)) << "at " << k;
    else if (std::isfinite(b))
      ASSERT_NEAR(a, b, tolerance * largest) << "at " << k;
    else
      ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << a << " for " << b << " at " << k;
  }
}

/// What orders of sums, other roundings on the way, and what amplifies those may come to.
inline double toleranceOf(ElementType coarsest) {
  switch (coarsest) {
  case ElementType::BF16:
    return 2e-2;
  case ElementType::F16:
    return 3e-3;
  case ElementType::F64:
    return 1e-12;
  default:
    return 1e-5;
  }
}

/// The float type of fewest bits that anything is computed in on the way; F64: none.
inline ElementType coarsestOf(const te::Program &program) {
  ElementType coarsest = ElementType::F64;
  auto note = [&](ElementType type) {
    bool isCoarser = bitsOf(type) < bitsOf(coarsest) || type == ElementType::BF16;
    if (isFloat(type) && isCoarser)
      coarsest = type;
  };
  for (const te::Node &node : program.nodes) {
    if (const auto *scan = std::get_if<te::Scan>(&node))
      note(coarsestOf(*scan->body));
    if (const auto *definition = std::get_if<te::Definition>(&node))
      for (const te::Expr &body : definition->bodies)
        body.walk([&](const te::Expr &e) { note(e.type()); });
  }
  for (const te::Value &value : program.values)
    note(value.type);
  return coarsest;
}

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_UNIT_PIPELINE_COMPILE_AND_RUN_H
