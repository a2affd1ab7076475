"""`python -m tests.benchmarks [--device cuda [--tiny]] [--only NAME ...] [--json FILE] [--seconds S]
[--list] [--profile ROW]`.

Every row's results are compared before they are timed: a library that computes something else is not faster.
`--only compile` says what kernels cost to compile instead, `--only regions` what it costs to share them,
`--only files` what it takes to write and read 100 MB, `--only memory` how much memory a step of training takes.
`--only transformer` trains `examples/char_transformer.py` with both libraries.
`--only jit` also compares programs of `mg.jit` with eager mode, `jax.jit` and `torch.compile`, each in its own process.
`--profile ROW` shows what each launch of a row takes.
`--device cuda` has rows of its own, beside PyTorch and CuPy on the GPU; with MINIGRAD_CUDA=simulator they are run and
compared at tiny sizes, and not timed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.config import settings
from tests.benchmarks import compiling, device, files, language, limits, memory, profile, regions
from tests.benchmarks.case import Case
from tests.benchmarks.cases import CASES
from tests.benchmarks.cases.device import LARGE, TINY, rows
from tests.benchmarks.checks import check, values
from tests.benchmarks.jit import report as jitted
from tests.benchmarks.libraries import Minigrad, installed
from tests.benchmarks.report import HEADER, Result, line, machine, means, save
from tests.benchmarks.timing import measure

REPORTS = {
    "compile": compiling.report,
    "regions": regions.report,
    "files": files.report,
    "memory": memory.report,
    "transformer": language.report,
}
AFTER = {"jit": jitted.report}  # reports that follow the rows of a group


def main(given: list[str] | None = None) -> int:
    """Measure the rows that were asked for; 1 if a row's results disagree or it fails, 2 if there is no such device."""
    options, parser = asked(given)
    if options.only and options.only[0] in REPORTS:
        REPORTS[options.only[0]]()
        return 0
    there = CASES
    if options.profile:
        found = [c for c in there if options.profile in c.title]
        if not found:
            parser.error(f"no row's title contains {options.profile}; --list names them")
        profile.report(found[0])
        return 0
    if options.device == "cuda":
        there = rows(TINY if options.tiny or settings.cuda == "simulator" else LARGE)
    cases = [c for c in there if not options.only or any(name in c.title for name in options.only)]
    if not cases:
        parser.error(f"no row's title contains {' or '.join(options.only)}; --list names them")
    if options.list:
        print("\n".join(c.title for c in cases))
        return 0
    if options.device == "cuda":
        return device.report(cases, there[0], options.seconds, options.json)
    code = on_the_cpu(cases, options.seconds, options.json)
    for name in options.only or ():
        if name in AFTER:
            AFTER[name]()
    return code


def asked(given: list[str] | None) -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    """The options of the command, and what reads them."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="default: %(default)s")
    parser.add_argument("--tiny", action="store_true", help="tiny operands, with --device cuda")
    parser.add_argument("--only", action="append", metavar="NAME", help="rows whose title contains this; may repeat")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to a file")
    parser.add_argument("--seconds", type=float, default=0.6, help="time for each row (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--profile", metavar="ROW", help="what each launch takes of the first row whose title has this")
    return parser.parse_args(given), parser


def on_the_cpu(cases: list[Case], seconds: float, json: Path | None) -> int:
    """A line a row, and the means."""
    libraries = installed()
    print(machine(), limits.text(), HEADER, sep="\n")
    results, failed = [], 0
    for case in cases:
        try:
            result = Result(case, run(case, libraries, seconds))
        except Exception as error:
            failed += 1
            print(f"{case.title:<52}  failed: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
            continue
        results.append(result)
        print(line(result), flush=True)
    print(means(results))
    if failed:
        print(f"{failed} rows failed")
    if json:
        save(results, json)
    return 1 if failed else 0


def run(case: Case, libraries: list[Minigrad], seconds: float) -> dict[str, Any]:
    """Times by library.  Raises AssertionError where the results differ."""
    arrays = list(case.arrays(np.random.default_rng(0)))
    runs = {lib.name: (lib, prepared) for lib in libraries if (prepared := lib.prepare(case, arrays)) is not None}
    check(case, {name: values(lib, prepared()) for name, (lib, prepared) in runs.items()})
    times = measure([prepared for _, prepared in runs.values()], seconds)
    return dict(zip(runs, times, strict=True))


if __name__ == "__main__":
    sys.exit(main())
