"""Ops with more than one result: an edge says which, a rule takes the gradients that it names."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import pytest

import minigrad as mg
from minigrad.errors import DeclarationError, GradientError, StorageError
from minigrad.testing import gradcheck, gradgradcheck
from minigrad.viz.explain import explanation


@mg.scalar
def _sine(x):
    return math.sin(x)


@mg.scalar
def _cosine(x):
    return math.cos(x)


def _two(op: Any, specs: Any, **params: Any) -> Any:
    return specs[0].dtype, specs[0].dtype


def _shapes(op: Any, x: Any, **params: Any) -> Any:
    return x.shape, x.shape


def _both(backend: Any, s: Any, c: Any, x: Any) -> Any:
    first = backend.prepare(mg.requests.Elementwise(_sine, s.dtype.compute), s, x)
    second = backend.prepare(mg.requests.Elementwise(_cosine, c.dtype.compute), c, x)

    def launch(a: Any, sine: Any, cosine: Any) -> None:
        first(a, sine)
        second(a, cosine)

    return launch


def _rule(g0: Any, g1: Any, sine: Any, cosine: Any) -> Any:
    return g0 * cosine - g1 * sine


@mg.kernel(dtype=_two, shape=_shapes, outputs=("sine", "cosine"), zeros=True, vjp=(_rule,))
def sincos(backend, s, c, x):
    """Sine and cosine."""
    return _both(backend, s, c, x)


def _careful(g0: Any, g1: Any, sine: Any, cosine: Any) -> Any:
    parts = [g * slope for g, slope in ((g0, cosine), (g1, -sine)) if g is not None]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@mg.kernel(dtype=_two, shape=_shapes, outputs=("sine", "cosine"), vjp=(_careful,))
def sincos_sparing(backend, s, c, x):
    """Sine and cosine, whose rule is told what nothing used."""
    return _both(backend, s, c, x)


both = pytest.mark.parametrize("op", [sincos, sincos_sparing])


def leaf() -> Any:
    return mg.Var([0.3, 1.2, -2.0], dtype="float64", device="reference")


USES = {
    "both": lambda r: r.sine * r.cosine, "the first": lambda r: r.sine * 2.0, "the second": lambda r: r[1].square(),
    "each twice": lambda r: r.sine * r.sine + r.cosine * r.cosine * r.sine,
}  # fmt: skip


@both
@pytest.mark.parametrize("use", USES)
def test_derivatives_of_first_and_second_order(op: Any, use: str) -> None:
    gradcheck(lambda x: USES[use](op(x)), [leaf()])
    gradgradcheck(lambda x: USES[use](op(x)), [leaf()])


def test_a_user_declares_such_an_op_on_the_cpu_too() -> None:
    x = mg.Var([0.3, 1.2], dtype="float64")
    r = sincos(x)
    (r.sine * r.cosine).sum().backward()
    assert x.grad.tolist() == pytest.approx([math.cos(0.6), math.cos(2.4)])


def test_the_gradient_of_one_result_can_be_asked_for() -> None:
    x = leaf()
    r = sincos(x)
    y = (r.sine * 3.0 + r.cosine * r.sine).sum()
    g_sine, g_cosine, g_x = mg.grad(y, [r.sine, r.cosine, x])
    assert g_sine.tolist() == pytest.approx([3.0 + math.cos(v) for v in x.tolist()])
    assert g_cosine.tolist() == pytest.approx(r.sine.tolist())
    assert g_x.tolist() == pytest.approx([3 * math.cos(v) + math.cos(2 * v) for v in x.tolist()])


def test_a_result_that_the_output_does_not_use_is_named_as_unused() -> None:
    r = sincos(leaf())
    with pytest.raises(GradientError, match="do not depend on"):
        mg.grad(r.sine.sum(), sincos(leaf()).cosine)
    assert mg.grad(r.sine.sum(), [r.cosine], allow_unused=True) == (None,)


def test_both_results_may_be_differentiated_at_once() -> None:
    x = leaf()
    r = sincos(x)
    (found,) = mg.grad([r.sine, r.cosine], [x])
    assert found.tolist() == pytest.approx([math.cos(v) - math.sin(v) for v in x.tolist()])


def test_a_result_knows_its_op_and_its_name() -> None:
    r = sincos(leaf())
    assert type(r).__name__ == "sincos" and r._fields == ("sine", "cosine")
    assert r.sine.op.name == "sincos.sine" and r.cosine.op.node is r.sine.op.node
    assert r.sine.op.id != r.cosine.op.id
    assert "sincos.cosine" in repr(r.cosine.op)


def test_a_changed_result_is_noticed_by_its_name() -> None:
    r = sincos(leaf())
    y = (r.sine * 1.0).sum()
    with mg.no_grad():
        r.cosine.detach().mul_(2.0)
    with pytest.raises(StorageError, match=r"sincos.* saved its result 'cosine'"):
        y.backward()


def test_a_freed_graph_and_a_retained_one() -> None:
    x = leaf()
    y = sincos(x).sine.sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == pytest.approx([2 * math.cos(v) for v in x.tolist()])
    with pytest.raises(GradientError, match="was freed"):
        y.backward()


def test_a_graph_dies_with_its_last_result() -> None:
    gc.disable()
    try:
        r = sincos(leaf())
        node = weakref.ref(r.sine.op.node)
        sine = r.sine
        del r
        assert node() is not None
        del sine
        assert node() is None, "a cycle keeps the graph"
    finally:
        gc.enable()


def test_a_result_that_is_no_float_carries_no_gradient() -> None:
    x = mg.Var([[3.0, 1.0], [2.0, 5.0]], device="reference")
    values, indices = x.max(1)
    assert values.requires_grad and not indices.requires_grad and indices.op is None
    values.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("outputs", "rule", "message"),
    [
        (("a", "b"), lambda g0, g2: g0, "must have one parameter per result, 2 results, got g0, g2"),
        (("a", "b"), lambda g0, g0_, x: g0, "a derivative rule of bad has the parameter 'g0_', which is neither"),
        (("a", "b"), lambda y: y, "must be `g`"),
        (("a", "b"), lambda g, c: g, "neither `g`, a result \\(a, b\\) nor an operand"),
        (("x", "b"), lambda g: g, "must be a tuple of at least two different names"),
        (("a", "a"), lambda g: g, "must be a tuple of at least two different names"),
        (("g1", "b"), lambda g: g, "must be a tuple of at least two different names"),
        (("a",), lambda g: g, "must be a tuple of at least two different names"),
    ],
)
def test_a_bad_declaration_is_refused(outputs: Any, rule: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        if len(outputs) == 1:

            @mg.kernel(dtype=_two, shape=_shapes, outputs=outputs, vjp=(rule,))
            def bad(backend, s, x):
                """Bad."""

        else:

            @mg.kernel(dtype=_two, shape=_shapes, outputs=outputs, vjp=(rule,))
            def bad(backend, s, c, x):
                """Bad."""


def test_pictures_and_explanations_say_which_result_an_op_takes() -> None:
    r = sincos(leaf())
    y = (r.sine * r.cosine).sum()
    text = explanation(y)
    assert ".sine float64(3,)" in text and ".cosine float64(3,)" in text
    assert "saves       sine (float64(3,)), cosine (float64(3,))" in text
    labels = {edge.label for edge in mg.viz.graph(y).edges}
    assert {"sine input", "cosine other"} <= labels
