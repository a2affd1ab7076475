"""`python -m tests.programs [--count N] [--first SEED] [--order K]`: any number of random programs."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections import Counter
from typing import Any

from minigrad.errors import StorageError
from tests.programs import generator, nested, written
from tests.programs.generator import Program
from tests.programs.proofs import On, Wrong, against, check, check_transforms, check_value


def main() -> int:
    """Check programs one after another, and count what came of them; 1 if one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="programs (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the first one")
    parser.add_argument("--order", type=int, default=3, help="of derivatives (default: %(default)s)")
    parser.add_argument("--device", default="cpu", help="where they run (default: %(default)s)")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--no-writes", action="store_true", help="leave out writes in place, and ask all transforms")
    kinds.add_argument("--nested", action="store_true", help="steps in checkpoints, hooks, batches, derivatives")
    kinds.add_argument("--written", action="store_true", help="writes into what earlier steps have made")
    options = parser.parse_args()
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        torch = None
        print("PyTorch is not installed, so programs are held against quotients only")
    tally: Counter[str] = Counter()
    for seed in range(options.first, options.first + options.count):
        made = make(seed, options, torch is None)
        try:
            tally[outcome(made, options, torch)] += 1
        except Exception as error:
            tally["wrong"] += 1
            told = (
                str(error) if isinstance(error, Wrong) else f"program {seed}: {type(error).__name__}: {error}\n{made}"
            )
            print(told, flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(tally.items())))
    return 1 if tally["wrong"] else 0


def make(seed: int, options: argparse.Namespace, alone: bool) -> Program:
    """The program of a seed.  alone: PyTorch need not run it, whose flip is no view."""
    if options.nested:
        return nested.program(seed)
    if options.written:
        return written.program(seed, flips=alone)
    return generator.program(seed, writes=not options.no_writes)


def outcome(made: Program, options: argparse.Namespace, torch: Any) -> str:
    """What comes of one program; raises whatever is wrong."""
    library = On(options.device)
    if not options.nested:
        check_value(made, library)
    try:
        check(made, options.order, library)
    except StorageError:  # a value was saved and written since: PyTorch must say so as well
        if not options.written:
            raise
        return "refused" if torch is None else against(made, torch, options.order, library)
    if options.no_writes:
        check_transforms(made, options.order)
    return "right" if torch is None else against(made, torch, options.order, library)


if __name__ == "__main__":
    sys.exit(main())
