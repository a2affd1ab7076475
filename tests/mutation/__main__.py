"""`python -m tests.mutation [--kind KIND] [--of OP] [--jobs N] [--write]`: break everything, and say what notices."""

from __future__ import annotations

import argparse
import sys
import time
import warnings

from tests.mutation.report import KINDS, PAGE, page, silent, summary
from tests.mutation.running import everything, run, sound
from tests.mutation.survivors import reason


def main() -> int:
    """Try all mutants; 1 if one is not noticed and has no reason, or has one and is noticed, 2 if a check fails on what
    is right."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--kind", choices=list(KINDS), help="only of one kind")
    parser.add_argument("--of", help="only of one op or function")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="keep the table in docs/mutations.md")
    options = parser.parse_args()
    if options.write and (options.kind or options.of):
        parser.error("the table is of all mutants, so --write goes with neither --kind nor --of")
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    chosen = [m for m in everything() if options.kind in (None, m.kind) and options.of in (None, m.of)]
    unsound = sound(chosen)
    if unsound:
        print(f"these checks fail on what is right: {', '.join(unsound)}")
        return 2
    found, wrong = [], []
    for k, each in enumerate(run(chosen, options.jobs), 1):
        found.append(each)
        if bool(each.how) == (reason(each.mutant) is not None):
            wrong.append(each)
            said = "noticed, so survivors.txt need not list it" if each.how else "not noticed"
            print(f"{said}: {each.mutant.name}", flush=True)
        if k % 500 == 0:
            print(f"{k} of {len(chosen)}, {time.perf_counter() - began:.0f} s", flush=True)
    print("\n".join(["", *summary(found), "", *silent(found)]))
    if options.write:
        PAGE.write_text(page(found), encoding="utf-8")
    print(f"{len(chosen)} mutants in {time.perf_counter() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
