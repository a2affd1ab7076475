"""Tensors where Python and its libraries expect numbers, sequences, booleans and strings."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentTypeError


def tensor(data: Any, dtype: Any = None) -> Any:
    return mg.tensor(data, dtype, "reference")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_is_written_as_its_number(dtype: str, shape: tuple[int, ...]) -> None:
    x = tensor(2.5, dtype).reshape(shape)
    assert f"{x:.3f}" == "2.500" and f"{x:>8.1e}" == " 2.5e+00" and f"{x:5}" == "  2.5"
    assert format(x, "08.2f") == "00002.50" and f"loss {x:,.1f}" == "loss 2.5"
    assert f"{x:.1f}" == "%.1f" % (x,) == "2.5"  # noqa: UP031  the older way asks for a float


def test_integers_and_bools_are_written_as_python_writes_them() -> None:
    assert f"{tensor(42):d} {tensor(42):6d} {tensor(42):x} {tensor([42]):.1f}" == "42     42 2a 42.0"
    assert f"{tensor(True):d}" == "1" and f"{tensor(math.nan):.2f} {tensor(-math.inf):.2f}" == "nan -inf"
    with pytest.raises(ValueError, match="Unknown format code 'd'"):
        format(tensor(2.5), "d")


def test_a_format_without_a_spec_is_str() -> None:
    for x in (tensor(2.5), tensor([1.0, 2.0]), mg.Var([1.0], name="x"), tensor([])):
        assert f"{x}" == format(x) == str(x) == repr(x) == f"{x!r}"


@pytest.mark.parametrize("data", [[1.0, 2.0], [[1.0], [2.0]], []])
def test_a_format_of_more_than_one_element_says_what_would_do(data: Any) -> None:
    with pytest.raises(
        TypeError, match=r"format: .*'\.3f' requires a tensor of one element, got float32\(.*tolist\(\).*printoptions"
    ):
        format(tensor(data), ".3f")


def test_a_tensor_of_one_element_is_a_number_for_python() -> None:
    x, n = tensor([[2.75]]), tensor([3])
    assert (float(x), int(x), complex(x), bool(x), round(x), round(x, 1)) == (2.75, 2, 2.75 + 0j, True, 3, 2.8)
    assert (math.sqrt(x * 4.0 + 5.0), math.floor(x), math.ceil(x), math.trunc(-x)) == (4.0, 2, 3, -2)
    assert (list(range(n)), "ab" * operator.index(n), [5, 6, 7, 8][n], round(n)) == ([0, 1, 2], "ababab", 8, 3)
    assert [type(f) for f in (round(x), round(x, 1), int(x))] == [int, float, int]


def test_a_tensor_is_a_sequence_of_its_slices() -> None:
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    first, second = x
    assert (first.tolist(), second.tolist()) == ([1.0, 2.0], [3.0, 4.0]) and len(x) == 2
    assert [(a.item(), b.item()) for a, b in zip(*x)] == [(1.0, 3.0), (2.0, 4.0)]
    assert [row.tolist() for row in reversed(x)] == [[3.0, 4.0], [1.0, 2.0]] and sum(x).tolist() == [4.0, 6.0]
    assert max(first).item() == 2.0 and [y.item() for y in sorted(tensor([3.0, 1.0, 2.0]))] == [1.0, 2.0, 3.0]


def test_in_asks_for_equal_elements() -> None:
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    assert 3.0 in x and 5.0 not in x and tensor(2.0) in x and np.float32(4) in x
    assert tensor([9.0, 4.0]) in x and tensor([2.0, 1.0]) not in x, "some element of what broadcasts"
    assert math.nan not in tensor([math.nan])
    for other in ("a", None, [1.0, 2.0]):
        with pytest.raises(ArgumentTypeError, match="in: expected a number or a tensor"):
            other in x  # noqa: B015
    assert 1.0 not in tensor([]) and x in [None, x] and 2.5 in tensor(2.5)


def test_a_tensor_is_its_own_key() -> None:
    x = tensor([1.0])
    assert {x: "kept"}[x] == "kept" and hash(x) == hash(x) and len({x, tensor([1.0])}) == 2


def test_numpy_reads_a_tensor() -> None:
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    shared, copied, wide = np.asarray(x), np.array(x), np.asarray(x, dtype=np.float64)
    x[0, 0] = 9.0
    assert shared[0, 0] == 9.0 and copied[0, 0] == wide[0, 0] == 1.0 and wide.dtype == np.float64
    assert np.asarray(x, copy=False).base is not None and np.asarray(x, dtype=np.float32, copy=False)[0, 0] == 9.0
    assert np.asarray([x, x]).shape == (2, 2, 2) and np.asarray([x[0, 0], x[1, 1]]).tolist() == [9.0, 4.0]
    assert np.atleast_1d(tensor(2.0)).tolist() == [2.0] and np.asarray(tensor([1.5], "bfloat16")).tolist() == [1.5]
    with pytest.raises(
        ValueError,
        match=r"array__: copy=False requires that dtype is the dtype of the tensor float32\(2, 2\), got dtype float64",
    ):
        np.array(x, dtype=np.float64, copy=False)


def test_a_var_is_read_into_an_array_of_its_own() -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    for array in (np.asarray(x), np.array(x, copy=True), np.asarray(x, dtype=np.float64)):
        array[0] = 7.0
    assert x.tolist() == [1.0, 2.0]
    with pytest.raises(mg.GradientError, match="detach"):
        np.asarray(x, copy=False)


def plotted(y: Any) -> Any:
    """What matplotlib does with what it is given to plot: it asks whether elements are numbers, then for an array."""
    first = y
    while np.iterable(first):
        first = next(iter(first))
    assert math.isfinite(first)
    columns = np.atleast_1d(y) if not hasattr(y, "ndim") or len(y.shape) < 1 else y
    columns = columns[:, np.newaxis] if columns.ndim == 1 else columns
    return [np.asarray(columns[:, k], float).ravel().tolist() for k in range(columns.shape[1])]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_a_tensor_is_plotted(dtype: str) -> None:
    assert plotted(tensor([1, 2, 4], dtype)) == [[1.0, 2.0, 4.0]]
    assert plotted(tensor([[1, 2], [3, 4]], dtype)) == [[1.0, 3.0], [2.0, 4.0]]
    assert plotted(tensor(5, dtype)) == [[5.0]]
    assert plotted(mg.Var([1.0, 2.0], device="reference")) == [[1.0, 2.0]]


def test_copies_print_and_format_like_the_original() -> None:
    x = tensor([2.5], "bfloat16")
    assert repr(x) == "tensor([2.5000], dtype=bfloat16, device='reference')"
    for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert repr(twin) == repr(x) and f"{twin:.2f}" == "2.50"
