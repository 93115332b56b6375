"""Models of two operators, one after the other as exporters write them, at sizes that take a processor milliseconds.

`pairs()` names them ("conv3x3+max-pool"), `model(name)` makes one, with weights that are drawn by name.
"""

import itertools
import math
import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

IMAGES, TOKENS = (2, 64, 112, 112), (8, 256, 512)
OPSET = 20


class Maker:
    """The nodes of a model, and the shape of its last value."""

    def __init__(self, name, shape):
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes, self.constants, self.shape = [], [], tuple(shape)
        self.value = "x"

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, *shape, terms=1):
        return self.constant((self.random.standard_normal(shape) / math.sqrt(terms)).astype(np.float32))

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def node(self, op, *inputs, outputs=1, **attributes):
        """Adds a node; a tuple of names where it has several outputs."""
        made = [f"v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, made, name=f"{op}_{len(self.nodes)}", **attributes))
        return made[0] if outputs == 1 else made

    def then(self, op, *others, shape=None, **attributes):
        """The next value: of an operator of the last one."""
        self.value = self.node(op, self.value, *others, **attributes)
        self.shape = self.shape if shape is None else tuple(shape)

    def model(self, name, given):
        tensor = lambda n, shape: helper.make_tensor_value_info(n, TensorProto.FLOAT, list(shape))
        graph = helper.make_graph(
            self.nodes, name, [tensor("x", given)], [tensor(self.value, self.shape)], self.constants
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def convolution(kernel, stride=1, group=None, dilation=1, channels=None):
    def make(m):
        n, c, h, w = m.shape
        groups = c if group == "depthwise" else group or 1
        out = channels or c
        reach = dilation * (kernel - 1)
        pad = reach // 2
        size = [(e + 2 * pad - reach - 1) // stride + 1 for e in (h, w)]
        weight = m.weight(out, c // groups, kernel, kernel, terms=c // groups * kernel * kernel)
        m.then(
            "Conv", weight, m.weight(out), shape=(n, out, *size), kernel_shape=[kernel] * 2, pads=[pad] * 4,
            strides=[stride] * 2, group=groups, dilations=[dilation] * 2,
        )

    return make


def transposed(m):
    n, c, h, w = m.shape
    weight = m.weight(c, c // 2, 2, 2, terms=c)
    m.then("ConvTranspose", weight, shape=(n, c // 2, 2 * h, 2 * w), kernel_shape=[2, 2], strides=[2, 2])


def pool(op, kernel, stride):
    def make(m):
        n, c, h, w = m.shape
        pad = kernel // 2 if stride == 1 else 0
        size = [(e + 2 * pad - kernel) // stride + 1 for e in (h, w)]
        extra = {"count_include_pad": 1} if op == "AveragePool" else {}
        m.then(op, shape=(n, c, *size), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, **extra)

    return make


def pointwise(op, **attributes):
    return lambda m: m.then(op, **attributes)


def silu(m):
    m.value = m.node("Mul", m.value, m.node("Sigmoid", m.value))


def batch_norm(m):
    c = m.shape[1]
    numbers = [m.weight(c), m.weight(c), m.weight(c), m.constant(m.random.uniform(0.5, 2, c).astype(np.float32))]
    m.then("BatchNormalization", *numbers)


def instance_norm(m):
    m.then("InstanceNormalization", m.weight(m.shape[1]), m.weight(m.shape[1]))


def group_norm(m):
    """As exporters write it: rows of groups, normalized, and a scale for each channel."""
    n, c, h, w = m.shape
    rows = m.node("Reshape", m.value, m.ints(n, 8, -1))
    ones, zeros = (m.constant(np.full(8, v, np.float32)) for v in (1, 0))
    normal = m.node("Reshape", m.node("InstanceNormalization", rows, ones, zeros), m.ints(*m.shape))
    scaled = m.node("Mul", normal, m.weight(c, 1, 1))
    m.value = m.node("Add", scaled, m.weight(c, 1, 1))


def resize(mode):
    def make(m):
        n, c, h, w = m.shape
        scales = m.constant(np.array([1, 1, 2, 2], np.float32))
        extra = {"nearest": {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}}.get(mode, {})
        m.value = m.node("Resize", m.value, "", scales, mode=mode, **extra)
        m.shape = (n, c, 2 * h, 2 * w)

    return make


def pad(mode):
    def make(m):
        n, c, h, w = m.shape
        m.then("Pad", m.ints(0, 0, 1, 1, 0, 0, 1, 1), shape=(n, c, h + 2, w + 2), mode=mode)

    return make


def residual(m):
    m.value = m.node("Add", m.value, m.node("Relu", m.value))


def squeeze_excite(m):
    c = m.shape[1]
    mean = m.node("GlobalAveragePool", m.value)
    less = m.node("Relu", m.node("Conv", mean, m.weight(c // 4, c, 1, 1, terms=c)))
    gate = m.node("Sigmoid", m.node("Conv", less, m.weight(c, c // 4, 1, 1, terms=c // 4)))
    m.value = m.node("Mul", m.value, gate)


def shuffle(m):
    n, c, h, w = m.shape
    parts = m.node("Reshape", m.value, m.ints(n, 2, c // 2, h, w))
    m.value = m.node("Reshape", m.node("Transpose", parts, perm=[0, 2, 1, 3, 4]), m.ints(*m.shape))


def halves(m):
    """The second half of the channels before the first."""
    first, second = m.node("Split", m.value, m.ints(m.shape[1] // 2, m.shape[1] // 2), outputs=2, axis=1)
    m.value = m.node("Concat", second, first, axis=1)


def depth_to_space(m):
    n, c, h, w = m.shape
    m.then("DepthToSpace", shape=(n, c // 4, 2 * h, 2 * w), blocksize=2)


def space_to_depth(m):
    n, c, h, w = m.shape
    m.then("SpaceToDepth", shape=(n, 4 * c, h // 2, w // 2), blocksize=2)


def channels_last(m):
    n, c, h, w = m.shape
    m.then("Transpose", shape=(n, h, w, c), perm=[0, 2, 3, 1])


def over(op, axes, **attributes):
    def make(m):
        shape = [1 if a in axes else e for a, e in enumerate(m.shape)]
        inputs = [m.value] if op.startswith("Arg") else [m.value, m.ints(*axes)]
        if op.startswith("Arg"):
            m.value = m.node("Cast", m.node(op, *inputs, axis=axes[0], **attributes), to=TensorProto.FLOAT)
        else:
            m.value = m.node(op, *inputs, **attributes)
        m.shape = tuple(shape)

    return make


def dense(columns=None):
    def make(m):
        rows = m.shape[-1]
        out = columns or rows
        product = m.node("MatMul", m.value, m.weight(rows, out, terms=rows))
        m.value = m.node("Add", product, m.weight(out))
        m.shape = (*m.shape[:-1], out)

    return make


def layer_norm(m):
    m.then("LayerNormalization", m.weight(m.shape[-1]), m.weight(m.shape[-1]), axis=-1)


def layer_norm_in_parts(m):
    mean = m.node("ReduceMean", m.value, m.ints(-1))
    centered = m.node("Sub", m.value, mean)
    two, least = (m.constant(np.float32(v)) for v in (2, 1e-5))
    variance = m.node("ReduceMean", m.node("Pow", centered, two), m.ints(-1))
    normal = m.node("Div", centered, m.node("Sqrt", m.node("Add", variance, least)))
    m.value = m.node("Add", m.node("Mul", normal, m.weight(m.shape[-1])), m.weight(m.shape[-1]))


def rms_norm(m):
    two, least = (m.constant(np.float32(v)) for v in (2, 1e-5))
    square = m.node("ReduceMean", m.node("Pow", m.value, two), m.ints(-1))
    scale = m.node("Reciprocal", m.node("Sqrt", m.node("Add", square, least)))
    m.value = m.node("Mul", m.node("Mul", m.value, scale), m.weight(m.shape[-1]))


def gelu_in_parts(m):
    root, one, half = (m.constant(np.float32(v)) for v in (math.sqrt(2), 1, 0.5))
    erf = m.node("Add", m.node("Erf", m.node("Div", m.value, root)), one)
    m.value = m.node("Mul", m.node("Mul", m.value, erf), half)


def heads(m):
    """Eight heads, and back."""
    n, t, e = m.shape
    apart = m.node("Transpose", m.node("Reshape", m.value, m.ints(n, t, 8, e // 8)), perm=[0, 2, 1, 3])
    m.value = m.node("Reshape", m.node("Transpose", apart, perm=[0, 2, 1, 3]), m.ints(n, t, e))


def attention(m):
    n, t, e = m.shape
    split = lambda order: m.node("Transpose", m.node("Reshape", m.value, m.ints(n, t, 8, e // 8)), perm=order)
    scores = m.node("MatMul", split([0, 2, 1, 3]), split([0, 2, 3, 1]))
    scaled = m.node("Mul", scores, m.constant(np.float32(1 / math.sqrt(e // 8))))
    mixed = m.node("MatMul", m.node("Softmax", scaled, axis=-1), split([0, 2, 1, 3]))
    m.value = m.node("Reshape", m.node("Transpose", mixed, perm=[0, 2, 1, 3]), m.ints(n, t, e))


def rotary(m):
    n, t, e = m.shape
    first, second = m.node("Split", m.value, m.ints(e // 2, e // 2), outputs=2, axis=-1)
    turned = m.node("Concat", m.node("Neg", second), first, axis=-1)
    cosines, sines = m.weight(t, e), m.weight(t, e)
    m.value = m.node("Add", m.node("Mul", m.value, cosines), m.node("Mul", turned, sines))


def glu(m):
    half = m.shape[-1] // 2
    first, second = m.node("Split", m.value, m.ints(half, half), outputs=2, axis=-1)
    m.value = m.node("Mul", first, m.node("Sigmoid", second))
    m.shape = (*m.shape[:-1], half)


def gathered(m):
    order = m.random.permutation(m.shape[1])
    m.then("Gather", m.ints(*order), axis=1)


def greatest(m):
    k = 16
    values, _ = m.node("TopK", m.value, m.ints(k), outputs=2, axis=-1)
    m.value, m.shape = values, (*m.shape[:-1], k)


def running_sum(m):
    m.then("CumSum", m.constant(np.int64(1)))


def swapped(m):
    n, t, e = m.shape
    m.then("Transpose", shape=(n, e, t), perm=[0, 2, 1])


def shifted(m):
    """Each row beside the one before, as windows of tokens are."""
    n, t, e = m.shape
    rest = m.node("Slice", m.value, m.ints(0), m.ints(t - 1), m.ints(1))
    first = m.node("Slice", m.value, m.ints(t - 1), m.ints(t), m.ints(1))
    m.value = m.node("Concat", first, rest, axis=1)


OF_IMAGES = {
    "conv3x3": convolution(3),
    "conv1x1": convolution(1),
    "conv3x3-stride2": convolution(3, stride=2),
    "conv5x5": convolution(5, channels=16),
    "conv-grouped": convolution(3, group=8),
    "conv-dilated": convolution(3, dilation=2),
    "depthwise3x3": convolution(3, group="depthwise"),
    "depthwise7x7": convolution(7, group="depthwise"),
    "conv-transpose": transposed,
    "max-pool": pool("MaxPool", 3, 2),
    "max-pool5": pool("MaxPool", 5, 1),
    "average-pool": pool("AveragePool", 3, 1),
    "relu": pointwise("Relu"),
    "silu": silu,
    "hard-swish": pointwise("HardSwish"),
    "batch-norm": batch_norm,
    "instance-norm": instance_norm,
    "group-norm": group_norm,
    "nearest": resize("nearest"),
    "bilinear": resize("linear"),
    "cubic": resize("cubic"),
    "pad": pad("constant"),
    "pad-reflect": pad("reflect"),
    "residual": residual,
    "squeeze-excite": squeeze_excite,
    "shuffle": shuffle,
    "halves": halves,
    "depth-to-space": depth_to_space,
    "space-to-depth": space_to_depth,
    "lrn": pointwise("LRN", size=5),
    "softmax-channels": pointwise("Softmax", axis=1),
    "mean-channels": over("ReduceMean", [1]),
    "mean-image": over("ReduceMean", [2, 3]),
    "argmax-channels": over("ArgMax", [1]),
    "channels-last": channels_last,
}
OF_TOKENS = {
    "dense": dense(),
    "dense-wide": dense(2048),
    "layer-norm": layer_norm,
    "layer-norm-in-parts": layer_norm_in_parts,
    "rms-norm": rms_norm,
    "softmax": pointwise("Softmax", axis=-1),
    "log-softmax": pointwise("LogSoftmax", axis=-1),
    "gelu": pointwise("Gelu"),
    "gelu-in-parts": gelu_in_parts,
    "heads": heads,
    "attention": attention,
    "rotary": rotary,
    "glu": glu,
    "gather": gathered,
    "top-k": greatest,
    "cumsum": running_sum,
    "swap": swapped,
    "shift": shifted,
    "max-tokens": over("ReduceMax", [1]),
    "norm": over("ReduceL2", [2]),
    "argmax": over("ArgMax", [2]),
    "tanh": pointwise("Tanh"),
}
# What gives no image any more comes last.
LAST = {"channels-last"}


def pairs():
    for table in (OF_IMAGES, OF_TOKENS):
        for first, second in itertools.product(table, table):
            if first not in LAST:
                yield f"{first}+{second}"


def model(name):
    """A ModelProto; None where the second operator does not fit what the first one gives."""
    first, second = name.split("+")
    table, shape = (OF_IMAGES, IMAGES) if first in OF_IMAGES else (OF_TOKENS, TOKENS)
    maker = Maker(name, shape)
    table[first](maker)
    if fits(second, maker.shape):
        table[second](maker)
        return maker.model(name, shape)
    return None


def fits(second, shape):
    channels = shape[1] if len(shape) == 4 else shape[2]
    if second in ("conv-grouped", "group-norm"):
        return channels % 8 == 0
    if second in ("depth-to-space", "squeeze-excite"):
        return channels % 4 == 0
    if second == "space-to-depth":
        return shape[2] % 2 == 0 and shape[3] % 2 == 0
    if second in ("max-pool", "pad-reflect"):
        return min(shape[2:]) >= 3
    if second in ("heads", "attention"):
        return channels % 8 == 0
    if second == "top-k":
        return channels >= 16
    return channels % 2 == 0 or second not in ("shuffle", "halves", "conv-transpose", "rotary", "glu")
