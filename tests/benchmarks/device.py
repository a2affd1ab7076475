"""How fast is a GPU with it?  `python -m tests.benchmarks --device cuda`.

The libraries run in one process and take turns, each timed between two events of its own.  What is told of a row is a
share: of a copy's bytes a second, or of what PyTorch reaches.  The rows are in `cases/device.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.backends.cuda.presence import fault
from minigrad.backends.registry import backend_of
from minigrad.config import settings
from tests.benchmarks.case import Case
from tests.benchmarks.checks import check, values
from tests.benchmarks.libraries import Minigrad, OnCuda, installed_on_cuda
from tests.benchmarks.report import Result, duration, machine, save
from tests.benchmarks.timing import device_batch, host_batch, in_turns

NAMES = ("minigrad", "torch", "cupy")
HEADER = f"{'row':<60}" + "".join(f"{name:>11}" for name in NAMES) + f"{'share':>8}{'goal':>7}  {'spread':>6}"
MISSING = "no row is measured on --device cuda: {}; MINIGRAD_CUDA=simulator runs the rows at tiny sizes, without times"


class NotHere(Exception):
    """What a row needs and this machine has not."""


@dataclass(frozen=True)
class DeviceResult(Result):
    """copy: bytes a second of the measured copy, or 0.  peaks: the most bytes of a run by library."""

    copy: float = 0.0
    peaks: dict[str, int] = field(default_factory=dict)

    @property
    def share(self) -> float | None:
        """Of the copy, or of PyTorch's speed: what the goal is about."""
        if self.case.host:
            return None
        return self.rate("minigrad") / self.copy if self.case.nbytes and self.copy else self.ratio

    @property
    def missed(self) -> str:
        """In which way the goal was missed, or ""."""
        case, told = self.case, []
        if case.host and case.goal and self.times["minigrad"].median > case.goal:
            told.append(f"{duration(self.times['minigrad'].median)}, goal {duration(case.goal)}")
        if self.share is not None and case.goal and self.share < case.goal:
            told.append(f"{self.share:.0%}, goal {case.goal:.0%}")
        if self.peaks.get("torch", 1 << 62) < self.peaks.get("minigrad", 0):
            told.append(f"a peak of {self.peaks['minigrad']} bytes, torch {self.peaks['torch']}")
        return "; ".join(told)

    def rate(self, name: str) -> float:
        """Bytes or operations a second."""
        return (self.case.nbytes or self.case.flops) / self.times[name].median

    def facts(self) -> dict[str, Any]:
        """What is written to a file."""
        return {**super().facts(), "share": self.share, "copy": self.copy, "peaks": self.peaks}


def report(cases: list[Case], copy: Case, seconds: float, json: Path | None) -> int:
    """Print a line a row; 1 if a row's results disagree or it fails, 2 if there is no device."""
    if not mg.cuda.is_available():
        print(MISSING.format(fault()))
        return 2
    libraries, absent = installed_on_cuda()
    print(f"{machine()}; {mg.cuda.get_device_name()}", *absent, sep="\n")
    timed = settings.cuda != "simulator"
    if not timed:
        print("this is the simulator: results are compared with the CPU's, times would say nothing and are left out")
    rate = measured_copy(copy, libraries, seconds) if timed else 0.0
    results, left_out, failed = [], 0, 0
    if timed:
        print(HEADER)
    for case in cases:
        try:
            result = run(case, libraries, Minigrad(), seconds if timed else None, rate)
        except NotHere as reason:
            left_out += 1
            print(f"{case.title:<60}  left out: {reason}", flush=True)
            continue
        except Exception as error:
            failed += 1
            print(f"{case.title:<60}  failed: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
            continue
        results.append(result)
        print(line(result), flush=True)
    print(summary(results, left_out, failed))
    if json:
        save(results, json)
    return 1 if failed else 0


def measured_copy(case: Case, libraries: list[OnCuda], seconds: float) -> float:
    """Bytes a second, read and written, of the fastest copy; others are measured by it."""
    result = run(case, libraries, Minigrad(), seconds)
    best = max(result.times, key=result.rate)
    print(f"a copy of {case.nbytes // 2 >> 20} MB: {result.rate(best) / 1e9:.0f} GB/s read and written, by {best}")
    return result.rate(best)


def run(case: Case, libraries: list[OnCuda], base: Minigrad, seconds: float | None, copy: float = 0) -> DeviceResult:
    """Results compared with those of `base`, then times by library; none without seconds.

    Raises AssertionError where results differ, NotHere where cuBLAS is asked for and is not there.
    """
    with multiplied_by(case.cublas):
        arrays = list(case.arrays(np.random.default_rng(0)))
        runs = {lib: ready for lib in libraries if (ready := lib.prepare(case, arrays)) is not None}
        wanted = base.prepare(case, arrays)
        assert wanted is not None
        found = {lib.name: values(lib, ready()) for lib, ready in runs.items()}
        check(case, {"the CPU": values(base, wanted()), **found}, "the CPU")
        del arrays, wanted, found
        if seconds is None:
            return DeviceResult(case, {})
        batch = host_batch if case.host else device_batch
        times = in_turns([partial(batch, ready, lib) for lib, ready in runs.items()], seconds)
        peaks = {lib.name: lib.peak(ready) for lib, ready in runs.items()} if case.peak else {}
    names = [lib.name for lib in runs]
    runs.clear()
    for lib in libraries:
        lib.tidy()
    known = {name: peak for name, peak in peaks.items() if peak is not None}
    return DeviceResult(case, dict(zip(names, times, strict=True)), copy, known)


@contextmanager
def multiplied_by(cublas: bool | None) -> Iterator[None]:
    """Let cuBLAS multiply in this block, or this package's kernels; None: whatever is set."""
    if cublas is None:
        yield
        return
    backend: Any = backend_of(mg.device("cuda"))
    if cublas and backend.runtime.blas is None:
        raise NotHere("cuBLAS is not installed: pip install 'cuda-toolkit[cublas]==13.*'")
    with mg.override(cublas=cublas):
        yield


def line(result: DeviceResult) -> str:
    """A row of the table."""
    case, times = result.case, result.times
    if not times:
        return f"{case.title:<60}  right"
    cells = "".join(f"{duration(times[n].median) if n in times else '-':>11}" for n in NAMES)
    share = "-" if result.share is None else f"{result.share:.0%}"
    goal = "" if not case.goal else duration(case.goal) if case.host else f"{case.goal:.0%}"
    spread = f"{max(t.spread for t in times.values()):.0%}"
    return f"{case.title:<60}{cells}{share:>8}{goal:>7}{'!' if result.missed else ' '} {spread:>6}  {rates(result)}"


def rates(result: DeviceResult) -> str:
    """GB/s and what others have of the copy, TFLOP/s of all, or the peaks of memory."""
    case, names = result.case, list(result.times)
    if case.nbytes:
        others = [f", {name} {result.rate(name) / result.copy:.0%}" for name in names[1:]] if result.copy else []
        return f"{result.rate('minigrad') / 1e9:.0f} GB/s{''.join(others)}"
    if case.flops:
        return ", ".join(f"{name} {result.rate(name) / 1e12:.1f} TFLOP/s" for name in names)
    return ", ".join(f"{name} at most {n / (1 << 20):.1f} MB" for name, n in result.peaks.items())


def summary(results: list[DeviceResult], left_out: int, failed: int) -> str:
    """How many rows there were, and which missed their goals."""
    lines = [f"{len(results)} rows right, {left_out} left out, {failed} failed"]
    missed = [f"  {result.case.title}: {result.missed}" for result in results if result.times and result.missed]
    return "\n".join([*lines, *(["short of their goals:", *missed] if missed else [])])
