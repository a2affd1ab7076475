"""Adaptive softmax: frequent classes are in a short list, rare classes in clusters with smaller projections."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from minigrad.errors import ArgumentError, IndexOutOfRange, ShapeError
from minigrad.nn import functional as F
from minigrad.nn.modules.containers import ModuleList, Sequential
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.extremes import argmax
from minigrad.ops.shape.joining import cat
from minigrad.runtime.tensor import Tensor, describe


class ASMoutput(NamedTuple):
    """The result of `AdaptiveLogSoftmaxWithLoss`: the log probability of each target, and their negated mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Compute the log probabilities of targets among very many classes, and their negative mean as the loss.

    The classes must be numbered from the most frequent to the rarest. The cutoffs divide them into the frequent classes
    below the first cutoff and one cluster of rarer classes per cutoff. A first softmax, the head, has one entry for
    each frequent class and one entry for each cluster. A second softmax chooses the class inside a cluster; it is
    computed only for the examples whose target is in this cluster.

    in_features: Number of features of an example.
    n_classes: Number of classes.
    cutoffs: First class of each cluster. The cutoffs increase and are between 1 and n_classes - 1.
    div_value: Cluster i, counted from 0, first projects an example to in_features // div_value ** (i + 1) features.
    head_bias: Whether the head has a bias.

    Raises ArgumentError if the cutoffs are not increasing integers between 1 and n_classes - 1.

    Source: Grave, Joulin, Cisse, Grangier and Jegou, Efficient softmax approximation for GPUs, 2017.

    >>> layer = mg.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10])
    >>> output, loss = layer(mg.randn(3, 8), mg.tensor([1, 7, 19]))
    >>> output.shape, loss.shape, layer.log_prob(mg.randn(3, 8)).shape
    ((3,), (), (3, 20))
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
        head_bias: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        starts = list(cutoffs)
        if not starts or starts != sorted(set(starts)) or starts[0] < 1 or starts[-1] > n_classes - 1 or any(
            int(c) != c for c in starts
        ):  # fmt: skip
            raise ArgumentError(
                f"AdaptiveLogSoftmaxWithLoss: cutoffs must be increasing integers from 1 to {n_classes - 1}, which is "
                f"n_classes - 1, got {starts}; pass cutoffs=[10, 100], for example"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*starts, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = starts[0], len(starts)
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for k, (begin, end) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // div_value ** (k + 1))
            self.tail.append(Sequential(
                Linear(in_features, width, bias=False, **kind), Linear(width, end - begin, bias=False, **kind)
            ))  # fmt: skip

    def reset_parameters(self) -> None:
        """Draw the initial weights again."""
        for layer in (self.head, *[each for cluster in self.tail for each in cluster]):
            layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        """Return the log probability of each target, and their negated mean; the batch dim may be absent."""
        self._check(input_, target_)
        input, target = (input_, target_) if target_.ndim else (input_.unsqueeze(0), target_.unsqueeze(0))
        index = target  # index of an entry of the head: a class of the short list, or a cluster
        parts = []
        for k, (begin, end) in enumerate(pairwise(self.cutoffs)):
            inside = (target >= begin) & (target < end)
            index = where(inside, self.shortlist_size + k, index)
            rows = inside.nonzero().squeeze(1)
            if rows.numel():
                scores = F.log_softmax(self.tail[k](input.index_select(0, rows)), 1)
                own = target.index_select(0, rows) - begin
                parts.append((rows, scores.gather(1, own.unsqueeze(1)).squeeze(1)))
        output = F.log_softmax(self.head(input), 1).gather(1, index.unsqueeze(1)).squeeze(1)
        for rows, scores in parts:
            output = output.index_add(0, rows, scores)
        loss = (-output).mean()
        return ASMoutput(output if target_.ndim else output.squeeze(0), loss)

    def _check(self, input: Tensor, target: Tensor) -> None:
        """Raise an error unless input and target match and all targets are valid."""
        name = type(self).__name__
        if target.ndim > 1 or input.ndim != target.ndim + 1 or input.shape[:-1] != target.shape:
            raise ShapeError(
                f"{name}: expected input (N, {self.in_features}) and target (N,), or both without N, got "
                f"{describe(input)} and {describe(target)}; reshape the input"
            )
        if target.numel() and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise IndexOutOfRange(
                f"{name}: target must contain classes from 0 to {self.n_classes - 1}, got {int(target.min())} to "
                f"{int(target.max())}; correct the targets, or create the layer with a larger n_classes"
            )

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log probabilities (N, n_classes) of all classes."""
        return self._all(input, self.head(input))

    def _all(self, input: Tensor, head: Tensor) -> Tensor:
        scores = F.log_softmax(head, 1)
        parts = [scores[:, : self.shortlist_size]]
        for k, cluster in enumerate(self.tail):
            at = self.shortlist_size + k
            parts.append(F.log_softmax(cluster(input), 1) + scores[:, at : at + 1])
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most likely class of each example; the tail is computed only if some example requires it."""
        head = self.head(input)
        best = argmax(head, 1)
        outside = best >= self.shortlist_size
        if not bool(outside.any()):
            return best
        return where(outside, argmax(self._all(input, head), 1), best)
