"""Runs mutants, each in a process of its own, so that none leaves traces and none can hang."""

from __future__ import annotations

import itertools
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.mutation import functions, machinery, reverse, transforms
from tests.mutation.mutant import LIMIT, Mutant, noticed, outcome
from tests.mutation.survivors import unknown

CODES = {"": 10, "numbers": 11, "error": 12, "killed": 13}
MEANS = {code: what for what, code in CODES.items()}
LONGEST = 600.0  # seconds of processor time that a check may take while nothing is broken
SLOWER = 4  # a check may take so many times as long while something is broken: its plans are made anew
takes: dict[Any, float] = {}  # seconds that each check took while nothing was broken; those of all rows grow with them


@dataclass(frozen=True)
class Outcome:
    """What came of a mutant: "numbers", "error", "killed" (it hung or crashed), or "" where nothing noticed."""

    mutant: Mutant
    how: str


def everything() -> list[Mutant]:
    """All mutants, in an order that stays; a helper that two rules call is broken once for each.  Raises LookupError
    for two of one name, and for a name in survivors.txt that is none of theirs."""
    found = [*reverse.mutants(), *transforms.mutants(), *functions.mutants(), *machinery.mutants()]
    names = Counter(m.name for m in found)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise LookupError(f"two mutants have one name: {'; '.join(twice)}")
    if unknown(names):
        raise LookupError(f"survivors.txt lists what is no mutant: {'; '.join(unknown(names))}")
    return found


def sound(mutants: Sequence[Mutant]) -> list[str]:
    """The checks that fail although nothing is broken: there should be none, for they would notice everything.  Each
    runs twice, since those of the mutants are later runs in a copy of this process: what happens once, such as a
    warning, would be missed there."""
    failing = []
    for check, mutant in {key(m.check): m for m in mutants}.items():
        began = time.process_time()
        if outcome(mutant.check, LONGEST) or outcome(mutant.check, LONGEST):
            failing.append(f"{mutant.kind} {mutant.of}")
        takes[check] = (time.process_time() - began) / 2
    return failing


def key(check: Callable[[], None]) -> Any:
    """What tells one check from another."""
    return (check.func, check.args) if hasattr(check, "func") else check


def run(mutants: Sequence[Mutant], jobs: int) -> Iterator[Outcome]:
    """The outcome of each, in order of their ends."""
    running: dict[int, Mutant] = {}
    left = iter(mutants)
    while True:
        for mutant in itertools.islice(left, jobs - len(running)):
            running[child(mutant)] = mutant
        if not running:
            return
        pid, status = os.wait()
        if pid in running:
            yield Outcome(running.pop(pid), MEANS.get(os.waitstatus_to_exitcode(status), "killed"))


def child(mutant: Mutant) -> int:
    """Start the process that tries one; its exit status says what came of it."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        warnings.simplefilter("ignore")
        code = CODES[noticed(mutant, max(LIMIT, SLOWER * takes.get(key(mutant.check), 0.0)))]
    finally:
        os._exit(code)
