"""A tensor becomes a leaf and stops being a leaf, and stays the same object."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from points import row

import minigrad as mg
from minigrad.errors import DTypeError, GradientError, StorageError

DTYPE: Any = {"dtype": "float64", "device": "reference"}


def test_requires_grad_gives_the_same_object_back() -> None:
    x = row(1, 2) * 0.5
    assert x.requires_grad_() is x and isinstance(x, mg.Var) and x.is_leaf and x.grad is None and x.name is None
    (x * x).sum().backward()
    assert x.grad.tolist() == [1, 2]
    with mg.no_grad():
        x.sub_(x.grad)
    assert x.tolist() == [-0.5, -1]
    assert pickle.loads(pickle.dumps(x)).requires_grad and copy.deepcopy(x).grad.tolist() == [1, 2]


def test_a_leaf_ceases_to_be_one_and_becomes_one_again() -> None:
    x, w = mg.Var([1, 2], name="x", **DTYPE), mg.Var([3, 4], **DTYPE)
    old = (x * w).sum()
    assert x.requires_grad_(False) is x and type(x) is mg.Tensor and not x.requires_grad
    old.backward(retain_graph=True)
    assert w.grad.tolist() == [1, 2]
    x.mul_(1.0)  # a plain tensor is written where it is
    assert not (x * 2.0).requires_grad
    x.requires_grad = True
    assert x.is_variable and x.name == "x" and x.grad is None
    (x * 3.0).sum().backward()
    assert x.grad.tolist() == [3, 3]
    x.requires_grad = False
    x.requires_grad_(True)
    assert x.grad.tolist() == [3, 3]


def test_what_was_saved_as_a_constant_stays_one() -> None:
    x, w = row(1, 2), mg.Var([3, 4], **DTYPE)
    y = (x * w * w).sum()
    x.requires_grad_()
    g = mg.grad(y, w, create_graph=True)
    assert g.tolist() == [6, 16] and mg.grad(g.sum(), w, retain_graph=True).tolist() == [2, 4]
    assert mg.grad(g.sum(), (w, x), allow_unused=True)[1] is None


def test_a_view_may_become_a_leaf_and_its_views_follow_it() -> None:
    data = row(1, 2, 3)
    before = data[1:]
    x = data[:2].requires_grad_()
    assert not data.requires_grad and not before.requires_grad and x.base is None
    assert mg.grad((x[1:] * 5.0).sum(), x).tolist() == [0, 5]
    with pytest.raises(GradientError, match="a view of a Var"):
        x[1:].zero_()
    y = (x * x).sum()
    data.zero_()
    with pytest.raises(StorageError, match="version 1"):
        y.backward()


def test_views_from_before_stay_constants() -> None:
    x = row(1, 2, 3)
    v = x[:2]
    x.requires_grad_()
    assert not v.requires_grad and not (v * 2.0).requires_grad
    with pytest.raises(GradientError, match="a view of a Var"):
        v.zero_()
    with mg.no_grad():
        v.zero_()
    assert x.tolist() == [0, 0, 3] and not (v * 2.0).requires_grad


def test_what_has_a_history_only_detaches() -> None:
    x = mg.Var([1, 2], **DTYPE)
    y = x * 2.0
    assert y.requires_grad_() is y and not y.is_variable
    with pytest.raises(GradientError, match=r"requires_grad_: .* the result of mul; use x\.detach\(\)"):
        y.requires_grad = False
    with pytest.raises(GradientError, match=r"detach_: a view of a tracked tensor cannot be detached in place"):
        y[:1].detach_()
    with pytest.raises(GradientError, match=r"detach_: a view"):
        x[:1].detach_()
    z = y * 3.0
    assert y.detach_() is y and not y.requires_grad and y.is_leaf and mg.grad(z.sum(), x).tolist() == [6, 6]
    assert y.requires_grad_() is y and mg.grad((y * 3.0).sum(), y).tolist() == [3, 3]
    assert x.detach_() is x and not x.is_variable and row(1).detach_().tolist() == [1]


def test_a_gradient_of_integers_is_refused_under_the_name_of_the_function_that_was_called() -> None:
    x, need = mg.tensor([1, 2]), {"requires_grad": True}
    calls = {
        "tensor": lambda: mg.tensor([1, 2], **need), "new_tensor": lambda: x.new_tensor([1], **need),
        "zeros_like": lambda: mg.zeros_like(x, **need), "full_like": lambda: mg.full_like(x, 1, **need),
        "empty_like": lambda: mg.empty_like(x, **need), "new_zeros": lambda: x.new_zeros(2, **need),
        "new_full": lambda: x.new_full((2,), 1, **need), "zeros": lambda: mg.zeros(2, dtype="int64", **need),
        "arange": lambda: mg.arange(3, **need), "eye": lambda: mg.eye(3, dtype="int64", **need),
        "linspace": lambda: mg.linspace(0, 1, 3, dtype="int64", **need), "randperm": lambda: mg.randperm(3, **need),
        "scalar_tensor": lambda: mg.scalar_tensor(1, dtype="int64", **need),
        "randint_like": lambda: mg.randint_like(x, 3, **need), "Var": lambda: mg.Var(x),
    }  # fmt: skip
    for name, call in calls.items():
        with pytest.raises(
            DTypeError, match=rf"^{name}: dtype must be a floating .*, got int64; pass dtype=mg.float32$"
        ):
            call()
    with pytest.raises(
        DTypeError, match=r"^Parameter: data must have a floating dtype.*convert it with \.float\(\), or"
    ):
        mg.nn.Parameter(x)


def test_integers_and_numbers_of_the_program_cannot() -> None:
    with pytest.raises(DTypeError, match=r"requires_grad_: expected a tensor with a floating dtype, got int64\(1,\)"):
        mg.tensor([1]).requires_grad_()
    from minigrad.runtime.dispatch import number

    with pytest.raises(StorageError, match=r"requires_grad_: .* is a constant"):
        number(2.0, mg.float32, mg.device("cpu")).requires_grad_()


def test_data_is_the_values_without_history() -> None:
    x = mg.Var([1, 2], **DTYPE)
    assert not x.data.requires_grad and x.data.storage is x.storage and not (x * 2.0).data.requires_grad
    x.data = row(3, 4) * 2.0
    assert x.tolist() == [6, 8] and x.is_variable
    y = x * 1.0
    y.data = [5, 6]
    assert y.tolist() == [5, 6]
    with pytest.raises(GradientError, match="was changed in place"):
        y.sum().backward()
    x.data = x.data  # as `x.data -= step` does after the subtraction
    assert x.tolist() == [6, 8]
    with pytest.raises(StorageError, match=r"data: the value must not share memory with the Var"):
        x.data = x.data.flip(0)


def test_data_of_another_kind_moves_a_leaf_to_new_memory() -> None:
    for value in (row(1, 2, 3), row(1, 2).float()):
        x = mg.Var([1, 2], **DTYPE)
        loss = (x * x).sum()
        x.data = value
        assert x.is_variable and x.tolist() == value.tolist() and x.dtype is value.dtype
        assert mg.grad((x * x).sum(), x).tolist() == (value * 2).tolist() and value._version == 0
        with pytest.raises(StorageError, match="changed in place"):
            loss.backward()
    with mg.no_grad():
        assert x.numpy().tolist() == [1, 2] and x.set_(mg.ones(3, device="reference")).shape == (3,)
    assert x.requires_grad and x.is_variable
    with pytest.raises(GradientError, match="detach"):
        x.numpy()


def test_a_tensor_is_not_its_own_gradient() -> None:
    for x in (mg.Var([1.0], device="reference"), mg.ones(1, device="reference")):
        with pytest.raises(GradientError, match=r"must have its shape and dtype .*, got the tensor itself"):
            x.grad = x
        assert x.grad is None
