"""Filling on CUDA equals the CPU's: odd lengths, every order of threads, every offset."""

import numpy as np
import pytest
from cuda_mistakes import break_text, noticed

import minigrad as mg

ORDERS = [("forward", 0), ("reverse", 0), ("random", 1)]
KINDS = {
    "rand": ("float16", "bfloat16", "float32", "float64"),
    "randn": ("float16", "bfloat16", "float32", "float64"),
    "randint": ("uint8", "int8", "int16", "uint32", "int32", "int64"),
}
ROUNDED = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-6}


def plain(dtype):
    """The device that says what is right: the CPU, or in other dtypes the reference, which compiles nothing."""
    return "cpu" if dtype in ("float32", "int64") else "reference"


def drawn(name, dtype, n, device):
    mg.manual_seed(7)
    more = (0, 100, (n,)) if name == "randint" else (n,)
    return [getattr(mg, name)(*more, dtype=dtype, device=device).tolist() for _ in range(2)]


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in KINDS for dtype in KINDS[name]])
def test_random_numbers_are_those_of_the_cpu(cuda, name, dtype):
    for n in (1, 3, 4, 5, 18):
        wanted, found = drawn(name, dtype, n, plain(dtype)), drawn(name, dtype, n, "cuda")
        if name == "randn":  # cosines and logarithms of two libraries
            np.testing.assert_allclose(found, wanted, atol=ROUNDED.get(dtype, 1e-14))
        else:
            assert found == wanted


def test_a_second_turn_of_the_blocks_goes_on_where_the_first_ended(cuda, monkeypatch):
    monkeypatch.setattr(cuda, "most", 1)
    wanted = drawn("rand", "float32", 2_100, "cpu")
    cuda.kernels.clear()
    assert drawn("rand", "float32", 2_100, "cuda") == wanted


@pytest.mark.parametrize(("order", "seed"), ORDERS)
def test_threads_may_come_in_any_order(simulator, order, seed):
    with simulator.ordered(order, seed):
        assert drawn("rand", "float32", 301, "cuda") == drawn("rand", "float32", 301, "cpu")
        assert mg.arange(301, dtype="int32", device="cuda").tolist() == list(range(301))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "float32", "float64"])
def test_evenly_spaced_numbers_are_those_of_the_cpu(dtype):
    for given in ((7,), (3, 30, 4), (0,)):
        wanted = mg.arange(*given, dtype=dtype, device=plain(dtype))
        assert mg.arange(*given, dtype=dtype, device="cuda").tolist() == wanted.tolist()


MISTAKES = [
    ("if start + 1 < n", "if start + 1 <= n", "bounds"),
    ("while block < numbers[1]", "while block < numbers[1] - 1", "unwritten"),
    ("out[at + 2] =", "out[at + 1] =", "unwritten"),
    ("start = block * 4", "start = block * 3", "race"),
]


@pytest.mark.parametrize(("right", "wrong", "kind"), MISTAKES, ids=[kind + str(k) for k, (_, _, kind) in
                                                                    enumerate(MISTAKES)])  # fmt: skip
def test_the_simulator_notices_each_mistake_in_the_loop(monkeypatch, simulator, right, wrong, kind):
    break_text(monkeypatch, "random", right, wrong)
    with noticed(kind):
        mg.rand(41, dtype="float32", device="cuda")
