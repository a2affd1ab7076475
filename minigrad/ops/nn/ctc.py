"""The op `ctc_loss`: the likelihood of a sequence of labels, if outputs may repeat labels and insert blanks.

Source: Graves, Fernández, Gomez and Schmidhuber, Connectionist Temporal Classification (ICML 2006), section 4.1, with
logarithms of the forward variables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.conditions import Integral
from minigrad.core.dtype import int8, int64
from minigrad.core.roles import Flag, Int
from minigrad.declare.decorators import composed, elementwise
from minigrad.declare.rules import promote, to_float
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.checks import Refusal, checked
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.nn.loss import joined, named_reduction
from minigrad.ops.pointwise.blends import clamp
from minigrad.ops.pointwise.explog import logaddexp
from minigrad.ops.reduction.scan import cumsum
from minigrad.ops.reduction.sums import wide
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.padding import constant_pad_nd
from minigrad.ops.shape.views import expand, permute, reshape, select
from minigrad.runtime.data import host_array
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe

NEVER = -1e30  # the logarithm of a probability of 0: finite, so that no difference of two of them is nan


@composed()
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: Int = 0,
    reduction: str = "mean", zero_infinity: Flag = False,
) -> Tensor:  # fmt: skip
    """Return the CTC loss: minus the log-probability of each target sequence, over all its alignments with the input.

    log_probs: Logarithms of probabilities (T, N, C), or (T, C) of one sequence. T is the number of time steps, N the
    number of sequences, and C the number of classes. For example, log_softmax computes such logarithms.
    targets: Integer labels (N, S), or a vector that contains the labels of all sequences, one sequence after another.
    input_lengths: Number of time steps of each sequence, N values of at most T.
    target_lengths: Number of labels of each sequence, N values. If `targets` has the labels of several sequences in one
    vector, a tensor is read on the host; `mg.jit` then needs a sequence of int.
    reduction: "none", "sum" or "mean". The mean first divides each loss by the length of its target, at least 1.
    zero_infinity: Whether an infinite loss and its gradient are replaced by 0. A loss is infinite if the target is too
    long for its input.

    Returns: Losses (N,) for "none", otherwise a scalar, in the dtype of log_probs.

    Raises ShapeError if log_probs is not a float tensor (T, N, C) or (T, C) with T > 0, if targets are not integers, or
    if the lengths are not N values that the tensors can contain.
    Raises ArgumentError if a label or the blank is outside 0 to C - 1, or if the reduction is unknown.

    Gradient: For log_probs at time t and class c: minus g times the probability, given the target, that the alignment
    is in class c at time t. PyTorch adds g * exp(log_probs) to this gradient; the gradient before a log_softmax is the
    same.
    """
    reduction = named_reduction("ctc_loss", reduction)
    one = log_probs.ndim == 2
    logs = wide(log_probs.unsqueeze(1) if one else log_probs)
    steps, longest, lengths, labels = expect_sequences(logs, targets, input_lengths, target_lengths, blank)
    total = forward(logs, steps, longest, lengths, labels, blank)
    loss = ctc_cost(total, steps, lengths, lengths if reduction == "mean" else 1, 0 if zero_infinity else float("inf"))
    return joined(loss.squeeze(0) if one else loss, reduction).to(log_probs.dtype)


def forward(logs: Tensor, steps: Tensor, longest: int, lengths: Tensor, labels: Tensor, blank: int) -> Tensor:
    """Return the logarithm of the probability of each sequence of labels, computed by the forward recursion.

    labels: the pairs of a label and the blank behind it, (S, 2, N).
    longest: the number of steps after which all sequences have ended.

    The states are the blank before all labels, and the pairs.  They are the rows of matrices, so that the states before
    and after are slices without gaps.  Two rows above them have no emission: the path begins in the second of them, and
    the rows above a state are never outside the matrix.
    """
    n, width = labels.shape[2], 2 * labels.shape[0] + 1
    # The state two before the first label is not a label; the state two before the first blank counts as blank.
    above = tensor(np.full((3, n), [[blank], [-1], [blank]]), device=logs.device)
    states = cat([above, reshape(labels, (width - 1, n))], 0)
    times = reshape(tensor(np.arange(longest), device=logs.device), (longest, 1, 1))
    moves = ctc_moves(states[2:], states[:-2], times, steps)
    emitted = gather(permute(logs, dims=(0, 2, 1)), 1, expand(states[2:], shape=(longest, width, n)))
    start = np.full((width + 2, n), NEVER)
    start[1] = 0
    alpha = tensor(start, dtype=logs.dtype, device=logs.device)
    for t in range(longest):
        following = ctc_step(alpha[2:], alpha[1:-1], alpha[:-2], select(emitted, 0, t), select(moves, 0, t))
        alpha = constant_pad_nd(following, (0, 0, 2, 0), NEVER)
    # A path ends in the blank behind the last label, or in the last label.
    ended = logaddexp(alpha[2:], alpha[1:-1])[::2]
    return select(gather(ended, 0, reshape(lengths, (1, n))), 0, 0)


@elementwise(dtype=promote, namespace=())
def ctc_label(label, column, length, blank):
    """Return a label in a column before the length of its sequence, and otherwise the blank."""
    return label if column < length else blank


@elementwise(dtype=lambda op, specs: (int64.compute, int8), namespace=())
def ctc_moves(state, before, time, steps):
    """Return how a path reaches a state at a time: 0 after the end; 2 if it may skip the state before it; otherwise 1.

    before: the state two states before.  Only between different labels, the blank may be skipped.
    """
    return 0 if time >= steps else 2 if state != before else 1


@elementwise(dtype=to_float, vjp=("derived", "derived", "derived", "derived", None), namespace=())
def ctc_step(here, one, two, emitted, move):
    """Return the log-probability of a state after one step, from its own and those of the two states before it.

    move: the result of `ctc_moves`.
    Gradient: g times the share of each of the three states in the sum of probabilities, and g for the emission.
    """
    skipped = two if move == 2 else -1e30
    near = here if here > one else one
    # A shift by an integer prevents overflow as well as one by the maximum, and the derived rules take it as constant.
    shift = math.floor(near if near > skipped else skipped)
    total = math.exp(here - shift) + math.exp(one - shift) + math.exp(skipped - shift)
    reached = shift + math.log(total) + (emitted if emitted > -1e30 else -1e30)
    return here if move == 0 else reached


@elementwise(dtype=to_float, vjp=("derived", None, None, None, None), namespace=())
def ctc_cost(total, steps, length, share, impossible):
    """Return minus a log-probability, divided by a share of at least 1.

    The cost of an impossible sequence is `impossible`.  Without steps, only the empty sequence is possible.
    Gradient: -g divided by the share.
    """
    without = 0 if steps + length == 0 else impossible
    return (without if total < -5e29 else -total) / (share if share > 1 else 1)


def expect_sequences(
    logs: Tensor, targets: Tensor, steps: Any, lengths: Any, blank: int
) -> tuple[Tensor, int, Tensor, Tensor]:
    """Return the numbers of steps, the largest of them, the numbers of labels, and the pairs of labels and blanks.

    The pairs have the shape (S, 2, N).

    Numbers in a tensor are not read; then the largest number of steps is that of log_probs.
    Raises ShapeError or ArgumentError if they do not fit.
    """
    shown = f"got {describe(logs)} and targets {describe(targets)}"
    if logs.ndim != 3 or not logs.shape[0] or not logs.dtype.is_float or not targets.dtype.is_int:
        swapped = targets.dtype.is_float and not logs.dtype.is_float
        remedy = "pass log_probs first, because log_probs and targets seem to be swapped"
        raise ShapeError(
            f"ctc_loss: log_probs must be floats of shape (T, N, C) with T > 0, and targets integers, {shown}; "
            f"{remedy if swapped else 'convert log_probs with .float() and targets with .long()'}"
        )
    longest, n, classes = logs.shape
    wrong = Refusal(
        ShapeError, "ctc_loss",
        f"ctc_loss: input_lengths must be {n} values from 0 to {longest}, and target_lengths {n} values of at least 0 "
        f"that targets can contain, {shown} and lengths {{}}; pass one length per sequence",
    )  # fmt: skip
    if targets.ndim not in (1, 2) or (targets.ndim == 2 and targets.shape[0] != n):
        raise wrong.error(describe(lengths))
    for name, each in (("input_lengths", steps), ("target_lengths", lengths)):
        if isinstance(each, Tensor):
            Integral.expect("ctc_loss", **{name: each})
    largest = longest if isinstance(steps, Tensor) else max((1, *steps))
    size = targets.shape[-1] if targets.ndim == 2 or n == 1 else largest_of(lengths)
    steps, lengths = (lengths_of(x, n, top, logs, wrong) for x, top in ((steps, longest), (lengths, size)))
    columns = np.arange(size)
    rows = targets if targets.ndim == 2 else rows_of(targets, lengths, tensor(columns, device=logs.device), wrong)
    wrong = Refusal(
        ArgumentError, "ctc_loss",
        f"ctc_loss: targets and blank={blank} must be from 0 to {classes - 1}, {shown}; pass another blank, or "
        "log_probs with more classes",
    )  # fmt: skip
    if rows.numel() and not 0 <= blank < classes:
        raise wrong.error(blank)
    # No length is greater than `size`, so a column of this number is a column of blanks.
    pairs = tensor(np.stack([columns, np.full(size, size)], 1).reshape(size, 2, 1), device=logs.device)
    labels = ctc_label(reshape(permute(rows, dims=(1, 0)), (size, 1, n)), pairs, lengths, blank)
    return steps, largest, lengths, checked(labels, low=0, high=classes - 1, ascending=False, refusal=wrong)


def lengths_of(lengths: Tensor | Sequence[int], n: int, top: int, logs: Tensor, wrong: Refusal) -> Tensor:
    """Return n lengths as a tensor on the device of `logs`, from a tensor or a sequence.

    Raises the error of `wrong` unless there are n lengths from 0 to `top`; the launch raises it for those of a tensor.
    """
    if isinstance(lengths, Tensor):
        if lengths.numel() != n:
            raise wrong.error(describe(lengths))
        return checked(reshape(lengths, (n,)), low=0, high=top, ascending=False, refusal=wrong)
    values = np.array(lengths, np.int64).reshape(-1)
    if len(values) != n or (values < 0).any() or (values > top).any():
        raise wrong.error(values.tolist())
    return tensor(values, device=logs.device)


def largest_of(lengths: Tensor | Sequence[int]) -> int:
    """Return the largest of the lengths; the host reads it, because the shape of the rows of labels depends on it."""
    values = host_array(lengths) if isinstance(lengths, Tensor) else np.array(lengths, np.int64)
    return int(values.max(initial=0))


def rows_of(targets: Tensor, lengths: Tensor, columns: Tensor, wrong: Refusal) -> Tensor:
    """Return the labels of a vector as rows; the labels behind the end of a row have any values."""
    n, count = lengths.shape[0], targets.shape[0]
    ends = checked(cumsum(lengths, 0), low=0, high=count, ascending=False, refusal=wrong)
    if not count or not columns.shape[0]:
        return expand(number(0, targets.dtype, targets.device), shape=(n, columns.shape[0]))
    return targets[clamp(columns + reshape(ends - lengths, (n, 1)), 0, count - 1)]
