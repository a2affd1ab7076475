"""A Var: attributes that users set, and its gradient."""

from __future__ import annotations

import copy
import pickle

import pytest

import minigrad as mg


def test_tensors_take_attributes_of_a_user() -> None:
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
    assert leaf.tag == 1 and leaf.requires_grad_(False).tag == 1
    assert not hasattr(leaf.detach(), "tag")


def test_copies_of_a_tensor_have_its_attributes() -> None:
    for x in (mg.ones(2, device="reference"), mg.Var([1.0], device="reference")):
        x.tag = [1]
        assert copy.copy(x).tag is x.tag
        for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps([x, x.detach()]))[0]):
            assert twin.tag == [1] and twin.tag is not x.tag


def test_the_gradient_of_a_var_can_be_deleted() -> None:
    x = mg.Var([1.0], device="reference")
    (x * 2.0).backward()
    del x.grad
    assert x.grad is None and (x * 2.0).backward()[x].tolist() == [2.0]


def test_the_gradient_of_any_tensor_can_be_set() -> None:
    plain, result = mg.ones(2, device="reference"), mg.Var([1.0, 2.0], device="reference") * 3.0
    for x in (plain, result):
        x.grad = mg.tensor([1.0, 3.0], device="reference")
        assert x.grad.tolist() == [1.0, 3.0]
        with pytest.raises(RuntimeError, match="the gradient of float32"):
            x.grad = mg.ones(3, device="reference")
        del x.grad
        assert x.grad is None
    plain.grad = mg.tensor([1.0, 3.0], device="reference")
    mg.optim.SGD([plain], lr=0.5).step()
    assert plain.tolist() == [0.5, -0.5] and not isinstance(plain, mg.nn.Parameter)


def test_a_gradient_that_was_set_stays_when_a_tensor_becomes_a_leaf_or_retains_it() -> None:
    x = mg.ones(2, device="reference")
    x.grad = mg.ones(2, device="reference")
    (x.requires_grad_() * 2.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    y = x * 2.0
    y.grad = mg.ones(2, device="reference")
    y.retain_grad()
    (y * 3.0).sum().backward(inputs=[y])
    assert y.grad.tolist() == [4.0, 4.0]


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
