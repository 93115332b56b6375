// The text form of plans: round trips of real and of written plans, and what a wrong text says.

#include "orchestrate/plan_text.h"

#include "programs.h"

namespace kintsugi::orchestrate {
namespace {

/// Shows every form: calls, copies, repeats with all their parts, branches, nesting.
const char *const written =
    R"plan(plan "a \"model\"" arena 1024 objective 2.5e-06 gap 0.01 candidates 3
buffer 0 "x" f32 [2, 4] input 1
buffer 1 "choose" bool [] input 0
buffer 2 "w" f32 [4] source "bytes:1"
buffer 3 "v" f32 [4] derived
buffer 4 "step" i64 [] temporary at 0
buffer 5 "h" f32 [4] temporary at 64
buffer 6 "next" f32 [4] temporary at 128
buffer 7 "all" f32 [3, 4] temporary at 192
buffer 8 "none" f32 [0, 4] temporary at 1024
kernel k0 key "0123456789abcdef0123456789abcdef" seconds 1e-06
kernel "a kernel" key "ffffffffffffffffffffffffffffffff" seconds 0
stage 0 kernel k0 operands [2, 3] results 1 definitions 1 seconds 1e-06 moves 32 serves [] {
}
stage 1 kernel k0 operands [5, 6] results 1 definitions 2 seconds 1e-06 moves 32 serves ["a" 7, "b \\ \"" 0] {
  "t[i:4] f32 = h[i] + 1"
  "next[i:4] f32 = tanh(\"odd name\"[i])"
}
stage 2 call TopK {"axis":0,"name":"} \" {","nested":{"k":[1,2]}} operands [0, 5, 6] results 2 definitions 0 seconds 3e-06 moves 64 serves ["topk" 0] {
}
stage 3 kernel "a kernel" operands [] results 0 definitions 0 seconds 0 moves 0 serves [] {
}
stage 4 kernel k0 operands [0, 6] results 1 definitions 1 seconds 1e-06 moves 48 serves [] {
}
stage 5 kernel k0 operands [0, 5] results 1 definitions 1 seconds 1e-06 moves 48 serves [] {
}
output "y" 7
output "x as it came" 0 dimension 0 extent 4 dimension 1 extent 4
constants sequence {
  stage 0
}
root sequence {
  copy [2 > 5]
  repeat 3 step 4 carry [6 > 5, 2 > 6] stack [6 > 7] {
    sequence {
      branch 1 {
        sequence {
          stage 1
        }
        lanes {
          repeat 0 step 4 while 1 {
            stage 2
          }
        }
      }
    }
  }
  copy []
  joined seconds 1.5e-06 {
    stage 3
    sequence {
      stage 4
      stage 5
    }
  }
}
)plan";

Plan read(llvm::StringRef text) {
  Expected<Plan> plan = parsePlan(text, "test.plan");
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message) << "\nin\n" << text.str();
  return plan.ok() ? std::move(*plan) : Plan();
}

TEST(PlanText, PlansOfProgramsRoundTrip) {
  for (const SmallProgram &small : smallPrograms)
    for (PlanMode mode : {PlanMode::Search, PlanMode::Greedy, PlanMode::Separate}) {
      SCOPED_TRACE(small.name);
      te::Program program = programOf(small.text);
      Plan plan = planned(program, mode);
      std::string text = plan.print();
      Plan again = read(text);
      EXPECT_EQ(again.print(), text);
      EXPECT_EQ(again.buffers.size(), plan.buffers.size());
      for (size_t k = 0; k < again.buffers.size(); ++k)
        EXPECT_EQ(again.buffers[k].bytes, plan.buffers[k].bytes);
      EXPECT_EQ(again.inputs, plan.inputs);
      EXPECT_EQ(again.objectiveSeconds, plan.objectiveSeconds);
    }
}

TEST(PlanText, ACallsAttributesRoundTrip) {
  te::Program program = programOf("input x[4] f32\n"
                                  "(v[2] f32, at[2] i64) = call TopK(x) {\"k\":2, \"axis\":0}\n"
                                  "y[i:2] f32 = v[i] * 2\noutput y\noutput at");
  std::string text = planned(program).print();
  EXPECT_NE(text.find("call TopK {\"axis\":0,\"k\":2} operands"), std::string::npos) << text;
  EXPECT_EQ(read(text).print(), text);
}

TEST(PlanText, AWrittenPlanIsReadAsItSays) {
  Plan plan = read(written);
  EXPECT_EQ(plan.print(), written);
  EXPECT_EQ(plan.model, "a \"model\"");
  EXPECT_EQ(plan.inputs, (std::vector<unsigned>{1, 0}));
  EXPECT_EQ(plan.buffers[7].bytes, 48u);
  EXPECT_EQ(plan.buffers[2].source->identity(), "bytes:1");
  EXPECT_EQ(plan.stages[1].kernel, 0u);
  EXPECT_EQ(plan.stages[1].origins[1], "b \\ \"");
  EXPECT_EQ(plan.stages[1].operations, (std::vector<uint64_t>{7, 0}));
  EXPECT_EQ(plan.stages[2].attributes["name"], "} \" {");
  ASSERT_EQ(plan.root.children.size(), 4u);
  const PlanNode &repeat = plan.root.children[1];
  EXPECT_EQ(repeat.count, 3);
  EXPECT_EQ(repeat.step, 4u);
  EXPECT_EQ(repeat.copies.size(), 2u);
  EXPECT_EQ(repeat.stacks[0].to, 7u);
  const PlanNode &branch = repeat.children[0].children[0];
  EXPECT_EQ(branch.kind, PlanNode::Kind::Branch);
  EXPECT_EQ(branch.condition, 1u);
  ASSERT_EQ(branch.children.size(), 2u);
  EXPECT_EQ(branch.children[1].kind, PlanNode::Kind::Lanes);
  const PlanNode &joined = plan.root.children[3];
  EXPECT_EQ(joined.kind, PlanNode::Kind::Joined);
  EXPECT_EQ(joined.predictedSeconds, 1.5e-6);
  EXPECT_EQ(joined.children[1].children.size(), 2u);
}

TEST(PlanText, EachStageIsVisitedOnceInOrder) {
  Plan plan = read(written);
  std::vector<unsigned> seen;
  Plan::forEachStage(plan.root, [&](unsigned stage) { seen.push_back(stage); });
  EXPECT_EQ(seen, (std::vector<unsigned>{1, 2, 3, 4, 5}));
}

/// The written plan with one thing replaced, and what must be said about it.
struct Wrong {
  const char *from;
  const char *to;
  const char *message;
};

const Wrong wrongs[] = {
    {"plan \"a", "plan a", "test.plan:1:6: unexpected 'a'; expected the model's name in quotes"},
    {"objective 2.5e-06", "objective -1", "expected a number after 'objective'"},
    {"gap 0.01", "gap nan", "expected a number after 'gap'"},
    {"buffer 3 \"v\"", "buffer 4 \"v\"", "test.plan:5:8: '4' is not usable here"},
    {"[2, 4] input 1", "[2, 4] input 0", "input 0 is given twice"},
    {"[2, 4] input 1", "[2, 4] input 9", "input 9 is given twice or leaves a gap"},
    {"f32 [2, 4]", "f33 [2, 4]", "expected an element type"},
    {"f32 [2, 4]", "str [2, 4]", "has no size in bytes"},
    {"f32 [2, 4]", "f32 [2, -4]", "expected an extent"},
    {"f32 [2, 4]", "f32 [1000000000000, 1000000000000]", "or too large a one"},
    {"at 192", "at 1000", "does not lie in the arena of 1024 bytes"},
    {"at 192", "at 9223372036854775807", "does not lie in the arena"},
    {"[4] derived", "[4] elsewhere", "expected input, size, source, derived or temporary"},
    {"key \"0123", "key \"x123", "the key is not 32 hexadecimal digits"},
    {"kernel \"a kernel\" key", "kernel k0 key", "a second kernel 'k0'"},
    {"stage 1 kernel k0", "stage 1 kernel k7", "there is no kernel 'k7' above"},
    {"stage 1 kernel k0", "stage 1 colonel k0", "expected 'kernel' or 'call'"},
    {"operands [5, 6] results 1", "operands [5, 9] results 1", "expected a buffer's number"},
    {"operands [5, 6] results 1", "operands [5, 6] results 3", "an integer from 0 to 2"},
    {"operands [5, 6] results 1", "operands [5, 0] results 1", "buffer 0 is written"},
    {"operands [5, 6] results 1", "operands [5, 2] results 1", "buffer 2 is written"},
    {"{\"axis\":0,", "{axis:0,", "the attributes are not JSON"},
    {"call TopK {", "call TopK [", "expected the attributes as a JSON object"},
    {"serves [\"topk\" 0]", "serves [topk]", "expected an operator's name in quotes"},
    {"serves [\"topk\" 0]", "serves [\"topk\"]", "expected its operations"},
    {"serves [\"topk\" 0]", "serves [\"topk\" -1]", "its operations"},
    {"output \"y\" 7", "output \"y\" 70", "expected a buffer's number"},
    {"dimension 1 extent 4", "dimension 0 extent 4", "dimension 0 has an extent already"},
    {"constants sequence {\n  stage 0", "constants sequence {\n  stage 1", "stage 1 stands twice"},
    {"constants sequence {\n  stage 0", "constants sequence {\n", "stage 0 stands in neither tree"},
    {"copy [2 > 5]", "copy [2 > 7]", "buffer 7 has 48 bytes, not 1 times those of buffer 2"},
    {"copy [2 > 5]", "copy [5 > 2]", "buffer 2 is written"},
    {"stack [6 > 7]", "stack [5 > 6]", "not 3 times those of buffer 5"},
    {"step 4", "step 5", "buffer 5 is no scalar of type i64"},
    {"while 1", "while 4", "buffer 4 is no scalar of type bool"},
    {"branch 1", "branch 4", "buffer 4 is no scalar of type bool"},
    {"while 1 {\n            stage 2", "while 1 {\n            stage 2 copy []",
     "a repeat has one child"},
    {"        sequence {\n          stage 1\n        }\n", "", "a branch has two children"},
    {"repeat 3 step", "repeat -3 step", "expected how often it repeats"},
    {"    stage 3\n", "    copy []\n", "what is joined is stages of kernels"},
    {"    }\n  }\n}\n", "    }\n  }\n", "expected stage, copy, sequence, repeat, branch, lanes or"},
    {"    }\n  }\n}\n", "    }\n  }\n}\nroot", "expected the end of the plan"},
    {"\"y\" 7", "\"y 7", "a quoted name is not closed"},
};

TEST(PlanText, WhatIsWrongIsSaidWithItsPlace) {
  for (const Wrong &wrong : wrongs) {
    std::string text = written;
    size_t place = text.find(wrong.from);
    ASSERT_NE(place, std::string::npos) << wrong.from;
    text.replace(place, std::string(wrong.from).size(), wrong.to);
    Expected<Plan> plan = parsePlan(text, "test.plan");
    ASSERT_FALSE(plan.ok()) << wrong.to;
    EXPECT_NE(plan.error().message.find(wrong.message), std::string::npos)
        << plan.error().message << "\nfor " << wrong.to;
    EXPECT_TRUE(plan.error().message.starts_with("test.plan:")) << plan.error().message;
    EXPECT_EQ(plan.error().kind, ErrorKind::Input);
  }
}

TEST(PlanText, EveryCutTextIsAnError) {
  std::string text = written;
  for (size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_FALSE(parsePlan(text.substr(0, length), "test.plan").ok()) << length;
}

TEST(PlanText, ATreeOfEndlessDepthIsAnError) {
  std::string text =
      "plan \"m\" arena 0 objective 0 gap 0 candidates 0 constants sequence {} root ";
  for (int k = 0; k < 100000; ++k)
    text += "sequence { ";
  Expected<Plan> plan = parsePlan(text, "deep.plan");
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("the tree is deeper than"), std::string::npos);
}

} // namespace
} // namespace kintsugi::orchestrate
