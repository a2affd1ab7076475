"""Collectives: operations on tensors or objects that all processes of a group call in the same order.

The elements of a tensor are copied to a contiguous array, which MPI reads and writes.  float16 and bfloat16 are added
in float32, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from minigrad.core.device import CPU
from minigrad.dist.group import communicator
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.creation import from_numpy, tensor
from minigrad.runtime.recording import no_grad
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor, describe, expect_tensors


class ReduceOp(Enum):
    """Elementwise reductions over several processes."""

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "prod"
    MIN = "min"
    MAX = "max"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


class Work:
    """The handle of a collective that has started; `wait()` blocks until it ends."""

    def __init__(self, request: Any, finish: Callable[[], None]) -> None:
        self._request, self._finish, self._done = request, finish, False

    def wait(self, timeout: Any = None) -> bool:
        """Wait until the collective ends; then the tensors contain its result."""
        if not self._done:
            if self._request is not None:
                self._request.Wait()
            self._finish()
            self._done = True
        return True

    def is_completed(self) -> bool:
        """Return whether the collective has ended."""
        if not self._done and (self._request is None or self._request.Test()):
            self._finish()
            self._done = True
        return self._done


def ended(work: Work, async_op: bool) -> Work | None:
    """Return the work that has started, or wait until it ends and return None."""
    if async_op:
        return work
    work.wait()
    return None


def summed_as(array: Any) -> Any:
    """Return an array converted to a dtype in which MPI can compute."""
    if array.dtype == np.bool_:
        return array.astype(np.uint8)
    return array if array.dtype.kind in "iuf" and array.dtype.itemsize > 2 else array.astype(wide(array.dtype))


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which MPI computes with elements of a given dtype."""
    return np.dtype(np.float32) if dtype.kind == "V" or dtype == np.float16 or dtype.name == "bfloat16" else dtype


def write(x: Tensor, array: Any) -> None:
    """Write an array into a tensor, like an in-place op."""
    with no_grad():
        value = tensor(array.reshape(x.shape)) if x.device is not CPU else from_numpy(np.ascontiguousarray(array))
        x.copy_(value.reshape(x.shape).to(x.dtype))


def outgoing(x: Tensor) -> Any:
    """Return the elements of a tensor as a new contiguous array."""
    return np.array(host_array(x.detach()), order="C")


def all_reduce(x: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce a tensor over all processes, and write the result into the tensor of each process.

    x: Tensor with the same shape and dtype in each process; written in place.
    op (ReduceOp or str): Reduction of each element.
    group: Processes that take part; all processes if None.
    async_op: Whether to return a `Work` object immediately; its `wait()` waits for the result. If False, the function
    returns None when the result is complete.
    """
    expect_tensors("all_reduce", x)
    from mpi4py import MPI

    comm, kind = communicator(group), reduction(op)
    array = summed_as(outgoing(x))

    def finish() -> None:
        write(x, array / comm.size if kind is ReduceOp.AVG else array)

    request = comm.Iallreduce(MPI.IN_PLACE, array, mpi_op(kind))
    return ended(Work(request, finish), async_op)


def reduce(x: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce a tensor over all processes into the tensor of process `dst`; see `all_reduce` for the arguments."""
    expect_tensors("reduce", x)
    comm, kind = communicator(group), reduction(op)
    check_rank("reduce", "dst", dst, comm)
    array = summed_as(outgoing(x))
    result = np.empty_like(array) if comm.rank == dst else None

    def finish() -> None:
        if result is not None:
            write(x, result / comm.size if kind is ReduceOp.AVG else result)

    return ended(Work(comm.Ireduce(array, result, mpi_op(kind), dst), finish), async_op)


def broadcast(x: Tensor, src: int, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensor of process `src` into the tensor of every process."""
    expect_tensors("broadcast", x)
    comm = communicator(group)
    check_rank("broadcast", "src", src, comm)
    array = outgoing(x)
    own = comm.rank == src
    return ended(
        Work(comm.Ibcast(array.reshape(-1).view(np.uint8), src), lambda: None if own else write(x, array)), async_op
    )


def all_gather(tensor_list: Sequence[Tensor], x: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Gather the tensor of each process into a list of tensors, ordered by rank, in all processes."""
    expect_tensors("all_gather", x, *tensor_list)
    comm = communicator(group)
    if len(tensor_list) != comm.size or any(y.shape != x.shape or y.dtype is not x.dtype for y in tensor_list):
        raise ShapeError(
            f"all_gather: tensor_list must contain {comm.size} tensors {describe(x)}, one per process, got "
            f"{len(tensor_list)}: {', '.join(map(describe, tensor_list))}; pass [mg.empty_like(x) for _ in "
            f"range({comm.size})]"
        )
    array = outgoing(x)
    result = np.empty((comm.size, *x.shape), array.dtype)

    def finish() -> None:
        for y, part in zip(tensor_list, result, strict=True):
            write(y, part)

    request = comm.Iallgather(array.reshape(-1).view(np.uint8), result.reshape(-1).view(np.uint8))
    return ended(Work(request, finish), async_op)


def send(x: Tensor, dst: int, group: Any = None, tag: int = 0) -> None:
    """Send a tensor to process `dst`, which receives it with `recv`."""
    expect_tensors("send", x)
    comm = communicator(group)
    check_rank("send", "dst", dst, comm)
    comm.Send(outgoing(x).reshape(-1).view(np.uint8), dst, tag)


def recv(x: Tensor, src: int | None = None, group: Any = None, tag: int = 0) -> int:
    """Receive a tensor from process `src`, or from any process if it is None; return the sender's rank."""
    from mpi4py import MPI

    expect_tensors("recv", x)
    comm, status, array = communicator(group), MPI.Status(), outgoing(x)
    comm.Recv(array.reshape(-1).view(np.uint8), MPI.ANY_SOURCE if src is None else src, tag, status)
    write(x, array)
    return int(status.Get_source())


def barrier(group: Any = None, async_op: bool = False) -> Work | None:
    """Wait until every process has called `barrier`."""
    return ended(Work(communicator(group).Ibarrier(), lambda: None), async_op)


# ---- objects ---------------------------------------------------------------------------------------------------------


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Gather the pickled object of each process into a list, ordered by rank."""
    comm = communicator(group)
    check_length("all_gather_object", object_list, comm)
    object_list[:] = comm.allgather(obj)


def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0, group: Any = None) -> None:
    """Gather the object of each process into a list of process `dst`."""
    comm = communicator(group)
    gathered = comm.gather(obj, dst)
    if comm.rank == dst:
        if object_gather_list is None:
            raise ArgumentError(
                f"gather_object: object_gather_list is required in process dst={dst}, got None; pass a list of "
                f"{comm.size} entries"
            )
        check_length("gather_object", object_gather_list, comm)
        object_gather_list[:] = gathered


def broadcast_object_list(object_list: list[Any], src: int = 0, group: Any = None, device: Any = None) -> None:
    """Write the objects of process `src` into the list of every process."""
    object_list[:] = communicator(group).bcast(object_list, src)


def check_length(name: str, objects: Sequence[Any], comm: Any) -> None:
    """Raise ArgumentError unless a list has one entry per process."""
    if len(objects) != comm.size:
        raise ArgumentError(
            f"{name}: expected a list with one entry for each of the {comm.size} processes, got {len(objects)}; pass a "
            f"list of {comm.size} entries"
        )


def check_rank(name: str, argument: str, rank: int, comm: Any) -> None:
    """Raise ArgumentError unless a process with this rank exists."""
    if not 0 <= rank < comm.size:
        raise ArgumentError(
            f"{name}: {argument} must be a rank from 0 to {comm.size - 1}, got {rank}; pass {argument}=0, for example"
        )


def reduction(op: Any) -> ReduceOp:
    """Return a ReduceOp for a ReduceOp or its name."""
    if isinstance(op, ReduceOp):
        return op
    try:
        return ReduceOp(str(op).lower())
    except ValueError:
        names = ", ".join(repr(each.value) for each in ReduceOp)
        raise ArgumentError(
            f"op must be a ReduceOp or one of {names}, got {op!r}; pass op='sum', for example"
        ) from None


def mpi_op(kind: ReduceOp) -> Any:
    """Return MPI's operation for a reduction; an average is computed from MPI's sum."""
    from mpi4py import MPI

    return getattr(MPI, "SUM" if kind is ReduceOp.AVG else kind.name if kind is not ReduceOp.PRODUCT else "PROD")
