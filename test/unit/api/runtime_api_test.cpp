//===- runtime_api_test.cpp - The C interface of the runtime --------------===//

#include "kintsugi/runtime.h"

#include "fixture.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

using namespace kintsugi::runtime;

namespace {

/// Takes the message of an error, and frees it.
std::string take(KinError *error) {
  std::string message = error ? kin_error_message(error) : "";
  kin_error_free(error);
  return message;
}

class Api : public testing::Test {
protected:
  void load(const Parts &parts, const KinLoadOptions *options = nullptr) {
    std::vector<std::byte> bytes = parts.bytes();
    KinError *error = nullptr;
    ASSERT_EQ(kin_model_load_memory(bytes.data(), bytes.size(), options, &model, &error), KIN_OK)
        << take(error);
  }
  void makeContext(KinContextOptions options = {sizeof(KinContextOptions), 2, 0}) {
    ASSERT_EQ(kin_context_create(model, &options, &context, nullptr), KIN_OK);
  }
  ~Api() override {
    kin_context_free(context);
    kin_model_free(model);
  }

  KinModel *model = nullptr;
  KinContext *context = nullptr;
};

/// Tensors for affineParts().
struct AffineRun {
  std::vector<float> x = affineInput(), y = std::vector<float>(1000), best = std::vector<float>(5);
  std::vector<int64_t> where = std::vector<int64_t>(5);
  int64_t shape[1] = {1000}, outShape[1] = {-1};
  KinTensor inputs[1] = {{"x", KIN_TYPE_F32, 1, shape, x.data(), 4000}};
  KinTensor outputs[3] = {{"y", KIN_TYPE_F32, 1, outShape, y.data(), 4000},
                          {nullptr, KIN_TYPE_ANY, 0, nullptr, best.data(), 20},
                          {"where", KIN_TYPE_I64, 0, nullptr, where.data(), 40}};

  KinStatus run(KinContext *context, std::string *message = nullptr) {
    KinError *error = nullptr;
    KinStatus status = kin_run(context, inputs, 1, outputs, 3, &error);
    std::string text = take(error);
    if (message)
      *message = text;
    return status;
  }
};

} // namespace

TEST_F(Api, LoadsDescribesAndRuns) {
  load(affineParts());
  ASSERT_EQ(kin_model_input_count(model), 1u);
  ASSERT_EQ(kin_model_output_count(model), 3u);
  const KinPort *x = kin_model_input(model, 0), *where = kin_model_output(model, 2);
  EXPECT_STREQ(x->name, "x");
  EXPECT_EQ(x->type, KIN_TYPE_F32);
  EXPECT_EQ(x->rank, 1);
  EXPECT_EQ(x->dims[0], 1000);
  EXPECT_EQ(x->bytes, 4000u);
  EXPECT_EQ(where->type, KIN_TYPE_I64);
  EXPECT_EQ(where->dynamic, 0);
  EXPECT_EQ(where->may_alias, -1);
  EXPECT_EQ(kin_model_input(model, 1), nullptr);
  EXPECT_EQ(kin_model_output(model, 3), nullptr);
  EXPECT_NE(std::strstr(kin_model_manifest(model), "\"affine\""), nullptr);

  makeContext();
  AffineRun run;
  std::string message;
  ASSERT_EQ(run.run(context, &message), KIN_OK) << message;
  EXPECT_EQ(run.outShape[0], 1000);
  EXPECT_EQ(run.best[0], affineExpected()[run.where[0]]);
}

TEST_F(Api, LoadsFilesAndOutlivesTheModelHandle) {
  std::string path = affineParts().file("api.kin");
  KinLoadOptions options = {sizeof(KinLoadOptions), 1, "cpu"};
  ASSERT_EQ(kin_model_load(path.c_str(), &options, &model, nullptr), KIN_OK);
  makeContext();
  kin_model_free(model);
  model = nullptr;
  EXPECT_EQ(AffineRun().run(context), KIN_OK);
}

TEST_F(Api, ErrorsHaveACodeAndAMessage) {
  KinError *error = nullptr;
  EXPECT_EQ(kin_model_load("/nonexistent/a.kin", nullptr, &model, &error), KIN_INPUT);
  EXPECT_NE(take(error).find("/nonexistent/a.kin"), std::string::npos);
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(kin_model_load_memory("no", 2, nullptr, &model, &error), KIN_INPUT);
  EXPECT_EQ(take(error), "artifact: not an artifact: it has 2 bytes");
  EXPECT_EQ(kin_model_load_memory("no", 2, nullptr, &model, nullptr), KIN_INPUT);
  EXPECT_EQ(kin_model_load(nullptr, nullptr, &model, &error), KIN_USAGE);
  EXPECT_EQ(take(error), "there is no artifact to load or nowhere to put the model");
  KinLoadOptions options = {sizeof(KinLoadOptions), 0, "abacus"};
  EXPECT_EQ(kin_model_load("a.kin", &options, &model, &error), KIN_USAGE);
  EXPECT_EQ(take(error), "there is no device 'abacus'; there are: cpu, cuda, cuda:1, ..., null");
  options.struct_bytes = 3;
  EXPECT_EQ(kin_model_load("a.kin", &options, &model, &error), KIN_USAGE);
  EXPECT_EQ(take(error), "the options have a struct_bytes of 3 instead of " +
                             std::to_string(sizeof(KinLoadOptions)));
  EXPECT_EQ(kin_context_create(nullptr, nullptr, &context, &error), KIN_USAGE);
  EXPECT_EQ(take(error), "there is no model or nowhere to put the context");
  EXPECT_STREQ(kin_error_message(nullptr), "no error");
  EXPECT_EQ(kin_run(nullptr, nullptr, 0, nullptr, 0, &error), KIN_USAGE);
  EXPECT_EQ(take(error), "there is no context");
  KinRunOptions only = {sizeof(KinRunOptions), 0, nullptr, 0, 1, nullptr};
  EXPECT_EQ(kin_run_with(nullptr, nullptr, 0, nullptr, 0, &only, &error), KIN_USAGE);
  EXPECT_EQ(take(error), "there is no context");
  kin_binding_free(nullptr);
}

TEST_F(Api, WrongTensorsAreNamed) {
  load(affineParts());
  makeContext();
  auto messageOf = [&](auto change) {
    AffineRun run;
    change(run);
    std::string message;
    EXPECT_EQ(run.run(context, &message), KIN_USAGE);
    return message;
  };
  EXPECT_EQ(messageOf([](AffineRun &run) { run.inputs[0].type = KIN_TYPE_F64; }),
            "input 'x' has type f64, the model wants f32");
  EXPECT_EQ(messageOf([](AffineRun &run) { run.inputs[0].type = 12345; }),
            "input 'x' has type invalid, the model wants f32");
  EXPECT_EQ(messageOf([](AffineRun &run) { run.inputs[0].dims = nullptr; }),
            "tensor 'x' has rank 1 but no extents");
  EXPECT_EQ(messageOf([](AffineRun &run) { run.inputs[0].rank = -1; }),
            "tensor 'x' has rank -1 but no extents");
  EXPECT_EQ(messageOf([](AffineRun &run) { run.outputs[0].type = KIN_TYPE_F16; }),
            "output 'y' is to have type f16, the model gives f32");
  EXPECT_EQ(messageOf([](AffineRun &run) { run.outputs[2].name = "wear"; }),
            "the model has no output 'wear'; its outputs: 'y', 'best', 'where'");
  EXPECT_EQ(AffineRun().run(context), KIN_OK); // And nothing is left of it.
}

TEST_F(Api, TensorsAreBoundOnce) {
  load(affineParts());
  makeContext();
  AffineRun run;
  KinBinding *binding = nullptr;
  KinError *error = nullptr;
  KinRunOptions options = {sizeof(KinRunOptions), 0, nullptr, 0, 0, &binding};
  run.inputs[0].type = KIN_TYPE_F64;
  EXPECT_EQ(kin_run_with(context, run.inputs, 1, run.outputs, 3, &options, &error), KIN_USAGE);
  EXPECT_EQ(take(error), "input 'x' has type f64, the model wants f32");
  EXPECT_EQ(binding, nullptr);
  run.inputs[0].type = KIN_TYPE_F32;
  ASSERT_EQ(kin_run_with(context, run.inputs, 1, run.outputs, 3, &options, nullptr), KIN_OK);
  ASSERT_NE(binding, nullptr);
  EXPECT_EQ(kin_run_with(context, run.inputs, 1, run.outputs, 3, &options, &error), KIN_USAGE);
  EXPECT_EQ(take(error), "the binding is another context's, or there are tensors beside it");
  std::fill(run.inputs, run.inputs + 1, KinTensor{});
  std::fill(run.outputs, run.outputs + 3, KinTensor{});
  auto again = [&](KinError **error = nullptr) {
    return kin_run_with(context, nullptr, 0, nullptr, 0, &options, error);
  };
  for (float scale : {1.0f, 0.5f}) {
    for (float &value : run.x)
      value *= scale;
    std::fill(run.y.begin(), run.y.end(), 7.0f);
    run.outShape[0] = 0;
    ASSERT_EQ(again(), KIN_OK);
    EXPECT_NEAR(run.y[7], std::tanh(run.x[7] * (7 / 500.0f) - 1), 1e-6);
    EXPECT_EQ(run.outShape[0], 1000);
  }
  kin_context_cancel(context);
  EXPECT_EQ(again(), KIN_USAGE);
  EXPECT_EQ(AffineRun().run(context), KIN_OK); // Other tensors in between.
  EXPECT_EQ(again(), KIN_OK);
  KinContext *other = nullptr;
  ASSERT_EQ(kin_context_create(model, nullptr, &other, nullptr), KIN_OK);
  EXPECT_EQ(kin_run_with(other, nullptr, 0, nullptr, 0, &options, &error), KIN_USAGE);
  EXPECT_EQ(take(error), "the binding is another context's, or there are tensors beside it");
  kin_context_free(other);
  kin_binding_free(binding);
}

TEST_F(Api, RunsHaveOptions) {
  load(affineParts());
  makeContext();
  AffineRun run;
  KinError *error = nullptr;
  KinRunOptions options = {sizeof(KinRunOptions), 0, nullptr, 1, 0, nullptr};
  auto once = [&] {
    return kin_run_with(context, run.inputs, 1, run.outputs, 3, &options, &error);
  };
  ASSERT_EQ(once(), KIN_OK);
  EXPECT_EQ(run.best[0], affineExpected()[run.where[0]]) << "a processor's are waited for";
  options.on_stream = 1;
  EXPECT_EQ(once(), KIN_USAGE);
  EXPECT_EQ(take(error), "the device has no streams that a run could be put on");
  options.only_wait = 1;
  EXPECT_EQ(kin_run_with(context, nullptr, 0, nullptr, 0, &options, nullptr), KIN_OK);
  options.struct_bytes = 3;
  EXPECT_EQ(once(), KIN_USAGE);
  EXPECT_EQ(take(error), "the options have a struct_bytes of 3 instead of " +
                             std::to_string(sizeof(KinRunOptions)));
}

TEST_F(Api, ValuesThatACallCantTakeAreInputErrors) {
  // data f32[2], indices i64[1, 1], updates f32[1] -> data scattered.
  Parts parts = raggedParts();
  Manifest &m = parts.manifest;
  using kintsugi::ElementType;
  m.inputs.clear();
  m.outputs.clear();
  m.arenaBytes = 0;
  m.buffers = {{"data", ElementType::F32, {2}, 8, Home::input(0)},
               {"indices", ElementType::I64, {1, 1}, 8, Home::input(1)},
               {"updates", ElementType::F32, {1}, 4, Home::input(2)},
               {"result", ElementType::F32, {2}, 8, Home::output(0)}};
  for (uint32_t i = 0; i < 4; ++i)
    (i < 3 ? m.inputs : m.outputs)
        .push_back({m.buffers[i].name, m.buffers[i].type, m.buffers[i].shape, i, {}, none});
  m.stages[0].kind = Stage::Kind::Call;
  m.stages[0].symbol = "ScatterND";
  m.stages[0].buffers = {0, 1, 2, 3};
  m.stages[0].resultCount = 1;
  load(parts);
  makeContext();
  float data[2] = {1, 2}, updates[1] = {5}, result[2] = {};
  int64_t index = 1, two = 2, one = 1, pair[2] = {1, 1};
  KinTensor inputs[] = {{nullptr, KIN_TYPE_F32, 1, &two, data, 8},
                        {nullptr, KIN_TYPE_I64, 2, pair, &index, 8},
                        {nullptr, KIN_TYPE_F32, 1, &one, updates, 4}};
  KinTensor output = {nullptr, KIN_TYPE_ANY, 0, nullptr, result, 8};
  KinError *error = nullptr;
  ASSERT_EQ(kin_run(context, inputs, 3, &output, 1, &error), KIN_OK) << take(error);
  EXPECT_EQ(result[1], 5);
  index = 2;
  EXPECT_EQ(kin_run(context, inputs, 3, &output, 1, &error), KIN_INPUT);
  EXPECT_EQ(take(error),
            "node 'ragged_node': ScatterND: index 2 is outside dimension 0 of extent 2");
}

TEST_F(Api, CancelEndsOneRun) {
  load(affineParts());
  makeContext();
  kin_context_cancel(context);
  std::string message;
  EXPECT_EQ(AffineRun().run(context, &message), KIN_USAGE);
  EXPECT_EQ(message, "artifact: the run was cancelled");
  EXPECT_EQ(AffineRun().run(context), KIN_OK);
}

TEST_F(Api, ProfilesOnRequest) {
  load(affineParts());
  makeContext({sizeof(KinContextOptions), 1, 1});
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(AffineRun().run(context), KIN_OK);
  KinStageTime times[2];
  EXPECT_EQ(kin_context_profile(context, times, 2), 3u);
  EXPECT_EQ(times[1].launches, 4u);
  EXPECT_GT(times[1].nanoseconds, 0u);
}

TEST_F(Api, TheNullDeviceRunsNothing) {
  KinLoadOptions options = {sizeof(KinLoadOptions), 0, "null"};
  load(affineParts(), &options);
  makeContext();
  AffineRun run;
  std::fill(run.y.begin(), run.y.end(), 3.0f);
  ASSERT_EQ(run.run(context), KIN_OK);
  EXPECT_EQ(run.y, std::vector<float>(1000, 0.0f));
}

TEST_F(Api, AnyThreadMayCall) {
  load(affineParts());
  makeContext();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, own = i % 2 == 0] {
      KinContext *mine = nullptr;
      if (own && kin_context_create(model, nullptr, &mine, nullptr) != KIN_OK)
        return;
      for (int n = 0; n < 25; ++n) {
        AffineRun run;
        right += run.run(own ? mine : context) == KIN_OK &&
                 run.best[0] == affineExpected()[run.where[0]];
      }
      kin_context_free(mine);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 100);
}

TEST(ApiVersion, IsThatOfTheProject) { EXPECT_STREQ(kin_runtime_version(), KINTSUGI_VERSION); }
