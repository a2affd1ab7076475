"""A Var: attributes that users set, and its gradient."""

from __future__ import annotations

import pytest

import minigrad as mg


def test_a_var_takes_attributes_of_a_user() -> None:
    x = mg.Var([1.0], device="reference")
    x.tag, x.require_grad = "first", True
    assert (x.tag, x.require_grad) == ("first", True)
    del x.tag
    for missing in (lambda: x.tag, lambda: delattr(x, "tag"), lambda: x.grad_sample):
        with pytest.raises(AttributeError, match=r"'Var' object has no attribute '(tag|grad_sample)'"):
            missing()
    assert not hasattr(x, "grad_sample")
    with pytest.raises(AttributeError, match="property 'shape' of 'Var' object has no setter"):
        x.shape = (2,)
    leaf = (mg.ones(2, device="reference") * 3.0).requires_grad_()
    leaf.tag = 1
    assert leaf.tag == 1 and leaf.requires_grad_(False).requires_grad is False
    with pytest.raises(AttributeError):
        mg.ones(1, device="reference").tag = 1


def test_the_gradient_of_a_var_can_be_deleted() -> None:
    x = mg.Var([1.0], device="reference")
    (x * 2.0).backward()
    del x.grad
    assert x.grad is None and (x * 2.0).backward()[x].tolist() == [2.0]


def test_gradients_of_any_iterable_of_tensors() -> None:
    x, y = (mg.Var([value], device="reference") for value in (2.0, 3.0))
    for inputs in (iter([x, y]), {"x": x, "y": y}.values(), (v for v in (x, y)), {x: 1, y: 2}):
        for grad in (mg.grad, mg.autograd.grad):
            inputs = [*inputs]
            assert [g.tolist() for g in grad((x * y).sum(), (v for v in inputs))] == [[3.0], [2.0]]
    mg.autograd.backward((v for v in [x * y]), inputs=iter([y]))
    assert x.grad is None and y.grad.tolist() == [2.0]
    with pytest.raises(mg.errors.DTypeError, match="expected a tensor"):
        mg.autograd.grad((x * y).sum(), {"x": x})
