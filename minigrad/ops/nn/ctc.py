"""The op `ctc_loss`: the likelihood of a sequence of labels, if outputs may repeat labels and insert blanks.

Source: Graves, Fernández, Gomez and Schmidhuber, Connectionist Temporal Classification (ICML 2006), section 4.1, with
logarithms of the forward variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.roles import Flag, Int
from minigrad.declare.decorators import composed
from minigrad.declare.names import FUNCTIONAL
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.creation import tensor
from minigrad.ops.indexing.gathering import gather
from minigrad.ops.nn.loss import joined, named_reduction
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import logsumexp, wide
from minigrad.ops.shape.joining import stack
from minigrad.ops.shape.padding import constant_pad_nd
from minigrad.ops.shape.views import expand, select
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor, describe

NEVER = -1e30  # the logarithm of a probability of 0: finite, so that no difference of two of them is nan


@composed(namespace=FUNCTIONAL, method=False, out=False)
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: Int = 0,
    reduction: str = "mean", zero_infinity: Flag = False,
) -> Tensor:  # fmt: skip
    """Return the CTC loss: minus the log-probability of each target sequence, over all its alignments with the input.

    Parameters
    ----------
    log_probs : Tensor
        Logarithms of probabilities (T, N, C), or (T, C) of one sequence.
        T is the number of time steps, N the number of sequences, and C the number of classes. For example, log_softmax
        computes such logarithms.
    targets : Tensor
        Integer labels (N, S), or a vector that contains the labels of all sequences, one sequence after another.
    input_lengths : Tensor or sequence of int
        Number of time steps of each sequence, N values of at most T.
    target_lengths : Tensor or sequence of int
        Number of labels of each sequence, N values.
    blank : int, default 0
        Class that stands for no label.
    reduction : str, default "mean"
        "none", "sum" or "mean". The mean first divides each loss by the length of its target, at least 1.
    zero_infinity : bool, default False
        Whether an infinite loss and its gradient are replaced by 0. A loss is infinite if the target is too long for
        its input.

    Returns
    -------
    Tensor
        Losses (N,) for "none", otherwise a scalar, in the dtype of log_probs.

    Raises
    ------
    ShapeError
        If log_probs is not a float tensor (T, N, C) or (T, C) with T > 0, if targets are not integers, or if the
        lengths are not N values that the tensors can contain.
    ArgumentError
        If a label or the blank is outside 0 to C - 1, or if the reduction is unknown.

    Gradient
    --------
    For log_probs at time t and class c: minus g times the probability, given the target, that the alignment is in class
    c at time t.  PyTorch adds g * exp(log_probs) to this gradient; the gradient before a log_softmax is the same.
    """
    reduction = named_reduction("ctc_loss", reduction)
    one = log_probs.ndim == 2
    logs = wide(log_probs.unsqueeze(1) if one else log_probs)
    steps, lengths, labels = expect_sequences(logs, targets, input_lengths, target_lengths, blank)
    total = forward(logs, steps, lengths, labels, blank)
    impossible = total < NEVER / 2
    loss = where(impossible, 0.0 if zero_infinity else float("inf"), -total)
    if reduction == "mean":
        loss = loss / tensor(np.maximum(lengths, 1), dtype=loss.dtype, device=loss.device)
    return joined(loss.squeeze(0) if one else loss, reduction).to(log_probs.dtype)


def forward(logs: Tensor, steps: Any, lengths: Any, labels: Any, blank: int) -> Tensor:
    """Return the logarithm of the probability of each row of labels, computed by the forward recursion."""
    n, size = labels.shape
    states = np.full((n, 2 * size + 1), blank)
    states[:, 1::2] = labels
    # A path may skip the blank between two different labels.
    skips = np.zeros(states.shape, np.bool_)
    skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]

    def constant(values: Any) -> Tensor:
        return tensor(values, device=logs.device)

    index = expand(constant(states), shape=(logs.shape[0], *states.shape))
    emitted = gather(where(logs > NEVER, logs, NEVER), 2, index)
    allowed = constant(skips)
    alpha = where(constant(np.broadcast_to(np.arange(states.shape[1]) < 2, states.shape)), select(emitted, 0, 0), NEVER)
    for t in range(1, int(steps.max(initial=0))):
        earlier = constant_pad_nd(alpha, (2, 0), NEVER)
        skipped = where(allowed, earlier[:, :-2], NEVER)
        following = logsumexp(stack([alpha, earlier[:, 1:-1], skipped]), 0) + select(emitted, 0, t)
        alpha = where(constant(t < steps[:, None]), following, alpha)
    last = np.arange(states.shape[1]) - 2 * lengths[:, None]
    total = logsumexp(where(constant((last == 0) | (last == -1)), alpha, NEVER), 1)
    # Without steps, only the empty sequence is possible.
    return where(constant(steps > 0), total, constant(np.where(lengths > 0, NEVER, 0.0)).to(total.dtype))


def expect_sequences(logs: Tensor, targets: Tensor, steps: Any, lengths: Any, blank: int) -> tuple[Any, Any, Any]:
    """Return the numbers of steps and of labels as arrays, and the labels as rows.

    Raises ShapeError or ArgumentError if they do not fit.
    """
    shown = f"got {describe(logs)} and targets {describe(targets)}"
    if logs.ndim != 3 or not logs.shape[0] or not logs.dtype.is_float or not targets.dtype.is_int:
        swapped = targets.dtype.is_float and not logs.dtype.is_float
        remedy = "pass log_probs first, because log_probs and targets seem to be swapped"
        raise ShapeError(
            f"ctc_loss: log_probs must be floats of shape (T, N, C) with T > 0, and targets integers, {shown}; "
            f"{remedy if swapped else 'convert log_probs with .float() and targets with .long()'}",
            op="ctc_loss",
        )
    longest, n, classes = logs.shape
    steps, lengths = (np.array(values_of(x), np.int64).reshape(-1) for x in (steps, lengths))
    flat, starts = host_array(targets), np.cumsum(lengths) - lengths
    if targets.ndim == 1:
        rows = np.full((len(lengths), int(lengths.max(initial=0))), blank, np.int64)
        for row, first, count in zip(rows, starts, lengths, strict=True):
            row[:count] = flat[first : first + count]
    else:
        rows = flat.astype(np.int64)
    wrong = len(steps) != n or len(lengths) != n or len(rows) != n or rows.ndim != 2
    if wrong or (steps > longest).any() or (lengths > rows.shape[1]).any() or min(*steps, *lengths) < 0:
        raise ShapeError(
            f"ctc_loss: input_lengths must be {n} values from 0 to {longest}, and target_lengths {n} values of at "
            f"least 0 that targets can contain, {shown}, {steps.tolist()} and {lengths.tolist()}; pass one length per "
            "sequence",
            op="ctc_loss",
        )  # fmt: skip
    rows = np.where(np.arange(rows.shape[1]) < lengths[:, None], rows, blank)
    if rows.size and not 0 <= min(rows.min(), blank) <= max(rows.max(), blank) < classes:
        raise ArgumentError(
            f"ctc_loss: targets and blank={blank} must be from 0 to {classes - 1}, {shown}; pass another blank, or "
            "log_probs with more classes",
            op="ctc_loss",
        )
    return steps, lengths, rows


def values_of(lengths: Tensor | Sequence[int]) -> Any:
    """Return the lengths as an array if they are a tensor, otherwise unchanged."""
    return host_array(lengths) if isinstance(lengths, Tensor) else lengths
