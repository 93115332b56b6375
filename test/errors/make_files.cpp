//===- make_files.cpp - Right and wrong models and feeds --------------------===//
//
// make_files FOLDER writes what the cases beside this file name, each wrong in one way.
//
//===----------------------------------------------------------------------===//

#include "base/npz.h"
#include "unit/import/proto_writer.h"

#include <cstdio>
#include <cstdlib>

using namespace kintsugi;
using namespace kintsugi::import::test;

namespace {

std::string folder;

void check(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "make_files: %s\n", status.error().message.c_str());
  std::exit(1);
}

void write(const std::string &name, const std::string &bytes) {
  check(writeFileAtomic(folder + "/" + name, std::string_view(bytes)));
}

constexpr int f32 = 1, string = 8;

/// x -> nodes -> y, both f32.
std::string modelOf(const std::vector<std::string> &nodes, const std::vector<std::string> &dims,
                    const std::vector<std::string> &weights = {}, int64_t opset = 20) {
  return model(graph({nodes, weights, {valueInfo("x", f32, dims)}, {valueInfo("y", f32, {})}}),
               opset);
}

std::string withWeight(const std::string &weight) {
  return modelOf({node("Add", {"x", "w"}, {"y"}, "plus")}, {"2", "3"}, {weight});
}

void writeModels() {
  std::string relu = node("Relu", {"x"}, {"y"}, "r");
  std::string good = modelOf({relu}, {"2", "3"});
  write("relu.onnx", good);
  write("cut.onnx", good.substr(0, good.size() / 2));
  write("empty.onnx", "");
  write("text.onnx", "This is no model.\n");
  write("open.onnx", modelOf({relu}, {"batch", "3"}));
  write("opset.onnx", modelOf({relu}, {"2"}, {}, 99));
  write("unsupported.onnx",
        modelOf({node("Foo", {"x"}, {"a"}, "first"), node("Bar", {"a"}, {"b"}, "second"),
                 node("Foo", {"b"}, {"y"}, "third")},
                {"2"}));
  write("undefined.onnx", modelOf({node("Relu", {"z"}, {"y"}, "r")}, {"2"}));
  write("twice.onnx", modelOf({relu, node("Neg", {"x"}, {"y"}, "again")}, {"2"}));
  write("matmul.onnx", modelOf({node("MatMul", {"x", "x"}, {"y"}, "product")}, {"2", "3"}));
  write("axis.onnx",
        modelOf({node("Softmax", {"x"}, {"y"}, "soft", {intAttribute("axis", 5)})}, {"2", "3"}));
  write("string.onnx", model(graph({{node("Identity", {"x"}, {"y"}, "same")},
                                    {},
                                    {valueInfo("x", string, {"2"})},
                                    {valueInfo("y", string, {"2"})}})));
  write("large.onnx", modelOf({relu}, {"1099511627776", "1099511627776"}));
}

/// 2^40 nodes when all functions are unrolled.
std::string bomb() {
  std::vector<std::string> functions;
  for (int k = 0; k < 40; ++k) {
    auto called = [&](const char *in, const char *out) {
      return k == 0 ? node("Relu", {in}, {out})
                    : localNode(node("f" + std::to_string(k - 1), {in}, {out}));
    };
    functions.push_back(
        function("f" + std::to_string(k), {"a"}, {"c"}, {called("a", "b"), called("b", "c")}));
  }
  return model(graph({{localNode(node("f39", {"x"}, {"y"}, "top"))},
                      {},
                      {valueInfo("x", f32, {"2"})},
                      {valueInfo("y", f32, {"2"})}}),
               20, functions);
}

/// Models whose nodes are not as ONNX says of their operators.
void writeNodes() {
  auto axis = intAttribute("axis", 0);
  write("no_outputs.onnx", modelOf({node("Relu", {"x"}, {}, "r")}, {"2"}));
  write("no_inputs.onnx", modelOf({node("Identity", {}, {"y"}, "same")}, {"2"}));
  write("surplus.onnx", modelOf({node("Relu", {"x", "x", "x"}, {"y"}, "r")}, {"2"}));
  write("unknown_attribute.onnx",
        modelOf({node("Relu", {"x"}, {"y"}, "r", {intAttribute("flavour", 3)})}, {"2"}));
  write("newer_attribute.onnx",
        modelOf({node("ArgMax", {"x"}, {"y"}, "a", {intAttribute("select_last_index", 1)})}, {"2"},
                {}, 11));
  write("attribute_twice.onnx",
        modelOf({node("Softmax", {"x"}, {"y"}, "soft", {axis, axis})}, {"2"}));
  write("no_attribute.onnx", modelOf({node("Concat", {"x", "x"}, {"y"}, "both")}, {"2"}));
  write("unsorted.onnx",
        modelOf({node("Relu", {"a"}, {"y"}, "r"), node("Neg", {"x"}, {"a"}, "n")}, {"2"}));
  write("bool.onnx", model(graph({{node("Neg", {"x"}, {"y"}, "minus")},
                                  {},
                                  {valueInfo("x", 9, {"2"})},
                                  {valueInfo("y", 9, {"2"})}})));
  write("wrong_type.onnx", model(graph({{node("Relu", {"x"}, {"y"}, "r")},
                                        {},
                                        {valueInfo("x", f32, {"2"})},
                                        {valueInfo("y", 7, {"2"})}})));
  write("two_outputs.onnx",
        model(graph({{node("Relu", {"x"}, {"y"}, "r")},
                     {},
                     {valueInfo("x", f32, {"2"})},
                     {valueInfo("y", f32, {"2"}), valueInfo("y", f32, {"2"})}})));
  write("format.onnx", model(graph({{node("Relu", {"x"}, {"y"}, "r")},
                                    {},
                                    {valueInfo("x", f32, {"2"})},
                                    {valueInfo("y", f32, {"2"})}}),
                             20, {}, 9999));
  write("bomb.onnx", bomb());
  // A constant of 16 GiB that has to be computed.
  write("constant.onnx",
        modelOf({node("Expand", {"w", "shape"}, {"wide"}, "expand"),
                 node("CumSum", {"wide", "axis"}, {"y"}, "sum")},
                {"6"},
                {tensor("w", f32, {1}, std::string(4, '\1')),
                 tensor("shape", 7, {2}, std::string("\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0", 16)),
                 tensor("axis", 7, {}, std::string(8, '\0'))}));
  write("tile.onnx", modelOf({node("Tile", {"x", "w"}, {"y"}, "repeat")}, {"6"},
                             {tensor("w", 7, {1}, std::string("\0\0\0\0\0\0\0\x20", 8))}));
  write("cast.onnx", modelOf({node("Cast", {"x"}, {"i"}, "", {intAttribute("to", 22)}),
                              node("Neg", {"i"}, {"y"}, "c")},
                             {"2"}, {}, 21));
  write("argmax.onnx", modelOf({node("ArgMax", {"x"}, {"y"}, "a", {axis})}, {"0"}));
}

/// Models that read and write at positions i, which are an input.
void writePositions() {
  auto positioned = [](const std::vector<std::string> &nodes) {
    return model(graph({nodes,
                        {},
                        {valueInfo("x", f32, {"2", "3"}), valueInfo("i", 7, {"2", "1"})},
                        {valueInfo("y", f32, {})}}));
  };
  write("pick.onnx", positioned({node("Gather", {"x", "i"}, {"y"}, "pick")}));
  write("pick_later.onnx", positioned({node("Add", {"i", "i"}, {"twice"}),
                                       node("Gather", {"x", "twice"}, {"y"}, "pick")}));
  write("pick_elements.onnx",
        positioned({node("GatherElements", {"x", "i"}, {"y"}, "pick", {intAttribute("axis", 1)})}));
  write("pick_rows.onnx", positioned({node("GatherND", {"x", "i"}, {"y"}, "pick")}));
  write("label.onnx", positioned({node("Squeeze", {"i"}, {"l"}),
                                  node("NegativeLogLikelihoodLoss", {"x", "l"}, {"y"}, "cost")}));
  write("label_ignored.onnx", positioned({node("Squeeze", {"i"}, {"l"}),
                                          node("NegativeLogLikelihoodLoss", {"x", "l"}, {"y"},
                                               "cost", {intAttribute("ignore_index", -1)})}));
  write("turn.onnx",
        positioned({node("Squeeze", {"i"}, {"l"}),
                    node("ReverseSequence", {"x", "l"}, {"y"}, "turn",
                         {intAttribute("batch_axis", 0), intAttribute("time_axis", 1)})}));
  write("place.onnx", positioned({node("ScatterND", {"x", "i", "x"}, {"y"}, "place")}));
  write("pick_known.onnx", modelOf({node("Gather", {"x", "w"}, {"y"}, "pick")}, {"2", "3"},
                                   {tensor("w", 7, {1}, std::string("\x07\0\0\0\0\0\0\0", 8))}));
}

/// Models whose names do more than name when they are printed.
void writeNames() {
  auto named = [](const std::string &name) {
    return modelOf({node("NoSuch", {"x"}, {"y"}, name)}, {"2"});
  };
  write("escape_name.onnx", named("\x1b[2J\x1b]0;title\x07"));
  write("line_name.onnx", named("two\nlines"));
  write("bytes_name.onnx", named("no\xff utf"));
  write("nul_name.onnx", named(std::string("cut\0short", 9)));
  write("long_name.onnx", named(std::string(1 << 20, 'n')));
}

void writeWeights() {
  write("wrong_bytes.onnx", withWeight(tensor("w", f32, {3}, std::string(11, 'a'))));
  write("negative.onnx", withWeight(tensor("w", f32, {-1}, "")));
  write("overflow.onnx", withWeight(tensor("w", f32, {int64_t(1) << 62, int64_t(1) << 62}, "")));
  write("element_type.onnx", withWeight(tensor("w", 99, {3}, std::string(12, 'a'))));
  write("escape.onnx", withWeight(externalTensor("w", {3}, {{"location", "../secret.bin"}})));
  write("absolute.onnx", withWeight(externalTensor("w", {3}, {{"location", "/etc/hostname"}})));
  write("link.onnx", withWeight(externalTensor("w", {3}, {{"location", "link.bin"}})));
  write("missing.onnx", withWeight(externalTensor("w", {3}, {{"location", "nowhere.bin"}})));
  write("short.onnx", withWeight(externalTensor("w", {3}, {{"location", "short.bin"}})));
  write("short.bin", "12345678");
  write("hard.onnx", withWeight(externalTensor("w", {3}, {{"location", "hard.bin"}})));
  write("hard.bin", "123456789012");
  write("offset.onnx",
        withWeight(externalTensor(
            "w", {3}, {{"location", "short.bin"}, {"offset", "18446744073709551610"}})));
  write("length.onnx",
        withWeight(externalTensor("w", {3}, {{"location", "short.bin"}, {"length", "minus one"}})));
}

/// One that gives an input a default, as files of old versions do for all weights.
void writeDefault() {
  write("default.onnx", model(graph({{node("Add", {"x", "w"}, {"y"}, "plus")},
                                     {tensor("w", f32, {1}, std::string(4, '\0'))},
                                     {valueInfo("x", f32, {"2", "3"}), valueInfo("w", f32, {"1"})},
                                     {valueInfo("y", f32, {})}})));
}

void writeTexts() {
  write("relu.te", "input x[i:2] f32\ny[i:2] f32 = max(x[i], 0)\noutput y\n");
  write("syntax.te", "input x[2] f32\ny[i:2] f32 = max(x[i] 0)\noutput y\n");
  write("unknown.te", "input x[2] f32\ny[i:2] f32 = z[i]\noutput y\n");
  write("outside.te", "input x[2] f32\ny[i:2] f32 = x[i+1]\noutput y\n");
  write("weights.te", "input x[2] f32\nconst w[2] f32 = weights(\"w\")\n"
                      "y[i:2] f32 = x[i] + w[i]\noutput y\n");
}

Tensor numbers(std::vector<int64_t> shape, float value = 1) {
  Expected<Tensor> tensor = Tensor::create(ElementType::F32, std::move(shape));
  check(tensor.status());
  for (float &element : tensor->as<float>())
    element = value;
  return std::move(*tensor);
}

void writeArrays(const std::string &name, std::vector<std::pair<std::string, Tensor>> arrays) {
  std::vector<NamedTensor> named;
  for (auto &[array, tensor] : arrays)
    named.push_back({array, std::move(tensor)});
  check(writeNpz(folder + "/" + name, named));
}

template <typename... Pairs> void writeArrays(const std::string &name, Pairs... pairs) {
  std::vector<std::pair<std::string, Tensor>> arrays;
  (arrays.emplace_back(std::move(pairs)), ...);
  writeArrays(name, std::move(arrays));
}

void writeFeeds() {
  using Array = std::pair<std::string, Tensor>;
  writeArrays("x.npz", Array("x", numbers({2, 3})));
  writeArrays("other.npz", Array("z", numbers({2, 3})));
  writeArrays("more.npz", Array("x", numbers({2, 3})), Array("z", numbers({1})));
  writeArrays("shape.npz", Array("x", numbers({3, 2})));
  Expected<Tensor> doubles = Tensor::create(ElementType::F64, {2, 3});
  check(doubles.status());
  writeArrays("type.npz", Array("x", std::move(*doubles)));
  Expected<Tensor> positions = Tensor::create(ElementType::I64, {2, 1});
  check(positions.status());
  positions->as<int64_t>()[1] = 7;
  writeArrays("positions.npz", Array("x", numbers({2, 3})), Array("i", std::move(*positions)));
  writeArrays("with_default.npz", Array("x", numbers({2, 3})), Array("w", numbers({1})));
  writeArrays("y.npz", Array("y", numbers({2, 3})));
  writeArrays("wrong_y.npz", Array("y", numbers({2, 3}, 2)));
  writeArrays("shape_y.npz", Array("y", numbers({6})));
  Expected<std::string> bytes = readTextFile(folder + "/x.npz");
  check(bytes.status());
  write("cut.npz", bytes->substr(0, bytes->size() / 2));
  write("text.npz", "This is no archive.\n");
  check(writeNpy(folder + "/single.npz", numbers({2, 3})));
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  folder = argv[1];
  writeModels();
  writeNodes();
  writePositions();
  writeNames();
  writeWeights();
  writeDefault();
  writeTexts();
  writeFeeds();
}
