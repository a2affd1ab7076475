"""Batch and instance normalization: each channel is standardized; running statistics are optional."""

from __future__ import annotations

from typing import Any

from minigrad.core.dtype import int64
from minigrad.errors import ShapeError
from minigrad.nn import functional as F
from minigrad.nn.init import ones_, zeros_
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.creation import empty, ones, zeros
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe


class _NormBase(Module):
    """The state of a normalization: weight and bias per channel, running statistics, and the count of batches."""

    _version = 2
    _shown = "num_features / eps momentum affine bias track_running_stats"
    _dims: tuple[int, ...]
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init_subclass__(cls, dims: tuple[int, ...] = (), channels: int = 1, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if dims:
            cls._dims, cls._sizes = dims, ((0, "num_features", channels),)

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        kind = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(empty(num_features, **kind)) if affine else None)
        self.register_parameter("bias", Parameter(empty(num_features, **kind)) if affine and bias else None)
        track = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **kind) if track else None)
        self.register_buffer("running_var", ones(num_features, **kind) if track else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype=int64, device=device) if track else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running statistics to their initial values: mean 0, variance 1, batch count 0."""
        if self.track_running_stats:
            zeros_(self.running_mean)
            ones_(self.running_var)
            with no_grad():
                self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the running statistics, and set each weight to 1 and each bias to 0."""
        self.reset_running_stats()
        if self.weight is not None:
            ones_(self.weight)
        if self.bias is not None:
            zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self._dims:
            raise ShapeError(
                f"{type(self).__name__}: input must have {' or '.join(map(str, self._dims))} dims, got "
                f"{describe(input)}; reshape the input, or use the layer for this number of dims"
            )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any) -> None:
        """Load a state; version 1 has no batch count, so the present count is used."""
        key = prefix + "num_batches_tracked"
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked.detach().clone()
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """The common part of the batch normalizations."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = self.momentum
        tracking = self.training and self.track_running_stats and self.num_batches_tracked is not None
        if tracking:
            with no_grad():
                self.num_batches_tracked.add_(1)
            if momentum is None and self.running_mean is not None:
                return self._averaged(input)
        mean, var = self.running_mean, self.running_var
        from_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        return self._normalized(input, mean, var, from_batch, momentum or 0.0)

    def _forget_running_stats(self) -> None:
        """Use the statistics of each batch from now on; `replace_all_batch_norm_modules_` calls this."""
        self.track_running_stats = False
        self.running_mean = self.running_var = self.num_batches_tracked = None

    def _averaged(self, input: Tensor) -> Tensor:
        """Normalize by the statistics of the batch, and update the running ones, which are the mean over all batches.

        The number of batches remains a tensor, so that `mg.jit` can record this.
        """
        center, spread = self.running_mean.clone(), self.running_var.clone()  # an empty batch does not change them
        y = self._normalized(input, center, spread, True, 1.0)
        with no_grad():
            part = 1.0 / self.num_batches_tracked.to(center.dtype)
            self.running_mean.lerp_(center, part)
            self.running_var.lerp_(spread, part)
        return y

    def _normalized(self, input: Tensor, mean: Any, var: Any, from_batch: bool, momentum: float) -> Tensor:
        return F.batch_norm(input, mean, var, self.weight, self.bias, from_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm, dims=(2, 3)):
    """Normalize each channel of (N, C) or (N, C, L) over the batch.

    In training, the mean and variance of the batch are used, and the running statistics are moved towards them. In
    evaluation, the running statistics are used.

    momentum: Weight of a new batch in the running statistics. With None, the running statistics are the mean over all
    batches.

    Source: Ioffe and Szegedy, Batch normalization, 2015.

    >>> norm = mg.nn.BatchNorm1d(1)
    >>> _ = norm(mg.tensor([[1.0], [3.0]]))
    >>> norm.num_batches_tracked.item(), round(norm.running_mean.item(), 4)
    (1, 0.2)
    """


class BatchNorm2d(_BatchNorm, dims=(4,)):
    """Normalize each channel of images (N, C, H, W); the arguments are the same as for `BatchNorm1d`."""


class BatchNorm3d(_BatchNorm, dims=(5,)):
    """Normalize each channel of volumes (N, C, D, H, W); the arguments are the same as for `BatchNorm1d`."""


class _InstanceNorm(_NormBase):
    """The common part of instance norms; `_dims` is (dims of an example, of a batch)."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        single = input.ndim == self._dims[0]
        x = input.unsqueeze(0) if single else input
        from_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        y = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, from_input, momentum,
                            self.eps)  # fmt: skip
        return y.squeeze(0) if single else y


class InstanceNorm1d(_InstanceNorm, dims=(2, 3), channels=-2):
    """Normalize each channel of each example of an input (N, C, L) or (C, L).

    The mean and variance are computed over the last dim. The arguments are the same as for `BatchNorm1d`, but `affine`
    and `track_running_stats` are False by default.

    Source: Ulyanov, Vedaldi and Lempitsky, Instance normalization, 2016.
    """


class InstanceNorm2d(_InstanceNorm, dims=(3, 4), channels=-3):
    """Normalize each channel of each image of (N, C, H, W) or (C, H, W); see `InstanceNorm1d`."""


class InstanceNorm3d(_InstanceNorm, dims=(4, 5), channels=-4):
    """Normalize each channel of each volume of (N, C, D, H, W) or (C, D, H, W); see `InstanceNorm1d`."""
