"""Writes cases/*.npz: small models with random inputs and ONNX Runtime's outputs (run_case.h says how).

usage: make_cases.py            (needs onnx, onnxruntime, numpy; only when cases are added)
"""

import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

FOLDER = pathlib.Path(__file__).parent / "cases"
rng = np.random.default_rng(7)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def case(name, op, inputs, outputs=1, opset=20, constants=None, tolerance=1e-5, expected=None, domain="", **attributes):
    """One node. `inputs` are feeds (None is left out); those at positions in `constants` are initializers. `outputs` says
    how many there are, or their names. `expected` stands for ONNX Runtime's answer where it has no implementation;
    "reference" is ONNX's own."""
    constants = constants or ()
    names, feeds, infos, initializers = [], {}, [], []
    for k, value in enumerate(inputs):
        names.append("" if value is None else f"x{k}")
        if value is None:
            continue
        if k in constants:
            initializers.append(numpy_helper.from_array(value, names[-1]))
        else:
            feeds[names[-1]] = value
            infos.append(helper.make_tensor_value_info(
                names[-1], helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    results = [f"y{k}" for k in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(op, names, results, name="node", domain=domain, **attributes)
    graph = helper.make_graph([node], "case", infos, [onnx.ValueInfoProto(name=n) for n in results if n], initializers)
    write(name, graph, opset, feeds, tolerance, expected=expected, domain=domain)


def write(name, graph, opset, feeds, tolerance=1e-5, functions=(), expected=None, domain=""):
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("local", 1)] if functions else [])
    imports += [helper.make_opsetid(domain, 1)] if domain else []
    model = helper.make_model(graph, opset_imports=imports, ir_version=8, functions=list(functions))
    data = {"model": np.frombuffer(model.SerializeToString(), np.uint8), "tol": np.array([tolerance, tolerance])}
    data |= {"in:" + key: value for key, value in feeds.items()}
    if expected == "reference":
        expected = ReferenceEvaluator(model).run(None, feeds)
    if expected is None:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        expected = session.run(None, feeds)
    for output, value in zip(graph.output, expected):
        data["out:" + output.name] = value
    np.savez_compressed(FOLDER / (name + ".npz"), **data)


def elementwise():
    case("add_broadcast", "Add", [f32(3, 1, 4), f32(2, 1)])
    a, b = f32(2, 3, 4), f32(3)
    case("add_axis_opset6", "Add", [a, b], opset=6, expected=[a + b[:, None]], broadcast=1, axis=1)
    case("div_integers", "Div", [rng.integers(-9, 9, (8,)), np.array([2, -2, 3, -3, 4, 5, -5, 7])])
    case("clip_opset6", "Clip", [f32(6)], opset=6, min=-0.5, max=0.25)
    case("clip_inputs", "Clip", [f32(6), np.array(-0.5, np.float32)])
    case("cast_truncates", "Cast", [f32(9) * 9], to=TensorProto.INT8)
    case("where", "Where", [rng.random((2, 1)) < 0.5, f32(1, 3), f32(2, 3)])
    case("gelu_tanh", "Gelu", [f32(7)], approximate="tanh")
    case("mish", "Mish", [f32(7) * 4])
    x, slope = f32(1, 3, 2, 2), f32(3)
    case("prelu_opset6", "PRelu", [x, slope], opset=6, expected=[np.where(x < 0, x * slope[:, None, None], x)])


def reductions():
    case("reduce_sum_axes_input", "ReduceSum", [f32(2, 3, 4), i64(1, -1)], constants=[1], keepdims=0)
    case("reduce_mean_opset13", "ReduceMean", [f32(2, 3, 4)], opset=13, axes=[0, 2])
    case("reduce_noop", "ReduceSum", [f32(2, 3), i64()], constants=[1], noop_with_empty_axes=1)
    case("reduce_log_sum_exp", "ReduceLogSumExp", [f32(2, 5) * 40, i64(1)], constants=[1])
    case("argmax_last", "ArgMax", [np.array([[1, 3, 3], [2, 2, 1]], np.float32)], axis=1, select_last_index=1)
    case("softmax_opset11", "Softmax", [f32(2, 3, 4)], opset=11, axis=1)
    case("log_softmax", "LogSoftmax", [f32(2, 3, 4)], axis=1)
    case("layer_norm", "LayerNormalization", [f32(2, 3, 4) + 9, f32(3, 4), f32(3, 4)], 3, axis=1, tolerance=1e-4)
    case("instance_norm", "InstanceNormalization", [f32(2, 3, 4, 2), f32(3), f32(3)])
    case("batch_norm", "BatchNormalization", [f32(2, 3, 4), f32(3), f32(3), f32(3), rng.random(3).astype(np.float32)])
    case("lp_normalization", "LpNormalization", [f32(2, 5)], axis=0, p=1)
    case("lrn", "LRN", [f32(1, 5, 2, 2)], size=3, alpha=0.5, beta=0.75, bias=1.5)


def products():
    case("matmul_batches", "MatMul", [f32(2, 1, 3, 4), f32(5, 4, 2)])
    case("matmul_vectors", "MatMul", [f32(4), f32(3, 4, 2)])
    case("gemm", "Gemm", [f32(4, 3), f32(2, 4), f32(2)], transA=1, transB=1, alpha=0.5, beta=2.0)
    case("conv_pads", "Conv", [f32(1, 2, 5, 6), f32(3, 2, 3, 2), f32(3)], pads=[1, 0, 2, 1], strides=[2, 1])
    case("conv_groups", "Conv", [f32(2, 6, 5), f32(4, 3, 2)], group=2, dilations=[2])
    case("conv_depthwise", "Conv", [f32(1, 3, 4, 4), f32(3, 1, 3, 3)], group=3, auto_pad="SAME_UPPER", strides=[2, 2])
    case("conv_multiplier", "Conv", [f32(1, 3, 4, 4), f32(6, 1, 2, 2)], group=3, auto_pad="SAME_LOWER")
    case("conv_3d", "Conv", [f32(1, 2, 3, 4, 3), f32(2, 2, 2, 2, 2)], pads=[0, 1, 0, 1, 0, 0])
    case("conv_transpose", "ConvTranspose", [f32(1, 2, 3, 4), f32(2, 3, 3, 4), f32(3)], strides=[2, 3], pads=[1, 0, 0, 2],
         output_padding=[1, 0])
    case("conv_transpose_groups", "ConvTranspose", [f32(1, 4, 5), f32(4, 3, 4)], group=2, strides=[3])
    case("conv_transpose_dilated", "ConvTranspose", [f32(1, 2, 3, 3), f32(2, 1, 2, 2)], strides=[2, 2], dilations=[2, 3])
    case("conv_transpose_shape", "ConvTranspose", [f32(1, 1, 3, 3), f32(1, 2, 3, 3)], strides=[3, 2], output_shape=[10, 8])


def pools():
    case("max_pool_indices", "MaxPool", [f32(1, 2, 5, 5)], 2, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    case("max_pool_ceil", "MaxPool", [f32(1, 1, 6, 6)], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, dilations=[1, 2])
    case("average_pool", "AveragePool", [f32(1, 2, 5, 4)], kernel_shape=[3, 3], strides=[2, 1], pads=[1, 1, 1, 1])
    case("average_pool_pads", "AveragePool", [f32(1, 2, 5, 4)], kernel_shape=[3, 3], pads=[1, 1, 0, 1], count_include_pad=1)
    case("lp_pool", "LpPool", [f32(1, 2, 5)], kernel_shape=[2], p=3)
    case("global_average_pool", "GlobalAveragePool", [f32(2, 3, 4, 5)])


def shapes():
    case("reshape_infer", "Reshape", [f32(2, 3, 4), i64(0, -1, 2)], constants=[1])
    case("transpose", "Transpose", [f32(2, 3, 4)], perm=[2, 0, 1])
    case("expand", "Expand", [f32(3, 1), i64(2, 1, 4)], constants=[1])
    case("tile", "Tile", [f32(2, 3), i64(2, 2)], constants=[1])
    case("depth_to_space", "DepthToSpace", [f32(1, 8, 2, 3)], blocksize=2, mode="CRD")
    case("slice_steps", "Slice", [f32(5, 6), i64(-1, 1), i64(-100, 100), i64(0, 1), i64(-2, 2)], constants=[1, 2, 3, 4])
    case("slice_opset9", "Slice", [f32(5, 6)], opset=9, starts=[1, -3], ends=[4, 2**31 - 1], axes=[0, 1])
    case("split_uneven", "Split", [f32(7, 2)], 3, opset=18, axis=0, num_outputs=3)
    case("concat", "Concat", [f32(2, 1), f32(2, 3), f32(2, 2)], axis=-1)
    for mode in ("constant", "reflect", "edge", "wrap"):
        case("pad_" + mode, "Pad", [f32(3, 4), i64(1, 2, 2, 1)], constants=[1], mode=mode)
    case("pad_crop", "Pad", [f32(4, 4), i64(-1, 1, 0, -2), np.array(5, np.float32)], constants=[1, 2])


def gathers():
    case("gather", "Gather", [f32(3, 5, 2), np.array([[0, -1], [4, 2]])], axis=1)
    case("gather_known", "Gather", [f32(3, 5, 2), i64(4, 2, 0)], constants=[1], axis=1)
    case("gather_scalar", "Gather", [f32(3, 5), np.array(-2)], constants=[1], axis=1)
    case("gather_elements", "GatherElements", [f32(3, 4), np.array([[0, -1, 2, 1]])], axis=0)
    case("gather_nd", "GatherND", [f32(2, 3, 4), np.array([[[1], [-1]], [[0], [2]]])], batch_dims=1)
    case("scatter_elements", "ScatterElements", [f32(3, 4), np.array([[0, 2], [2, -3]]), f32(2, 2)], axis=0)
    case("scatter_elements_add", "ScatterElements", [f32(3, 4), np.array([[1, 1, 3]]), f32(1, 3)], axis=1, reduction="add")
    case("scatter_nd", "ScatterND", [f32(4, 3), np.array([[3], [0], [3]]), f32(3, 3)])
    case("scatter_nd_known", "ScatterND", [f32(4, 3), np.array([[3, 1], [-4, 2]]), f32(2)], constants=[1])
    case("scatter_nd_max", "ScatterND", [f32(4, 3), np.array([[1], [1]]), f32(2, 3)], opset=18, reduction="max")


def resizes():
    def sized(name, shape, scales=None, sizes=None, **attributes):
        scales = None if scales is None else np.array(scales, np.float32)
        sizes = None if sizes is None else i64(*sizes)
        case("resize_" + name, "Resize", [f32(*shape), None, scales, sizes], constants=[2, 3], tolerance=1e-4, **attributes)
    sized("nearest_up", (1, 2, 3, 4), [1, 1, 2, 2], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    sized("nearest_odd", (1, 1, 5, 7), sizes=[1, 1, 3, 10])
    sized("linear_up", (1, 2, 3, 4), [1, 1, 2, 4], mode="linear")
    sized("linear_sizes", (1, 1, 4, 5), sizes=[1, 1, 7, 3], mode="linear", coordinate_transformation_mode="align_corners")
    sized("cubic", (1, 1, 5, 6), [1, 1, 2, 1.5], mode="cubic", exclude_outside=1)
    sized("antialias", (1, 1, 8, 8), sizes=[1, 1, 3, 4], mode="linear", antialias=1)
    case("resize_crop", "Resize", [f32(1, 1, 4, 4), np.array([0, 0, 0.4, -0.2, 1, 1, 0.6, 1.2], np.float32), None,
                                   i64(1, 1, 3, 5)], constants=[1, 3], mode="linear", extrapolation_value=9.0,
         coordinate_transformation_mode="tf_crop_and_resize")
    case("upsample", "Upsample", [f32(1, 1, 2, 3), np.array([1, 1, 2, 3], np.float32)], opset=9, constants=[1], mode="nearest")


def recurrent():
    steps, batch, size, hidden = 4, 3, 2, 5
    x, lengths = f32(steps, batch, size), np.array([4, 2, 3], np.int32)

    def weights(gates, directions):
        return [f32(directions, gates * hidden, size), f32(directions, gates * hidden, hidden),
                f32(directions, 2 * gates * hidden)]
    case("lstm", "LSTM", [x, *weights(4, 1)], 3, hidden_size=hidden)
    case("lstm_full", "LSTM", [x, *weights(4, 2), lengths, f32(2, batch, hidden), f32(2, batch, hidden),
                               f32(2, 3 * hidden)], 3, hidden_size=hidden, direction="bidirectional", clip=1.5)
    case("lstm_reverse", "LSTM", [x, *weights(4, 1)[:2]], 3, hidden_size=hidden, direction="reverse")
    case("gru", "GRU", [x, *weights(3, 2), lengths], 2, hidden_size=hidden, direction="bidirectional")
    case("gru_linear", "GRU", [x, *weights(3, 1), None, f32(1, batch, hidden)], 2, hidden_size=hidden, linear_before_reset=1)
    case("rnn", "RNN", [x, *weights(1, 1), lengths], 2, hidden_size=hidden, direction="reverse", activations=["Relu"])


def whole_models():
    value = helper.make_tensor_value_info
    # Shape arithmetic that folds: x reshaped to [rows * 2, columns / 2].
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Mul", ["s", "k"], ["t"]),
             helper.make_node("Div", ["t", "q"], ["u"]), helper.make_node("Reshape", ["x", "u"], ["y"])]
    graph = helper.make_graph(nodes, "shapes", [value("x", TensorProto.FLOAT, [3, 4])], [onnx.ValueInfoProto(name="y")],
                              [numpy_helper.from_array(i64(2, 1), "k"), numpy_helper.from_array(i64(1, 2), "q")])
    write("shape_arithmetic", graph, 20, {"x": f32(3, 4)})
    # A function with an attribute of its own, called twice.
    body = [helper.make_node("LeakyRelu", ["a"], ["b"]), helper.make_node("Add", ["b", "a"], ["c"])]
    body[0].attribute.append(onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope"))
    function = helper.make_function("local", "LeakySum", ["a"], ["c"], body, [helper.make_opsetid("", 20)], ["slope"])
    nodes = [helper.make_node("LeakySum", ["x"], ["h"], domain="local", slope=0.5),
             helper.make_node("LeakySum", ["h"], ["y"], domain="local", slope=0.25)]
    graph = helper.make_graph(nodes, "functions", [value("x", TensorProto.FLOAT, [6])], [value("y", TensorProto.FLOAT, [6])])
    write("function", graph, 20, {"x": f32(6)}, functions=[function])
    # A branch on data, with a capture.
    branches = [helper.make_graph([helper.make_node(op, ["x", "x"], [op])], op, [], [value(op, TensorProto.FLOAT, [6])])
                for op in ("Add", "Mul")]
    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])]
    graph = helper.make_graph(nodes, "branch", [value("c", TensorProto.BOOL, []), value("x", TensorProto.FLOAT, [6])],
                              [value("y", TensorProto.FLOAT, [6])])
    write("if_data", graph, 20, {"c": np.array(False), "x": f32(6)})


def triangles():
    case("trilu_lower", "Trilu", [f32(2, 4, 5), i64(-1)], constants=[1], upper=0)
    case("trilu_upper", "Trilu", [f32(5, 4)])
    case("trilu_beyond", "Trilu", [f32(3, 4), i64(-(2**63))], constants=[1], upper=0)


def sums_by_names():
    case("einsum_three", "Einsum", [f32(2, 3, 4, 5), f32(2, 3, 5, 6), f32(6, 7)], equation="bhts,bhsd,de->bhte")
    case("einsum_implied", "Einsum", [f32(3, 4), f32(4, 2)], equation="ik, kb")
    case("einsum_diagonal", "Einsum", [f32(3, 4, 3)], equation="iji->j")
    case("einsum_ellipsis", "Einsum", [f32(5, 1, 2, 3), f32(1, 4, 3, 6)], equation="...ij,...jk->k...i")
    case("einsum_outer", "Einsum", [f32(3), f32(4)], equation="i,j->ji")


def sums_so_far():
    case("cumsum", "CumSum", [f32(3, 9), np.array(-1)], constants=[1])
    case("cumsum_blocks", "CumSum", [f32(150, 2), np.array(0)], constants=[1])
    case("cumsum_blocks_reverse", "CumSum", [f32(2, 129), np.array(1)], constants=[1], reverse=1, exclusive=1)
    case("cumsum_integers", "CumSum", [rng.integers(-9, 9, (2, 200)), np.array(1)], constants=[1], exclusive=1)


def products_so_far():
    x = rng.uniform(0.7, 1.4, (3, 150)).astype(np.float32)
    case("cumprod_blocks", "CumProd", [x, np.array(1)], constants=[1], opset=26, expected=[np.cumprod(x, 1)])
    backwards = np.cumprod(x[:, ::-1], 1)[:, ::-1]
    shifted = np.concatenate([backwards[:, 1:], np.ones((3, 1), np.float32)], 1)
    case("cumprod_blocks_reverse", "CumProd", [x, np.array(-1)], constants=[1], opset=26, expected=[shifted], reverse=1,
         exclusive=1)
    x = rng.integers(-3, 4, (2, 100)).astype(np.int32)
    case("cumprod_integers", "CumProd", [x, np.array(1)], constants=[1], opset=26,
         expected=[np.cumprod(x, 1, dtype=np.int32)])


def losses():
    x = f32(3, 4)
    chosen = np.array([-x[0, 1], -0.0, -x[2, 3]], np.float32)
    case("nll_ignored", "NegativeLogLikelihoodLoss", [x, i64(1, 7, 3)], ignore_index=7, expected=[chosen.sum() / np.float32(2)])
    case("nll_all_ignored", "NegativeLogLikelihoodLoss", [x, i64(7, 7, 7)], ignore_index=7, expected=[np.float32(np.nan)])
    case("nll_of_nothing", "NegativeLogLikelihoodLoss", [f32(0, 4, 2), np.zeros((0, 2), np.int64)], reduction="sum",
         expected=[np.float32(0)])
    wide = x.astype(np.float16).astype(np.float64)
    logarithms = wide - np.log(np.exp(wide).sum(1, keepdims=True))
    loss = -logarithms[[0, 1, 2], [1, 0, 3]].sum()
    case("sce_halves", "SoftmaxCrossEntropyLoss", [x.astype(np.float16), i64(1, 0, 3)], 2, reduction="sum", tolerance=2e-3,
         expected=[np.float16(loss), logarithms.astype(np.float16)])


def classes():
    wide = np.array([2**64 - 1, 1], np.uint64)
    on_off = np.array([2, 5], np.int32)
    case("one_hot_unsigned", "OneHot", [wide, np.array(3.9, np.float32), on_off], constants=[1],
         expected=[np.array([[2, 2, 2], [2, 5, 2]], np.int32)])
    case("one_hot_before_wrapping", "OneHot", [i64(-1, 1), i64(3), on_off], opset=9, constants=[1], axis=0,
         expected=[np.array([[2, 2], [2, 5], [2, 2]], np.int32)])
    case("one_hot_nothing", "OneHot", [i64(-1, 1), i64(0), on_off], constants=[1], expected=[np.zeros((2, 0), np.int32)])


def sequences():
    x = f32(4, 3, 2)
    turned = x.copy()
    turned[:4, 1], turned[:2, 2] = x[3::-1, 1], x[1::-1, 2]
    case("reverse_sequence", "ReverseSequence", [x, i64(0, 4, 2)], expected=[turned])
    case("reverse_sequence_known", "ReverseSequence", [x, i64(0, 4, 2)], constants=[1], expected=[turned])
    cache, update = f32(3, 5, 2), f32(3, 2, 2)
    present = cache.copy()
    for sample, start in enumerate([-1, 2**62, -2**63]):
        for place in range(2):
            present[sample, (start + place) % 5] = update[sample, place]
    case("tensor_scatter_circular", "TensorScatter", [cache, update, i64(-1, 2**62, -2**63)], opset=24, mode="circular",
         expected=[present])
    present = cache.copy()
    for sample, start in enumerate([3, 0, 1]):
        present[sample, start : start + 2] = update[sample]
    case("tensor_scatter", "TensorScatter", [cache, update, i64(3, 0, 1)], opset=24, axis=1, expected=[present])


def images():
    columns = rng.random((1, 8, 4)) < 0.3
    image = np.zeros((1, 2, 3, 3), bool)
    for channel, row, column, down, right in np.ndindex(2, 2, 2, 2, 2):
        image[0, channel, row + down, column + right] |= columns[0, channel * 4 + row * 2 + column, down * 2 + right]
    case("col2im_booleans", "Col2Im", [columns, i64(3, 3), i64(2, 2)], constants=[1, 2], expected=[image])
    case("center_crop_pad_nothing", "CenterCropPad", [f32(3, 0), i64(2, 3)], constants=[1],
         expected=[np.zeros((2, 3), np.float32)])
    x = f32(4, 5)
    case("compress_unevenly", "Compress", [x, np.array([True, False, True, True])], constants=[1], axis=1,
         expected=[x[:, [0, 2, 3]]])
    case("compress_none", "Compress", [x, np.array([False, False])], constants=[1], axis=0,
         expected=[np.zeros((0, 5), np.float32)])


def window_functions():
    t = np.arange(8) * (2 * np.pi / 7)
    window = 0.42 - 0.5 * np.cos(t) + 0.08 * np.cos(2 * t)
    case("blackman_window_doubles", "BlackmanWindow", [np.array(8)], constants=[0], output_datatype=TensorProto.DOUBLE,
         periodic=0, tolerance=1e-14, expected=[window])
    case("hann_window_of_one", "HannWindow", [np.array(1)], constants=[0], periodic=0)
    # What is not 1 is cut off.
    case("hann_window_integers", "HannWindow", [np.array(8)], constants=[0], output_datatype=TensorProto.UINT8,
         expected=[np.eye(1, 8, 4, dtype=np.uint8)[0]])


def orders():
    case("top_k", "TopK", [f32(3, 20), i64(4)], 2, constants=[1])
    case("top_k_least", "TopK", [rng.integers(-3, 3, (6, 2)), i64(3)], 2, constants=[1], axis=0, largest=0)


def scalars():
    # As numpy has it: a number is a list of one.
    case("softmax_scalar", "Softmax", [np.array(3, np.float32)], expected=[np.array(1, np.float32)])
    case("softmax_scalar_opset11", "Softmax", [np.array(3, np.float32)], opset=11, axis=0,
         expected=[np.array(1, np.float32)])
    case("log_softmax_scalar", "LogSoftmax", [np.array(3, np.float32)], expected=[np.array(0, np.float32)])
    case("hardmax_scalar", "Hardmax", [np.array(-3, np.float32)], expected=[np.array(1, np.float32)])


def signals():
    # Row 0 of an image of 2 by 3, at what is no number, nowhere, far away, at its end and in its middle.
    x, far = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 2, 3), np.array([np.nan, np.inf, -np.inf, 1e30, 1, 0], np.float32)
    grid = np.stack([far, -np.ones_like(far)], -1).reshape(1, 1, 6, 2)
    row = lambda *values: [np.array(values, np.float32).reshape(1, 1, 1, 6)]
    for mode in ("nearest", "bilinear", "bicubic"):
        for padding, expected in {"zeros": row(0, 0, 0, 0, 3, 2), "border": row(1, 3, 1, 3, 3, 2),
                                  "reflection": row(1, 1, 1, 1, 3, 2)}.items():
            case(f"grid_sample_{mode}_{padding}", "GridSample", [x, grid], opset=16, expected=expected, mode=mode,
                 padding_mode=padding, align_corners=1)
    place = lambda *shape: (rng.integers(-20, 21, shape) / 16).astype(np.float32)
    for padding in ("zeros", "reflection"):
        case("grid_sample_line_" + padding, "GridSample", [f32(2, 3, 5), place(2, 7, 1)], expected="reference", mode="cubic",
             padding_mode=padding)
    case("grid_sample_bicubic_near_border", "GridSample", [f32(1, 2, 5, 6), place(1, 4, 5, 2)], opset=16, mode="bicubic",
         padding_mode="border")
    case("grid_sample_volume", "GridSample", [f32(1, 2, 3, 4, 2), place(1, 2, 3, 2, 3)], expected="reference", mode="cubic",
         padding_mode="reflection", align_corners=1)
    x = f32(1, 1, 1, 1)
    case("grid_sample_one", "GridSample", [x, place(1, 3, 3, 2)], expected=[np.broadcast_to(x, (1, 1, 3, 3)).copy()],
         padding_mode="reflection", align_corners=1)
    middle = np.array([0.5, 0, -0.5, 0], np.float32).reshape(1, 1, 2, 2)
    case("grid_sample_integers", "GridSample", [np.array([[[[10, 17]]]], np.int32), middle], align_corners=1,
         expected=[np.array([[[[15, 11]]]], np.int32)])
    case("affine_grid_volume", "AffineGrid", [f32(2, 3, 4), i64(2, 1, 2, 3, 4)], constants=[1], align_corners=1)
    rois = np.array([[0, 0, 9, 7], [-3, 2, 4, 4], [6, 6, 5, 5], [1.5, 1, 3, 8]], np.float32)
    for mode in ("avg", "max"):
        for opset in (10, 16):
            case(f"roi_align_{mode}_opset{opset}", "RoiAlign", [f32(2, 3, 8, 9), rois, i64(0, 1, 1, 0)], opset=opset,
                 constants=[1], expected="reference" if opset == 16 else None, mode=mode, output_height=2, output_width=3)
    case("roi_align_two", "RoiAlign", [f32(2, 3, 8, 9), rois, i64(0, 1, 1, 0)], opset=16, sampling_ratio=2, output_height=3,
         spatial_scale=0.5)
    places = np.array([12, 12, 13, 12, 12, 14, 20, 16, 14]).reshape(1, 1, 3, 3)
    case("max_unpool_overlapping", "MaxUnpool", [f32(1, 1, 3, 3), places], opset=11, expected="reference",
         kernel_shape=[3, 3], strides=[1, 1])
    spectrum = f32(2, 4, 2)
    numbers = spectrum[..., 0] + 1j * spectrum[..., 1]
    for length in (6, 7, 5, 10):
        signal = np.fft.irfft(numbers, length, 1)[..., None].astype(np.float32)
        case(f"dft_to_real_{length}", "DFT", [spectrum, np.array(length), np.array(1)], constants=[1, 2], expected=[signal],
             inverse=1, onesided=1)
    # Long ones are transformed in two steps.
    long, line = f32(2, 768, 1), f32(700, 2, 2)
    complexes = lambda values: [np.stack([values.real, values.imag], -1).astype(np.float32)]
    case("dft_long", "DFT", [long], expected=complexes(np.fft.fft(long[..., 0])), tolerance=1e-4)
    case("dft_long_onesided", "DFT", [long], expected=complexes(np.fft.rfft(long[..., 0])), tolerance=1e-4, onesided=1)
    case("dft_long_padded", "DFT", [line, np.array(1000), np.array(0)], constants=[1, 2], tolerance=1e-4,
         expected=complexes(np.fft.ifft(line[..., 0] + 1j * line[..., 1], 1000, 0)), inverse=1)
    signal = np.fft.irfft(line[:401, :, 0] + 1j * line[:401, :, 1], 800, 0)[..., None].astype(np.float32)
    case("dft_long_to_real", "DFT", [line, np.array(800), np.array(0)], constants=[1, 2], expected=[signal], inverse=1,
         onesided=1)
    case("dft_opset17", "DFT", [f32(5, 3, 2), np.array(8)], opset=17, constants=[1], axis=0)
    matrices = f32(2, 3, 5, 5)
    matrices[0, 1, 2] = matrices[0, 1, 4]
    case("det", "Det", [matrices], expected=[np.linalg.det(matrices).astype(np.float32)], tolerance=1e-4)
    case("det_pivot", "Det", [np.array([[0, 2, 1], [3, 0, 0], [0, 0, 4]], np.float32)], expected=[np.array(-24, np.float32)])
    case("rotary_microsoft", "RotaryEmbedding", [f32(2, 5, 24), i64(3), f32(9, 4), f32(9, 4)], domain="com.microsoft")
    case("rotary_microsoft_ids", "RotaryEmbedding", [f32(2, 3, 5, 8), rng.integers(0, 9, (2, 5)), f32(9, 4), f32(9, 4)],
         domain="com.microsoft", interleaved=1)
    case("rotary_wrapped", "RotaryEmbedding", [f32(1, 3, 16), f32(4, 2), f32(4, 2), np.array([[-1, 0, 3]])], opset=23,
         expected="reference", num_heads=2, rotary_embedding_dim=4)


def attentions():
    q, k, v = f32(2, 4, 3, 8), f32(2, 2, 5, 8), f32(2, 2, 5, 6)
    seen = rng.random((2, 1, 3, 5)) < 0.6
    seen[0, 0, 1] = False
    both = dict(opset=24, outputs=4, expected="reference", qk_matmul_output_mode=3)
    case("attention_hidden_rows", "Attention", [q, k, v, seen], **both)
    case("attention_hidden_rows_added", "Attention", [q, k, v, np.where(seen, f32(2, 1, 3, 5), -np.inf).astype(np.float32)], **both)
    case("attention_short_mask", "Attention", [q, k, v, f32(3, 3)], is_causal=1, **both)
    case("attention_mask_of_one", "Attention", [q, k, v, f32(4, 1, 1)], **both)
    # Fewer valid keys than queries: the first queries see none.
    case("attention_valid_keys", "Attention", [q, k, v, None, None, None, i64(1, 5)], is_causal=1, **both)
    case("attention_none_valid", "Attention", [q, k, v, None, None, None, i64(0, 4)], **both)
    for name, past in ("window", []), ("window_past", [None, f32(2, 2, 4, 8), f32(2, 2, 4, 6)]):
        case("attention_" + name, "Attention", [q, k, v, *past], opset=25, outputs=3, expected="reference",
             left_window_size=1, right_window_size=2)
    # As ONNX defines it: what bounds scores comes after those that are shown.
    scores = np.repeat(k, 2, 1) @ q.swapaxes(2, 3) * np.float32(0.5)
    scores = scores.swapaxes(2, 3)
    weights = np.exp(3 * np.tanh(scores / 3))
    weights /= weights.sum(3, keepdims=True)
    result = weights @ np.repeat(v, 2, 1)
    case("attention_unbounded_scores", "Attention", [q, k, v], opset=23, outputs=4, softcap=3.0, scale=0.5,
         expected=[result, k, v, scores])
    case("attention_double_values", "Attention", [q, k, v.astype(np.float64)], 3, opset=23, softcap=3.0, scale=0.5,
         expected=[result, k, v.astype(np.float64)])


def residuals():
    x, vector = f32(2, 3, 8), lambda: f32(8)
    for name, operator, more in (
        ("skip_layer_norm", "SkipLayerNormalization", [vector(), vector()]),
        ("skip_simplified_layer_norm", "SkipSimplifiedLayerNormalization", [vector()]),
    ):
        domain = "com.microsoft"
        case(name, operator, [x, f32(2, 3, 8), vector(), *more], domain=domain, epsilon=0.01)
        case(name + "_for_all", operator, [x, f32(3, 8), vector()], domain=domain)
    case("skip_layer_norm_sum", "SkipLayerNormalization", [f32(3, 8), f32(3, 8), vector(), None, vector()],
         outputs=["y0", "", "", "y3"], domain="com.microsoft")


def mixed_tokens():
    q, k, v = f32(2, 5, 12), f32(2, 5, 6), f32(2, 5, 10)
    heads = {"q_num_heads": 4, "kv_num_heads": 2, "opset": 27, "outputs": 2, "expected": "reference", "tolerance": 1e-4}
    decay, rate = -rng.random((2, 5, 6)).astype(np.float32), rng.random((2, 5, 2)).astype(np.float32)
    state = f32(2, 2, 3, 5)
    case("linear_attention", "LinearAttention", [q, k, v], update_rule="linear", scale=0.5, **heads)
    case("linear_attention_gated", "LinearAttention", [q, k, v, state, decay], update_rule="gated", **heads)
    case("linear_attention_delta", "LinearAttention", [q, k / 2, v, None, None, rate], update_rule="delta", **heads)
    case("linear_attention_gated_delta", "LinearAttention", [q, k / 2, v, state, decay[:, :, :2], rate[:, :, :1]], **heads)
    one = [x[:, :1] for x in (q, k / 2, v)]
    case("linear_attention_step", "LinearAttention", [*one, state, decay[:, :1], rate[:, :1]], **heads)
    newest = {"opset": 27, "outputs": 2, "expected": "reference"}
    x, weight = f32(2, 3, 7), f32(3, 1, 4)
    case("causal_convolution", "CausalConvWithState", [x, weight], **newest)
    case("causal_convolution_past", "CausalConvWithState", [x, weight, f32(3), f32(2, 3, 3)], activation="silu", **newest)
    case("causal_convolution_short", "CausalConvWithState", [x[:, :, :2], weight, None, f32(2, 3, 3)], **newest)
    preview = {"domain": "ai.onnx.preview", "opset": 26, "expected": "reference"}
    case("flex_attention", "FlexAttention", [f32(2, 4, 3, 8), f32(2, 2, 5, 8), f32(2, 2, 5, 6)], scale=0.5, **preview)
    changed = lambda op, number: helper.make_graph(
        [helper.make_node(op, ["s", "n"], ["t"])], op, [onnx.ValueInfoProto(name="s")], [onnx.ValueInfoProto(name="t")],
        [numpy_helper.from_array(np.array(number, np.float32), "n")])
    case("flex_attention_changed", "FlexAttention", [f32(1, 2, 3, 8), f32(1, 2, 5, 8), f32(1, 2, 5, 8)],
         score_mod=changed("Max", 0.25), prob_mod=changed("Mul", 2.0), **preview)


def deformed():
    x, w, bias = f32(2, 4, 5, 6), f32(6, 2, 3, 2), f32(6)
    shape = {"group": 2, "offset_group": 2, "pads": [1, 0, 1, 1], "strides": [2, 1], "kernel_shape": [3, 2]}
    case("deform_conv", "DeformConv", [x, w, f32(2, 24, 3, 6), bias, f32(2, 12, 3, 6)], **shape)
    # What is far outside is nothing.
    case("deform_conv_outside", "DeformConv", [x, w, f32(2, 24, 3, 6) * 1e9, bias], **shape)


def lists():
    def several(name, steps, **feeds):
        """Nodes of (operator, inputs, outputs, attributes); y is the result."""
        nodes = [helper.make_node(op, ins.split(), outs.split(), **attributes) for op, ins, outs, attributes in steps]
        infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feeds.items()]
        places = [numpy_helper.from_array(np.array(n, np.int64), t) for t, n in (("first", 0), ("last", -1), ("two", 2))]
        places.append(numpy_helper.from_array(i64(1, 0, 4), "uneven"))
        write(name, helper.make_graph(nodes, "case", infos, [onnx.ValueInfoProto(name="y")], places), 17, feeds)

    x = f32(3, 5)
    several("lists_split", [("SplitToSequence", "x two", "s", {"axis": 1}), ("SequenceErase", "s first", "t", {}),
                            ("SequenceAt", "s first", "a", {}), ("SequenceInsert", "t a last", "u", {}),
                            ("ConcatFromSequence", "u", "y", {"axis": -1})], x=x)
    several("lists_unevenly", [("SplitToSequence", "x uneven", "s", {"axis": 1}),
                               ("ConcatFromSequence", "s", "y", {"axis": 1})], x=x)
    several("lists_dropped", [("SplitToSequence", "x", "s", {"axis": 1, "keepdims": 0}), ("SequenceErase", "s", "t", {}),
                              ("ConcatFromSequence", "t", "y", {"axis": 1, "new_axis": 1})], x=x)
    several("lists_length", [("SequenceEmpty", "", "s", {}), ("SequenceInsert", "s x", "t", {}),
                             ("SequenceInsert", "t x first", "u", {}), ("SequenceLength", "u", "y", {})], x=x)
    several("lists_constructed", [("SequenceConstruct", "x z", "s", {}), ("SequenceAt", "s last", "y", {})], x=x, z=f32(2))


def byte_products():
    def steps(kind, *shape):
        return np.asarray(rng.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape), kind)

    u8, i8 = (lambda *shape: steps(np.uint8, *shape)), (lambda *shape: steps(np.int8, *shape))
    scale = lambda *shape: np.asarray(2.0 ** rng.integers(-3, 1, shape), np.float32)
    a, b = u8(2, 3, 4), i8(4, 5)
    case("matmul_integer", "MatMulInteger", [a, b, u8(), i8(5)])
    case("matmul_integer_rows", "MatMulInteger", [a, b, u8(2, 3, 1), i8(1, 5)], expected="reference")
    case("matmul_integer_vector", "MatMulInteger", [u8(4), b])
    to = [np.array(64, np.float32), np.array(120, np.uint8)]
    case("qlinear_matmul", "QLinearMatMul", [a, scale(), u8(), b, scale(5), i8(5), *to])
    rows, columns = scale(2, 3, 1), scale(1, 5)
    case("qlinear_matmul_rows", "QLinearMatMul", [a, rows, u8(2, 3, 1), b, columns, i8(1, 5), *to], expected="reference")
    # ONNX's evaluator broadcasts scales to sums without the row's dimension.
    row, at, by, zeros = u8(4), u8(), scale(2, 1, 5), i8(2, 1, 5)
    right, wide = i8(2, 4, 5), lambda x: x.astype(np.int32)
    sums = (wide(row) - wide(at)) @ (wide(right) - wide(zeros))
    y = np.clip(np.rint(sums * (by[:, 0] / 4 / 64)) + 120, 0, 255).astype(np.uint8)
    quarter = np.array(0.25, np.float32)
    case("qlinear_matmul_row", "QLinearMatMul", [row, quarter, at, right, by, zeros, *to], expected=[y])
    x, w = u8(1, 4, 6, 5), i8(6, 2, 3, 3)
    case("conv_integer", "ConvInteger", [x, w, u8()], pads=[1, 0, 2, 1], strides=[2, 1], group=2)
    case("conv_integer_channels", "ConvInteger", [x, w, u8(), i8(6)], pads=[1, 1, 1, 1], group=2, expected="reference")
    bias = rng.integers(-5000, 5000, 6).astype(np.int32)
    case("qlinear_conv", "QLinearConv", [x, scale(), u8(), w, scale(6), np.zeros(6, np.int8), *to, bias], group=2,
         pads=[1, 1, 1, 1])


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for family in (elementwise, reductions, products, pools, shapes, gathers, resizes, recurrent, whole_models, triangles,
                   sums_by_names, sums_so_far, products_so_far, losses, classes, sequences, images, window_functions, orders,
                   scalars, signals, attentions, residuals, mixed_tokens, byte_products, deformed, lists):
        family()
