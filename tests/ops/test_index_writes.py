"""x[index] = value by index tensors, lists and truth values, and reading by several: as NumPy and PyTorch have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import GradientError, IndexOutOfRange, ShapeError
from minigrad.testing import gradcheck, gradgradcheck

SHAPE = (3, 4, 2)
T, M = np.array([2, 0, -1]), np.array([True, False, True])
# An index, as NumPy takes it; arrays are given as tensors, as arrays and as lists.
INDICES: dict[str, Any] = {
    "rows": T,
    "negative": np.array([-1, -3]),
    "behind": (slice(None), np.array([3, 1])),
    "two dims": np.array([[2, 0], [1, 2]]),
    "last": (Ellipsis, np.array([1, 0])),
    "after an int": (1, np.array([3, 1])),
    "with a step": (np.array([0, 2]), slice(None, None, 2)),
    "pairs": (T, np.array([1, -1, 0])),
    "stretched": (np.array([[2], [0]]), np.array([1, 3])),
    "all dims": (T, np.array([3, 0, 1]), np.array([1, 0, 1])),
    "apart": (np.array([0, 2]), slice(None), np.array([1, 0])),
    "apart, a new dim": (np.array([0, 2]), None, np.array([1, 3])),
    "mask and tensor": (M, np.array([3, 0])),
    "mask of two dims and tensor": (np.arange(12).reshape(3, 4) % 5 == 0, np.array([1])),
    "none": np.array([], np.int64),
    "true": np.bool_(True),
    "false": np.bool_(False),
    "true and tensor": (np.bool_(True), np.array([2, 0])),
}


def given_as(kind: str, index: Any) -> Any:
    """An index with its arrays as tensors, lists or arrays."""
    make = {"tensor": lambda a: mg.tensor(a, device="reference"), "list": lambda a: a.tolist(), "array": lambda a: a}[
        kind
    ]
    items = [make(np.asarray(i)) if isinstance(i, (np.ndarray, np.bool_)) else i
             for i in (index if isinstance(index, tuple) else (index,))]  # fmt: skip
    return tuple(items) if isinstance(index, tuple) else items[0]


@over("kind", ["tensor", "list", "array"])
@over("name", INDICES)
def test_reading_and_writing_agree_with_numpy(name: str, kind: str) -> None:
    index = INDICES[name]
    values = np.arange(24.0).reshape(SHAPE)
    x, given = mg.tensor(values, device="reference"), given_as(kind, index)
    right = values[index]
    assert np.array_equal(x[given].numpy(), right)
    source = -1.0 - np.arange(right.size, dtype=np.float64).reshape(right.shape)
    for value in (source, 5.0, source[..., :1]):
        x, wanted = mg.tensor(values, device="reference"), values.copy()
        wanted[index] = value
        x[given] = mg.tensor(value, device="reference") if isinstance(value, np.ndarray) else value
        assert np.array_equal(x.numpy(), wanted)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_writes_go_through_views_however_they_lie(device: str) -> None:
    base, wanted = mg.zeros(4, 3, 2, dtype="float64", device=device), np.zeros((4, 3, 2))
    base[1:][mg.tensor([2, 0], device=device)] = 1.0
    base.permute(2, 0, 1)[[0, 1], [1, 2]] = 7.0  # dims that are not one without a copy
    base.permute(2, 0, 1)[:, [1, 3]] = 9.0
    wanted[1:][[2, 0]] = 1.0
    wanted.transpose(2, 0, 1)[[0, 1], [1, 2]] = 7.0
    wanted.transpose(2, 0, 1)[:, [1, 3]] = 9.0
    assert np.array_equal(base.numpy(), wanted)


def test_what_is_read_and_written_at_once_is_read_first() -> None:
    x = mg.tensor([1.0, 2.0, 3.0])
    x[[1, 0]] = x[:2]
    assert x.tolist() == [2.0, 1.0, 3.0]
    x[[1, 2, 0]] = x
    assert x.tolist() == [3.0, 2.0, 1.0]
    places = mg.tensor([1, 2, 0])
    places[places] = mg.tensor([5, 6, 7])
    assert places.tolist() == [7, 5, 6]


def test_the_last_of_equal_positions_stands_and_has_the_gradient() -> None:
    v, x = mg.Var([1.0, 2.0, 3.0, 4.0]), mg.Var([10.0, 20.0, 30.0])
    y = x * 1.0
    y[mg.tensor([0, 2, -3, 0])] = v
    assert y.tolist() == [4.0, 20.0, 2.0]
    to_x, to_v = mg.grad((y * mg.tensor([1.0, 10.0, 100.0])).sum(), [x, v])
    assert to_x.tolist() == [0.0, 10.0, 0.0] and to_v.tolist() == [0.0, 100.0, 0.0, 1.0]


def written(index: Any, view: bool) -> Any:
    """A function of x and v that writes v into x * 1, or into a view of it."""

    def function(x: Any, v: Any) -> Any:
        y = x * 1.0
        place = y[:, 1:] if view else y
        place[index] = v * v
        return y * y

    return function


@pytest.mark.parametrize(
    ("index", "view", "shape"),
    [
        ([2, 0], False, (2, 4)),
        ([1, 1], False, (2, 4)),
        ((slice(None), [2, 0]), True, (3, 2)),
        (([0, 2, 0], [1, -1, 1]), False, (3,)),
        (([0, 2], [1, -1]), True, (2,)),
        (([0, 2], [1, -1]), False, ()),
        (True, False, (1, 4)),
    ],
    ids=str,
)
def test_writes_have_first_and_second_derivatives(index: Any, view: bool, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, v = (mg.Var(rng.uniform(0.4, 1.6, s), "float64", "reference") for s in ((3, 4), shape))
    assert gradcheck(written(index, view), [x, v])
    assert gradgradcheck(written(index, view), [x, v])


def test_a_leaf_is_written_under_no_grad_alone() -> None:
    x = mg.Var([1.0, 2.0, 3.0])
    for place in (x, x[:2]):
        with pytest.raises(GradientError, match=r"index: cannot write into a (view of a )?Var, .*mg\.no_grad\(\)"):
            place[[0, 1]] = 5.0
    with mg.no_grad():
        x[[0, 1]] = 5.0
        x[1:][mg.tensor([-1])] = 6.0
    assert x.tolist() == [5.0, 5.0, 6.0] and x.is_leaf
    loss = (x * x).sum()
    with mg.no_grad():
        x[[0]] = 1.0
    with pytest.raises(mg.StorageError, match="version"):
        loss.backward()


def test_a_refused_write_changes_nothing() -> None:
    x = mg.zeros(3, 4)
    refused: list[tuple[Any, Any, Any, str]] = [
        ([0, 3], 1.0, IndexOutOfRange, "index 3 is out of range for dim 0 of size 3"),
        ((slice(None), [1, -5]), 1.0, IndexOutOfRange, "index -5 is out of range for dim 1 of size 4"),
        (([0, 1], [0, 4]), 1.0, IndexOutOfRange, "index 4 is out of range for dim 1 of size 4"),
        (
            ([0, 1], [0, 1, 2]),
            1.0,
            ShapeError,
            r"the index tensors for .* must broadcast to one shape, got int64\(2,\), int64\(3,\)",
        ),
        ([0, 1], [1.0, 2.0, 3.0], ShapeError, r"must broadcast to the \(2, 4\) that the index chooses"),
    ]
    for index, value, error, words in refused:
        with pytest.raises(error, match=words):
            x[index] = value
    assert not x.numpy().any() and x.storage.version == 0


def test_a_batch_of_positions_copies_for_each() -> None:
    x, src = mg.tensor(np.arange(6.0).reshape(2, 3)), mg.tensor([[10.0, 20.0], [30.0, 40.0]])
    index = mg.tensor([[2, 0], [-1, 2]])
    copied = mg.func.vmap(lambda a, i, s: mg.index_copy(a, 0, i, s))(x, index, src)
    assert copied.tolist() == [[20.0, 1.0, 10.0], [3.0, 4.0, 40.0]]
    read = mg.func.vmap(lambda a, i: a[i, i])(mg.tensor(np.arange(18.0).reshape(2, 3, 3)), index)
    assert read.tolist() == [[8.0, 0.0], [17.0, 17.0]]


def test_a_position_that_is_not_there_is_named_in_a_batch_too() -> None:
    copy = mg.func.vmap(lambda a, i: mg.index_copy(a, 0, i, i.to(a.dtype)))
    for wrong, size, words in (
        (3, 3, r"index 3 is out of range for dim 1 of size 3 of float64\(2, 3\); positions are -3 to 2"),
        (-4, 3, r"index -4 is out of range for dim 1 of size 3 of float64\(2, 3\); positions are -3 to 2"),
        (0, 0, r"index 0 is out of range for dim 1 of size 0 of float64\(2, 0\); it has no position"),
    ):
        x = mg.zeros(2, size, dtype="float64", device="reference")
        with pytest.raises(IndexOutOfRange, match=f"^index_copy: {words}$") as error:
            copy(x, mg.tensor([[0], [wrong]], device="reference"))
        assert error.value.dim == 1
    x, edges = mg.zeros(2, 3, dtype="float64", device="reference"), mg.tensor([[2], [-3]], device="reference")
    assert copy(x, edges).tolist() == [[0.0, 0.0, 2.0], [-3.0, 0.0, 0.0]]


@pytest.mark.parametrize("index", [0, [1], [True, False], slice(None), Ellipsis], ids=str)
def test_a_number_is_written_in_the_dtype_of_the_tensor(index: Any) -> None:
    """The default float and int64 round the number, or cannot store it."""
    for value, dtype in ((2.0**24 + 1, "float64"), (1e-40, "float64"), (2**64 - 1, "uint64")):
        x = mg.zeros(2, dtype=dtype, device="reference")
        x[index] = value
        assert value in x.tolist()
    x = mg.zeros(2, dtype="float64", device="reference")
    x[:] = [2.0**24 + 1, 1 / 3]
    assert x.tolist() == [2.0**24 + 1, 1 / 3]
