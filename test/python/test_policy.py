"""zoo/policy.py: how many terms a result added up, and what differences it calls."""

import math

import numpy as np
import onnx.parser
import policy
import pytest


def model(body, inputs="float[1,16,8,8] x", outputs="float[1,?] y"):
    outputs = outputs.replace("?", "n")
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> g ({inputs}) => ({outputs}) {body}')


@pytest.mark.parametrize(
    "body, inputs, k",
    [
        ("{ y = Relu(x) }", "float[1,16,8,8] x", 1),
        ("{ y = Conv(x, w) }", "float[1,16,8,8] x, float[4,16,3,3] w", 144),
        ("{ t = Conv(x, w) y = Conv(t, v) }", "float[1,16,8,8] x, float[4,16,3,3] w, float[2,4,1,1] v", 148),
        ("{ t = Conv<group = 4>(x, w) y = Add(t, x) }", "float[1,16,8,8] x, float[16,4,3,3] w", 36),
        ("{ y = ConvTranspose<strides = [2, 2]>(x, w) }", "float[1,16,8,8] x, float[16,4,4,4] w", 64),
        ("{ y = MatMul(x, w) }", "float[5,70] x, float[70,3] w", 70),
        ("{ y = Gemm<transA = 1>(x, w) }", "float[70,5] x, float[70,3] w", 70),
        ("{ y = Softmax<axis = 1>(x) }", "float[5,70] x", 70),
        ("{ a = Constant<value = int64[2] {2, 3}>() y = ReduceMean(x, a) }", "float[1,16,8,8] x", 64),
        ("{ y = ReduceMax(x) }", "float[1,16,8,8] x", 1),
    ],
)
def test_depth(body, inputs, k):
    assert policy.depth(model(body, inputs)) == {"y": k}


def test_tolerance():
    assert policy.tolerance("float32", 100) == pytest.approx(4e-5)
    assert policy.tolerance("float32", 10**9) == pytest.approx(2e-3)
    assert policy.tolerance("float16", 1) == pytest.approx(4e-3)
    assert policy.tolerance("int64", 100) == 0 and policy.tolerance("bool", 100) == 0


def test_difference_is_relative_to_the_largest_magnitude():
    a, b = np.array([1.0, 4.0], np.float32), np.array([1.5, 4.0], np.float32)
    assert policy.difference(a, b) == pytest.approx(0.125)


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (np.zeros(2, np.float32), np.zeros(3, np.float32)),
        (np.zeros(2, np.float32), np.zeros(2, np.float64)),
        (np.array([np.nan, 1]), np.array([1.0, 1])),
        (np.array([1.0, 1]), np.array([np.inf, 1])),
        (np.array([-np.inf, 1]), np.array([np.inf, 1])),
        (np.array([1e-9]), np.array([0.0])),
    ],
)
def test_difference_is_infinite(ours, theirs):
    assert policy.difference(ours, theirs) == math.inf


def test_equal_infinities_and_nans_agree():
    a = np.array([np.inf, -np.inf, np.nan, 2.0])
    assert policy.difference(a, a.copy()) == 0
