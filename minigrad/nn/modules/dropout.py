"""Dropout: in training, elements or whole channels are set to zero at random."""

from __future__ import annotations

from typing import Any

from minigrad.core.roles import Number
from minigrad.nn import functional as F
from minigrad.nn.modules.derived import FromFunction
from minigrad.runtime.tensor import Tensor


class _DropoutNd(FromFunction, fields="p inplace"):
    """The common part of the dropouts: a function of (input, p, training, inplace)."""

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        Number(0, 1, example=0.5).expect(type(self).__name__, p=fields["p"])
        return fields

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd, of=F.dropout):
    """Set each element to 0 with probability p, and divide the other elements by 1 - p.

    In evaluation mode, the layer returns the input.

    Source: Hinton and others, Improving neural networks by preventing co-adaptation of feature detectors, 2012.

    >>> mg.nn.Dropout(0.5).eval()(mg.tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """


class Dropout1d(_DropoutNd, of=F.dropout1d):
    """Apply `Dropout` to whole channels of (N, C, L) or (C, L)."""


class Dropout2d(_DropoutNd, of=F.dropout2d):
    """Apply `Dropout` to whole channels of (N, C, H, W)."""


class Dropout3d(_DropoutNd, of=F.dropout3d):
    """Apply `Dropout` to whole channels of (N, C, D, H, W) or (C, D, H, W)."""


class AlphaDropout(_DropoutNd, of=F.alpha_dropout):
    """Apply dropout that preserves mean 0 and variance 1; used with SELU."""


class FeatureAlphaDropout(_DropoutNd, of=F.feature_alpha_dropout):
    """Apply `AlphaDropout` to whole channels."""
