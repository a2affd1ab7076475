"""einops' layers as modules of minigrad: the source of `einops.layers.minigrad`; see `api/interop/backends.py`.

The classes of einops' own packages for other frameworks have the same names and arguments.
"""

from __future__ import annotations

from typing import Any

from einops.layers import RearrangeMixin, ReduceMixin
from einops.layers._einmix import _EinmixMixin

from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.creation import empty
from minigrad.ops.linalg.einsum import einsum


class Rearrange(RearrangeMixin, Module):
    """Rearrange the dims of a tensor by a pattern, as `einops.rearrange` does."""

    def forward(self, x: Any) -> Any:
        return self._apply_recipe(x)


class Reduce(ReduceMixin, Module):
    """Reduce dims of a tensor by a pattern, as `einops.reduce` does."""

    def forward(self, x: Any) -> Any:
        return self._apply_recipe(x)


class EinMix(_EinmixMixin, Module):
    """A linear layer over the axes that a pattern names; einops chooses the bounds of the initial values."""

    def _create_parameters(self, weight_shape: Any, weight_bound: float, bias_shape: Any, bias_bound: float) -> None:
        self.weight = Parameter(empty(weight_shape).uniform_(-weight_bound, weight_bound))
        self.bias = None if bias_shape is None else Parameter(empty(bias_shape).uniform_(-bias_bound, bias_bound))

    def _create_rearrange_layers(self, before: Any, before_lengths: Any, after: Any, after_lengths: Any) -> None:
        self.pre_rearrange = None if before is None else Rearrange(before, **before_lengths)
        self.post_rearrange = None if after is None else Rearrange(after, **after_lengths)

    def forward(self, x: Any) -> Any:
        if self.pre_rearrange is not None:
            x = self.pre_rearrange(x)
        y = einsum(self.einsum_pattern, x, self.weight)
        y = y if self.bias is None else y + self.bias
        return y if self.post_rearrange is None else self.post_rearrange(y)
