"""`DataLoader`: batches of a dataset, made in the calling process or by workers, with PyTorch's arguments.

The order of the samples and all random numbers are functions of the key of the epoch and the index of the batch.  So
they do not depend on the number of workers, and an epoch can be resumed in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any, Generic, TypeVar

from minigrad.backends.registry import cuda_is_available
from minigrad.core.roles import Number
from minigrad.data.collate import Fetcher
from minigrad.data.datasets import IterableDataset
from minigrad.data.epochs import Epoch, LocalEpoch, Progress, WorkerEpoch
from minigrad.data.pool import Pool
from minigrad.data.samplers import COUNT, BatchSampler, RandomSampler, SequentialSampler, indices_of
from minigrad.data.streams import drawn_key, source
from minigrad.errors import ArgumentError, warn
from minigrad.ops.generators import Generator, expect_generator
from minigrad.runtime.tensor import Tensor, describe

T_co = TypeVar("T_co", covariant=True)
FIXED = frozenset({"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"})
READS = ("__getitem__", "__getitems__", "__getbatch__")
_warned: list[str] = []  # the arguments without effect that this process has warned of
AHEAD = 2  # number of batches that are requested from each worker in advance, as in PyTorch


class DataLoader(Generic[T_co]):
    """Iterate over the batches of a dataset, which the calling process or worker processes make.

    dataset (Dataset, array or tensor): An object with `ds[i]` and `len(ds)`, or an IterableDataset.  Arrays, tensors,
    and datasets with `__getbatch__(indices)`, such as TensorDataset, make whole batches, with one launch per tensor.
    batch_size: Number of samples per batch. With None, single samples are returned.
    shuffle: Whether the samples are permuted at random in each epoch.
    sampler (Sampler or iterable of int): Indices of the samples in their order; an alternative to `shuffle`.
    batch_sampler (Sampler or iterable of list): List of indices for each batch; an alternative to batch_size, shuffle,
    sampler and drop_last.
    num_workers: Number of processes that make batches. With 0, the calling process makes the batches, which is faster
    if the samples take little time.
    collate_fn: Function that combines a list of samples into a batch; by default `default_collate`.
    pin_memory: Whether tensors are copied to pinned memory, for the device `pin_memory_device`.
    drop_last: Whether to drop a last batch that has fewer samples.
    timeout: Time limit in seconds for a batch from a worker; 0 means that there is no limit.
    worker_init_fn: Function that is called once in each worker, with the worker's index.
    multiprocessing_context (str or context): Start method of the workers: "forkserver", which is the default if it is
    available, or "spawn".
    generator: Generator that draws a random key for each epoch; by default the generator of `mg.manual_seed`. The key
    determines the permutation and the random numbers of the epoch.
    prefetch_factor: Number of batches that each worker makes in advance; 2 by default.
    persistent_workers: Whether the workers stay alive for the next epoch.
    pin_memory_device: Device for which memory is pinned, see `pin_memory`.
    in_order: Whether batches are returned in the order of the sampler. If False, they are returned as soon as they are
    ready.

    Raises ArgumentError if two arguments exclude each other, such as `shuffle=True` and `sampler`, or if a number is
    out of range.
    Raises WorkerError if a worker dies or takes longer than `timeout`, during iteration.

    Before each batch, the default generators of Python, NumPy and minigrad are seeded with the key of the epoch and the
    index of the batch.  With 0 workers, the states of the generators are restored after the batch.  So the code of a
    dataset draws the same random numbers for any number of workers, and does not change the random numbers of the
    program.  Each worker iterates over its own copy of an IterableDataset, which must therefore select the samples of
    the worker with `get_worker_info()`.

    Workers are started by "forkserver" or "spawn".  Both methods pickle the dataset, and both require that a script
    starts its work inside `if __name__ == "__main__":`.

    >>> loader = mg.data.DataLoader(mg.data.TensorDataset(mg.arange(5)), batch_size=2)
    >>> [x.tolist() for (x,) in loader], len(loader)
    ([[0, 1], [2, 3], [4]], 3)
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None, batch_sampler: Iterable[Any] | None = None, num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None, pin_memory: bool = False, drop_last: bool = False,
        timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None, multiprocessing_context: Any = None,
        generator: Generator | None = None, *, prefetch_factor: int | None = None, persistent_workers: bool = False,
        pin_memory_device: str = "", in_order: bool = True,
    ) -> None:  # fmt: skip
        expect_generator("DataLoader", generator)
        expect_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        expect_functions(collate_fn, worker_init_fn)
        self.dataset, self.num_workers, self.timeout, self.generator = dataset, num_workers, timeout, generator
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, multiprocessing_context
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.prefetch_factor = prefetch_factor or (AHEAD if num_workers else None)
        self.persistent_workers = persistent_workers
        stream = isinstance(dataset, IterableDataset)
        if not stream and not any(hasattr(dataset, name) for name in READS):
            raise ArgumentError(
                f"DataLoader: dataset: expected an object with ds[i] and len(ds), or an IterableDataset, got "
                f"{describe(dataset)}"
            )
        expect_sampling(stream, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None and not stream:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is None and batch_size is not None and not stream:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        batched = batch_size is not None or batch_sampler is not None
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self._fetcher = Fetcher(dataset, batched, batch_size, drop_last, collate_fn)
        self.collate_fn = self._fetcher.collate
        self._pool: Pool | None = None
        self._progress: Progress | None = None
        self._resume: Any = None
        self._fixed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in FIXED and self.__dict__.get("_fixed"):
            raise ArgumentError(
                f"DataLoader: {name} cannot be set after the loader was created; create another DataLoader with "
                f"{name}=..."
            )
        object.__setattr__(self, name, value)

    def __iter__(self) -> Iterator[Any]:
        state, self._resume = self._resume, None
        epoch = self._begin() if state is None else self._resumed(state)
        epoch.begin()
        return epoch

    def _resumed(self, state: dict[str, Any]) -> Epoch:
        """Return the iterator that continues after the batches that a state counts; the generator does not change."""
        stream = source(self.generator)
        now = state["now"] or (stream.seed, stream.offset)
        stream.seed, stream.offset = state["start"]
        # The generator of the sampler may have been restored after this object was made.
        self._restore_order(state, with_set_epoch=False)
        if state["done"]:
            self._keys()
        else:
            epoch = self._begin()
            epoch.skip(state["batches"])
            epoch.progress.batches = state["batches"]
        stream.seed, stream.offset = now
        return self._begin() if state["done"] else epoch

    def _keys(self) -> tuple[Iterator[Any] | None, tuple[int, int]]:
        """Draw the order of an epoch, which is None for a stream, and its key."""
        stream = self._fetcher.stream
        indices = None if stream else indices_of(() if self.sampler is None else self.sampler, self.batch_sampler)
        return indices, drawn_key(self.generator)

    def _begin(self) -> Epoch:
        """Return the iterator of the next epoch."""
        stream = source(self.generator)
        start = stream.seed, stream.offset
        indices, key = self._keys()
        order = stateful(self)
        self._progress = Progress(start, None if order is None else order.state_dict())
        finish = partial(pinned, device=self.pin_memory_device) if self.pin_memory and pinning(self) else None
        arguments = indices, key, self._progress, finish, self.__len__
        if not self.num_workers:
            # The fetcher is copied because a stream stores its position in it.
            return LocalEpoch(copy(self._fetcher), *arguments)
        pool = self._pool
        if pool is None or not pool.close.alive:
            wanted = self.multiprocessing_context
            pool = Pool(self._fetcher, self.num_workers, self.worker_init_fn, wanted)
        self._pool = pool if self.persistent_workers else None
        ahead = self.prefetch_factor or AHEAD
        last = not self.persistent_workers
        return WorkerEpoch(pool, ahead, self.in_order, last, self.timeout, *arguments)

    def __len__(self) -> int:
        if self._fetcher.stream:
            n = len(self.dataset)
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the epoch, from which `load_state_dict` resumes exactly.

        Returns (dict): "batches" is the number of returned batches, and "done" is True at the end of an epoch. Further
        entries are the states of the generator and the sampler.

        To resume, a custom sampler is run again up to the position, and must return the same indices. So the sampler
        must define `state_dict` and `load_state_dict`, or draw from the generator of the loader.  An IterableDataset is
        read again up to the position.  The state of the default generator is not included; `mg.Checkpoint` saves it.
        """
        if self._resume is not None:
            return dict(self._resume)
        stream = source(self.generator)
        now = None if self.generator is None else [stream.seed, stream.offset]
        if self._progress is None:
            return {"start": [stream.seed, stream.offset], "now": now, "sampler": None, "batches": 0, "done": None}
        at = self._progress
        return {"start": list(at.start), "now": now, "sampler": at.sampler, "batches": at.batches, "done": at.done}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a position: the next iterator starts after the batch that was returned last.

        state (dict): Dict that `state_dict` returned, for a loader with the same dataset, sampler and batch size.  The
        number of workers may differ.

        Raises ArgumentError if `state` is not the state of a loader.
        """
        missing = {"start", "now", "sampler", "batches", "done"} - set(state)
        if missing:
            raise ArgumentError(
                f"load_state_dict: expected the state of a DataLoader, got a dict without {sorted(missing)}; pass the "
                "result of loader.state_dict()"
            )
        if state["now"] is not None and self.generator is not None:
            self.generator.seed, self.generator.offset = state["now"]
        # The state is restored now, because the caller may call `set_epoch` before the next iterator is made.
        self._restore_order(state, with_set_epoch=True)
        self._progress = None
        self._resume = None if state["done"] is None else dict(state)

    def _restore_order(self, state: dict[str, Any], with_set_epoch: bool) -> None:
        """Restore the state of the sampler.

        Nothing happens if it has no state, or if `with_set_epoch` differs from whether it has `set_epoch`.
        """
        order = stateful(self)
        if order is not None and state["sampler"] is not None and hasattr(order, "set_epoch") is with_set_epoch:
            order.load_state_dict(state["sampler"])


def stateful(loader: DataLoader[Any]) -> Any:
    """Return the first sampler of a loader that has a state, or None."""
    batches = loader.batch_sampler
    for each in (batches, getattr(batches, "sampler", None), loader.sampler):
        if hasattr(each, "state_dict") and hasattr(each, "load_state_dict"):
            return each
    return None


def pinning(loader: DataLoader[Any]) -> bool:
    """Return whether a device can read pinned memory; if there is none, warn once in the process."""
    if loader.pin_memory_device or cuda_is_available():
        return True
    if not _warned:
        _warned.append("pin_memory")
        warn("DataLoader: pin_memory=True has no effect, because no CUDA device can be used; omit pin_memory")
    return False


def pinned(batch: Any, device: str) -> Any:
    """Return a batch with its tensors in pinned memory."""
    if isinstance(batch, Tensor):
        return batch.pin_memory(device or None)
    if isinstance(batch, dict):
        return {name: pinned(each, device) for name, each in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(pinned(each, device) for each in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(pinned(each, device) for each in batch)
    return batch.pin_memory() if hasattr(batch, "pin_memory") else batch


# ---- checks of the arguments -----------------------------------------------------------------------------------------


def expect_workers(
    num_workers: Any, timeout: Any, prefetch_factor: Any, persistent_workers: bool, context: Any
) -> None:
    """Raise ArgumentError for invalid or incompatible arguments that concern workers."""
    Number(0, whole=True, example=0).expect("DataLoader", num_workers=num_workers)
    Number(0, advice="pass timeout=0 to wait without a limit").expect("DataLoader", timeout=timeout)
    options = {
        "persistent_workers": persistent_workers, "prefetch_factor": prefetch_factor is not None, "timeout": timeout,
        "multiprocessing_context": context is not None,
    }  # fmt: skip
    for name in [name for name, value in options.items() if value and not num_workers]:
        raise ArgumentError(
            f"DataLoader: {name} requires worker processes, got num_workers=0; set num_workers to at least 1, or omit "
            f"{name}"
        )
    if prefetch_factor is not None:
        COUNT.expect("DataLoader", prefetch_factor=prefetch_factor)


def expect_functions(collate_fn: Any, worker_init_fn: Any) -> None:
    """Raise ArgumentError for an argument that is not callable."""
    for name, function in (("collate_fn", collate_fn), ("worker_init_fn", worker_init_fn)):
        if function is not None and not callable(function):
            raise ArgumentError(
                f"DataLoader: {name}: expected a function, got {describe(function)}; pass None for the default"
            )


def expect_sampling(
    stream: bool, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """Raise ArgumentError for arguments about the order of the samples that exclude each other."""
    if stream and (shuffle or sampler is not None or batch_sampler is not None):
        raise ArgumentError(
            "DataLoader: shuffle, sampler and batch_sampler must not be passed with an IterableDataset, which has its "
            "own order; omit them"
        )
    if sampler is not None and shuffle:
        raise ArgumentError("DataLoader: sampler and shuffle=True exclude each other, got both; omit one of them")
    for name, order in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if order is not None and not hasattr(order, "__iter__") and not hasattr(order, "__getitem__"):
            raise ArgumentError(
                f"DataLoader: {name}: expected an iterable of indices, got {describe(order)}; pass "
                "range(len(dataset)), for example"
            )
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ArgumentError(
            "DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last, but at least one of them "
            "was passed; omit them"
        )
    if batch_size is None and batch_sampler is None and drop_last:
        raise ArgumentError(
            "DataLoader: drop_last=True requires batches, got batch_size=None; set batch_size to a positive int"
        )
    if batch_sampler is None and batch_size is not None:
        COUNT.expect("DataLoader", batch_size=batch_size)
