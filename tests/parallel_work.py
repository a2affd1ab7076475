"""Programs that `test_threads_and_forks.py` runs in processes of their own, since they may kill or hang them.

    python tests/parallel_work.py threads | forks | bits | first

Each prints one line of JSON.  The environment says which threading layer runs, and from which size on in parallel.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import minigrad as mg

ROWS, COLUMNS, CLASSES = 320, 250, 10


def digest(x: Any) -> str:
    """Return a hash of the bits of a result."""
    return hashlib.sha256(x.detach().contiguous().numpy().tobytes()).hexdigest()[:16]


def perceptron(x: Any, labels: Any, hidden: Any, out: Any) -> Iterator[tuple[str, Any]]:
    """Run a forward and a backward pass of a two-layer network."""
    loss = ((x @ hidden).relu() @ out).log_softmax(1).gather(1, labels).sum()
    grads = loss.backward()
    yield "loss", loss
    yield "hidden gradient", grads[hidden]
    yield "out gradient", grads[out]


def results(seed: int = 7) -> Iterator[tuple[str, Any]]:
    """Return a result of each kind of kernel by name; one per template, because all are compiled for parallel runs."""
    source = mg.Generator(seed)
    x = mg.randn(ROWS, COLUMNS, generator=source)
    y = mg.rand(ROWS, COLUMNS, generator=source)
    yield "randn", x
    yield "rand", y
    rows = mg.randint(0, 40, (ROWS,), generator=source)
    yield "randint", rows
    yield "multiply dense", x * y
    yield "multiply strided", x.T * y.T[::-1]
    yield "sum of all", x.sum()
    for dim in (0, 1):
        yield f"sum {dim}", x.sum(dim)
        yield f"amax {dim}", x.amax(dim)
        yield f"argmax {dim}", x.argmax(dim)
    yield "matmul", x @ y.T
    yield "matmul transposed", x.T @ y
    yield "index_add", mg.zeros(40, COLUMNS).index_add(0, rows, x)
    yield "index_select", x.index_select(0, rows)
    hidden = mg.Var(mg.randn(COLUMNS, 64, generator=source) * 0.05)
    out = mg.Var(mg.randn(64, CLASSES, generator=source) * 0.1)
    yield from perceptron(x, mg.randint(0, CLASSES, (ROWS, 1), generator=source), hidden, out)


def digests(seed: int = 7) -> dict[str, str]:
    """Return the bits of `results`."""
    return {name: digest(x) for name, x in results(seed)}


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Return the results of work(k) in `count` Python threads; raise an error from a thread, or if one does not end."""
    found: list[Any] = [None] * count
    start = threading.Barrier(count)

    def run(k: int) -> None:
        start.wait()
        try:
            found[k] = work(k)
        except BaseException as error:
            found[k] = error

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120.0)
        assert not thread.is_alive(), "a deadlock"
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return found


def threads() -> dict[str, Any]:
    """Four threads compute twice at the same time, and get the same results as one thread alone."""
    alone = digests()
    rounds = in_threads(4, lambda k: [digests(), digests()])
    return {"alone": alone, "found": [found for pair in rounds for found in pair]}


def forks() -> dict[str, Any]:
    """A pool is forked after the parent has run in parallel, while one of its threads is still running."""
    alone = digests()
    stop = threading.Event()

    def keep_busy() -> None:
        x = mg.ones(ROWS, COLUMNS)
        while not stop.is_set():
            x * x

    busy = threading.Thread(target=keep_busy, daemon=True)
    busy.start()
    try:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = pool.map(digests, [7] * 4, chunksize=1)
    finally:
        stop.set()
        busy.join()
    return {"alone": alone, "found": [*found, digests()]}


def bits() -> dict[str, Any]:
    """Compute on one thread, then on two."""
    found = {}
    for count in (1, 2):
        mg.set_num_threads(count)
        found[str(count)] = digests()
    return found


def first() -> dict[str, Any]:
    """Run the first ops of a process in four threads that take turns."""
    sys.setswitchinterval(1e-4)
    x = mg.tensor([1.0, 2.0, 3.0])
    return {"found": in_threads(4, lambda k: (x + x).tolist())}


if __name__ == "__main__":
    report = {"threads": threads, "forks": forks, "bits": bits, "first": first}[sys.argv[1]]()
    print(json.dumps({**report, "layer": mg.threading_layer()}))
