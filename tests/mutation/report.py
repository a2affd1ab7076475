"""The table of outcomes: per kind, per op, and what was not noticed with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutation.running import Outcome
from tests.mutation.survivors import reason

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mutations.md"
KINDS = {
    "vjp": "derivative rules, and the values that they save", "definition": "definitions that higher orders use",
    "jvp": "JVP rules", "linear": "declarations that an op is linear",
    "batch": "batching rules, and the code that applies them",
    "function": "Functions written by hand", "hooks": "hooks", "writes": "recording of in-place writes",
    "forward": "the methods of forward mode", "calls": "calls of Functions",
}  # fmt: skip
HEAD = """# Mutation tests: do the checks notice a broken rule?

`python -m tests.mutation` breaks every derivative rule on purpose, with one change at a time, and runs the checks of
the test suite (see `tests/mutation/`). Each broken rule is a *mutant*. In a rule, a mutant drops a term, a factor, a
transpose or the sum over a broadcast dim. It swaps operands or branches, or inverts a sign, a comparison or `keepdim`.
It uses a neighbouring dim or another saved value. In other code, a mutant drops a statement or a check, inverts a
condition, or reverses the order of hooks. A mutant is *equivalent* if it changes nothing that a test could observe.

`python -m tests.mutation --write` writes this page; run it after each change of the rules. The test suite runs only a
part of the mutants: two simple changes of each rule, each kind of change for each kind of code, and a sample of the
others (`tests/testing/test_mutations.py`).
"""

LINES = "Below each reason, one line per mutant names the kind of code, the op or function, and the change."


def share(found: Sequence[Outcome]) -> tuple[int, int, int]:
    """Mutants, those noticed, and those that are equivalent."""
    silent = [o for o in found if not o.how]
    equal = sum(1 for o in silent if (why := reason(o.mutant)) is not None and why.equivalent)
    return len(found), len(found) - len(silent), equal


def percent(total: int, noticed: int, equal: int) -> str:
    return f"{100.0 * noticed / max(1, total - equal):.1f} %"


def summary(found: Sequence[Outcome]) -> list[str]:
    """One line a kind, and one for all."""
    lines = [
        "| changed code | mutants | noticed | by wrong values | by another error | equivalent | "
        "share of the others that is noticed |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for kind in [*KINDS, None]:
        some = [o for o in found if kind in (None, o.mutant.kind)]
        if some:
            total, noticed, equal = share(some)
            numbers = sum(o.how == "numbers" for o in some)
            name = "**all**" if kind is None else KINDS[kind]
            lines.append(
                f"| {name} | {total} | {noticed} | {numbers} | {noticed - numbers} | {equal} | "
                f"{percent(total, noticed, equal)} |"
            )
    return lines


def by_owner(found: Iterable[Outcome]) -> list[str]:
    """One line for each op or function."""
    lines = [
        "| op or function | kinds | mutants | noticed | equivalent | not noticed |",
        "|---|---|---:|---:|---:|---:|",
    ]
    groups: dict[str, list[Outcome]] = {}
    for o in found:
        groups.setdefault(o.mutant.of, []).append(o)
    for name, some in sorted(groups.items()):
        total, noticed, equal = share(some)
        kinds = ", ".join(kind for kind in KINDS if any(o.mutant.kind == kind for o in some))
        lines.append(f"| {name} | {kinds} | {total} | {noticed} | {equal} | {total - noticed - equal or ''} |")
    return lines


def silent(found: Iterable[Outcome]) -> list[str]:
    """What nothing noticed, by reason."""
    groups: dict[str, list[str]] = {}
    for o in sorted((o for o in found if not o.how), key=lambda o: o.mutant.name):
        why = reason(o.mutant)
        text = "no reason is known" if why is None else why.why
        groups.setdefault(text, []).append(f"  * {o.mutant.kind}, {o.mutant.of}: {quoted(o.mutant.what)}")
    return [line for why, some in sorted(groups.items()) for line in (f"* {why}", *some)]


def quoted(what: str) -> str:
    """A description whose code is marked as such by backticks, whatever stands in it."""
    return what if "`" in what else f"`{what}`"


def page(found: Sequence[Outcome]) -> str:
    """docs/mutations.md."""
    parts = [HEAD, *summary(found), "", "## Mutants that are not noticed, with the reasons", "", LINES, "",
             *silent(found), "",
             "## By op", "", *by_owner(found)]  # fmt: skip
    return "\n".join(parts) + "\n"
