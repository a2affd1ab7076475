"""inference_mode disables recording, and its results cannot enter a graph."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from points import leaf

import minigrad as mg
from minigrad.errors import GradientError
from minigrad.runtime.observers import observed


def test_nothing_is_recorded_and_results_are_marked() -> None:
    x = leaf(1.0, 4.0)
    with mg.inference_mode():
        assert mg.is_inference_mode_enabled() and not mg.is_grad_enabled()
        y = (x * 2.0).sqrt()
        z, places = y.max(0)
        y.add_(1.0)
    assert not mg.is_inference_mode_enabled() and mg.is_grad_enabled()
    assert y.is_inference() and z.is_inference() and places.is_inference() and not y.requires_grad
    assert not x.is_inference() and not (x * 2.0).is_inference() and x[:1].is_inference() is False
    assert "InferenceStorage" in repr(y.storage)


def test_an_op_that_saves_one_raises_and_others_may_use_it() -> None:
    x = leaf(2.0)
    with mg.inference_mode():
        y = x * 3.0
    with pytest.raises(
        GradientError, match=r"computed under mg\.inference_mode\(\) cannot be an operand of a recorded op"
    ):
        x * y
    assert mg.grad(x + y, x).tolist() == [1.0]
    assert mg.grad(x * y.clone(), x).tolist() == [6.0]
    assert (y * y).tolist() == [36.0]
    with mg.no_grad():
        assert (x * y).tolist() == [12.0]


def test_a_write_outside_raises_before_it_happens() -> None:
    with mg.inference_mode():
        y = leaf(2.0) * 3.0
    with pytest.raises(GradientError, match="be written in place outside"):
        y.add_(1.0)
    assert y.tolist() == [6.0]
    with mg.no_grad():
        assert y.add_(1.0).tolist() == [7.0]


def test_it_is_a_decorator_nests_and_belongs_to_one_thread() -> None:
    x, seen = leaf(2.0), []

    @mg.inference_mode()
    def evaluate() -> Any:
        with mg.inference_mode(False), mg.inference_mode():
            pass
        assert mg.is_inference_mode_enabled()
        thread = threading.Thread(target=lambda: seen.append((mg.is_grad_enabled(), (x * 2.0).is_inference())))
        thread.start()
        thread.join()
        with mg.enable_grad():
            seen.append(mg.is_grad_enabled())
        return x * 5.0

    assert evaluate().is_inference() and evaluate.__name__ == "evaluate"
    assert seen == [(True, False), True]


@pytest.mark.parametrize("on", [mg.enable_grad, lambda: mg.set_grad_enabled(True)])
def test_inside_it_only_derivatives_are_recorded_whatever_switches_recording_on(on: Any) -> None:
    x = leaf(2.0)
    with mg.inference_mode():
        with on():
            y = x * 3.0
            assert mg.is_grad_enabled() and mg.is_inference_mode_enabled()
            assert mg.func.hessian(lambda v: v * v * v)(x[0]).item() == 12.0
            with mg.inference_mode(False), mg.no_grad(), on():
                z = x * 3.0
        assert not mg.is_grad_enabled()
    assert (y.requires_grad, y.is_inference(), z.requires_grad, z.is_inference()) == (False, True, True, False)
    assert mg.is_grad_enabled() and (x * 3.0).requires_grad


def test_plans_are_as_they_were_afterwards_and_new_ones_are_marked_too() -> None:
    x = leaf(1.0, 2.0, 3.0)
    x.tanh()
    before = [plan.make for plan in mg.schema["tanh"].plans.values()]
    with mg.inference_mode():
        new = leaf(*[0.5] * 17).tanh()
        assert x.tanh().is_inference() and new.is_inference()
    assert [plan.make for plan in mg.schema["tanh"].plans.values()][: len(before)] == before
    assert not observed.allocated and not leaf(*[0.5] * 17).tanh().is_inference()
