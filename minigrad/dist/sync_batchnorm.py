"""Batch normalization over the batches of all processes of a group."""

from __future__ import annotations

from typing import Any

from minigrad.autodiff.function import Function
from minigrad.dist.collectives import all_reduce
from minigrad.dist.group import get_world_size, is_initialized
from minigrad.errors import ShapeError
from minigrad.nn import functional as F
from minigrad.nn.modules.batchnorm import _BatchNorm
from minigrad.nn.modules.module import Module
from minigrad.ops.nn.batch_norm import scaled_channels
from minigrad.ops.reduction.sums import wide
from minigrad.ops.shape.joining import cat
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe


class Summed(Function):
    """The sum of a tensor over all processes; its gradient is the sum of the gradients of all processes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        """Return the sum over all processes."""
        ctx.group = group
        result: Tensor = x.clone()
        all_reduce(result, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        """Return the sum of the gradients over all processes; this sum is differentiable."""
        return Summed.apply(g, ctx.group), None


class SyncBatchNorm(_BatchNorm):
    """Normalize each channel over the batches of all processes.

    In training, mean and variance are computed from the examples of all processes together. With one process, the layer
    computes the same as `BatchNorm1d`, `2d` or `3d`. `convert_sync_batchnorm` converts the layers of a network.

    eps, momentum, affine, track_running_stats and bias: The same as for `BatchNorm1d`.
    process_group: The mpi4py communicator to reduce over; all processes if None.

    Raises ShapeError if the input has fewer than 2 dims, or if in training all processes together have only one value
    per channel.

    All processes must call the layer equally often. The gradient with respect to the input is the gradient of the sum
    of the losses of all processes. The gradients with respect to weight and bias contain only the part of this process;
    `DistributedDataParallel` averages them over the processes.

    >>> net = mg.nn.Sequential(mg.nn.Conv2d(3, 4, 1), mg.nn.BatchNorm2d(4))
    >>> type(mg.nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]).__name__
    'SyncBatchNorm'
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ShapeError(
                f"SyncBatchNorm: input must have at least 2 dims, (N, C, ...), got {describe(input)}; add the batch "
                "dim with unsqueeze(0)"
            )

    def _normalized(self, input: Tensor, mean: Any, var: Any, from_batch: bool, momentum: float) -> Tensor:
        if not self.training or not is_initialized() or get_world_size(self.process_group) == 1:
            return F.batch_norm(input, mean, var, self.weight, self.bias, from_batch, momentum, self.eps)
        if input.shape[1] != self.num_features:
            raise ShapeError(
                f"SyncBatchNorm: input must have num_features={self.num_features} channels, got {describe(input)}; "
                "create the layer with the number of channels of the input"
            )
        x = wide(input)
        dims = tuple([d for d in range(x.ndim) if d != 1])
        shape = (-1, *(1,) * (x.ndim - 2))
        own = x.new_full((1,), x.numel() // x.shape[1])
        sums = Summed.apply(cat([x.sum(dims), own]), self.process_group)
        count = float(sums[-1])
        if count <= 1:
            raise ShapeError(
                f"SyncBatchNorm: input must have more than 1 value per channel in training, got {describe(input)}; use "
                "a larger batch, or call eval()"
            )
        center = sums[:-1] / count
        squares = Summed.apply(((x - center.reshape(shape)) ** 2).sum(dims), self.process_group)
        if mean is not None and var is not None:
            self._move(mean, center, momentum)
            self._move(var, squares / (count - 1), momentum)
        return scaled_channels(x, center, squares / count, self.weight, self.bias, self.eps).to(input.dtype)

    @staticmethod
    def _move(running: Tensor, batch: Tensor, momentum: float) -> None:
        """Move running statistics towards the statistics of a batch."""
        with no_grad():
            running.mul_(1 - momentum).add_(batch.detach().to(running.dtype) * momentum)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Convert the batch normalizations of a network to `SyncBatchNorm` layers with the same parameters.

        module: The network. It is changed in place, unless it is itself a batch normalization layer.
        process_group: The mpi4py communicator of the new layers; all processes if None.

        Returns: The converted network.
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = converted(cls, module, process_group)
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


def converted(kind: Any, norm: Any, process_group: Any) -> Any:
    """Return a layer of class `kind` with the parameters, state and mode of `norm`."""
    layer = kind(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats, process_group,
                 bias=norm.bias is not None)  # fmt: skip
    for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
        if getattr(norm, name) is not None:
            setattr(layer, name, getattr(norm, name))
    return layer.train(norm.training)
