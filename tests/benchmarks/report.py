"""What was seen: a line a row as it is measured, geometric means a group and over all, and the same as JSON."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad.cli.doctor import vector_text
from tests.benchmarks import limits
from tests.benchmarks.case import Case
from tests.benchmarks.timing import Times, copy_rate

HEADER = (
    f"{'row':<52}{'minigrad':>11}{'torch':>11}{'numpy':>11}{'torch/mg':>10}{'goal':>6}  {'spread':>7}  of the machine"
)
FAST = 1 << 22  # bytes from which a row is bound by memory, not by caches


@dataclass(frozen=True)
class Result:
    """One measured row: times by library, and the ratio torch / minigrad where both ran."""

    case: Case
    times: dict[str, Times]

    @property
    def ratio(self) -> float | None:
        torch = self.times.get("torch")
        return None if torch is None else torch.median / self.times["minigrad"].median

    def facts(self) -> dict[str, Any]:
        """What is written to a file."""
        case, times = self.case, {name: asdict(times) for name, times in self.times.items()}
        row = {"row": case.title, "goal": case.goal, "ratio": self.ratio, "nbytes": case.nbytes, "flops": case.flops}
        return {**row, "times": times}


def line(result: Result) -> str:
    """A row of the table."""
    case, times = result.case, result.times
    cells = "".join(f"{duration(times[n].median) if n in times else '-':>11}" for n in ("minigrad", "torch", "numpy"))
    ratio = f"{result.ratio:.2f}" if result.ratio else "-"
    missed = "!" if result.ratio and case.goal and result.ratio < case.goal else " "
    goal = f"{case.goal:g}" if case.goal else ""
    spread = f"{max(t.spread for t in times.values()):.0%}"
    return f"{case.title:<52}{cells}{ratio:>10}{goal:>6}{missed} {spread:>7}  {machine_share(result)}"


def machine_share(result: Result) -> str:
    """GFLOP/s against multiply-adds in registers, or GB/s against a copy of as many bytes."""
    case, seconds = result.case, result.times["minigrad"].median
    if case.flops:
        rate = case.flops / seconds
        return f"{rate / 1e9:.1f} GFLOP/s ({limits.share(case.title, rate)})"
    if not case.nbytes:
        return ""
    rate = case.nbytes / seconds
    share = f" ({rate / copy_rate(case.nbytes):.0%} of a copy)" if case.nbytes >= FAST else ""
    return f"{rate / 1e9:.1f} GB/s{share}"


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def geometric_mean(values: list[float]) -> float:
    """The n-th root of the product."""
    return math.exp(sum(map(math.log, values)) / len(values))


def means(results: list[Result]) -> str:
    """Geometric means of the ratio by group, then over all rows, then the rows below their goal."""
    groups: dict[str, list[float]] = {}
    for result in results:
        if result.ratio:
            groups.setdefault(result.case.group, []).append(result.ratio)
    if not groups:
        return "PyTorch is not installed, so there is no ratio: pip install --group bench"
    lines = ["", f"{'group':<52}{'rows':>6}{'geometric mean of torch / minigrad':>38}"]
    lines += [f"{group:<52}{len(ratios):>6}{geometric_mean(ratios):>38.2f}" for group, ratios in groups.items()]
    everything = [ratio for ratios in groups.values() for ratio in ratios]
    lines.append(f"{'all rows':<52}{len(everything):>6}{geometric_mean(everything):>38.2f}")
    below = [r for r in results if r.ratio and r.case.goal and r.ratio < r.case.goal]
    if below:
        lines += ["", "below their goal:"]
        lines += [f"  {r.case.title}: {r.ratio:.2f}, goal {r.case.goal:g}" for r in below]
    return "\n".join(lines)


def machine() -> str:
    """What ran: versions, threads, processors."""
    torch = sys.modules.get("torch")
    parts = [
        f"Python {platform.python_version()}",
        f"minigrad {mg.__version__}",
        f"torch {torch.__version__}" if torch else "no torch",
        f"{mg.get_num_threads()} threads of {os.cpu_count()} processors",
    ]
    return ", ".join(parts)


def processor() -> str:
    """The processor's name, its kind as LLVM calls it, and the vectors that kernels are compiled for."""
    kind, vectors = vector_text().rpartition("CPU ")[2], vector_text().partition(",")[0]
    return f"{model()} ({kind}), vectors of {vectors}"


def model() -> str:
    """The processor's name as the system tells it, without what describes its speed."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (names[0] if names else platform.processor() or platform.machine()).partition(" @")[0]


def save(results: Sequence[Result], path: Path) -> None:
    """All numbers with four digits, for comparison with another run and for `docs/benchmarks/`."""
    found = {"machine": machine(), "processor": processor(), "rows": [rounded(result.facts()) for result in results]}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def rounded(found: Any) -> Any:
    """The same with four digits of each float."""
    if isinstance(found, dict):
        return {name: rounded(value) for name, value in found.items()}
    return float(f"{found:.4g}") if isinstance(found, float) else found
