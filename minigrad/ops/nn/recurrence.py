"""One time step of an LSTM and of a GRU, from the sums of the gates to the next state.

The forward pass and the backward pass are one launch each.  The values of the gates are saved for the backward pass.
The last dim contains the gates, in PyTorch's order.  Sources: Hochreiter and Schmidhuber, Neural Computation 9 (1997),
with the forget gate of Gers et al., Neural Computation 12 (2000); Cho et al., arXiv 1406.1078.
"""

# Scalar functions use functions that `math` lacks.
# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import math
from collections.abc import Sequence

from minigrad.backends.steps import Value
from minigrad.core.conditions import expect_shapes
from minigrad.core.op import Op, Spec
from minigrad.declare.claims import single_rules
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import floating
from minigrad.kernels.scalar import scalar_of
from minigrad.ops.batch_rules import Flags, stretched
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import expand
from minigrad.runtime.dispatch import number
from minigrad.runtime.operands import are_plain
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor

Shapes = tuple[tuple[int, ...], ...]
Gradients = tuple[Tensor | None, ...]


# ---- scalar functions -----------------------------------------------------------------------------------------------


def _lstm(xi, xf, xg, xo, hi, hf, hg, ho, c):
    i = math.logistic(xi + hi)
    f = math.logistic(xf + hf)
    g = math.tanh(xg + hg)
    o = math.logistic(xo + ho)
    c_next = f * c + i * g
    return o * math.tanh(c_next), c_next, i, f, g, o


def _lstm_back(dh, dc, c, c_next, i, f, g, o):
    t = math.tanh(c_next)
    s = dc + dh * o * (1 - t * t)
    return s * g * i * (1 - i), s * c * f * (1 - f), s * i * (1 - g * g), dh * t * o * (1 - o), s * f


def _gru(xr, xz, xn, hr, hz, hn, h):
    r = math.logistic(xr + hr)
    z = math.logistic(xz + hz)
    n = math.tanh(xn + r * hn)
    return n + z * (h - n), r, z, n


def _gru_back(dh, hn, h, r, z, n):
    dn = dh * (1 - z) * (1 - n * n)
    dr = dn * hn * r * (1 - r)
    dz = dh * (h - n) * z * (1 - z)
    return dr, dz, dn, dr, dz, dn * r, dh * z


LSTM, LSTM_BACK = scalar_of(_lstm, results=6), scalar_of(_lstm_back, results=5)
GRU, GRU_BACK = scalar_of(_gru, results=4), scalar_of(_gru_back, results=7)


# ---- shapes and gates -----------------------------------------------------------------------------------------------


def _states(op: Op, x: Spec, hidden: Spec, state: Spec, count: int) -> tuple[int, ...]:
    """Return the shape of the state.  Raises ShapeError unless the sums have `count` gates for each of its elements."""
    shapes = f"*, {count}*size; *, {count}*size; *, size"
    advice = f"compute the gates with weights of {count} times the hidden size"
    expect_shapes(op.label, advice, shapes, input=x, hidden=hidden, state=state)
    return state.shape


def _lstm_shapes(op: Op, x: Spec, hidden: Spec, c: Spec) -> Shapes:
    state = _states(op, x, hidden, c, 4)
    return state, state, x.shape


def gates(x: Value, count: int) -> list[Value]:
    """Return the `count` gates of a value, which are equal parts of its last dim."""
    dim, size = len(x.shape) - 1, x.shape[-1] // count
    return [x.at(dim, k * size, size) for k in range(count)]


def chosen(asked: Sequence[bool], gradients: Gradients) -> Gradients:
    """Return the requested gradients, and None for the others."""
    return tuple([g if wanted else None for g, wanted in zip(gradients, asked, strict=True)])


def stacked(values: Sequence[Tensor], size: int, flags: Flags) -> list[Tensor]:
    """Return the values of a batch; a value that all samples share is expanded to the batch."""
    return [stretched(x, flag, size) for x, flag in zip(values, flags, strict=True)]


def or_zeros(g: Tensor | None, x: Tensor) -> Tensor:
    """Return a gradient; for None, return zeros with the shape of x as a view of one element."""
    return expand(number(0.0, x.dtype, x.device), shape=x.shape) if g is None else g


# ---- LSTM -----------------------------------------------------------------------------------------------------------


def _lstm_gradients(g0, g1, g2, c, c_next, gates, *, asked):
    """Return the requested gradients of the sums and the state; a gradient of a result that was not used is None."""
    dh, dc = or_zeros(g0, c), or_zeros(g1, c)
    if g2 is None and not is_grad_enabled() and are_plain(dh, dc, c, c_next, gates):
        dx, dstate = lstm_step_backward(dh, dc, c, c_next, gates)
        return chosen(asked, (dx, dx, dstate))
    dx = lstm_sums(dh, dc, g2, c, c_next, gates) if asked[0] or asked[1] else None
    return chosen(asked, (dx, dx, lstm_state(dh, dc, c_next, gates) if asked[2] else None))


def lstm_state(dh: Tensor, dc: Tensor, c_next: Tensor, activated: Tensor) -> Tensor:
    """Return the gradient of the state c of an LSTM, in differentiable tensor code."""
    _, f, _, o = activated.chunk(4, -1)
    return (dc + dh * o * (1.0 - c_next.tanh().square())) * f


def lstm_sums(dh: Tensor, dc: Tensor, dgates: Tensor | None, c: Tensor, c_next: Tensor, activated: Tensor) -> Tensor:
    """Return the gradient of the sums of the gates of an LSTM, in differentiable tensor code."""
    (i, f, g, o), t = activated.chunk(4, -1), c_next.tanh()
    s = dc + dh * o * (1.0 - t * t)
    of_gates = cat([s * g, s * c, s * i, dh * t], -1)
    if dgates is not None:
        of_gates = of_gates + dgates
    return of_gates * cat([i * (1.0 - i), f * (1.0 - f), 1.0 - g * g, o * (1.0 - o)], -1)


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 3, shape=_lstm_shapes, outputs=("h", "c_next", "gates"),
    vjp=single_rules(_lstm_gradients, 3), joint=_lstm_gradients, batch="front", namespace=(), out=False,
)  # fmt: skip
def lstm_step(steps, h, c_next, gates_out, x: Tensor, hidden: Tensor, c: Tensor):
    """Return the next h and c of an LSTM, and the gates i, f, g, o, from the sums x + hidden.

    The next state is c' = f*c + i*g, and h = o*tanh(c').
    Gradient: let s = dc + dh*o*(1 - tanh(c')**2), the gradient of c'. For c, it is s*f. For the sums of i, f, g and o,
    it is s*g*i*(1 - i), s*c*f*(1 - f), s*i*(1 - g**2) and dh*tanh(c')*o*(1 - o).
    """
    a, b, old = steps.operands
    steps.each(LSTM, [h, c_next, *gates(gates_out, 4)], *gates(a, 4), *gates(b, 4), old)


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 2,
    shape=lambda op, dh, dc, c, c_next, activated: (activated.shape, c.shape),
    outputs=("gradient_of_x", "gradient_of_c"), namespace=(), out=False, label="the gradient of lstm_step",
)  # fmt: skip
def lstm_step_backward(steps, dx, dstate, dh: Tensor, dc: Tensor, c: Tensor, c_next: Tensor, activated: Tensor):
    """Return the gradients of `lstm_step`, computed from its gates."""
    *states, kept = steps.operands
    steps.each(LSTM_BACK, [*gates(dx, 4), dstate], *states, *gates(kept, 4))


# ---- GRU ------------------------------------------------------------------------------------------------------------


def _gru_gradients(g0, g1, hidden, h, gates, *, asked):
    """Return the requested gradients of both sums and of the state; that of a result that was not used is None."""
    dh = or_zeros(g0, h)
    if g1 is None and not is_grad_enabled() and are_plain(dh, hidden, h, gates):
        return chosen(asked, gru_step_backward(dh, hidden, h, gates))
    dx, dhidden = gru_sums(dh, g1, hidden, h, gates) if asked[0] or asked[1] else (None, None)
    return chosen(asked, (dx, dhidden, gru_state(dh, gates) if asked[2] else None))


def gru_state(dh: Tensor, activated: Tensor) -> Tensor:
    """Return the gradient of the state h of a GRU, in differentiable tensor code."""
    return dh * activated.chunk(3, -1)[1]


def gru_sums(dh: Tensor, dgates: Tensor | None, hidden: Tensor, h: Tensor, activated: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of both sums of a GRU, in differentiable tensor code."""
    (r, z, n), hn = activated.chunk(3, -1), hidden.chunk(3, -1)[2]
    more = (0.0, 0.0, 0.0) if dgates is None else dgates.chunk(3, -1)
    dn = (dh * (1.0 - z) + more[2]) * (1.0 - n * n)
    dr = (dn * hn + more[0]) * r * (1.0 - r)
    dz = (dh * (h - n) + more[1]) * z * (1.0 - z)
    return cat([dr, dz, dn], -1), cat([dr, dz, dn * r], -1)


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 2,
    shape=lambda op, x, hidden, h: (_states(op, x, hidden, h, 3), x.shape), outputs=("h_next", "gates"),
    vjp=single_rules(_gru_gradients, 3), joint=_gru_gradients, batch="front", namespace=(), out=False,
)  # fmt: skip
def gru_step(steps, h_next, gates_out, x: Tensor, hidden: Tensor, h: Tensor):
    """Return the next h of a GRU, and the gates r, z, n, from the sums x and hidden.

    With n = tanh(x_n + r*hidden_n), the next state is h' = n + z*(h - n).
    Gradient: for h, g*z. Let dn = g*(1 - z)*(1 - n**2). For the sums of r, z and n in x, it is dn*hidden_n*r*(1 - r),
    g*(h - n)*z*(1 - z) and dn; in hidden, it is the same, with dn*r for the sum of n.
    """
    a, b, old = steps.operands
    steps.each(GRU, [h_next, *gates(gates_out, 3)], *gates(a, 3), *gates(b, 3), old)


@kernel(
    dtype=lambda op, specs: (floating(op, specs),) * 3,
    shape=lambda op, dh, hidden, h, activated: (activated.shape, activated.shape, h.shape),
    outputs=("gradient_of_x", "gradient_of_hidden", "gradient_of_h"), namespace=(), out=False,
    label="the gradient of gru_step",
)  # fmt: skip
def gru_step_backward(steps, dx, dhidden, dstate, dh: Tensor, hidden: Tensor, h: Tensor, activated: Tensor):
    """Return the gradients of `gru_step`, computed from its gates."""
    head, sums, old, kept = steps.operands
    outs = [*gates(dx, 3), *gates(dhidden, 3), dstate]
    steps.each(GRU_BACK, outs, head, gates(sums, 3)[2], old, *gates(kept, 3))
