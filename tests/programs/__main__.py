"""`python -m tests.programs [--count N] [--first SEED] [--order K]`: any number of random programs."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

from minigrad.errors import MinigradError
from tests.programs import nested
from tests.programs.generator import Program, program
from tests.programs.proofs import Wrong, against, check, check_transforms


def beside(made: Program, torch: Any, order: int, nested: bool) -> None:
    """Beside PyTorch, which refuses some nestings."""
    try:
        against(made, torch, order)
    except RuntimeError as error:
        if not nested or isinstance(error, MinigradError):
            raise


def main() -> int:
    """Check programs one after another; 1 if one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="programs (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the first one")
    parser.add_argument("--order", type=int, default=3, help="of derivatives (default: %(default)s)")
    parser.add_argument("--no-writes", action="store_true", help="leave out writes in place")
    parser.add_argument("--nested", action="store_true", help="steps in checkpoints, hooks, batches, derivatives")
    options = parser.parse_args()
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        torch = None
        print("PyTorch is not installed, so programs are held against quotients only")
    wrong = 0
    for seed in range(options.first, options.first + options.count):
        made = (nested.program if options.nested else program)(seed, writes=not options.no_writes)
        try:
            check(made, options.order)
            if options.no_writes:
                check_transforms(made, options.order)
            if torch is not None:
                beside(made, torch, options.order, options.nested)
        except Wrong as error:
            wrong += 1
            print(error, flush=True)
        except Exception as error:
            wrong += 1
            print(f"program {seed}: {type(error).__name__}: {error}\n{made}", flush=True)
    print(f"{options.count} programs, {wrong} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
