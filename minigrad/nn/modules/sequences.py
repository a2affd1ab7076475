"""A recurrent layer over time: products with the input for all times at once, then a cell for each time.

If possible, one op computes all times of an LSTM or a GRU.  Packed sequences run without padding: the sequences that
have not ended are the first rows of the state, and consecutive times with the same number of sequences form a run.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from minigrad.nn import functional as F
from minigrad.nn.modules.cells import STEPS, State, Weights, in_one
from minigrad.ops.nn.sequences import gru_sequence, lstm_sequence
from minigrad.ops.shape.joining import cat, stack
from minigrad.runtime.tensor import Tensor

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
