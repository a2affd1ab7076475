"""The second table of `python -m tests.benchmarks --only jit`: programs, eager mode, jax.jit and torch.compile."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tests.benchmarks.jit import costs
from tests.benchmarks.jit.rows import ROWS, Row
from tests.benchmarks.jit.workers import Worker, started
from tests.benchmarks.report import duration
from tests.benchmarks.timing import Times, in_turns

NAMES = {"jit": "mg.jit", "eager": "eager", "jax": "jax.jit", "compile": "torch.compile"}
NEEDED = {"jax": "jax", "compile": "torch"}  # the packages of other libraries
ROUNDS = (15, 31)
HEADER = f"{'step':<32}{'threads':>8}" + "".join(f"{name:>14}" for name in NAMES.values()) + "   others / mg.jit"


def report(names: Sequence[str] = tuple(ROWS), seconds: float = 0.6) -> None:
    """Print a line for each row, and the other costs of a program."""
    absent = [key for key, package in NEEDED.items() if importlib.util.find_spec(package) is None]
    print("", "programs of mg.jit, each library in a process of its own, in turns; goals in brackets:", sep="\n")
    for key in absent:
        print(f"{NAMES[key]} is not compared, because {NEEDED[key]} is not installed: pip install {NEEDED[key]}")
    print(HEADER, flush=True)
    for name in names:
        for line in lines(name, ROWS[name], absent, seconds):
            print(line, flush=True)
    costs.report()


def lines(name: str, row: Row, absent: Sequence[str], seconds: float) -> Iterator[str]:
    """Yield the line of a row, and a sentence for each library that could not run it."""
    libraries = [library for library in row.libraries if library not in absent]
    with started(name, row.threads, libraries) as (workers, sentences):
        yield from sentences
        if "jit" not in workers:
            return
        check(name, row, workers)
        times = in_turns([worker.batch for worker in workers.values()], seconds, ROUNDS)
        yield line(name, row, dict(zip(workers, times, strict=True)))
        if row.first is not None:
            yield first_calls(row, {library: worker.firsts for library, worker in workers.items()})


def first_calls(row: Row, seconds: dict[str, Any]) -> str:
    """Return the times of the first two calls, the second of which records, and the ratio of the first ones."""
    texts = [f"{NAMES[key]} {duration(first)} and {duration(second)}" for key, (first, second, *_) in seconds.items()]
    ratios = [ratio("jax", seconds["jax"][0] / seconds["jit"][0], row.first)] if "jax" in seconds else []
    return f"    first calls: {', '.join([*texts, *ratios])}"


def check(name: str, row: Row, workers: dict[str, Worker]) -> None:
    """Raise AssertionError if a library's results are not those of the program."""
    ours = workers["jit"].results
    for library, worker in workers.items():
        for k, (mine, other) in enumerate(zip(ours, worker.results, strict=True)):
            scale = float(np.max(np.abs(other), initial=0.0))
            close = mine.shape == other.shape and np.allclose(mine, other, rtol=row.rtol, atol=row.rtol * scale)
            assert close, f"{name}: result {k} of {NAMES[library]} is not that of mg.jit"


def line(name: str, row: Row, times: dict[str, Times]) -> str:
    """Return the line of a row: the median time of each library, and its ratio to the program's, with the goal."""
    ours = times["jit"].median
    cells = "".join(f"{duration(times[key].median) if key in times else '-':>14}" for key in NAMES)
    ratios = [
        ratio(key, times[key].median / ours, row.goals.get(key)) for key in NAMES if key in times and key != "jit"
    ]
    spread = max(each.spread for each in times.values())
    return f"{name:<32}{row.threads:>8}{cells}   {', '.join(ratios)}; spread {spread:.0%}"


def ratio(library: str, value: float, goal: float | None) -> str:
    """Return a ratio as text; an exclamation mark means that it is below its goal."""
    text = f"{NAMES[library]} {value:.3g}"
    return text if goal is None else f"{text} ({goal:g}{'!' if value < goal else ''})"
