"""A sampler for one of several processes that train together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minigrad.data.samplers import COUNT, ArraySampler, Orders
from minigrad.data.streams import permutation
from minigrad.dist.group import get_rank, get_world_size
from minigrad.errors import ArgumentError


class DistributedSampler(ArraySampler):
    """Sample the indices of one of several processes, so that the processes divide a dataset among them.

    dataset: Dataset with a length.
    num_replicas and rank: Number of processes, and index of this process; by default the values of `mg.dist`.
    shuffle: Whether the samples are permuted; the permutation depends on `seed` and the epoch.
    seed: Seed of the permutation; it must be the same for all processes.
    drop_last: Whether samples are dropped so that all shares have the same length. If False, the first samples are
    repeated.

    Call `set_epoch(epoch)` before each epoch; otherwise every epoch has the same order.
    """

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
        seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        if num_replicas is None or rank is None:
            num_replicas = get_world_size() if num_replicas is None else num_replicas
            rank = get_rank() if rank is None else rank
        COUNT.expect("DistributedSampler", num_replicas=num_replicas)
        if not 0 <= rank < num_replicas:
            raise ArgumentError(
                f"DistributedSampler: rank: expected 0 to {num_replicas - 1}, got {rank}; pass rank=0, for example"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0

    @property
    def num_samples(self) -> int:
        """Return the number of indices in a share."""
        n = len(self.dataset)
        return n // self.num_replicas if self.drop_last else math.ceil(n / self.num_replicas)

    @property
    def total_size(self) -> int:
        """Return the number of indices in all shares."""
        return self.num_samples * self.num_replicas

    def orders(self) -> Orders:
        """Return the share of this process: every num_replicas-th index."""
        n = len(self.dataset)
        whole = permutation((self.seed % 2**64, self.epoch % 2**64), n) if self.shuffle else np.arange(n)
        return iter([np.resize(whole, self.total_size)[self.rank :: self.num_replicas]])

    def set_epoch(self, epoch: int) -> None:
        """Select the permutation of an epoch."""
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """Return the epoch."""
        return {"epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Set the epoch."""
        self.epoch = state["epoch"]

    def __len__(self) -> int:
        return self.num_samples
