//===- compiler_api_test.cpp - The C interface of the compiler --------------===//

#include "kintsugi/compiler.h"

#include "base/files.h"
#include "base/json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

namespace kintsugi {
namespace {

namespace fs = std::filesystem;

/// Takes over what a call gave.
struct Answer {
  KinStatus status;
  std::string text, error;
};

template <typename Call> Answer ask(Call call) {
  KinText *text = nullptr;
  KinError *error = nullptr;
  KinStatus status = call(&text, &error);
  Answer answer{status, kin_text_data(text), error ? kin_error_message(error) : ""};
  EXPECT_EQ(status == KIN_OK, error == nullptr);
  kin_text_free(text);
  kin_error_free(error);
  return answer;
}

KinCompilerOptions options(const char *json) {
  return {sizeof(KinCompilerOptions), json, nullptr, nullptr};
}

class CompilerApi : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("compiler_api_" + std::to_string(::getpid()));
    fs::create_directories(folder);
    ::setenv("KINTSUGI_CACHE", (folder / "cache").c_str(), 1);
    model = (folder / "relu.te").string();
    artifact = (folder / "relu.kin").string();
    std::string_view text = "input x[4] f32\ny[i:4] f32 = max(x[i], 0)\noutput y\n";
    ASSERT_TRUE(writeFileAtomic(model, text).ok());
  }
  void TearDown() override { fs::remove_all(folder); }

  Answer compile(const KinCompilerOptions *with) {
    return ask([&](KinText **text, KinError **error) {
      return kin_compile(model.c_str(), artifact.c_str(), with, text, error);
    });
  }

  fs::path folder;
  std::string model, artifact;
};

TEST_F(CompilerApi, CompilesLoadsAndRuns) {
  Answer answer = compile(nullptr);
  ASSERT_EQ(answer.status, KIN_OK) << answer.error;
  EXPECT_EQ(parseJson(answer.text)->at("artifact"), artifact);
  KinModel *loaded = nullptr;
  KinContext *context = nullptr;
  ASSERT_EQ(kin_model_load(artifact.c_str(), nullptr, &loaded, nullptr), KIN_OK);
  ASSERT_EQ(kin_context_create(loaded, nullptr, &context, nullptr), KIN_OK);
  int64_t dims[] = {4};
  float x[] = {-1, 2, -3, 4}, y[4] = {};
  KinTensor input{"x", KIN_TYPE_F32, 1, dims, x, sizeof(x)};
  KinTensor output{"y", KIN_TYPE_F32, 0, nullptr, y, sizeof(y)};
  EXPECT_EQ(kin_run(context, &input, 1, &output, 1, nullptr), KIN_OK);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{0, 2, 0, 4}));
  kin_context_free(context);
  kin_model_free(loaded);
}

TEST_F(CompilerApi, OptionsAreCheckedStrictly) {
  auto errorFor = [&](const char *json) {
    KinCompilerOptions with = options(json);
    Answer answer = compile(&with);
    EXPECT_EQ(answer.status, KIN_USAGE) << json;
    EXPECT_EQ(answer.text, "");
    return answer.error;
  };
  EXPECT_NE(errorFor("{\"plane\": 1}").find("unknown option \"plane\""), std::string::npos);
  EXPECT_NE(errorFor("{").find("the options are no JSON object: "), std::string::npos);
  EXPECT_EQ(errorFor("[]"), "the options are no JSON object");
  EXPECT_EQ(errorFor("{\"target\": 3}"), "option \"target\" must be a string");
  EXPECT_EQ(errorFor("{\"cache\": \"no\"}"), "option \"cache\" must be true or false");
  EXPECT_EQ(errorFor("{\"dims\": [1]}"), "option \"dims\" must be an object");
  EXPECT_EQ(errorFor("{\"dims\": {\"n\": 1.5}}"),
            "--dim n: the extent must be an integer from 0 to 9223372036854775807");
  EXPECT_EQ(errorFor("{\"dims\": {\"n\": 18446744073709551615}}"),
            "--dim n: the extent must be an integer from 0 to 9223372036854775807");
  EXPECT_EQ(errorFor("{\"bind\": {\"x\": 1}}"), "option \"bind\" must be a string");
  for (const char *memory : {"\"4GiB\"", "1000", "-1", "1e30"})
    EXPECT_EQ(errorFor(("{\"max_memory\": " + std::string(memory) + "}").c_str()),
              "--max-memory: must be a number of bytes, at least 1048576 (1 MiB)");
  EXPECT_EQ(errorFor("{\"threads\": -1}"), "--threads: must be from 0 to 4096");
  EXPECT_FALSE(fs::exists(artifact));
}

TEST_F(CompilerApi, OptionsOfAnotherSizeAreRefused) {
  KinCompilerOptions with = options(nullptr);
  with.struct_bytes = 8;
  EXPECT_EQ(compile(&with).error,
            "the options have a struct_bytes of 8 instead of " + std::to_string(sizeof(with)));
}

TEST_F(CompilerApi, ProgressIsToldAndCanStop) {
  std::set<std::string> phases;
  auto note = [](void *user, const char *phase, uint64_t step, uint64_t steps) {
    EXPECT_LE(step, steps);
    static_cast<std::set<std::string> *>(user)->insert(phase);
    return 1;
  };
  KinCompilerOptions with{sizeof(with), nullptr, note, &phases};
  EXPECT_EQ(compile(&with).status, KIN_OK);
  EXPECT_TRUE(phases.count("import") && phases.count("orchestrate") && phases.count("link"));
  fs::remove(artifact);
  with.progress = [](void *, const char *phase, uint64_t, uint64_t) {
    return std::string_view(phase) == "link" ? 0 : 1;
  };
  Answer answer = compile(&with);
  EXPECT_EQ(answer.status, KIN_USAGE);
  EXPECT_EQ(answer.error, "stopped before 'link'");
  EXPECT_FALSE(fs::exists(artifact));
}

TEST_F(CompilerApi, PreparesOnce) {
  auto prepare = [&] {
    Answer answer = ask([&](KinText **text, KinError **error) {
      return kin_prepare(model.c_str(), nullptr, text, error);
    });
    EXPECT_EQ(answer.status, KIN_OK) << answer.error;
    return *parseJson(answer.text);
  };
  Json first = prepare(), second = prepare();
  EXPECT_FALSE(first["cached"].get<bool>());
  EXPECT_TRUE(second["cached"].get<bool>());
  EXPECT_EQ(first["artifact"], second["artifact"]);
  EXPECT_EQ(first["compile_s"], second["compile_s"]);
  EXPECT_TRUE(fs::exists(first["artifact"].get<std::string>()));
}

TEST_F(CompilerApi, MissingArgumentsAreUsageErrors) {
  EXPECT_EQ(kin_compile(nullptr, artifact.c_str(), nullptr, nullptr, nullptr), KIN_USAGE);
  EXPECT_EQ(kin_compile(model.c_str(), nullptr, nullptr, nullptr, nullptr), KIN_USAGE);
  EXPECT_EQ(kin_emit(model.c_str(), nullptr, nullptr, nullptr, nullptr), KIN_USAGE);
  EXPECT_EQ(kin_compare(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), KIN_USAGE);
  EXPECT_EQ(kin_cache(nullptr, 0, nullptr, nullptr), KIN_USAGE);
  EXPECT_EQ(kin_machine(nullptr, nullptr, nullptr), KIN_USAGE);
  EXPECT_EQ(kin_machine("look", nullptr, nullptr), KIN_USAGE);
  EXPECT_STREQ(kin_text_data(nullptr), "");
}

TEST(CompilerApiHeaders, FewFunctions) {
  size_t count = 0;
  for (const char *name : {"runtime.h", "compiler.h"}) {
    Expected<std::string> text = readTextFile(std::string(KINTSUGI_HEADERS) + "/" + name);
    ASSERT_TRUE(text.ok()) << text.error().message;
    std::regex function("KIN_API [^(]*\\bkin_[a-z_]+\\(");
    size_t found = std::distance(std::sregex_iterator(text->begin(), text->end(), function), {});
    EXPECT_GE(found, 10u) << name;
    count += found;
  }
  EXPECT_LT(count, 40u);
}

} // namespace
} // namespace kintsugi
