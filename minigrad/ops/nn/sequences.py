"""An LSTM or a GRU over all time steps as one op, whose backward pass is also one op.

In the forward pass, each step is a matrix product with the weight and one kernel for the cell.  In the backward pass,
each step is the gradient of the cell and a matrix product; the gradient of the weight is one product over all steps at
the end.  So single steps are not recorded, and no gradients of slices are made.  A gradient that may be differentiated
again is computed in tensor code.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.lowering.functions import SUM
from minigrad.backends.steps import Steps, Value
from minigrad.core.conditions import expect_shapes
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Product
from minigrad.declare.claims import single_rules
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import floating
from minigrad.ops.creation import zeros_like
from minigrad.ops.nn import recurrence as cells
from minigrad.ops.pointwise.arithmetic import add
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.joining import cat, stack
from minigrad.ops.shape.views import reshape
from minigrad.runtime.operands import are_plain
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor

ADD: Any = add.op.scalar  # type: ignore[attr-defined]
MISFIT = "reshape the wrong operand"


def over_times(steps: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """Return the results of all time steps of a batch, each as one tensor."""
    return tuple([stack(of_all, 1) for of_all in zip(*steps, strict=True)])


def joined(x: Value, start: int) -> Value:
    """Return all time steps except one of a contiguous value, from `start` on, as one matrix."""
    times, batch, size = x.shape
    return x.seen(Layout.contiguous(((times - 1) * batch, size), x.layout.offset + start * batch * size))


def weight_product(sums: Tensor, weight: Tensor, h: Tensor, hs: Tensor) -> Tensor:
    """Return the gradient of the weight, in tensor code, from the gradients of the sums of all time steps."""
    before = cat([h.unsqueeze(0), hs[:-1]])
    return reshape(sums, (-1, weight.shape[0])).T @ reshape(before, (-1, weight.shape[1]))


def ask_weight_product(steps: Steps, out: Value, sums: Value, h: Value, hs: Value) -> None:
    """Add the steps of the same product: the first time step reads the initial h, all others are one product."""
    steps.ask(Product(), out, sums.select(0, 0).transposed, h)
    if sums.shape[0] > 1:
        steps.ask(Product(1, 1), out, joined(sums, 1).transposed, joined(hs, 0), out)


# ---- LSTM ------------------------------------------------------------------------------------------------------------


def _lstm_shapes(op: Op, sums: Spec, weight: Spec, h: Spec, c: Spec) -> cells.Shapes:
    shapes = "time, batch, 4*size; 4*size, size; batch, size; batch, size"
    expect_shapes(op.label, MISFIT, shapes, sums=sums, weight=weight, h=h, c=c)
    states = (sums.shape[0], *h.shape)
    return states, states, sums.shape


def lstm_gradients(g0, g1, g2, weight, h, c, hs, cs, gates, *, asked):
    """Return the requested gradients of the operands, and None for the others.

    The gradient of a result that was not used is None.
    """
    kept, dhs = (weight, h, c, hs, cs, gates), cells.or_zeros(g0, hs)
    if g2 is not None or is_grad_enabled() or not are_plain(dhs, g1, *kept):
        return cells.chosen(asked, lstm_in_tensor_code(dhs, g1, g2, *kept))
    return cells.chosen(asked, lstm_sequence_backward(dhs, *kept, g1))


def lstm_in_tensor_code(
    dhs: Tensor, dcs: Tensor | None, dgates: Tensor | None, weight: Tensor, h: Tensor, c: Tensor, hs: Tensor,
    cs: Tensor, activated: Tensor,
) -> cells.Gradients:  # fmt: skip
    """Return the gradients in differentiable tensor code, step by step from the last time."""
    sums = []
    dh = dc = zeros_like(h)
    for t in range(len(hs) - 1, -1, -1):
        dh, dc = dh + dhs[t], dc if dcs is None else dc + dcs[t]
        before = cs[t - 1] if t else c
        sums.append(cells.lstm_sums(dh, dc, None if dgates is None else dgates[t], before, cs[t], activated[t]))
        dc = cells.lstm_state(dh, dc, cs[t], activated[t])
        dh = sums[-1] @ weight
    dsums = stack(sums[::-1])
    return dsums, weight_product(dsums, weight, h, hs), dh, dc


def lstm_one_by_one(sums, weight, h, c, *, batch, flags):
    """Return the results for each sample of a batch, computed step by step."""
    sums, weight, h, c = cells.stacked((sums, weight, h, c), batch, flags)
    times = []
    for x in sums.unbind(1):
        h, c, activated = cells.lstm_step(x, h @ weight.mT, c)
        times.append((h, c, activated))
    return over_times(times)


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 3, shape=_lstm_shapes, outputs=("hs", "cs", "gates"),
    vjp=single_rules(lstm_gradients, 4), joint=lstm_gradients, batch=lstm_one_by_one,
    namespace=(), out=False,
)  # fmt: skip
def lstm_sequence(steps, hs, cs, gates_out, sums: Tensor, weight: Tensor, h: Tensor, c: Tensor):
    """Return h, c and the gates for all time steps.

    Each step is `lstm_step` with the sums of this time and h @ weight.T from the state before.
    Shapes: sums is (time, batch, 4*size), weight is (4*size, size), h and c are (batch, size), and the results hs and
    cs are (time, batch, size).
    Gradient: that of `lstm_step`, step by step from the last time. For weight, it is the sum over all steps of
    G.T @ h, where G is the gradient of the sums.
    """
    x, w, before, state = steps.operands
    # The transposed weight is copied to contiguous rows, so that the products do not pack it at each step.
    turned = steps.work((w.shape[1], w.shape[0]), w.dtype)
    steps.copy(turned, w.transposed)
    hidden = steps.work(x.shape[1:], x.dtype)
    for t in range(x.shape[0]):
        steps.ask(Product(), hidden, before, turned)
        outs = [hs.select(0, t), cs.select(0, t), *cells.gates(gates_out.select(0, t), 4)]
        steps.each(cells.LSTM, outs, *cells.gates(x.select(0, t), 4), *cells.gates(hidden, 4), state)
        before, state = outs[:2]


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 4,
    shape=lambda op, dhs, weight, h, c, hs, cs, activated, dcs=None: (activated.shape, weight.shape, h.shape, c.shape),
    outputs=("gradient_of_sums", "gradient_of_weight", "gradient_of_h", "gradient_of_c"),
    namespace=(), out=False, label="the gradient of lstm_sequence",
)  # fmt: skip
def lstm_sequence_backward(
    steps, dsums, dweight, dh, dc, dhs: Tensor, weight: Tensor, h: Tensor, c: Tensor, hs: Tensor, cs: Tensor,
    activated: Tensor, dcs: Tensor | None = None,
):  # fmt: skip
    """Return the gradients of `lstm_sequence`, computed from its results; dcs: the gradient of cs, or None."""
    of_h, w, start, first_c, all_h, all_c, kept, *more = steps.operands
    times = dsums.shape[0]
    head, old, new = (steps.work(dh.shape, dh.dtype) for _ in range(3))
    steps.copy(head, of_h.select(0, times - 1))
    steps.fill(old, 0)
    for t in range(times - 1, -1, -1):
        for of_c in more:
            steps.each(ADD, new, old, of_c.select(0, t))
            old, new = new, old
        state = new if t else dc
        outs, before = [*cells.gates(dsums.select(0, t), 4), state], all_c.select(0, t - 1) if t else first_c
        steps.each(cells.LSTM_BACK, outs, head, old, before, all_c.select(0, t), *cells.gates(kept.select(0, t), 4))
        old, new = new, old
        if t:
            steps.ask(Product(1, 1), head, dsums.select(0, t), w, of_h.select(0, t - 1))
    steps.ask(Product(), dh, dsums.select(0, 0), w)
    ask_weight_product(steps, dweight, dsums, start, all_h)


# ---- GRU: the sums from the state, h @ weight.T + bias, are a result as well, because the gradient reads them --------


def _gru_shapes(op: Op, sums: Spec, weight: Spec, bias: Spec, h: Spec) -> cells.Shapes:
    shapes = "time, batch, 3*size; 3*size, size; 3*size; batch, size"
    expect_shapes(op.label, MISFIT, shapes, sums=sums, weight=weight, bias=bias, h=h)
    return (sums.shape[0], *h.shape), sums.shape, sums.shape


def gru_gradients(g0, g1, g2, weight, h, hs, gates, hidden, *, asked):
    """Return the requested gradients of the operands, as `lstm_gradients` does."""
    kept, dhs = (weight, h, hs, gates, hidden), cells.or_zeros(g0, hs)
    if g1 is not None or g2 is not None or is_grad_enabled() or not are_plain(dhs, *kept):
        return cells.chosen(asked, gru_in_tensor_code(dhs, g1, g2, *kept))
    return cells.chosen(asked, gru_sequence_backward(dhs, *kept))


def gru_in_tensor_code(
    dhs: Tensor, dgates: Tensor | None, dhidden: Tensor | None, weight: Tensor, h: Tensor, hs: Tensor,
    activated: Tensor, hidden: Tensor,
) -> cells.Gradients:  # fmt: skip
    """Return the gradients in differentiable tensor code, step by step from the last time."""
    of_x, of_state = [], []
    dh = cells.or_zeros(None, h)
    for t in range(len(hs) - 1, -1, -1):
        dh, before = dh + dhs[t], hs[t - 1] if t else h
        dx, dstate = cells.gru_sums(dh, None if dgates is None else dgates[t], hidden[t], before, activated[t])
        dstate = dstate if dhidden is None else dstate + dhidden[t]
        of_x.append(dx)
        of_state.append(dstate)
        dh = cells.gru_state(dh, activated[t]) + dstate @ weight
    dhidden = stack(of_state[::-1])
    return stack(of_x[::-1]), weight_product(dhidden, weight, h, hs), sum(dhidden, (0, 1)), dh


def gru_one_by_one(sums, weight, bias, h, *, batch, flags):
    """Return the results for each sample of a batch, computed step by step."""
    sums, weight, bias, h = cells.stacked((sums, weight, bias, h), batch, flags)
    times = []
    for x in sums.unbind(1):
        hidden = h @ weight.mT + bias.unsqueeze(1)
        h, activated = cells.gru_step(x, hidden, h)
        times.append((h, activated, hidden))
    return over_times(times)


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 3, shape=_gru_shapes, outputs=("hs", "gates", "hidden"),
    vjp=single_rules(gru_gradients, 4), joint=gru_gradients, batch=gru_one_by_one,
    namespace=(), out=False,
)  # fmt: skip
def gru_sequence(steps, hs, gates_out, hidden_out, sums: Tensor, weight: Tensor, bias: Tensor, h: Tensor):
    """Return h, the gates and the sums from the state, h @ weight.T + bias, for all time steps.

    Each step is `gru_step` with the sums of this time and the sums from the state before.
    Shapes: sums is (time, batch, 3*size), weight is (3*size, size), bias is (3*size,), h is (batch, size), and the
    first result is (time, batch, size).
    Gradient: that of `gru_step`, step by step from the last time. For weight, it is the sum over all steps of
    G.T @ h, where G is the gradient of the sums from the state; for bias, it is the sum of G.
    """
    x, w, b, before = steps.operands
    # The transposed weight is copied to contiguous rows, so that the products do not pack it at each step.
    turned = steps.work((w.shape[1], w.shape[0]), w.dtype)
    steps.copy(turned, w.transposed)
    added = b.seen(b.layout.expand(x.shape[1:]))
    for t in range(x.shape[0]):
        of_state = hidden_out.select(0, t)
        steps.ask(Product(1, 1), of_state, before, turned, added)
        outs = [hs.select(0, t), *cells.gates(gates_out.select(0, t), 3)]
        steps.each(cells.GRU, outs, *cells.gates(x.select(0, t), 3), *cells.gates(of_state, 3), before)
        before = outs[0]


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 4,
    shape=lambda op, dhs, weight, h, hs, activated, hidden: (
        activated.shape, weight.shape, weight.shape[:1], h.shape
    ),
    outputs=("gradient_of_sums", "gradient_of_weight", "gradient_of_bias", "gradient_of_h"),
    namespace=(), out=False, label="the gradient of gru_sequence",
)  # fmt: skip
def gru_sequence_backward(
    steps, dsums, dweight, dbias, dh, dhs: Tensor, weight: Tensor, h: Tensor, hs: Tensor, activated: Tensor,
    hidden: Tensor,
):  # fmt: skip
    """Return the gradients of `gru_sequence`, computed from its results."""
    of_h, w, start, all_h, kept, read = steps.operands
    times, of_state = dsums.shape[0], steps.work(dsums.shape, dsums.dtype)
    head, part = (steps.work(dh.shape, dh.dtype) for _ in range(2))
    steps.copy(head, of_h.select(0, times - 1))
    for t in range(times - 1, -1, -1):
        rest, sums, before = part if t else dh, of_state.select(0, t), all_h.select(0, t - 1) if t else start
        outs = [*cells.gates(dsums.select(0, t), 3), *cells.gates(sums, 3), rest]
        steps.each(
            cells.GRU_BACK, outs, head, cells.gates(read.select(0, t), 3)[2], before, *cells.gates(kept.select(0, t), 3)
        )
        if t:
            steps.each(ADD, head, part, of_h.select(0, t - 1))
        into = head if t else dh
        steps.ask(Product(1, 1), into, sums, w, into)
    ask_weight_product(steps, dweight, of_state, start, all_h)
    line = dbias.seen(dbias.layout.unsqueeze(0).unsqueeze(0))
    steps.reducer(SUM, line, of_state, (0, 1))
