"""A GRU over all time steps as one op, whose backward pass is also one op, as in `sequences.py`.

The sums from the state, h @ weight.T + bias, are a result as well, because the gradient reads them.  The matrix product
of each time step writes them directly into this result.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.lowering.functions import SUM
from minigrad.backends.steps import Steps
from minigrad.core.conditions import expect_shapes
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Product
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import floating
from minigrad.ops.nn.recurrence import GRU, GRU_BACK, gates, gru_state, gru_step, gru_sums, or_zeros, stacked
from minigrad.ops.nn.sequences import ADD, Gradients, joined
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.joining import cat, stack
from minigrad.ops.shape.views import reshape
from minigrad.runtime.operands import are_plain
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor


def _shapes(op: Op, sums: Spec, weight: Spec, bias: Spec, h: Spec) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the results.  Raises ShapeError unless the shapes of the operands fit."""
    expect_shapes(
        op.label, "reshape the wrong operand", "time, batch, 3*size; 3*size, size; 3*size; batch, size",
        sums=sums, weight=weight, bias=bias, h=h,
    )  # fmt: skip
    return (sums.shape[0], *h.shape), sums.shape, sums.shape


def _rule(k: int) -> Any:
    """Return the VJP rule of operand k."""
    asked = tuple([j == k for j in range(4)])
    return lambda g0, g1, g2, weight, h, hs, gates, hidden: _gradients(asked, g0, g1, g2, weight, h, hs, gates, hidden)[
        k
    ]


def _gradients(
    asked: tuple[bool, ...], dhs: Tensor | None, dgates: Tensor | None, dhidden: Tensor | None, weight: Tensor,
    h: Tensor, hs: Tensor, activated: Tensor, hidden: Tensor,
) -> Gradients:  # fmt: skip
    """Return the requested gradients of the operands, and None for the others.

    The gradient of a result that was not used is None.
    """
    kept = (weight, h, hs, activated, hidden)
    dhs = or_zeros(dhs, hs)
    if dgates is not None or dhidden is not None or is_grad_enabled() or not are_plain(dhs, *kept):
        results: Gradients = in_tensor_code(dhs, dgates, dhidden, *kept)
    else:
        results = gru_sequence_backward(dhs, *kept)
    return tuple([g if wanted else None for g, wanted in zip(results, asked, strict=True)])


def in_tensor_code(
    dhs: Tensor, dgates: Tensor | None, dhidden: Tensor | None, weight: Tensor, h: Tensor, hs: Tensor,
    activated: Tensor, hidden: Tensor,
) -> Gradients:  # fmt: skip
    """Return the gradients in differentiable tensor code, step by step from the last time."""
    of_x, of_state = [], []
    dh = or_zeros(None, h)
    for t in range(len(hs) - 1, -1, -1):
        dh, before = dh + dhs[t], hs[t - 1] if t else h
        dx, dstate = gru_sums(dh, None if dgates is None else dgates[t], hidden[t], before, activated[t])
        dstate = dstate if dhidden is None else dstate + dhidden[t]
        of_x.append(dx)
        of_state.append(dstate)
        dh = gru_state(dh, activated[t]) + dstate @ weight
    rows = reshape(stack(of_state[::-1]), (-1, weight.shape[0]))
    read = reshape(cat([h.unsqueeze(0), hs[:-1]]), (-1, weight.shape[1]))
    return stack(of_x[::-1]), rows.T @ read, sum(rows, 0), dh


def _one_by_one(values: list[Tensor]) -> tuple[Tensor, ...]:
    """Return the results for operands that all have a batch as their first dim, computed step by step."""
    sums, weight, bias, h = values
    times = []
    for x in sums.unbind(1):
        hidden = h @ weight.mT + bias.unsqueeze(1)
        h, activated = gru_step(x, hidden, h)
        times.append((h, activated, hidden))
    return tuple([stack(of_all, 1) for of_all in zip(*times, strict=True)])


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 3, shape=_shapes, outputs=("hs", "gates", "hidden"),
    vjp=(_rule(0), _rule(1), _rule(2), _rule(3)),
    joint=lambda g0, g1, g2, weight, h, hs, gates, hidden, *, asked: _gradients(
        asked, g0, g1, g2, weight, h, hs, gates, hidden
    ),
    batch=lambda sums, weight, bias, h, *, batch, flags: _one_by_one(stacked((sums, weight, bias, h), batch, flags)),
    namespace=(), out=False,
)  # fmt: skip
def gru_sequence(
    backend: Any, hs: Spec, gates_out: Spec, hidden_out: Spec, sums: Tensor, weight: Tensor, bias: Tensor, h: Tensor
):
    """Return h, the gates and the sums from the state, h @ weight.T + bias, for all time steps.

    Each step is `gru_step` with the sums of this time and the sums from the state before.
    Shapes: sums is (time, batch, 3*size), weight is (3*size, size), bias is (3*size,), h is (batch, size), and the
    first result is (time, batch, size).
    Gradient: that of `gru_step`, step by step from the last time. For weight, it is the sum over all steps of
    G.T @ h, where G is the gradient of the sums from the state; for bias, it is the sum of G.
    """
    steps = Steps(backend, (hs, gates_out, hidden_out), (sums, weight, bias, h))
    (all_h, activated, hidden), (x, w, b, before) = steps.outs, steps.operands
    # The transposed weight is copied to contiguous rows, so that the products do not pack it at each step.
    turned = steps.work((w.shape[1], w.shape[0]), w.dtype)
    steps.copy(turned, w.transposed)
    added = b.seen(b.layout.expand(x.shape[1:]))
    for t in range(x.shape[0]):
        of_state = hidden.select(0, t)
        steps.ask(Product(1, 1), of_state, before, turned, added)
        outs = [all_h.select(0, t), *gates(activated.select(0, t), 3)]
        steps.each(GRU, outs, *gates(x.select(0, t), 3), *gates(of_state, 3), before)
        before = outs[0]
    return steps.launch


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 4,
    shape=lambda op, dhs, weight, h, hs, activated, hidden: (
        activated.shape, weight.shape, weight.shape[:1], h.shape
    ),
    outputs=("gradient_of_sums", "gradient_of_weight", "gradient_of_bias", "gradient_of_h"),
    namespace=(), out=False, label="the gradient of gru_sequence",
)  # fmt: skip
def gru_sequence_backward(
    backend: Any, dsums: Spec, dweight: Spec, dbias: Spec, dh: Spec, dhs: Tensor, weight: Tensor, h: Tensor,
    hs: Tensor, activated: Tensor, hidden: Tensor,
):  # fmt: skip
    """Return the gradients of `gru_sequence`, computed from its results."""
    steps = Steps(backend, (dsums, dweight, dbias, dh), (dhs, weight, h, hs, activated, hidden))
    (to_sums, to_weight, to_bias, to_h), (of_h, w, start, all_h, kept, read) = steps.outs, steps.operands
    times, of_state = to_sums.shape[0], steps.work(to_sums.shape, to_sums.dtype)
    head, part = (steps.work(to_h.shape, to_h.dtype) for _ in range(2))
    steps.copy(head, of_h.select(0, times - 1))
    for t in range(times - 1, -1, -1):
        rest, sums, before = part if t else to_h, of_state.select(0, t), all_h.select(0, t - 1) if t else start
        outs = [*gates(to_sums.select(0, t), 3), *gates(sums, 3), rest]
        steps.each(GRU_BACK, outs, head, gates(read.select(0, t), 3)[2], before, *gates(kept.select(0, t), 3))
        if t:
            steps.each(ADD, head, part, of_h.select(0, t - 1))
        into = head if t else to_h
        steps.ask(Product(1, 1), into, sums, w, into)
    # The first step reads the initial h; the gradient of the weight over all other steps is one product.
    steps.ask(Product(), to_weight, of_state.select(0, 0).transposed, start)
    if times > 1:
        steps.ask(Product(1, 1), to_weight, joined(of_state, 1).transposed, joined(all_h, 0), to_weight)
    line = to_bias.seen(to_bias.layout.unsqueeze(0).unsqueeze(0))
    steps.reducer(SUM, line, of_state, (0, 1))
    return steps.launch
