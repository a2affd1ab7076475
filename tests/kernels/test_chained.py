"""Functions around a request in one launch: it has the results of two, whatever the layouts, dtypes and sizes.

Most kernels run as plain Python, cut so short that small sizes cross every boundary; that of the product is compiled.
"""

import itertools

import numpy as np
import pytest
from asking import Asking
from plain_kernels import interpreted
from strided import WAYS, arrange, blank, broadcast, check_gaps, contents

from minigrad.backends.cpu import chained, reduction_plans
from minigrad.backends.registry import backend_of
from minigrad.core import requests
from minigrad.core.device import as_device
from minigrad.core.dtype import as_dtype, bool_, f32, f64, i32
from minigrad.declare.record import schema as ops
from minigrad.ops.nn.softmax import SOFTMAX, SOFTMAX_BACKWARD

SUB, LERP = ops["sub"].scalar, ops["lerp"].scalar
SUM, TOP = ops["sum"].reducer, ops["amax"].reducer
RNG = np.random.default_rng(4)


@pytest.fixture
def short(monkeypatch):
    """The interpreted backend, and cuts so small that these sizes stand on both sides of every one."""
    for name, size in {"PIECE": 40, "LANES": 12, "CHUNK": 30, "TINY": 20, "FEW": 4}.items():
        monkeypatch.setattr(reduction_plans, name, size)
    monkeypatch.setattr(chained, "CHUNK", 30)
    return interpreted(monkeypatch)[0]


def hold(backend, request, out_shape, operands, out_way="dense", dtype=f32):
    """Hold one launch to the two that the lowering makes of it; return how many steps it has."""
    out, results = blank(out_shape, dtype, out_way), []
    specs, buffers = [spec for _, spec in operands], [buffer for buffer, _ in operands]
    whole = backend.prepare(request, out[1], *specs)
    apart = backend.lower(request, out[1], *specs)
    for launch in (whole, apart):
        memory = out[0].copy()
        launch(*buffers, memory)
        check_gaps(memory, out[1])
        results.append(contents(memory, out[1]))
    np.testing.assert_array_equal(*results)
    return len(whole.steps)


def values(shape, dtype=f32, way="dense"):
    return arrange(RNG.integers(-4, 5, shape), dtype, way)


def reduction(reducer, dims, scalar=SUB, dtype=f64, compute=np.float64):
    count = len(scalar.args)
    inner = requests.Reduce(reducer, np.dtype(compute), dims)
    return requests.Chained(inner, (scalar,), (tuple(range(count)),), dtype)


@pytest.mark.parametrize("reducer", [SUM, TOP], ids=["sum", "extreme"])
def test_rows_and_stretches_of_every_length_around_a_cut(short, reducer):
    compute, dtype = (np.float64, f64) if reducer is SUM else (np.float32, f32)
    whole = reduction(reducer, (0,), dtype=dtype, compute=compute)
    rows = reduction(reducer, (1,), dtype=dtype, compute=compute)
    for n in (1, 2, 19, 20, 21, 39, 40, 41, 79, 80, 81, 127, 128, 129, 333):
        assert hold(short, whole, (1,), [values((n,), dtype), values((n,))]) <= 2
        assert hold(short, rows, (6, 1), [values((6, n)), values((6, n), dtype)]) <= 2


def test_layouts_broadcasts_and_dtypes_of_the_operands(short):
    for way, other in itertools.product(WAYS, WAYS):
        for dims, out in (((1,), (7, 1)), ((0,), (1, 30)), ((0, 1), (1, 1))):
            hold(short, reduction(SUM, dims), out, [values((7, 30), f32, way), values((7, 30), f32, other)], "offset")
    for shape in ((30,), (7, 1), (1, 1)):
        stretched = broadcast(values(shape), (7, 30))
        for dims, out in (((1,), (7, 1)), ((0, 1), (1, 1))):
            hold(short, reduction(SUM, dims), out, [values((7, 30)), stretched])
    for a, b in ((bool_, i32), (f32, f64), (i32, bool_)):
        hold(short, reduction(SUM, (1,)), (7, 1), [values((7, 30), a), values((7, 30), b)])
    three = reduction(SUM, (1,), LERP)
    hold(short, three, (9, 1), [values((9, 40), f64) for _ in range(3)], dtype=f64)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_rows_of_one_or_two_computed_operands(short, dim):
    shape = (3, 5, 9)
    one = requests.Chained(requests.MapRows(SOFTMAX, dim), (LERP,), ((0, 1, 2),), f32)
    two = requests.Chained(requests.MapRows(SOFTMAX_BACKWARD, dim), (SUB, SUB), ((0, 1), (2, 3)), f32)
    half = requests.Chained(requests.MapRows(SOFTMAX_BACKWARD, dim), (None, SUB), ((0,), (1, 2)), f32)
    for way in WAYS:
        for request, count in ((one, 3), (two, 4), (half, 3)):
            operands = [values(shape, f32, way if k else "dense") for k in range(count)]
            steps = hold(short, request, shape, operands)
            assert steps == 1 or dim < 2
    stretched = [broadcast(values((9,)), shape), broadcast(values((3, 1, 1)), shape), values(shape)]
    hold(short, one, shape, stretched)
    hold(short, one, shape, [values(shape, as_dtype(name)) for name in ("bool", "int32", "float32")])


def test_a_function_of_a_product_reads_what_lies_like_its_result_or_is_the_same_in_each_row():
    cpu = Asking(backend_of(as_device("cpu")))
    for shape, k, row in (((70, 67), 20, False), ((3, 33, 40), 9, False), ((3, 33, 40), 300, True), ((5, 1), 8, False)):
        a = values((*shape[:-1], k))
        b = values((k, shape[-1]))
        b = broadcast(b, (*shape[:-2], k, shape[-1])) if len(shape) > 2 else b
        other = broadcast(values(shape[-1:]), shape) if row else values(shape)
        request = requests.Followed(requests.Product(), SUB, 1)
        assert hold(cpu, request, shape, [a, b, other]) == (2 if shape[-1] == 1 else 1)
    apart = [values((70, 20)), values((20, 67)), broadcast(values((70, 1)), (70, 67))]
    assert hold(cpu, requests.Followed(requests.Product(), SUB, 1), (70, 67), apart) == 2
