"""A value that carries a transform passes through one door; here a transform that counts what is done to its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from counting import Counted, Counting, both
from op_calls import calls
from op_rows.row import Row
from op_table import ROWS
from selection import over_rows

import minigrad as mg
from minigrad.autodiff.forward import pushforward
from minigrad.core.op import Op
from minigrad.errors import GradientError
from minigrad.runtime.tensor import Tensor

CALLS = {
    "a fast path of one": (lambda x: x.exp(), ["exp"]),
    "a fast path of two": (lambda x: x * 2.0, ["mul"]),
    "a number on the left": (lambda x: 2.0 - x, ["sub"]),
    "a plain tensor on the left": (lambda x: mg.ones(2, 3, device="reference") + x, ["add"]),
    "a fast path of three": (lambda x: mg.where(x > 0.0, x, 0.0), ["gt", "where"]),
    "a fold": (lambda x: x.sum(1), ["sum"]),
    "a view": (lambda x: x.narrow(1, 0, 2), ["narrow"]),
    "an index": (lambda x: x[0, 1:], ["index"]),
    "a reshape": (lambda x: x.reshape(3, 2), ["view"]),
    "a transpose": (lambda x: x.T, ["permute"]),
    "a kernel": (lambda x: mg.softmax(x, -1), ["softmax"]),
    "a product": (lambda x: x @ mg.ones(3, 2, device="reference"), ["matmul"]),
    "two results": (lambda x: x.max(1).values, ["max"]),
    "a composed function": (lambda x: mg.affine(x, 2.0, 0.5), ["mul", "add"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_kind_of_call_passes_the_door_once(name: str) -> None:
    function, wanted = CALLS[name]
    x = mg.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], device="reference")
    transform, wrapped = both(x)
    y = function(wrapped)
    assert transform.seen == wanted
    assert isinstance(y, Counted) and isinstance(y, Tensor)
    assert y.inner.tolist() == function(x).tolist() and y.shape == function(x).shape


def test_the_deepest_level_is_asked_first() -> None:
    outer, inner = Counting(0), Counting(1)
    x = mg.ones(2, device="reference")
    y = Counted(outer, x) * Counted(inner, Counted(outer, x))
    assert (inner.seen, outer.seen) == (["mul"], ["mul"])
    assert y.transform is inner and y.inner.transform is outer


def test_a_parameter_is_canonical_when_a_level_sees_it() -> None:
    class Seeing(Counting):
        def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
            self.params = params
            return super().call(op, operands, params)

    transform = Seeing()
    Counted(transform, mg.ones(2, 3, device="reference")).sum(-1)
    assert transform.params == {"dims": (1,), "keepdim": False}


def test_a_wrapped_value_has_no_memory_to_look_at() -> None:
    _, x = both(mg.ones(1, device="reference"))
    for look in (lambda: x.item(), lambda: x.tolist(), lambda: bool(x), lambda: x.storage):
        with pytest.raises(GradientError, match=r"float32\(1,\) belongs to a transform"):
            look()
    with pytest.raises(GradientError, match="cannot be written into out="):
        mg.exp(x, out=mg.zeros(1, device="reference"))


def test_a_wrapped_value_prints_what_it_is() -> None:
    _, x = both(mg.ones(2, 3, device="reference"))
    assert repr(x) == "Counted(float32, shape=(2, 3), in a transform)"


def test_what_a_mask_chooses_is_refused_by_name() -> None:
    _, x = both(mg.ones(2, 3, device="reference"))
    for choose in (lambda: x[x > 0.0], lambda: mg.nonzero(x), lambda: mg.masked_select(x, x > 0.0)):
        with pytest.raises(GradientError, match=r"the mask bool\(2, 3\) belongs to a transform"):
            choose()


def test_a_value_that_outlives_its_transform_says_so() -> None:
    transform, x = both(mg.ones(2, device="reference"))
    transform.alive = False
    with pytest.raises(GradientError, match=r"mul: float32\(2,\) belongs to a transform that has ended"):
        _ = x * 2.0


@over_rows([row for row in ROWS if row.smooth], items=20)
def test_forward_mode_over_a_level(row: Row) -> None:
    # The ways that need no graph: a declared rule, linearity, the rule of an elementwise op.
    for call in calls(row):
        op, floats = call.op, [k for k, x in enumerate(call.primals) if x.dtype.is_float]
        declared = () if op.jvp is None else op.jvp.tangents
        groups = () if op.linear is None else op.linear.groups
        every = range(len(call.primals))
        linear = {k for group in groups for k in every if op.variadic or op.operands[k] in group}
        if op.kind == "elementwise":
            floats = [k for k in floats if op.rules[k] is not None]
        else:
            floats = [k for k in floats if k in declared or k in linear]
        if not floats:
            continue
        transform = Counting()
        tangents = [mg.ones_like(x) if k in floats else None for k, x in enumerate(call.primals)]
        inside = tuple(Counted(transform, x) for x in call.primals)
        pushed = [t if t is None else Counted(transform, t) for t in tangents]
        results = [Counted(transform, y) for y in call.results]
        with mg.no_grad():
            wanted = pushforward(call.op, call.params, call.primals, tangents, call.results)
            found = pushforward(call.op, call.params, inside, pushed, results)
        for mine, theirs in zip(found, wanted, strict=True):
            assert (mine is None) == (theirs is None), call
            if isinstance(mine, Counted):
                # Over a transform a derivative may be asked of the tangent, and of some kernels it could not be.
                np.testing.assert_allclose(mine.inner.tolist(), theirs.tolist(), 1e-12, 1e-14, err_msg=repr(call))
