"""Prediction of the time of a training step with many processes: a simulation of the buckets of one step.

The backward pass produces the buckets one after another.  The network reduces one bucket at a time; a reduction starts
when its bucket is complete and the previous reduction has ended.  A ring moves 2 (n - 1) / n of a bucket's bytes
through each process in 2 (n - 1) messages.
Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations" (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minigrad.dist.parallel import buckets_of
from minigrad.errors import ArgumentError


@dataclass(frozen=True)
class Prediction:
    """Store the prediction for one number of processes.

    `processes` is the number of processes, and `step` is the duration of a training step in seconds.  `exposed` is the
    time in seconds for which reductions still run after the backward pass.  `efficiency` is the duration of a step
    without communication, divided by `step`.  `nbytes` is the number of bytes that each process sends per step.
    """

    processes: int
    step: float
    exposed: float
    efficiency: float
    nbytes: float


@dataclass(frozen=True)
class Scaling:
    """The predictions for several numbers of processes, which print as a table."""

    buckets: tuple[int, ...]  # sizes of the buckets in bytes
    predictions: tuple[Prediction, ...]

    def __str__(self) -> str:
        lines = [f"{len(self.buckets)} buckets, {sum(self.buckets) / 1e6:.1f} MB of gradients",
                 f"{'processes':>9} {'ms a step':>9} {'ms exposed':>10} {'efficiency':>10} {'MB sent':>8}"]  # fmt: skip
        for p in self.predictions:
            lines.append(
                f"{p.processes:>9} {p.step * 1e3:>9.1f} {p.exposed * 1e3:>10.1f} {p.efficiency:>10.0%} "
                f"{p.nbytes / 1e6:>8.1f}"
            )
        return "\n".join(lines)


def predict_scaling(
    module: Any, *, forward: float, backward: float, update: float = 0.0, bandwidth: float = 1.25e9,
    latency: float = 20e-6, processes: Sequence[int] = (1, 2, 4, 8, 16, 32, 64), bucket_cap_mb: float = 25,
    overlap: bool = True,
) -> Scaling:  # fmt: skip
    """Predict the duration of a data-parallel step from durations in one process and the speed of the network.

    module: Model, whose parameters are assigned to buckets as in `DistributedDataParallel`.
    forward, backward and update: Durations in seconds of the forward pass, the backward pass and the optimizer step in
    one process, with the batch size of one process.
    bandwidth: Bandwidth between two processes in bytes per second; the default is 10 Gbit/s.
    latency: Duration of a message in seconds, without its bytes.
    processes: Numbers of processes for which the duration is predicted.
    bucket_cap_mb: Maximum size of a bucket in MiB.
    overlap: Whether reductions start during the backward pass.

    Returns: The predictions, which print as a table.

    The simulation assumes that the time to compute a gradient is proportional to its number of elements.  This holds
    for linear layers but not for convolutions, so for a convolutional network the overlap is only a rough estimate.

    >>> model = mg.nn.Sequential(*[mg.nn.Linear(1024, 1024) for _ in range(4)])
    >>> print(mg.dist.predict_scaling(model, forward=0.01, backward=0.02, processes=(1, 8), bucket_cap_mb=5))
    4 buckets, 16.8 MB of gradients
    processes ms a step ms exposed efficiency  MB sent
            1      30.0        0.0       100%      0.0
            8      39.6        9.6        76%     29.4
    """
    if min(forward, backward, update, latency) < 0 or bandwidth <= 0 or min(processes, default=0) < 1:
        raise ArgumentError(
            "predict_scaling: forward, backward, update and latency must not be negative, bandwidth must be positive, "
            f"and processes at least 1, got {forward}, {backward}, {update}, {latency}, {bandwidth} and "
            f"{tuple(processes)}; pass seconds and bytes per second"
        )
    named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    sizes = tuple([bucket.nbytes for bucket in buckets_of(named, int(bucket_cap_mb * 2**20))])
    serial = forward + backward + update
    predictions = []
    for n in processes:
        free, done, total = forward, 0, sum(sizes)
        for size in sizes:
            done += size
            ready = forward + backward * (done / total if overlap else 1.0)
            rounds = 2 * (n - 1)
            free = max(free, ready) + rounds * (latency + size / n / bandwidth)
        exposed = max(0.0, free - forward - backward) if n > 1 else 0.0
        sent = 2 * (n - 1) / n * total
        predictions.append(Prediction(n, serial + exposed, exposed, serial / (serial + exposed), sent))
    return Scaling(sizes, tuple(predictions))
