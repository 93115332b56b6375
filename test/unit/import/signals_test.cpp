//===- signals_test.cpp - What samples, regions and transforms refuse --------===//

#include "import/import.h"

#include "proto_writer.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

using test::intAttribute;
using test::textAttribute;

constexpr int f32 = 1, i64 = 7, f16 = 10;

/// A feed, or an initializer of these integers.
struct Input {
  int type;
  std::vector<std::string> dims;
  std::vector<int64_t> known = {};
};

/// What importing one node says, after the node's name.
std::string errorOf(const std::string &op, const std::vector<Input> &inputs,
                    const std::vector<std::string> &attributes, int64_t opset,
                    const std::string &domain = "") {
  std::vector<std::string> names, feeds, initializers;
  for (const Input &input : inputs) {
    names.push_back(std::string(1, char('a' + names.size())));
    if (input.known.empty()) {
      feeds.push_back(test::valueInfo(names.back(), input.type, input.dims));
      continue;
    }
    std::vector<int64_t> dims;
    for (const std::string &dim : input.dims)
      dims.push_back(std::stoll(dim));
    std::string raw(reinterpret_cast<const char *>(input.known.data()), input.known.size() * 8);
    initializers.push_back(test::tensor(names.back(), input.type, dims, raw));
  }
  std::string output, node = test::node(op, names, {"y"}, "n", attributes);
  test::Writer(output).add_string(1, "y");
  if (!domain.empty())
    test::Writer(node).add_string(7, domain);
  std::string model = test::model(test::graph({{node}, initializers, feeds, {output}}), opset);
  Diagnostics diagnostics;
  Expected<te::Program> program =
      importOnnx({nullptr, std::as_bytes(std::span(model))}, "m", "/nonexistent", {}, diagnostics);
  if (program.ok())
    return "";
  std::string message = program.error().message, start = "m: node 'n' (";
  EXPECT_TRUE(message.starts_with(start)) << message;
  return message.substr(std::min(message.size(), message.find("): ") + 3));
}

TEST(Signals, DeformConv) {
  auto error = [](std::vector<std::string> offset, std::vector<std::string> attributes = {}) {
    return errorOf(
        "DeformConv",
        {{f32, {"1", "4", "5", "5"}}, {f32, {"2", "4", "3", "3"}}, {f32, std::move(offset)}},
        attributes, 22);
  };
  EXPECT_EQ(error({"1", "18", "3", "3"}), "");
  EXPECT_EQ(error({"1", "36", "3", "3"}, {intAttribute("offset_group", 2)}), "");
  EXPECT_EQ(error({"1", "18", "3", "3"}, {intAttribute("offset_group", 2)}),
            "its offset has shape [1, 18, 3, 3] instead of [1, 36, 3, 3]");
  EXPECT_EQ(error({"1", "18", "4", "3"}),
            "its offset has shape [1, 18, 4, 3] instead of [1, 18, 3, 3]");
  EXPECT_EQ(error({"1", "18", "3", "3"}, {intAttribute("offset_group", 3)}),
            "its 4 channels are not 3 groups that share offsets");
  EXPECT_EQ(errorOf("DeformConv",
                    {{f32, {"1", "1", "2", "2", "2", "2"}},
                     {f32, {"1", "1", "1", "1", "1", "1"}},
                     {f32, {"1", "4", "2", "2", "2", "2"}}},
                    {}, 22),
            "its input of shape [1, 1, 2, 2, 2, 2] has more than 3 spatial dimensions, which is "
            "not supported");
}

TEST(Signals, GridSample) {
  auto error = [](std::vector<std::string> x, std::vector<std::string> grid,
                  std::vector<std::string> attributes = {}, int64_t opset = 16) {
    return errorOf("GridSample", {{f32, std::move(x)}, {f32, std::move(grid)}}, attributes, opset);
  };
  std::vector<std::string> image{"2", "3", "4", "5"}, grid{"2", "6", "7", "2"};
  EXPECT_EQ(error(image, grid), "");
  EXPECT_EQ(error(image, grid, {textAttribute("mode", "bilinear")}, 20),
            "its mode 'bilinear' is not known; 'nearest', 'linear' and 'cubic' are");
  EXPECT_EQ(error(image, grid, {textAttribute("mode", "linear")}, 16),
            "its mode 'linear' is not known; 'nearest', 'bilinear' and 'bicubic' are");
  EXPECT_EQ(error(image, grid, {textAttribute("padding_mode", "wrap")}),
            "its padding_mode 'wrap' is not known; 'zeros', 'border' and 'reflection' are");
  EXPECT_EQ(error(image, {"2", "6", "7", "3"}),
            "its grid of shape [2, 6, 7, 3] does not fit its input of shape [2, 3, 4, 5]");
  EXPECT_EQ(error(image, {"1", "6", "7", "2"}),
            "its grid of shape [1, 6, 7, 2] does not fit its input of shape [2, 3, 4, 5]");
  EXPECT_EQ(error(image, {"2"}),
            "its grid of shape [2] does not fit its input of shape [2, 3, 4, 5]");
  EXPECT_EQ(error({"2", "3", "4", "5", "6"}, {"2", "6", "7", "8", "3"}),
            "its input has shape [2, 3, 4, 5, 6], but must have 4 dimensions");
  EXPECT_EQ(error({"2", "3", "4", "5", "6"}, {"2", "6", "7", "8", "3"}, {}, 20), "");
  EXPECT_EQ(error({"2", "3"}, {"2", "0"}, {}, 20),
            "its input of shape [2, 3] must have a batch, a channel and spatial dimensions");
  EXPECT_EQ(error({"2", "3", "4", "0"}, grid),
            "its input of shape [2, 3, 4, 0] has nothing to sample");
  EXPECT_EQ(error({"2", "3", "4", "0"}, {"2", "0", "7", "2"}), "");
  EXPECT_EQ(errorOf("GridSample", {{f32, image}, {i64, grid}}, {}, 16),
            "it needs floating-point numbers, but 'b' is i64");
}

TEST(Signals, AffineGrid) {
  auto error = [](std::vector<std::string> theta, std::vector<int64_t> size, int64_t align = 0) {
    std::string count = std::to_string(size.size());
    return errorOf("AffineGrid", {{f32, std::move(theta)}, {i64, {count}, std::move(size)}},
                   {intAttribute("align_corners", align)}, 20);
  };
  EXPECT_EQ(error({"2", "2", "3"}, {2, 1, 4, 5}, 1), "");
  EXPECT_EQ(error({"2", "2", "3"}, {2, 4, 5}), "its size has 3 numbers, but must have 4 or 5");
  EXPECT_EQ(error({"2", "2", "3"}, {3, 1, 4, 5}),
            "its theta of shape [2, 2, 3] does not fit its size of [3, 1, 4, 5]");
  EXPECT_EQ(error({"2", "2", "3"}, {2, 1, 4, -5}), "its size has an extent of -5");
  EXPECT_EQ(error({"2", "2", "3"}, {2, 1, 4, 1}, 1),
            "its size has an extent of 1, which has no two corners to align with; set "
            "align_corners to 0");
  EXPECT_EQ(errorOf("AffineGrid", {{f32, {"2", "2", "3"}}, {i64, {"4"}}}, {}, 20),
            "its size 'b' must be known when compiling; bind it with --bind b=FILE.npz");
}

TEST(Signals, RotaryEmbedding) {
  auto error = [](std::vector<std::string> x, std::vector<std::string> table,
                  std::vector<std::string> attributes = {}, std::vector<Input> ids = {}) {
    std::vector<Input> inputs{{f32, std::move(x)}, {f32, table}, {f32, table}};
    inputs.insert(inputs.end(), ids.begin(), ids.end());
    return errorOf("RotaryEmbedding", inputs, attributes, 23);
  };
  std::vector<std::string> x{"2", "3", "4", "8"};
  EXPECT_EQ(error(x, {"2", "4", "4"}), "");
  EXPECT_EQ(error({"2", "4", "24"}, {"2", "4", "4"}),
            "its num_heads must be given, since its input has 3 dimensions");
  EXPECT_EQ(error({"2", "4", "24"}, {"2", "4", "4"}, {intAttribute("num_heads", 5)}),
            "its rows of 24 elements are not 5 heads of one size");
  EXPECT_EQ(error({"2", "24"}, {"2", "4", "4"}),
            "its input of shape [2, 24] must have 3 or 4 dimensions");
  for (int64_t rotated : {3, 10, -2})
    EXPECT_EQ(error(x, {"2", "4", "4"}, {intAttribute("rotary_embedding_dim", rotated)}),
              "it can't rotate " + std::to_string(rotated) +
                  " of the 8 elements of a head; rotary_embedding_dim must be even, and no more "
                  "than those");
  EXPECT_EQ(error(x, {"2", "4", "3"}),
            "its tables of cosines and sines of shape [2, 4, 3] don't fit its input of shape [2, "
            "3, 4, 8], of which 4 pairs of each head are rotated");
  EXPECT_EQ(error(x, {"9", "4"}, {}, {{i64, {"2", "3"}}}),
            "its position_ids of shape [2, 3] don't fit its input of shape [2, 3, 4, 8]");
  EXPECT_EQ(error(x, {"3", "4"}, {}, {{i64, {"2", "4"}, {0, 1, 2, -3, 0, 0, 0, 0}}}), "");
  EXPECT_EQ(error(x, {"3", "4"}, {}, {{i64, {"2", "4"}, {0, 1, 2, 3, 0, 0, 0, 0}}}),
            "its index 3 is outside of -3 to 2");
  EXPECT_EQ(errorOf("RotaryEmbedding", {{f32, x}, {f16, {"2", "4", "4"}}, {f32, {"2", "4", "4"}}},
                    {}, 23),
            "its inputs have different element types, f32 and f16");
}

TEST(Signals, RotaryEmbeddingOfMicrosoft) {
  auto error = [](std::vector<std::string> x, std::vector<std::string> attributes,
                  std::vector<int64_t> first) {
    return errorOf(
        "RotaryEmbedding",
        {{f32, std::move(x)}, {i64, {"1"}, std::move(first)}, {f32, {"9", "4"}}, {f32, {"9", "4"}}},
        attributes, 20, "com.microsoft");
  };
  EXPECT_EQ(error({"2", "4", "24"}, {}, {5}), "");
  EXPECT_EQ(error({"2", "4", "24"}, {}, {6}), "its position 6 is outside of 0 to 5");
  EXPECT_EQ(error({"2", "10", "24"}, {}, {0}),
            "its tables of cosines and sines have 9 positions, too few for 10 tokens");
  EXPECT_EQ(error({"2", "4", "24"}, {intAttribute("is_packed_batching", 1)}, {0}),
            "is_packed_batching and scale are not supported; leave them out");
  EXPECT_EQ(error({"2", "4", "24"}, {intAttribute("flavour", 1)}, {0}),
            "attribute 'flavour' is not known; leave it out");
}

TEST(Signals, Dft) {
  auto error = [](std::vector<std::string> x, std::vector<std::string> attributes,
                  std::vector<int64_t> length = {}) {
    std::vector<Input> inputs{{f32, std::move(x)}};
    if (!length.empty())
      inputs.push_back({i64, {}, std::move(length)});
    return errorOf("DFT", inputs, attributes, 17);
  };
  EXPECT_EQ(error({"2", "6", "1"}, {}), "");
  EXPECT_EQ(error({"2", "6", "3"}, {}),
            "its input of shape [2, 6, 3] must end in a dimension of 1 (real numbers) or 2 "
            "(complex ones)");
  EXPECT_EQ(error({"2", "6", "1"}, {intAttribute("axis", -1)}),
            "its axis is the last one, which holds real and imaginary parts");
  EXPECT_EQ(error({"2", "6", "1"}, {intAttribute("axis", 3)}),
            "axis 3 is outside of a tensor with 3 dimensions");
  auto onesided = intAttribute("onesided", 1), inverse = intAttribute("inverse", 1);
  EXPECT_EQ(error({"2", "6", "2"}, {onesided}),
            "a transform with onesided=1 is of real numbers, but its input is complex");
  EXPECT_EQ(error({"2", "6", "1"}, {onesided, inverse}),
            "an inverse transform with onesided=1 is of complex numbers, but its input is real");
  EXPECT_EQ(error({"2", "1", "2"}, {onesided, inverse}), "it can't transform signals of length 0");
  EXPECT_EQ(error({"2", "6", "1"}, {}, {-1}), "it can't transform signals of length -1");
  EXPECT_EQ(error({"2", "5003", "2"}, {}),
            "its signals of length 5003 are too long: a table of their cosines and sines would "
            "have more than 16777216 elements; take the transform out of the model");
  EXPECT_EQ(errorOf("DFT", {{f32, {"2", "6", "1"}}, {i64, {"1"}}}, {}, 17),
            "its dft_length 'b' must be known when compiling; bind it with --bind b=FILE.npz");
}

TEST(Signals, RoiAlign) {
  auto error = [](std::vector<std::string> attributes, std::vector<std::string> rois = {"3", "4"},
                  Input batches = {i64, {"3"}}, int64_t opset = 16) {
    return errorOf("RoiAlign", {{f32, {"2", "3", "8", "9"}}, {f32, std::move(rois)}, batches},
                   attributes, opset);
  };
  auto two = intAttribute("sampling_ratio", 2);
  EXPECT_EQ(error({two}), "");
  EXPECT_EQ(error({}), "its sampling_ratio is 0, which leaves it to the size of each region how "
                       "many points it has, and its rois 'b' are not known when compiling; set "
                       "sampling_ratio, or bind them with --bind");
  EXPECT_EQ(error({two, textAttribute("mode", "sum")}),
            "its mode 'sum' is not known; 'avg' and 'max' are");
  EXPECT_EQ(error({two, textAttribute("coordinate_transformation_mode", "pixel")}),
            "its coordinate_transformation_mode 'pixel' is not known");
  EXPECT_EQ(error({intAttribute("sampling_ratio", -1)}),
            "its sampling_ratio is -1, which is out of range");
  EXPECT_EQ(error({two, intAttribute("output_width", 0)}),
            "its output_height and output_width of 1 and 0 are out of range");
  EXPECT_EQ(error({two}, {"3", "5"}),
            "its rois of shape [3, 5] must have two dimensions, of which the last is 4");
  EXPECT_EQ(error({two}, {"3", "4"}, {i64, {"2"}}),
            "its batch_indices must be one integer for each of its 3 rois");
  EXPECT_EQ(error({two}, {"3", "4"}, {i64, {"3"}, {0, 1, 2}}),
            "its batch index 2 is outside of 0 to 1");
}

TEST(Signals, MaxUnpool) {
  auto two = test::attribute("kernel_shape", 7, [](test::Writer &writer) {
    writer.add_int64(8, 2);
    writer.add_int64(8, 2);
  });
  auto strides = test::attribute("strides", 7, [](test::Writer &writer) {
    writer.add_int64(8, 2);
    writer.add_int64(8, 2);
  });
  auto error = [&](std::vector<int64_t> known, std::vector<int64_t> shape = {}) {
    std::vector<Input> inputs{{f32, {"1", "1", "2", "2"}}, {i64, {"1", "1", "2", "2"}, known}};
    if (!shape.empty())
      inputs.push_back({i64, {std::to_string(shape.size())}, shape});
    return errorOf("MaxUnpool", inputs, {two, strides}, 11);
  };
  EXPECT_EQ(error({5, 7, 13, 15}), "");
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({5, 7, 13, 16}), "its index within its channel 16 is outside of 0 to 15");
  EXPECT_EQ(error({5, 7, 13, -1}), "its index within its channel -1 is outside of 0 to 15");
  EXPECT_EQ(error({5, 7, 7, 15}), "its index within its window -1 is outside of 0 to 1");
  EXPECT_EQ(error({5, 7, 13, 15}, {1, 1, 5, 5}), "");
  EXPECT_EQ(error({5, 7, 13, 15}, {1, 1, 4, 3}),
            "its output_shape [1, 1, 4, 3] is not at least what its input, kernel_shape, strides "
            "and pads make");
  EXPECT_EQ(error({5, 7, 13, 15}, {1, 1, 4}),
            "its output_shape [1, 1, 4] is not at least what its input, kernel_shape, strides and "
            "pads make");
  EXPECT_EQ(errorOf("MaxUnpool", {{f32, {"1", "1", "2", "2"}}, {i64, {"1", "1", "4"}}},
                    {two, strides}, 11),
            "its indices must be i64, as many as its input has elements");
}

TEST(Signals, Det) {
  EXPECT_EQ(errorOf("Det", {{f32, {"4", "3", "3"}}}, {}, 11), "");
  EXPECT_EQ(errorOf("Det", {{f32, {"0", "0"}}}, {}, 11), "");
  EXPECT_EQ(errorOf("Det", {{f32, {"4", "3", "2"}}}, {}, 11),
            "its input of shape [4, 3, 2] is not of square matrices");
  EXPECT_EQ(errorOf("Det", {{f32, {"4"}}}, {}, 11),
            "its input of shape [4] is not of square matrices");
}

TEST(Signals, SwiGlu) {
  EXPECT_EQ(errorOf("SwiGLU", {{f32, {"2", "3"}}, {f32, {"2", "3"}}}, {}, 28), "");
  EXPECT_EQ(errorOf("SwiGLU", {{f32, {"2", "3"}}, {f32, {"1", "3"}}}, {}, 28),
            "its inputs' shapes [2, 3] and [1, 3] differ");
}

} // namespace
} // namespace kintsugi::import
