"""An LSTM over all time steps as one op, whose backward pass is also one op.

In the forward pass, each step is a matrix product with the weight and one kernel for the cell.  In the backward pass,
each step is the gradient of the cell and a matrix product; the gradient of the weight is one product over all steps at
the end.  So single steps are not recorded, and no gradients of slices are made.  A gradient that may be differentiated
again is computed in tensor code.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.steps import Steps, Value
from minigrad.core.conditions import expect_shapes
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Product
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import floating
from minigrad.ops.creation import zeros_like
from minigrad.ops.nn.recurrence import LSTM, LSTM_BACK, gates, lstm_state, lstm_step, lstm_sums, or_zeros, stacked
from minigrad.ops.pointwise.arithmetic import add
from minigrad.ops.shape.joining import cat, stack
from minigrad.ops.shape.views import reshape
from minigrad.runtime.operands import are_plain
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor

ADD: Any = add.op.scalar  # type: ignore[attr-defined]
Gradients = tuple[Tensor | None, ...]


def _shapes(op: Op, sums: Spec, weight: Spec, h: Spec, c: Spec) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the results.  Raises ShapeError unless the shapes of the operands fit."""
    expect_shapes(
        op.label, "reshape the wrong operand", "time, batch, 4*size; 4*size, size; batch, size; batch, size",
        sums=sums, weight=weight, h=h, c=c,
    )  # fmt: skip
    states = (sums.shape[0], *h.shape)
    return states, states, sums.shape


def _rule(k: int) -> Any:
    """Return the VJP rule of operand k."""
    asked = tuple([j == k for j in range(4)])
    return lambda g0, g1, g2, weight, h, c, hs, cs, gates: _gradients(asked, g0, g1, g2, weight, h, c, hs, cs, gates)[k]


def _gradients(
    asked: tuple[bool, ...], dhs: Tensor | None, dcs: Tensor | None, dgates: Tensor | None, weight: Tensor, h: Tensor,
    c: Tensor, hs: Tensor, cs: Tensor, activated: Tensor,
) -> Gradients:  # fmt: skip
    """Return the requested gradients of the operands, and None for the others.

    The gradient of a result that was not used is None.
    """
    kept = (weight, h, c, hs, cs, activated)
    dhs = or_zeros(dhs, hs)
    if dgates is not None or is_grad_enabled() or not are_plain(dhs, dcs, *kept):
        results: Gradients = in_tensor_code(dhs, dcs, dgates, *kept)
    else:
        results = lstm_sequence_backward(dhs, *kept, dcs)
    return tuple([g if wanted else None for g, wanted in zip(results, asked, strict=True)])


def in_tensor_code(
    dhs: Tensor, dcs: Tensor | None, dgates: Tensor | None, weight: Tensor, h: Tensor, c: Tensor, hs: Tensor,
    cs: Tensor, activated: Tensor,
) -> Gradients:  # fmt: skip
    """Return the gradients in differentiable tensor code, step by step from the last time."""
    sums = []
    dh = dc = zeros_like(h)
    for t in range(len(hs) - 1, -1, -1):
        dh, dc = dh + dhs[t], dc if dcs is None else dc + dcs[t]
        before = cs[t - 1] if t else c
        sums.append(lstm_sums(dh, dc, None if dgates is None else dgates[t], before, cs[t], activated[t]))
        dc = lstm_state(dh, dc, cs[t], activated[t])
        dh = sums[-1] @ weight
    dsums = stack(sums[::-1])
    read = cat([h.unsqueeze(0), hs[:-1]])
    return dsums, reshape(dsums, (-1, weight.shape[0])).T @ reshape(read, (-1, weight.shape[1])), dh, dc


def _one_by_one(values: list[Tensor]) -> tuple[Tensor, ...]:
    """Return the results for operands that all have a batch as their first dim, computed step by step."""
    sums, weight, h, c = values
    times = []
    for x in sums.unbind(1):
        h, c, activated = lstm_step(x, h @ weight.mT, c)
        times.append((h, c, activated))
    return tuple([stack(of_all, 1) for of_all in zip(*times, strict=True)])


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 3, shape=_shapes, outputs=("hs", "cs", "gates"),
    vjp=(_rule(0), _rule(1), _rule(2), _rule(3)),
    joint=lambda g0, g1, g2, weight, h, c, hs, cs, gates, *, asked: _gradients(
        asked, g0, g1, g2, weight, h, c, hs, cs, gates
    ),
    batch=lambda sums, weight, h, c, *, batch, flags: _one_by_one(stacked((sums, weight, h, c), batch, flags)),
    namespace=(), out=False,
)  # fmt: skip
def lstm_sequence(
    backend: Any, hs: Spec, cs: Spec, gates_out: Spec, sums: Tensor, weight: Tensor, h: Tensor, c: Tensor
):
    """Return h, c and the gates for all time steps.

    Each step is `lstm_step` with the sums of this time and h @ weight.T from the state before.
    Shapes: sums is (time, batch, 4*size), weight is (4*size, size), h and c are (batch, size), and the results hs and
    cs are (time, batch, size).
    Gradient: that of `lstm_step`, step by step from the last time. For weight, it is the sum over all steps of
    G.T @ h, where G is the gradient of the sums.
    """
    steps = Steps(backend, (hs, cs, gates_out), (sums, weight, h, c))
    (all_h, all_c, activated), (x, w, before, state) = steps.outs, steps.operands
    # The transposed weight is copied to contiguous rows, so that the products do not pack it at each step.
    turned = steps.work((w.shape[1], w.shape[0]), w.dtype)
    steps.copy(turned, w.transposed)
    hidden = steps.work(x.shape[1:], x.dtype)
    for t in range(x.shape[0]):
        steps.ask(Product(), hidden, before, turned)
        outs = [all_h.select(0, t), all_c.select(0, t), *gates(activated.select(0, t), 4)]
        steps.each(LSTM, outs, *gates(x.select(0, t), 4), *gates(hidden, 4), state)
        before, state = outs[:2]
    return steps.launch


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 4,
    shape=lambda op, dhs, weight, h, c, hs, cs, activated, dcs=None: (activated.shape, weight.shape, h.shape, c.shape),
    outputs=("gradient_of_sums", "gradient_of_weight", "gradient_of_h", "gradient_of_c"),
    namespace=(), out=False, label="the gradient of lstm_sequence",
)  # fmt: skip
def lstm_sequence_backward(
    backend: Any, dsums: Spec, dweight: Spec, dh: Spec, dc: Spec, dhs: Tensor, weight: Tensor, h: Tensor, c: Tensor,
    hs: Tensor, cs: Tensor, activated: Tensor, dcs: Tensor | None = None,
):  # fmt: skip
    """Return the gradients of `lstm_sequence`, computed from its results; dcs: the gradient of cs, or None."""
    operands: Any = (dhs, weight, h, c, hs, cs, activated, *(() if dcs is None else (dcs,)))
    steps = Steps(backend, (dsums, dweight, dh, dc), operands)
    (to_sums, to_weight, to_h, to_c), (of_h, w, start, first_c, all_h, all_c, kept, *more) = steps.outs, steps.operands
    times, shape = to_sums.shape[0], to_h.shape
    head, old, new = (steps.work(shape, to_h.dtype) for _ in range(3))
    steps.copy(head, of_h.select(0, times - 1))
    steps.fill(old, 0)
    for t in range(times - 1, -1, -1):
        for of_c in more:
            steps.each(ADD, new, old, of_c.select(0, t))
            old, new = new, old
        state = new if t else to_c
        outs, before = [*gates(to_sums.select(0, t), 4), state], all_c.select(0, t - 1) if t else first_c
        steps.each(LSTM_BACK, outs, head, old, before, all_c.select(0, t), *gates(kept.select(0, t), 4))
        old, new = new, old
        if t:
            steps.ask(Product(1, 1), head, to_sums.select(0, t), w, of_h.select(0, t - 1))
    steps.ask(Product(), to_h, to_sums.select(0, 0), w)
    # The first step reads the initial h; the gradient of the weight over all other steps is one product.
    steps.ask(Product(), to_weight, to_sums.select(0, 0).transposed, start)
    if times > 1:
        steps.ask(Product(1, 1), to_weight, joined(to_sums, 1).transposed, joined(all_h, 0), to_weight)
    return steps.launch


def joined(x: Value, start: int) -> Value:
    """Return all time steps except one of a contiguous value, from `start` on, as one matrix."""
    times, batch, size = x.shape
    return x.seen(Layout.contiguous(((times - 1) * batch, size), x.layout.offset + start * batch * size))
