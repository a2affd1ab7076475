"""`DistributedDataParallel`: one model in several processes, whose gradients are averaged during the backward pass.

Parameters are assigned to buckets in the order in which their gradients arrive, the last layers first.  When the last
gradient of a bucket arrives, the bucket is packed, `Iallreduce` starts, and the backward pass continues.  At the last
bucket, the backward pass waits for all reductions, and every `.grad` becomes a view of its bucket.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from minigrad.autodiff.engine import reachable
from minigrad.config import assigned
from minigrad.core.device import CPU
from minigrad.dist.collectives import outgoing, wide, write
from minigrad.dist.group import communicator
from minigrad.errors import ArgumentError, GroupError
from minigrad.func.trees import flatten
from minigrad.nn.modules.module import Module
from minigrad.ops.creation import from_numpy, zeros
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor, describe

# Alignment in elements: the part of each parameter starts at a multiple of 16, which is a cache line of float32.
LINE = 16


class Bucket:
    """Parameters whose gradients are reduced together, in one array.

    `missing` is the number of gradients that have not arrived in this pass; `request` is the reduction that has
    started.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.parameters: list[tuple[str, Any]] = []
        self.starts: list[int] = []
        self.size = 0
        self.array: Any = None
        self.missing = 0
        self.request: Any = None

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        return self.size * self.dtype.itemsize

    def add(self, name: str, p: Any) -> None:
        """Add a parameter at the end of the bucket."""
        self.parameters.append((name, p))
        self.starts.append(self.size)
        self.size += -(-p.numel() // LINE) * LINE

    def begin(self, comm: Any, op: Any) -> None:
        """Copy the gradients into the array, and start their reduction."""
        # Two references are this attribute and the argument.  With a third reference, other code still uses the
        # gradient.
        if self.array is None or sys.getrefcount(self.array) > 2:
            self.array = np.zeros(self.size, self.dtype)
        array = self.array
        for (_, p), start in zip(self.parameters, self.starts, strict=True):
            grad = p.grad
            part = array[start : start + p.numel()]
            part[...] = 0 if grad is None else host_array(grad.detach()).reshape(-1)
        self.request = comm.Iallreduce(op, array)

    def finish(self, count: int, unused: set[int]) -> None:
        """Wait for the sum, and set each `.grad` to its part of the mean."""
        self.request.Wait()
        self.request = None
        self.array *= self.dtype.type(1 / count)
        for (_, p), start in zip(self.parameters, self.starts, strict=True):
            if p.grad is None and p.id in unused:
                continue
            part = self.array[start : start + p.numel()].reshape(p.shape)
            if p.device is CPU and np.dtype(p.dtype.compute) == self.dtype and p.dtype.itemsize == self.dtype.itemsize:
                p.grad = from_numpy(part)
            else:
                p.grad = zeros(p.shape, dtype=p.dtype, device=p.device)
                write(p.grad, part)


class DistributedDataParallel(Module):
    """Train copies of a model in several processes with the same parameters and averaged gradients.

    The backward pass in each process replaces the gradients by the mean over all processes.

    module: The model. Its parameters and buffers are overwritten with those of process 0.
    broadcast_buffers: Whether process 0 broadcasts its buffers before each forward pass in training mode.
    process_group: Processes that take part; all processes if None.
    bucket_cap_mb: Maximum size of a bucket in MiB; only a bucket with a single parameter may be larger.
    find_unused_parameters: Whether each forward pass searches for parameters that the output does not depend on. If
    False, a missing gradient causes an error in the next forward pass.
    device_ids, output_device, dim, init_sync, check_reduction, gradient_as_bucket_view and static_graph: Have no
    effect; PyTorch has these parameters. Gradients are always views of their bucket.

    Raises GroupError if the processes have different parameters.

    If the loss is a mean and all processes have batches of equal size, the gradients equal those of one process with
    the whole batch. Keys of the state dict start with `module.`, as in PyTorch; `ddp.module` is the model itself.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool = True, init_sync: bool = True, process_group: Any = None, bucket_cap_mb: float = 25,
        find_unused_parameters: bool = False, check_reduction: bool = False, gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if not isinstance(module, Module):
            raise ArgumentError(
                f"DistributedDataParallel: module must be a mg.nn.Module, got {type(module).__name__}; pass the model"
            )
        self.module = module
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.require_backward_grad_sync = True
        self.comm = communicator(process_group)
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise ArgumentError(
                "DistributedDataParallel: at least one parameter of module must require a gradient, got none; use the "
                "module without DistributedDataParallel"
            )
        expect_alike(self.comm, module)
        for x in (*module.parameters(), *module.buffers()):
            share(self.comm, x)
        self.buckets = buckets_of(named, int(bucket_cap_mb * 2**20))
        self.bucket_of = {p.id: bucket for bucket in self.buckets for _, p in bucket.parameters}
        self.expecting = self.waiting = False
        self.arrived: set[int] = set()
        self.used: set[int] = set()
        # The reference is weak, because a hook lives as long as its parameter and must not keep this object alive.
        method = weakref.WeakMethod(self.arrive)
        for _, p in named:
            p.register_post_accumulate_grad_hook(lambda p: call(method, p))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output of the model, and prepare for the backward pass."""
        if self.waiting:
            self.raise_for_missing()
        if self.broadcast_buffers and self.training and self.require_backward_grad_sync:
            for x in self.module.buffers():
                share(self.comm, x)
        output = self.module(*args, **kwargs)
        if is_grad_enabled():
            self.expecting = self.require_backward_grad_sync
            self.arrived.clear()
            if self.find_unused_parameters:
                roots = [y.op for y in flatten(output)[0] if isinstance(y, Tensor) and y.op is not None]
                self.used.update(leaf.id for leaf in reachable(roots)[1])
        return output

    def arrive(self, p: Any) -> None:
        """Record the gradient of a parameter; start the reduction of each bucket that is complete."""
        if not self.expecting:
            return
        if p.id in self.arrived:
            raise GroupError(
                "DistributedDataParallel: each parameter must receive one gradient per forward pass, but a second "
                f"gradient arrived for {describe(p)}; add the losses, and call backward once"
            )
        if not self.waiting:
            self.waiting = True
            for bucket in self.buckets:
                bucket.missing = len(bucket.parameters)
            for key in set(self.bucket_of) - self.used if self.find_unused_parameters else ():
                self.count(key)
        self.count(p.id)
        if self.buckets[-1].request is not None:
            self.finish()

    def count(self, key: int) -> None:
        """Record that a gradient has arrived or is unused; reductions start in the order of the buckets."""
        from mpi4py import MPI

        self.arrived.add(key)
        self.bucket_of[key].missing -= 1
        for bucket in self.buckets:
            if bucket.missing:
                break
            if bucket.request is None:
                bucket.begin(self.comm, MPI.IN_PLACE)

    def finish(self) -> None:
        """Wait for all reductions; the gradient of a parameter that no process used remains None."""
        from mpi4py import MPI

        keys = list(self.bucket_of)
        used = np.array([key in self.used or not self.find_unused_parameters for key in keys], np.uint8)
        if self.find_unused_parameters:
            self.comm.Allreduce(MPI.IN_PLACE, used, MPI.MAX)
        for bucket in self.buckets:
            bucket.finish(self.comm.size, {key for key, flag in zip(keys, used, strict=True) if not flag})
        self.waiting = False
        self.used.clear()

    def raise_for_missing(self) -> None:
        """Raise GroupError, which names the parameters whose gradients did not arrive."""
        parameters = self.module.named_parameters()
        names = [name for name, p in parameters if p.id in self.bucket_of and p.id not in self.arrived]
        raise GroupError(
            f"DistributedDataParallel: in the last backward pass, no gradient arrived for {', '.join(names)} in "
            f"process {self.comm.rank}; use every parameter in every process, or pass find_unused_parameters=True"
        )

    def no_sync(self) -> AbstractContextManager[None]:
        """Open a block in which each process adds up its gradients; the next pass outside the block reduces them."""
        return assigned(self, "require_backward_grad_sync", False)


def call(method: weakref.WeakMethod[Any], p: Any) -> None:
    """Call a method, unless its object has been freed."""
    function = method()
    if function is not None:
        function(p)


def buckets_of(named: Sequence[tuple[str, Any]], cap: int) -> list[Bucket]:
    """Assign parameters to buckets in reverse order, as their gradients arrive."""
    buckets: list[Bucket] = []
    for name, p in reversed(named):
        dtype = wide(np.dtype(host_array(p.detach()).dtype))
        nbytes = p.numel() * dtype.itemsize
        if not buckets or buckets[-1].dtype != dtype or (buckets[-1].nbytes + nbytes > cap and buckets[-1].size):
            buckets.append(Bucket(dtype))
        buckets[-1].add(name, p)
    return buckets


def share(comm: Any, x: Tensor) -> None:
    """Overwrite a tensor with the values that it has in process 0."""
    array = outgoing(x)
    comm.Bcast(array.reshape(-1).view(np.uint8), 0)
    if comm.rank:
        write(x.detach(), array)


def expect_alike(comm: Any, module: Module) -> None:
    """Raise GroupError unless parameters and buffers have the same names, shapes and dtypes in all processes."""
    mine = [(name, describe(x.detach())) for name, x in module.state_dict().items()]
    everyone = comm.allgather(mine)
    for rank, theirs in enumerate(everyone):
        if theirs != everyone[0]:
            one = next(
                (pair for pair in zip(theirs, everyone[0]) if pair[0] != pair[1]), (theirs[-1:], everyone[0][-1:])
            )
            raise GroupError(
                f"DistributedDataParallel: all processes must have the same model, but process {rank} has {one[0]} and "
                f"process 0 has {one[1]}; create the same model in every process"
            )
