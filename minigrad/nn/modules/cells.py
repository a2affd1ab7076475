"""One time step of a recurrent network, and a recurrent layer over time.

The step functions are what cells as modules and layers call.  A layer computes the products with the input for all
times at once, then a cell for each time.  If possible, one op computes all times of an LSTM or a GRU.  Packed sequences
run without padding: the sequences that have not ended are the first rows of the state, and consecutive times with the
same number of sequences form a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from minigrad.core.roles import Choice
from minigrad.errors import ArgumentError, ShapeError
from minigrad.nn import functional as F
from minigrad.nn.init import uniform_
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.creation import empty
from minigrad.ops.nn.recurrence import gru_step, lstm_step
from minigrad.ops.nn.sequences import gru_sequence, lstm_sequence
from minigrad.ops.shape.joining import cat, stack
from minigrad.runtime.operands import are_plain
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

# ---- one time step ---------------------------------------------------------------------------------------------------


State = tuple[Any, ...]  # the tensor h, and for an LSTM also c
Weights = dict[str, Any]


def rnn_tanh(x: Any, state: State, weights: Weights) -> State:
    """Return the next state of an RNN with tanh; `x` is the input's term of the sum."""
    return ((x + F.linear(state[0], weights["weight_hh"], weights["bias_hh"])).tanh(),)


def rnn_relu(x: Any, state: State, weights: Weights) -> State:
    """Return the next state of an RNN with relu; `x` is the input's term of the sum."""
    return ((x + F.linear(state[0], weights["weight_hh"], weights["bias_hh"])).relu(),)


def lstm(x: Any, state: State, weights: Weights) -> State:
    """Return the next h and c of an LSTM; `x` is the input's term of the gates."""
    hidden = F.linear(state[0], weights["weight_hh"], weights["bias_hh"])
    if in_one(x, hidden, state[1]):
        h, c, _ = lstm_step(x, hidden, state[1])
    else:
        i, f, g, o = (x + hidden).chunk(4, -1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    projection = weights.get("weight_hr")
    return (h if projection is None else F.linear(h, projection)), c


def gru(x: Any, state: State, weights: Weights) -> State:
    """Return the next state of a GRU; `x` is the input's term of the gates."""
    (h,) = state
    hidden = F.linear(h, weights["weight_hh"], weights["bias_hh"])
    if in_one(x, hidden, h):
        return (gru_step(x, hidden, h)[0],)
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, -1), hidden.chunk(3, -1)
    n = (xn + (xr + hr).sigmoid() * hn).tanh()
    return (n + (xz + hz).sigmoid() * (h - n),)


def in_one(*values: Any) -> bool:
    """Return whether one kernel can compute a step: the tensors share a dtype, and no transform is active."""
    return are_plain(*values) and len({x.dtype for x in values}) == 1


STEPS: dict[str, Callable[[Any, State, Weights], State]] = {
    "LSTM": lstm, "GRU": gru, "RNN_TANH": rnn_tanh, "RNN_RELU": rnn_relu,
}  # fmt: skip
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def states_of(name: str, mode: str, hx: Any) -> State:
    """Return the initial state as a tuple: (h,), or (h, c) for an LSTM.

    Raises ArgumentError if `hx` does not contain h and c for an LSTM, and DTypeError for a value that is not a tensor.
    """
    if mode != "LSTM":
        expect_tensors(f"{name}: hx", hx)
        return (hx,)
    if isinstance(hx, Tensor) or not isinstance(hx, Sequence) or len(hx) != 2:
        got = f"{len(hx)} values" if isinstance(hx, (list, tuple)) else describe(hx)
        raise ArgumentError(f"{name}: hx must be a tuple of two tensors, h and c, got {got}; pass (h, c)")
    expect_tensors(f"{name}: hx", *hx)
    return tuple(hx)


class _Recurrent(Module):
    """The common part of recurrent layers and cells."""

    _shown = "input_size hidden_size /"
    hidden_size: int

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly in [-b, b] with b = 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0
        for p in self.parameters():
            uniform_(p, -bound, bound)


class RNNCellBase(_Recurrent):
    """Provide the weights and biases of RNNCell, LSTMCell and GRUCell.

    num_chunks: Number of rows of each weight per element of the state: 1 (RNN), 3 (GRU) or 4 (LSTM).
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        for name, shape in (("weight_ih", (rows, input_size)), ("weight_hh", (rows, hidden_size))):
            setattr(self, name, Parameter(empty(*shape, device=device, dtype=dtype)))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    weight_ih: Any
    bias_ih: Any
    _shown_unless: Any = {"bias": True}

    def step(self, mode: str, input: Any, hx: Any) -> State:
        """Return the next state; raise ShapeError if the shape of the input or of the state does not fit."""
        name = type(self).__name__
        expect_tensors(name, input)
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise ShapeError(
                f"{name}: input must have the shape ({self.input_size},) or (batch, {self.input_size}), got "
                f"{describe(input)}; reshape the input, or change input_size"
            )
        shape = (*input.shape[:-1], self.hidden_size)
        count = 2 if mode == "LSTM" else 1
        state = (input.new_zeros(shape),) * count if hx is None else states_of(name, mode, hx)
        if any(tuple(h.shape) != shape for h in state):
            raise ShapeError(
                f"{name}: hx must have the shape {shape}, got {', '.join(map(describe, state))}; pass None for zeros"
            )
        weights = {part: getattr(self, part) for part in ("weight_hh", "bias_hh")}
        return STEPS[mode](F.linear(input, self.weight_ih, self.bias_ih), state, weights)


class RNNCell(RNNCellBase):
    """Compute one time step of `RNN`.

    The result is h' = f(W_ih x + b_ih + W_hh h + b_hh), where f is the function that `nonlinearity` selects.

    bias: Whether the cell has the biases b_ih and b_hh.
    nonlinearity ({"tanh", "relu"}): Function that is applied to the sum.
    """

    _shown_unless = {"bias": True, "nonlinearity": "tanh"}

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        Choice("tanh", "relu").expect("RNNCell", nonlinearity=nonlinearity)
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self.step(f"RNN_{self.nonlinearity.upper()}", input, hx)[0]


class LSTMCell(RNNCellBase):
    """Compute one time step of `LSTM`: the next state (h', c') from an input x and the state (h, c).

    bias: Whether the gates have biases.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> State:
        return self.step("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """Compute one time step of `GRU`: the next h from an input and h."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self.step("GRU", input, hx)[0]


# ---- all time steps --------------------------------------------------------------------------------------------------


LONGEST = 128  # largest number of times in one launch; the kernel is generated, which is slow for long sequences


def over_time(step: Any, weights: Weights, x: Any, state: State, backwards: bool) -> tuple[Tensor, State]:
    """Run a cell over (time, batch, size); return the outputs and the last state."""
    at_once = is_sequence(step, x, state, weights)
    sums = input_sums(step, weights, x.flip(0) if backwards else x, at_once)
    if not len(x):
        return x.new_zeros(0, x.shape[1], state[0].shape[-1]), state
    y, state = run(step, weights, sums, state, at_once)
    return (y.flip(0) if backwards else y), state


def over_packed(
    step: Any, weights: Weights, x: Any, state: State, backwards: bool, sizes: list[int]
) -> tuple[Tensor, State]:
    """Run a cell over packed sequences, of which `sizes[t]` are active at time t.

    Forwards, rows of sequences that end leave the state.  Backwards, rows of sequences that begin enter the state.
    """
    at_once = is_sequence(step, x, state, weights)
    shapes = [(len(list(times)), n, -1) for n, times in groupby(sizes)]
    rows = input_sums(step, weights, x, at_once).split([times * n for times, n, _ in shapes])
    runs = [part.reshape(shape) for part, shape in zip(rows, shapes, strict=True)]
    if backwards:
        runs = [part.flip(0) for part in reversed(runs)]
    first, state = state, tuple([h[: runs[0].shape[1]] for h in state])
    outputs: list[Any] = []
    ended: list[State] = []
    for part in runs:
        now, n = len(state[0]), part.shape[1]
        if n < now:
            ended.append(tuple([h[n:] for h in state]))
            state = tuple([h[:n] for h in state])
        elif n > now:
            state = tuple([cat([h, begin[now:n]]) for h, begin in zip(state, first, strict=True)])
        y, state = run(step, weights, part, state, at_once)
        outputs.append((y.flip(0) if backwards else y).flatten(0, 1))
    ends = [state, *reversed(ended)]
    last = tuple([cat(each) for each in zip(*ends, strict=True)]) if ended else state
    return cat(outputs[::-1] if backwards else outputs), last


def is_sequence(step: Any, x: Any, state: State, weights: Weights) -> bool:
    """Return whether one op can compute all times.

    The cell must be an LSTM or a GRU without a projection, and the tensors must be as `in_one` requires.
    """
    if step not in (STEPS["LSTM"], STEPS["GRU"]) or weights["weight_hr"] is not None:
        return False
    some = x.numel() > 0 and state[0].numel() > 0
    return some and in_one(x, *state, *[w for w in weights.values() if w is not None])


def input_sums(step: Any, weights: Weights, x: Any, at_once: bool) -> Any:
    """Return W_ih x + b_ih, the terms of the gates that depend on the input, for all times at once.

    at_once: whether one op then computes all time steps.  In this case, the terms have the dtype of x even under
    autocast, and the terms of an LSTM include the bias b_hh as well.  The terms of a GRU do not include b_hh, because
    the gate r multiplies a part of b_hh.
    """
    bias = weights["bias_ih"]
    if at_once and step is STEPS["LSTM"] and bias is not None:
        bias = bias + weights["bias_hh"]
    sums = F.linear(x, weights["weight_ih"], bias)
    return sums.to(x.dtype) if at_once else sums


def run(step: Any, weights: Weights, sums: Any, state: State, at_once: bool) -> tuple[Tensor, State]:
    """Run a cell over the terms (time, batch, gates); return the outputs and the last state."""
    outputs = []
    if not at_once:
        for part in sums.unbind(0):
            state = step(part, state, weights)
            outputs.append(state[0])
        return stack(outputs), state
    weight, bias = weights["weight_hh"], weights["bias_hh"]
    lstm = step is STEPS["LSTM"]
    if bias is None and not lstm:
        bias = weight.new_zeros(len(weight))
    for part in sums.split(LONGEST) if len(sums) > LONGEST else (sums,):
        results = lstm_sequence(part, weight, *state) if lstm else gru_sequence(part, weight, bias, *state)
        outputs.append(results[0])
        state = tuple([of_all[-1] for of_all in results[: len(state)]])
    return (outputs[0] if len(outputs) == 1 else cat(outputs)), state
