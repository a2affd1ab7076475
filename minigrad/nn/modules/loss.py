"""Losses: functions that measure the difference between a result and its target; and distances of vectors.

`reduction` is "mean", "sum" or "none", which returns one loss per element.  `size_average` and `reduce` are its older
names.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minigrad.core.conditions import expect_shape
from minigrad.core.roles import Number
from minigrad.errors import warn
from minigrad.nn import functional as F
from minigrad.nn.modules.derived import FromFunction, undefined
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.runtime.tensor import Tensor


class PairwiseDistance(FromFunction, of=F.pairwise_distance, fields="p eps keepdim"):
    """Return the p-norm of x1 - x2 + eps along the last dim."""


class CosineSimilarity(FromFunction, of=F.cosine_similarity, fields="dim eps"):
    """Return the cosine of the angle between vectors along `dim`; `eps` is the lower bound of their norms."""


def _base(
    weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Any:
    """Declare the fields that most losses have; the base classes compute nothing."""
    return undefined()


class _Loss(FromFunction, of=_base, fields="size_average reduce reduction"):
    """A loss; `repr` shows only the arguments that differ from their defaults."""

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields with `reduction` instead of its older names."""
        average, reduce = fields.pop("size_average", None), fields.pop("reduce", None)
        if average is not None or reduce is not None:
            mean = average is not False
            fields["reduction"] = "none" if reduce is False else "mean" if mean else "sum"
            warn(
                f"{type(self).__name__}: size_average and reduce are deprecated; write "
                f"reduction={fields['reduction']!r}"
            )
        return fields

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        d = self.__dict__
        return self._function(*args, **kwargs, **{name: d[name] for name in self._fields if name in d})

    def extra_repr(self) -> str:
        d = self.__dict__
        names = [
            n
            for n, field in self._fields.items()
            if n in d and not isinstance(d[n], (Tensor, Module)) and d[n] != field.default
        ]
        return ", ".join(f"{name}={d[name]!r}" for name in names)


class _WeightedLoss(_Loss, of=_base, fields="weight size_average reduce reduction"):
    """A loss whose buffer `weight` contains factors, for most losses one per class."""


class L1Loss(_Loss, of=F.l1_loss):
    """Return the mean of |input - target|.

    >>> mg.nn.L1Loss()(mg.tensor([1.0, 4.0]), mg.tensor([2.0, 2.0])).item()
    1.5
    """


class NLLLoss(_WeightedLoss, of=F.nll_loss, fields="weight size_average ignore_index reduce reduction"):
    """Return the mean of -input[target]: log probabilities (N, C, ...) and target classes (N, ...).

    `weight` contains one factor per class. A target equal to `ignore_index` is excluded.
    """


class NLLLoss2d(NLLLoss):
    """Return the negative log likelihood of images; this is an old name of `NLLLoss`."""


class PoissonNLLLoss(_Loss, of=F.poisson_nll_loss, fields="log_input full size_average eps reduce reduction"):
    """Return the negative log likelihood of counts under a Poisson distribution.

    The input contains the means of the distributions, or with `log_input=True`, the default, the logarithms of the
    means. `full=True` adds Stirling's approximation of log(target!), a term that depends only on the target. `eps` is
    added to the mean before its logarithm is computed. `reduction` is "mean", "sum" or "none".
    """


class GaussianNLLLoss(_Loss, of=F.gaussian_nll_loss, keyword_only=True, fields="full eps reduction"):
    """Return the negative log likelihood of targets under normal distributions.

    The module is called with (input, target, var), where `input` contains the means and `var` the variances.
    `full=True` adds the constant log(2 * pi) / 2. Variances less than `eps` are replaced by `eps`. `reduction` is
    "mean", "sum" or "none".
    """


class KLDivLoss(_Loss, of=F.kl_div, fields="size_average reduce reduction log_target"):
    """Return the Kullback-Leibler divergence: the mean or sum of target * (log(target) - input).

    The input contains log probabilities, and the target contains probabilities.

    reduction ({"mean", "batchmean", "sum", "none"}): "batchmean" divides the sum by the length of dim 0; it is the mean
    divergence if each row is a distribution. "mean" divides the sum by the number of elements.
    """


class MSELoss(_Loss, of=F.mse_loss):
    """Return the mean of (input - target)**2."""


class BCELoss(_WeightedLoss, of=F.binary_cross_entropy):
    """Return the cross entropy of probabilities and targets, both from 0 to 1; `weight` is a factor per element."""


class BCEWithLogitsLoss(
    _Loss, of=F.binary_cross_entropy_with_logits, fields="weight size_average reduce reduction pos_weight"
):
    """Return BCELoss of sigmoid(input), without overflow; `pos_weight` is the factor of positive targets per class."""


class HingeEmbeddingLoss(_Loss, of=F.hinge_embedding_loss, fields="margin size_average reduce reduction"):
    """Return the input where the target is 1, and max(0, margin - input) where the target is -1."""


class MultiLabelMarginLoss(_Loss, of=F.multilabel_margin_loss):
    """Return the hinge loss between each target class and every other class; a target of -1 ends the list."""


class SmoothL1Loss(_Loss, of=F.smooth_l1_loss, fields="size_average reduce reduction beta"):
    """Return d**2 / (2 * beta) where |d| < beta, and |d| - beta / 2 otherwise, with d = input - target."""


class HuberLoss(_Loss, of=F.huber_loss, fields="reduction delta"):
    """Return d**2 / 2 where |d| < delta, and delta * (|d| - delta / 2) otherwise, with d = input - target."""


class SoftMarginLoss(_Loss, of=F.soft_margin_loss):
    """Return log(1 + exp(-target * input)) for targets of 1 and -1."""


class CrossEntropyLoss(
    _WeightedLoss, of=F.cross_entropy, fields="weight size_average ignore_index reduce reduction label_smoothing"
):
    """Return the cross entropy of logits (N, C, ...) and targets: classes (N, ...) or probabilities (N, C, ...).

    `weight` is a vector with one factor per class. A target class equal to `ignore_index` does not count.
    `label_smoothing`, from 0 to 1, is the share of the uniform distribution in the target. `reduction` is "mean", "sum"
    or "none".

    >>> loss = mg.nn.CrossEntropyLoss()(mg.zeros(2, 4), mg.tensor([0, 3]))
    >>> round(loss.item(), 4)  # log(4)
    1.3863
    """


class LinearCrossEntropyLoss(Module):
    """Return the cross entropy of a linear layer's logits and targets; see `mg.nn.functional.linear_cross_entropy`.

    The layer is the attribute `linear`. The other arguments are those of `CrossEntropyLoss`.
    in_features, num_classes: the sizes of an input and of the class dim.
    out_features: the sizes of further dims of the logits.
    options: accepted without effect.
    """

    weight: Tensor | None

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: Sequence[int] = (), bias: bool = False,
        device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Tensor | None = None,
        ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        expect_shape("LinearCrossEntropyLoss", (num_classes,), "one factor per class of", num_classes, weight=weight)
        Number(0, 1, example=0.1).expect("LinearCrossEntropyLoss", label_smoothing=label_smoothing)
        self.num_classes, self.out_features, self.options = num_classes, tuple(out_features), options
        self.reduction, self.ignore_index, self.label_smoothing = reduction, ignore_index, label_smoothing
        self.register_buffer("weight", weight)
        self.linear = Linear(in_features, prod((num_classes, *out_features)), bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of inputs (N, in_features), or of one input, and targets as for `cross_entropy`."""
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*shape, -1), target,
            linear_bias=None if bias is None else bias.reshape(shape), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing,
        )  # fmt: skip


class MultiLabelSoftMarginLoss(_WeightedLoss, of=F.multilabel_soft_margin_loss):
    """Return the mean over the classes of the binary cross entropy of sigmoid(input)."""


class CosineEmbeddingLoss(_Loss, of=F.cosine_embedding_loss, fields="margin size_average reduce reduction"):
    """Return 1 - cos(input1, input2) where the target is 1, and max(0, cos - margin) where the target is -1."""


class MarginRankingLoss(_Loss, of=F.margin_ranking_loss, fields="margin size_average reduce reduction"):
    """Return max(0, -target * (input1 - input2) + margin) for (input1, input2, target)."""


class MultiMarginLoss(_WeightedLoss, of=F.multi_margin_loss, fields="p margin weight size_average reduce reduction"):
    """Return the hinge loss, to the power of p, between the target class and every other class."""


class TripletMarginLoss(_Loss, of=F.triplet_margin_loss, fields="margin p eps swap size_average reduce reduction"):
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin) with the p-norm as the distance.

    With `swap`, d(positive, negative) replaces d(anchor, negative) where it is smaller.
    """


class TripletMarginWithDistanceLoss(
    _Loss, of=F.triplet_margin_with_distance_loss, keyword_only=True, fields="distance_function margin swap reduction"
):
    """Return TripletMarginLoss with another distance, a function of two tensors."""

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {**fields, "distance_function": fields["distance_function"] or PairwiseDistance()}


class CTCLoss(_Loss, of=F.ctc_loss, fields="blank reduction zero_infinity"):
    """Return the CTC loss: minus the logarithm of the total probability of all alignments with the target labels.

    The module is called with (log_probs, targets, input_lengths, target_lengths), as `mg.nn.functional.ctc_loss`.
    `blank` is the index of the class that stands for no label. `zero_infinity=True` replaces infinite losses by 0.
    """
