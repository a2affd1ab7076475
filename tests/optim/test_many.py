"""Rules over many tensors: one launch, numbers that compile nothing, memory that is shared or lies anyhow, versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backends.reference import ReferenceBackend
from minigrad.declare.many import many
from minigrad.kernels import store
from minigrad.optim import lists
from minigrad.runtime.observers import Observer, attach, detach
from minigrad.runtime.plans import forget_plans


class Launches(Observer):
    """Collects the requests of launches."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    def launching(self, plan: Any, launch: Any, buffers: tuple[Any, ...]) -> None:
        self.requests += launch.requests


@contextmanager
def launches() -> Iterator[list[Any]]:
    """A block whose launches are collected."""
    observer = Launches()
    attach(observer)
    try:
        yield observer.requests
    finally:
        detach(observer)


@many
def weighted(p, g, *, rate, power):  # type: ignore[no-untyped-def]
    """A step."""
    return p - rate / (1 - rate**power) * g


def tensors(device: str = "reference", dtype: str = "float64") -> tuple[list[Any], list[Any], list[Any]]:
    """Return parameters, gradients and the values that `weighted` gives for rate 0.5 and power 2."""
    arrays = [np.arange(6.0).reshape(2, 3), np.array(2.0), np.zeros((0, 4)), np.ones(5)]
    ps = [mg.tensor(a, dtype=dtype, device=device) for a in arrays]
    gs = [mg.tensor(a + 1, dtype=dtype, device=device) for a in arrays]
    return ps, gs, [a - 2 / 3 * (a + 1) for a in arrays]


def test_numbers_are_computed_once_and_in_float64() -> None:
    assert weighted.scalar.args == ("p", "g", "c1") and weighted.constants(rate=0.5, power=2) == (0.5 / 0.75,)
    assert weighted.formula() == "p = p - rate / (1 - rate ** power) * g"
    assert repr(weighted) == "<rule weighted(p, g; rate, power)>"


def test_all_tensors_are_one_launch_and_other_numbers_compile_nothing() -> None:
    ps, gs, expected = tensors("cpu", "float32")
    with launches() as requests:
        weighted.run([ps, gs], rate=0.5, power=2)
    assert [type(request) for request in requests] == [mg.requests.Many] and requests[0].rows == 4
    for p, value in zip(ps, expected):
        np.testing.assert_allclose(p.numpy(), value, rtol=1e-6)
    before = len(store.loaded)
    for rate in (0.25, 0.125):
        weighted.run([ps, gs], rate=rate, power=3)
    assert len(store.loaded) == before


def test_dtypes_and_devices_are_grouped() -> None:
    groups = [tensors(), tensors("cpu", "float32"), tensors("reference", "float16")]
    with launches() as requests:
        weighted.run([[x for group in groups for x in group[k]] for k in range(2)], rate=0.5, power=2)
    assert sorted(request.rows for request in requests) == [4, 4, 4]
    for (ps, _, expected), tolerance in zip(groups, (1e-12, 1e-6, 2e-3)):
        for p, value in zip(ps, expected):
            np.testing.assert_allclose(p.numpy(), value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("turn", [lambda x: x.T, lambda x: x.flip(0), lambda x: x[:, 1:], lambda x: x[::2]])
def test_tensors_may_lie_anyhow(turn: Callable[[Any], Any]) -> None:
    whole = mg.tensor(np.arange(12.0).reshape(4, 3))
    p = turn(whole)
    g = mg.ones(*p.shape, dtype="float64")
    expected = whole.clone()
    turn(expected).sub_(2 / 3)
    q, h = mg.zeros(2, dtype="float64"), mg.ones(2, dtype="float64")
    weighted.run([[p, q], [g, h]], rate=0.5, power=2)
    np.testing.assert_allclose(whole.numpy(), expected.numpy())
    np.testing.assert_allclose(q.numpy(), -2 / 3)


def test_rows_that_share_memory_are_updated_one_after_the_other() -> None:
    x = mg.tensor(np.arange(4.0), device="reference")
    g = mg.ones(4, dtype="float64", device="reference")
    with launches() as requests:
        weighted.run([[x, x, x[1:3]], [g, g, g[1:3]]], rate=0.5, power=2)
    assert [request.rows for request in requests] == [1, 1, 1]
    np.testing.assert_allclose(x.numpy(), np.arange(4.0) - np.array([2, 3, 3, 2]) * 2 / 3, atol=1e-12)


def test_what_is_read_across_what_is_written_is_copied_first() -> None:
    x = mg.tensor(np.arange(4.0), device="reference")
    weighted.run([[x], [x.flip(0)]], rate=0.5, power=2)
    np.testing.assert_allclose(x.numpy(), np.arange(4.0) - 2 / 3 * np.arange(4.0)[::-1])
    y = mg.tensor(np.arange(4.0), device="reference")
    for _ in range(2):  # the second time by the plan that is there
        weighted.run([[y[:3]], [y[1:]]], rate=0.5, power=2)
    first = np.arange(4.0)
    for _ in range(2):
        first[:3] -= 2 / 3 * first[1:].copy()
    np.testing.assert_allclose(y.numpy(), first)


def test_gradients_that_are_views_of_one_bucket_share_a_launch() -> None:
    bucket = mg.ones(6, dtype="float64", device="reference")
    ps = [mg.zeros(3, dtype="float64", device="reference") for _ in range(2)]
    with launches() as requests:
        weighted.run([ps, [bucket[:3], bucket[3:]]], rate=0.5, power=2)
    assert [request.rows for request in requests] == [2]


def test_a_graph_that_saved_a_tensor_notices_the_write() -> None:
    w, x = mg.Var(np.ones((2, 2)), device="reference"), mg.Var(np.ones((2, 2)), device="reference")
    y = (w * x).sum()
    before = w.storage.version
    weighted.run([[w.detach()], [w.detach().clone()]], rate=0.5, power=2)
    assert w.storage.version == before + 1
    with pytest.raises(mg.StorageError, match="changed in place"):
        y.backward()


@pytest.mark.parametrize(
    ("columns", "error", "match"),
    [
        (lambda x, y: [[x]], mg.ArgumentError, "expected 2 columns"),
        (lambda x, y: [[x, x], [x]], mg.ArgumentError, r"columns of \[2, 1\] tensors"),
        (lambda x, y: [[x], [y]], mg.ShapeError, "equal shapes"),
        (lambda x, y: [[x], [x.to("cpu")]], mg.DeviceError, "move one"),
        (lambda x, y: [[x[:1].expand(3)], [x]], mg.StorageError, "share memory"),
        (lambda x, y: [[3.0], [x]], mg.DTypeError, "expected a tensor"),
    ],
)
def test_tables_that_do_not_fit_are_refused(columns: Any, error: Any, match: str) -> None:
    x, y = (mg.zeros(n, dtype="float64", device="reference") for n in (3, 4))
    with pytest.raises(error, match=match):
        weighted.run(columns(x, y), rate=0.5, power=2)
    assert x.tolist() == [0, 0, 0]


def test_a_name_of_a_number_cannot_be_assigned_again() -> None:
    @many
    def wrong(p, *, rate):  # type: ignore[no-untyped-def]
        """Assigns a number."""
        rate = rate * 2
        return p * rate

    with pytest.raises(mg.DeclarationError, match="rate is a parameter or was already assigned"):
        _ = wrong.scalar


# ---- what is made of it


def test_lists_are_zeroed_scaled_limited_and_averaged_by_one_launch_each() -> None:
    xs = [mg.tensor(values, device="reference") for values in ([3.0, -4.0], [[12.0], [np.nan]])]
    ys = [mg.zeros_like(x) for x in xs]
    with launches() as requests:
        lists.copy_(ys, xs)
        lists.lerp_(ys, xs, 0.5)
        lists.scale_(ys, 2.0)
        lists.clamp_(ys, -7.0, 10.0)
        lists.zero_(xs)
    assert [type(request).__name__ for request in requests] == ["Many"] * 5
    np.testing.assert_equal([y.tolist() for y in ys], [[6.0, -7.0], [[10.0], [np.nan]]])
    assert [x.tolist() for x in xs] == [[0.0, 0.0], [[0.0], [0.0]]]


def test_the_norm_of_a_list_is_that_of_one_vector() -> None:
    xs = [mg.tensor(values, device="reference") for values in ([3.0, -4.0], [[12.0]], [])]
    assert lists.total_norm(xs).item() == 13 and lists.total_norm(xs, 1).item() == 19
    assert lists.total_norm(xs[:2], float("inf")).item() == 12 and lists.total_norm([]).item() == 0
    assert lists.clip_norm_(xs, 26.0).item() == 13 and xs[0].tolist() == [3, -4]
    assert lists.clip_norm_(xs, 1.3).item() == 13
    np.testing.assert_allclose(xs[0].numpy(), [0.3, -0.4], rtol=1e-6)
    with pytest.raises(mg.GradientError, match="expected a finite norm"):
        lists.clip_norm_([mg.tensor([np.inf], device="reference")], 1.0, error_if_nonfinite=True)


def test_a_backend_may_return_a_function_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = ReferenceBackend.prepare

    def as_function(self: ReferenceBackend, *args: Any) -> Callable[..., Any]:
        launch = prepare(self, *args)
        return lambda *buffers: launch(*buffers)

    def stepped() -> list[Any]:
        ps = [mg.Var([1.0, 2.0], device="reference"), mg.Var([3.0], device="reference")]
        for p in ps:
            p.grad = p.detach() * 0.5
        mg.optim.AdamW(ps, lr=0.1).step()
        return [p.tolist() for p in ps]

    want = stepped()
    forget_plans()
    with monkeypatch.context() as patch:
        patch.setattr(ReferenceBackend, "prepare", as_function)
        assert stepped() == want
    forget_plans()
