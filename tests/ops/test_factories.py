"""Functions that make tensors, called again: the plan that a call finds by its arguments is the right one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError
from minigrad.runtime.observers import Observer, attach, detach

FACTORIES: dict[str, Callable[[], mg.Tensor]] = {
    "zeros": lambda: mg.zeros(2, 3), "ones": lambda: mg.ones((2, 3)), "full": lambda: mg.full((3,), 2.5),
    "arange": lambda: mg.arange(1, 9, 2), "linspace": lambda: mg.linspace(0, 1, 5), "eye": lambda: mg.eye(3, 4),
    "tril_indices": lambda: mg.tril_indices(3, 4), "triu_indices": lambda: mg.triu_indices(3, 4, 1),
    "scalar_tensor": lambda: mg.scalar_tensor(2.0), "zeros_like": lambda: mg.zeros_like(mg.ones(2, 3)),
    "full_like": lambda: mg.full_like(mg.ones(2, 3), 7), "logspace": lambda: mg.logspace(0, 2, 3),
}  # fmt: skip
DRAWS: dict[str, Callable[[], mg.Tensor]] = {
    "rand": lambda: mg.rand(5), "randn": lambda: mg.randn((5,)), "uniform": lambda: mg.uniform(5, -1.0, 1.0),
    "normal": lambda: mg.normal(0.0, 2.0, (5,)), "randint": lambda: mg.randint(0, 1000, (5,)),
    "randperm": lambda: mg.randperm(50), "rand_like": lambda: mg.rand_like(mg.ones(5)),
    "randint_like": lambda: mg.randint_like(mg.ones(5), 1000),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTORIES)
def test_a_later_call_returns_equal_values_in_memory_of_its_own(name: str) -> None:
    first = FACTORIES[name]()
    values = first.tolist()
    for _ in range(3):
        again = FACTORIES[name]()
        assert again.tolist() == values and again.dtype is first.dtype and again.op is None
        again.fill_(99)
    assert first.tolist() == values


@pytest.mark.parametrize("name", DRAWS)
def test_later_draws_continue_the_stream(name: str) -> None:
    mg.manual_seed(3)
    drawn = [DRAWS[name]().tolist() for _ in range(3)]
    assert drawn[0] != drawn[1] != drawn[2]
    mg.manual_seed(3)
    assert [DRAWS[name]().tolist() for _ in range(3)] == drawn


@pytest.mark.parametrize("repeat", [1, 2])
def test_values_of_other_types_are_other_arguments(repeat: int) -> None:
    for _ in range(repeat):
        made = [mg.full((2,), value) for value in (1, 1.0, True, np.float32(1), np.int32(1), np.True_)]
        assert [x.dtype.name for x in made] == ["int64", "float32", "bool", "float32", "int32", "bool"]
        assert [mg.arange(3).dtype, mg.arange(3.0).dtype] == [mg.int64, mg.float32]
        assert np.signbit(mg.full((1,), -0.0).numpy()).all() and not np.signbit(mg.full((1,), 0.0).numpy()).any()


def test_an_argument_that_is_wrong_is_refused_after_an_equal_right_one() -> None:
    for right, wrong in ((1, True), (2, 2.0)):
        assert mg.zeros(right).shape == (right,) and mg.zeros(right).shape == (right,)
        with pytest.raises(mg.errors.ArgumentError, match="zeros: a size must be an int"):
            mg.zeros(wrong)
    with pytest.raises(TypeError, match="dtype"):
        mg.zeros(2, dtype=[1])
    with pytest.raises(TypeError, match="out"):
        mg.tril_indices(2, 2, out=mg.zeros(2, 3))


def test_the_default_dtype_is_that_of_the_call() -> None:
    def kinds() -> list[Any]:
        return [mg.zeros(2).dtype, mg.rand(2).dtype, mg.eye(2).dtype, mg.linspace(0, 1, 3).dtype, mg.arange(2.0).dtype]

    assert [kinds(), kinds()] == [[mg.float32] * 5] * 2
    mg.set_default_dtype(mg.float64)
    try:
        assert [kinds(), kinds()] == [[mg.float64] * 5] * 2
    finally:
        mg.set_default_dtype(mg.float32)
    assert kinds() == [mg.float32] * 5


def test_the_default_device_is_that_of_the_call() -> None:
    before = mg.default_device()
    try:
        for device in ("cpu", "reference", "cpu", "reference"):
            mg.set_default_device(device)
            made = [make() for name, make in (FACTORIES | DRAWS).items()]
            assert {x.device for x in made} == {mg.default_device()}
    finally:
        mg.set_default_device(before)


def test_leaves_are_vars_of_their_own() -> None:
    first, second = (mg.zeros(3, requires_grad=True) for _ in range(2))
    (first * 2.0).sum().backward()
    assert first.grad is not None and second.grad is None and first.grad.tolist() == [2.0] * 3
    with pytest.raises(mg.errors.DTypeError, match="zeros"):
        mg.zeros(3, dtype="int64", requires_grad=True)


def test_observers_see_every_call() -> None:
    class Calls(Observer):
        events = ("called",)

        def __init__(self) -> None:
            self.labels: list[str] = []

        def called(self, op: Any, operands: Any, result: Any, seconds: float) -> None:
            self.labels.append(op.label)

    for _ in range(2):
        mg.zeros(2), mg.rand(2)
    calls = Calls()
    attach(calls)
    try:
        mg.zeros(2), mg.rand(2)
    finally:
        detach(calls)
    assert len(calls.labels) == 2


def test_draws_inside_vmap_differ_from_example_to_example() -> None:
    x = mg.zeros(4, 3)
    for _ in range(3):
        assert mg.rand(3).shape == (3,)
        drawn = mg.func.vmap(lambda row: row + mg.rand(3), randomness="different")(x)
        assert len({tuple(row) for row in drawn.tolist()}) == 4
        same = mg.func.vmap(lambda row: row + mg.rand(3), randomness="same")(x)
        assert len({tuple(row) for row in same.tolist()}) == 1
        with pytest.raises(mg.errors.MinigradError, match="randomness"):
            mg.func.vmap(lambda row: row + mg.rand(3))(x)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65])
def test_unit_matrices_have_ones_on_the_diagonal_only(size: int) -> None:
    for columns in (0, 1, size, size + 3, max(0, size - 2)):
        for dtype in ("float32", "int8", "bool", "bfloat16"):
            x = mg.eye(size, columns, dtype=dtype)
            assert np.array_equal(x.to("float64").numpy(), np.eye(size, columns)) and x.dtype.name == dtype


def test_the_positions_of_triangles_are_those_of_numpy() -> None:
    for rows in (0, 1, 2, 5, 9):
        for columns in (0, 1, 3, 5, 8):
            for offset in range(-11, 12):
                lower, upper = mg.tril_indices(rows, columns, offset), mg.triu_indices(rows, columns, offset)
                assert np.array_equal(lower.numpy(), np.stack(np.tril_indices(rows, offset, columns)))
                assert np.array_equal(upper.numpy(), np.stack(np.triu_indices(rows, offset, columns)))


def test_many_computed_values_have_the_dtype_and_device_that_are_named() -> None:
    for name in ("int32", "int64"):
        lower = mg.triu_indices(80, 90, -3, dtype=name)  # more positions than are stored for later calls
        assert np.array_equal(lower.numpy(), np.stack(np.triu_indices(80, -3, 90))) and lower.dtype.name == name
    for name in ("float16", "float32", "float64"):
        x = mg.linspace(-1, 70000, 5001, dtype=name)
        assert mg.equal(x, mg.tensor(np.linspace(-1, 70000, 5001), dtype=name)) and x.dtype.name == name
    assert str(mg.tril_indices(80, 90, device="reference").device) == "reference"


def test_many_computed_values_are_on_the_default_device(reference: None) -> None:
    assert str(mg.linspace(0, 1, 5001).device) == str(mg.tril_indices(80, 90).device) == "reference"


def test_symmetric_windows_are_those_of_their_formulas() -> None:
    windows, half = mg.signal.windows, math.exp(-0.5)
    for name, options, values in (
        ("bartlett", {}, [0, 0.5, 1, 0.5, 0]), ("hann", {}, [0, 0.5, 1, 0.5, 0]),
        ("hamming", {}, [0.08, 0.54, 1, 0.54, 0.08]), ("general_hamming", {"alpha": 0.6}, [0.2, 0.6, 1, 0.6, 0.2]),
        ("general_cosine", {"a": [1, 2]}, [-1, 1, 3, 1, -1]), ("blackman", {}, [0, 0.34, 1, 0.34, 0]),
        ("cosine", {}, [math.sin(math.pi * k / 10) for k in (1, 3, 5, 7, 9)]),
        ("exponential", {"tau": 2}, [math.exp(-1), half, 1, half, math.exp(-1)]),
        ("gaussian", {"std": 1}, [math.exp(-2), half, 1, half, math.exp(-2)]),
        ("kaiser", {"beta": 0}, [1] * 5), ("nuttall", {}, [0.0003628, 0.2269824, 1, 0.2269824, 0.0003628]),
    ):  # fmt: skip
        window, options = getattr(windows, name), {**options, "dtype": mg.float64, "device": "reference"}
        assert window(5, **options).tolist() == pytest.approx(values, abs=1e-12), name
        assert window(4, sym=False, **options).tolist() == pytest.approx(values[:4], abs=1e-12) or name == "cosine"
        assert window(1, **options).tolist() == [1.0] and window(0, **options).tolist() == []
    with pytest.raises(mg.errors.ArgumentError, match="tau must be above 0"):
        windows.exponential(3, tau=0)
    with pytest.raises(mg.errors.DTypeError, match="floating"):
        windows.hann(3, dtype=mg.int64)


def test_ends_of_integer_ranges_are_truncated_as_in_pytorch() -> None:
    with mg.device("reference"):
        assert mg.arange(2.5, dtype=mg.int64).tolist() == [0, 1]
        assert mg.arange(-0.5, 2.25, dtype=mg.int64).tolist() == [0, 1]
        assert mg.arange(2.5, -0.5, -1.5, dtype=mg.int64).tolist() == [2, 1]
        assert mg.arange(0, 2.25, dtype=mg.int32).tolist() == [0, 1, 2], "PyTorch truncates for int64 alone"
        assert mg.arange(2.5).tolist() == [0.0, 1.0, 2.0]
        assert mg.linspace(2.5, 4, 4, dtype=mg.int64).tolist() == [2, 2, 3, 4]
        assert mg.logspace(0, 2.25, 3, dtype=mg.int32).tolist() == [1, 10, 100]
        assert mg.range(2.5, 5, dtype=mg.uint8).tolist() == mg.range(2, 5, dtype=mg.int64).tolist() == [2, 3, 4, 5]
        assert mg.range(1.5, 3).tolist() == [1.5, 2.5]
    with pytest.raises(ArgumentError, match="step cannot be zero, got 0, 3 and 0"):
        mg.arange(0, 3, 0.5, dtype=mg.int64)
    for end in (math.nan, math.inf):
        with pytest.raises(ArgumentError, match="range: the step must lead from start to end"):
            mg.range(0, end)
