"""`python -m tests.benchmarks`: rows have names of their own; a profile shows the share of each launch of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.benchmarks import limits, profile
from tests.benchmarks.__main__ import main
from tests.benchmarks.case import Case
from tests.benchmarks.cases import CASES

ROW = Case("group", "row", lambda rng: [rng.standard_normal(6).astype(np.float32)], lambda m, x: (x * x) * x)


def test_rows_have_names_of_their_own() -> None:
    assert len({case.title for case in CASES}) == len(CASES) > 300


def test_the_limit_of_the_machine_executes_each_multiply_add_that_it_counts() -> None:
    """LLVM removed a chain that began with a fixed point, so the limit was 9 % above what the machine can do."""
    (text,) = limits.loop("float32").inspect_llvm().values()
    count = text.count("call <")
    assert count > 0 and count % limits.CHAINS == 0


def test_a_profile_names_each_launch_with_its_number_and_share(capsys: Any) -> None:
    profile.report(ROW)
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("group/row: ") and head.endswith(" us in 2 launches")
    assert len(lines) == 1 and lines[0].endswith("  2 x  Elementwise(mul) 6 6 -> 6")
    assert 0 < float(lines[0].split("%")[0]) <= 100


def test_launches_are_timed_without_those_within_them() -> None:
    taken: dict[str, list[float]] = {"outer": [], "inner": []}
    inner = profile.timed(lambda: sum(range(20000)), taken, "inner")
    outer = profile.timed(lambda: inner(), taken, "outer")
    outer()
    assert taken["outer"][0] < taken["inner"][0] and not profile.INNER


def test_a_row_that_is_not_there_is_an_error(capsys: Any) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--profile", "nothing of this name"])
    assert stopped.value.code == 2 and "no row's title contains nothing of this name" in capsys.readouterr().err
