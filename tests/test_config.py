"""A setting holds from the moment it is set, also for calls that were made before."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg
from minigrad.backends.reference import ReferenceBackend
from minigrad.backends.registry import backend_of
from minigrad.core.device import as_device
from minigrad.declare.record import schema
from minigrad.kernels.store import watch


def test_the_default_float_holds_for_a_call_that_was_planned() -> None:
    n = mg.tensor([1, 2], device="reference")
    assert (n / 2).dtype is mg.float32
    mg.set_default_float("float64")
    try:
        assert (n / 2).dtype is mg.float64
    finally:
        mg.set_default_float("float32")
    assert (n / 2).dtype is mg.float32


def test_the_parallel_threshold_holds_for_a_call_that_was_planned() -> None:
    x = mg.tensor(np.ones(10, np.float32))
    _ = x + x
    with mg.override(parallel_threshold=0), watch() as inside:
        _ = x + x
    with watch() as outside:
        _ = x + x
    assert len(inside) == len(outside) == 1 and inside == outside, "one machine code serves both"
    backend = backend_of(as_device("cpu"))
    kinds = {(key[-1], backend.compiled[key[:2]].path) for key in backend.kernels}
    assert {("shared", inside[0]), ("brief", inside[0])} <= kinds


def test_a_debug_block_leaves_plans_as_they_are() -> None:
    x = mg.tensor([1.0, 2.0])
    _ = x + x
    plans = dict(schema["add"].plans)
    with mg.debug():
        y = x + x
    _ = x + x
    assert y.tolist() == [2.0, 4.0]
    assert plans and all(schema["add"].plans.get(key) is plan for key, plan in plans.items())


def test_a_backend_that_is_registered_again_runs_the_next_call() -> None:
    calls = []

    class Counting(ReferenceBackend):
        def prepare(self, request, outs, *operands):  # type: ignore[no-untyped-def]
            calls.append(request.scalar.name)
            return super().prepare(request, outs, *operands)

    x = mg.tensor([1.0], device="reference")
    _ = x * x
    mg.register_backend("reference", Counting)
    try:
        _ = x * x
    finally:
        mg.register_backend("reference", ReferenceBackend)
    assert calls == ["mul"]


def test_an_unknown_setting_is_refused_and_the_others_stay() -> None:
    before = mg.settings.parallel_threshold
    with pytest.raises(AttributeError), mg.override(parallel_threshold=1, colour="red"):
        pass
    assert mg.settings.parallel_threshold == before
