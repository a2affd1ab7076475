"""mg.autograd has the names that ported code imports, with PyTorch's meaning; detect_anomaly names the op."""

from __future__ import annotations

from typing import Any

import pytest
from points import leaf

import minigrad as mg
from minigrad.autograd import Function, Variable, backward, grad, gradcheck, gradgradcheck
from minigrad.autograd.function import once_differentiable
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.errors import ArgumentError, GradientError


def test_names_are_the_same_objects() -> None:
    assert Function is mg.Function and isinstance(mg.ones(1), Variable)
    assert mg.autograd.detect_anomaly is mg.detect_anomaly and mg.autograd.no_grad is mg.no_grad
    assert (gradcheck, gradgradcheck) == (mg.testing.gradcheck, mg.testing.gradgradcheck)
    assert mg.autograd.graph.saved_tensors_hooks is saved_tensors_hooks and callable(once_differentiable)
    assert isinstance((mg.Var(1.0) * 2.0).grad_fn, mg.autograd.graph.Node)


def test_grad_is_always_a_tuple() -> None:
    x, z = leaf(3.0), leaf(4.0)
    (g,) = grad((x * x).sum(), x)
    assert g.tolist() == [6.0]
    a, b = grad([(x * z).sum(), x.sum()], (x, z), [None, mg.tensor(5.0, dtype="float64", device="reference")])
    assert a.tolist() == [9.0] and b.tolist() == [3.0]


def test_an_output_that_is_no_scalar_wants_a_cotangent() -> None:
    x = leaf(1.0, 2.0)
    for call in (lambda: grad(x * x, x), lambda: backward(x * x)):
        with pytest.raises(GradientError, match=r"float64\(2,\) is not a scalar, so its incoming gradient is required"):
            call()
    backward(x * x, mg.ones_like(x))
    assert x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(GradientError, match="expected one gradient for each of the 2 outputs, got 1"):
        grad([x.sum(), x.sum()], x, [None])


def test_unused_inputs() -> None:
    x, z = leaf(1.0), leaf(2.0)
    with pytest.raises(GradientError, match="do not depend on"):
        grad(x.sum(), [x, z])
    assert grad(x.sum(), [x, z], allow_unused=True)[1] is None
    assert grad(x.sum(), [x, z], materialize_grads=True)[1].tolist() == [0.0]
    with pytest.raises(ArgumentError, match="allow_unused must be True or omitted"):
        grad(x.sum(), [x, z], materialize_grads=True, allow_unused=False)
    with pytest.raises(GradientError, match="inputs must require a gradient"):
        grad(x.sum(), x.detach())


def test_a_batch_of_cotangents() -> None:
    x = leaf(1.0, 2.0)
    eye = mg.eye(2, dtype="float64", device="reference")
    y = x * x
    (jacobian,) = grad(y, x, eye, is_grads_batched=True)
    assert jacobian.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    with pytest.raises(GradientError, match="was freed"):
        grad(y.sum(), x)


def test_backward_of_several_and_of_inputs_alone() -> None:
    x, z = leaf(3.0), leaf(4.0)
    y = x * z
    assert backward([y, x * 2.0], inputs=[x, y]) is None
    assert x.grad.tolist() == [6.0] and z.grad is None and y.grad.tolist() == [1.0]


# ---- anomalies ------------------------------------------------------------------------------------------------------


def test_the_first_gradient_that_is_not_finite_is_named_with_its_line_and_rule() -> None:
    x = leaf(0.0, 4.0)
    with (
        pytest.raises(
            GradientError,
            match=r"detect_anomaly: 1 of 2 elements of the gradient of 'x' in sqrt\(2,\) of .*test_autograd\.py:\d+, "
            r"float64\(2,\), are nan or infinite; its rule is at .*explog\.py:\d+, and the gradient that came was fin",
        ),
        mg.detect_anomaly(),
    ):
        (x.sqrt() * 2.0).sum().backward()
    assert x.grad is None
    (x.sqrt() * 2.0).sum().backward()
    assert x.grad.tolist()[1] == 0.5


def test_it_is_a_decorator_and_a_switch_and_looks_at_what_came() -> None:
    x = leaf(1.0)

    @mg.detect_anomaly()
    def broken() -> None:
        (x * 2.0).sum().backward(mg.tensor(float("nan"), dtype="float64", device="reference"))

    with pytest.raises(GradientError, match="was not finite already"):
        broken()
    assert not mg.autograd.is_anomaly_enabled()
    y = x.log() * 0.0
    with mg.autograd.set_detect_anomaly(True), pytest.raises(GradientError, match="so its line is not known"):
        y.backward(mg.full((1,), float("inf"), dtype="float64", device="reference"))
    mg.autograd.set_detect_anomaly(True, check_nan=False)
    assert mg.autograd.is_anomaly_enabled()
    (x * 1.0).backward(mg.full((1,), float("inf"), dtype="float64", device="reference"))
    mg.autograd.set_detect_anomaly(False)
    assert not mg.autograd.is_anomaly_enabled()


def test_the_backward_of_a_function_is_named() -> None:
    class Bad(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g / 0.0

    with mg.detect_anomaly(), pytest.raises(GradientError, match=r"'x' in Bad.*its rule is at .*test_autograd"):
        Bad.apply(leaf(2.0)).backward()


def test_create_graph_records_under_no_grad() -> None:
    functional, x = mg.autograd.functional, mg.Var([1.0, 2.0], device="reference")
    with mg.no_grad():
        assert functional.jacobian(lambda x: x**3, x, create_graph=True).requires_grad
        assert not functional.jacobian(lambda x: x**3, x).requires_grad
        assert functional.hessian(lambda x: (x**3).sum(), x, create_graph=True).requires_grad
        assert functional.vjp(lambda x: x**3, x, mg.ones_like(x), create_graph=True)[1].requires_grad
    assert mg.is_grad_enabled()


def test_an_anomaly_in_a_batch_of_gradients_is_found() -> None:
    x = mg.tensor([4.0, 0.0, 0.0], device="reference")
    with mg.detect_anomaly():
        assert mg.func.vmap(mg.func.grad(lambda x: x * x))(x).tolist() == [8.0, 0.0, 0.0]
        with pytest.raises(GradientError, match=r"detect_anomaly: 2 of 3 elements of the gradient of 'x' in sqrt\(\)"):
            mg.func.vmap(mg.func.grad(lambda x: x.sqrt()))(x)
