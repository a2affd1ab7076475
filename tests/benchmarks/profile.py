"""`python -m tests.benchmarks --profile ROW`: the share of each launch in a row's time.

The launch of every request is timed by a function around it, which costs some 0.2 us.  An observer is told of whole
launches only, and one of them may have a hundred requests.  The plan's fast paths, which would pass by the functions,
are left out.  So the sum of the launches is the time of the kernels, and the rest of the row is Python's.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from minigrad.backends.cpu import CpuBackend
from minigrad.core.op import ScalarFn, Spec
from minigrad.core.rows import RowFn
from minigrad.runtime.plans import forget_plans
from tests.benchmarks.case import Case
from tests.benchmarks.libraries import Minigrad

RUNS = 20
INNER: list[float] = []  # for each launch that runs, the seconds of those within it


def report(case: Case) -> None:
    """Print the launches of a row, the slowest first, with their numbers and shares."""
    with launches_timed() as taken:
        run = Minigrad().prepare(case, list(case.arrays(np.random.default_rng(0))))
        assert run is not None
        run()
        run()
        taken.clear()
        start = time.perf_counter()
        for _ in range(RUNS):
            run()
        whole = (time.perf_counter() - start) / RUNS
    found = {name: (len(each) / RUNS, sum(each) / RUNS) for name, each in taken.items()}
    kernels = sum(seconds for _, seconds in found.values())
    count = sum(number for number, _ in found.values())
    print(f"{case.title}: {whole * 1e6:.0f} us, of which {kernels * 1e6:.0f} us in {count:.0f} launches")
    for name, (number, seconds) in sorted(found.items(), key=lambda item: -item[1][1]):
        print(f"{seconds / whole:7.1%} {seconds * 1e6:9.1f} us {number:5.0f} x  {name}")


@contextmanager
def launches_timed() -> Any:
    """The seconds of each launch by what it is, as a dict that fills while this block runs."""
    taken: dict[str, list[float]] = defaultdict(list)
    prepare = CpuBackend.prepare

    def prepared(self: CpuBackend, request: Any, outs: Any, *operands: Spec) -> Any:
        return timed(prepare(self, request, outs, *operands), taken, named(request, outs, operands))

    forget_plans()
    with mock.patch.object(CpuBackend, "prepare", prepared):
        yield taken
    forget_plans()


def timed(launch: Callable[..., Any], taken: dict[str, list[float]], name: str) -> Callable[..., Any]:
    """The launch, which adds its seconds to a list, without those of launches that it consists of."""

    def run(*buffers: Any) -> Any:
        INNER.append(0.0)
        start = time.perf_counter()
        result = launch(*buffers)
        seconds = time.perf_counter() - start
        taken[name].append(seconds - INNER.pop())
        if INNER:
            INNER[-1] += seconds
        return result

    return run


def named(request: Any, outs: Any, operands: tuple[Spec, ...]) -> str:
    """The request by its kind, its functions, and the shapes that it reads and writes."""
    fields = [getattr(value, "scalar", value) for value in request.fields().values()]
    functions = [value.name for value in fields if isinstance(value, (ScalarFn, RowFn))]
    results = outs if isinstance(outs, tuple) else (outs,)
    shapes = " ".join(shape_of(spec) for spec in operands)
    return f"{type(request).__name__}({', '.join(functions)}) {shapes} -> {' '.join(map(shape_of, results))}"


def shape_of(spec: Spec) -> str:
    """A spec in a few letters: its sizes, marked where its memory is not dense."""
    return f"{'x'.join(map(str, spec.layout.shape)) or '1'}{'' if spec.layout.is_contiguous else '~'}"
