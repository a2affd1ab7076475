"""Loaders: an epoch of batches of arrays, and of samples that Python makes, here and in workers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.case import Table
from tests.benchmarks.samples import Augmented

TABLE = Table("data")
BATCH = 64


def epoch(m: Any, loader: Any) -> Callable[[], Any]:
    """Go through a loader; the first time the labels are summed, to be compared."""
    first = [True]

    def run() -> Any:
        if first.pop() if first else False:
            return m.tensor(sum(int(labels.sum()) for _, labels in loader))
        for _ in loader:
            pass
        return None

    return run


def arrays(m: Any, images: Any, labels: Any) -> Callable[[], Any]:
    """Batches that are gathered."""
    data = m.utils.data
    return epoch(m, data.DataLoader(data.TensorDataset(images, labels), BATCH, shuffle=True))


def items(workers: int) -> Callable[..., Callable[[], Any]]:
    """Batches of samples that Python makes, by persistent workers; both libraries start them in the same manner."""

    def build(m: Any, n: Any) -> Callable[[], Any]:
        more = {"persistent_workers": True, "multiprocessing_context": "forkserver"} if workers else {}
        return epoch(m, m.utils.data.DataLoader(Augmented(int(n)), BATCH, True, num_workers=workers, **more))

    return build


def pictures(rng: np.random.Generator) -> list[Any]:
    """Images and labels."""
    return [rng.standard_normal((16384, 1, 28, 28)).astype(np.float32), rng.integers(0, 10, 16384)]


TABLE.add("256 batches of 64, arrays (1,28,28)", pictures, build=arrays, goal=3.0)
for number, goal in ((0, 1.0), (1, 1.5), (2, 2.0)):
    title = f"32 batches of 64, items in Python, {number} workers"
    TABLE.add(title, lambda rng: [np.array(2048)], build=items(number), goal=goal)
