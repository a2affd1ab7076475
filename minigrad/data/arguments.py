"""Checks of the arguments of `DataLoader`."""

from __future__ import annotations

from typing import Any

from minigrad.data.samplers import expect_count
from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import describe


def expect_workers(
    num_workers: Any, timeout: Any, prefetch_factor: Any, persistent_workers: bool, context: Any
) -> None:
    """Raise ArgumentError for invalid or incompatible arguments that concern workers."""
    if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
        raise ArgumentError(
            f"DataLoader: num_workers: expected an int >= 0, got {num_workers!r}; pass num_workers=0, for example"
        )
    if not isinstance(timeout, (int, float)) or timeout < 0:
        raise ArgumentError(
            f"DataLoader: timeout: expected seconds >= 0, got {timeout!r}; pass timeout=0 to wait without a limit"
        )
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
        expect_count("DataLoader", "prefetch_factor", prefetch_factor)


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
        expect_count("DataLoader", "batch_size", batch_size)
