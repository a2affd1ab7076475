"""`python -m tests.benchmarks [--only NAME ...] [--json FILE] [--seconds S] [--list]`.

Every row's results are compared before they are timed: a library that computes something else is not faster.
`--only compile` says what kernels cost to compile instead, `--only regions` what it costs to share them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import compiling, limits, regions
from tests.benchmarks.case import Case
from tests.benchmarks.cases import CASES
from tests.benchmarks.libraries import Minigrad, installed
from tests.benchmarks.report import HEADER, Result, line, machine, means, save
from tests.benchmarks.timing import measure

REPORTS = {"compile": compiling.report, "regions": regions.report}


def main() -> int:
    """Measure the rows that were asked for; 1 if a row's results disagree or it fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="rows whose title contains this; may repeat")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to a file")
    parser.add_argument("--seconds", type=float, default=0.6, help="time for each row (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    options = parser.parse_args()
    if options.only and options.only[0] in REPORTS:
        REPORTS[options.only[0]]()
        return 0
    cases = [c for c in CASES if not options.only or any(name in c.title for name in options.only)]
    if not cases:
        parser.error(f"no row's title contains {' or '.join(options.only)}; --list names them")
    if options.list:
        print("\n".join(c.title for c in cases))
        return 0
    libraries = installed()
    print(machine(), limits.text(), HEADER, sep="\n")
    results, failed = [], 0
    for case in cases:
        try:
            result = Result(case, run(case, libraries, options.seconds))
        except Exception as error:
            failed += 1
            print(f"{case.title:<52}  failed: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
            continue
        results.append(result)
        print(line(result), flush=True)
    print(means(results))
    if failed:
        print(f"{failed} rows failed")
    if options.json:
        save(results, options.json)
    return 1 if failed else 0


def run(case: Case, libraries: list[Minigrad], seconds: float) -> dict[str, Any]:
    """Times by library.  Raises AssertionError where the results differ."""
    arrays = list(case.arrays(np.random.default_rng(0)))
    runs = {lib.name: (lib, prepared) for lib in libraries if (prepared := lib.prepare(case, arrays)) is not None}
    check(case, {name: values(lib, prepared()) for name, (lib, prepared) in runs.items()})
    times = measure([prepared for _, prepared in runs.values()], seconds)
    return dict(zip(runs, times, strict=True))


def values(library: Minigrad, result: Any) -> list[Any]:
    """The results as arrays."""
    return [library.array(x) for x in (result if isinstance(result, (list, tuple)) else [result])]


def check(case: Case, results: dict[str, list[Any]]) -> None:
    """Raise AssertionError where a library's result is not minigrad's, to `rtol` of the largest value."""
    ours = results["minigrad"]
    for name, theirs in results.items():
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.shape == other.shape, f"{name} has shape {other.shape}, minigrad {mine.shape}"
            scale = np.max(np.abs(other), initial=0.0, where=np.isfinite(other)) if mine.size else 0.0
            close = np.allclose(mine, other, rtol=case.rtol, atol=case.rtol * float(scale), equal_nan=True)
            assert close, f"minigrad and {name} differ"


if __name__ == "__main__":
    sys.exit(main())
