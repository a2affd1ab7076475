"""Cases that one item loops over: every one runs, all failures are named, and `-k` and `--full` choose among them."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest
from cases import FailedCases, cover, covering, cut, loop_of, over, run, unless_full

ALL = [(str(k), {"k": k}) for k in range(5)]


def test_every_case_runs_and_each_failure_is_named_with_its_message_and_the_first_traceback() -> None:
    seen = []

    def odd(k: int) -> None:
        seen.append(k)
        assert k % 2 == 0, f"{k} is odd"

    with pytest.raises(FailedCases) as caught:
        run(odd, {}, ALL)
    assert seen == [0, 1, 2, 3, 4]
    first, *others = str(caught.value).splitlines()
    assert first == "2 of 5 cases failed: [1], [3]"
    assert [line for line in others if line.startswith("[")] == [
        f"[{k}] {__file__}:{odd.__code__.co_firstlineno + 2}: AssertionError: {k} is odd" for k in (1, 3)
    ]
    assert "1 is odd" in str(caught.value.__cause__)


def test_what_pytest_raises_counts_as_a_failure_too() -> None:
    def none_raised(k: int) -> None:
        with pytest.raises(ValueError, match="k"):
            int(k)

    with pytest.raises(FailedCases, match=r"5 of 5 cases failed: \[0\], .*"):
        run(none_raised, {}, ALL)


def test_the_error_of_a_single_case_is_its_own() -> None:
    def fails(k: int) -> None:
        raise KeyError(k)

    with pytest.raises(KeyError, match="3"):
        run(fails, {}, ALL[3:4])


def test_a_case_may_skip_and_an_item_skips_if_all_do() -> None:
    def skips(k: int, least: int) -> None:
        if k >= least:
            pytest.skip("too large")

    assert run(skips, {"least": 1}, ALL) == 4
    with pytest.raises(pytest.skip.Exception):
        run(skips, {"least": 0}, ALL)


def test_a_timeout_ends_the_loop() -> None:
    seen = []

    def hangs(k: int) -> None:
        seen.append(k)
        pytest.fail("Timeout (>300.0s) from pytest-timeout." if k == 2 else "wrong")

    with pytest.raises(FailedCases, match=r"3 of 5 cases failed: \[0\], \[1\], \[2\]"):
        run(hangs, {}, ALL)
    assert seen == [0, 1, 2]


def test_each_case_shows_its_warnings() -> None:
    def warns(k: int) -> None:
        warnings.warn("old", UserWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        run(warns, {}, ALL)
    assert len(seen) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FailedCases, match="5 of 5"):
            run(warns, {}, ALL)


def names(test: Any, **fixed: Any) -> list[str]:
    return [name for name, _ in loop_of(test).product(fixed)]


def chosen(test: Any) -> list[str]:
    return [name for name, _ in loop_of(test).cases({}, lambda name: name.endswith("[1-z]"))]


def test_cases_are_the_product_and_have_the_names_that_parametrize_gives() -> None:
    @over("a", [1, 2])
    @over(("b", "c"), [(None, int), ("x", [])])
    def test(a: Any, b: Any, c: Any) -> None: ...

    assert names(test) == ["None-int-1", "None-int-2", "x-c1-1", "x-c1-2"]

    @over("a", [3, 3, 4], ids=str)
    def twice(a: Any) -> None: ...

    assert names(twice) == ["30", "31", "4"]


def test_items_that_share_the_cases_have_all_of_them() -> None:
    @over("a", range(7), items=3)
    def test(a: Any) -> None: ...

    assert [names(test, part_of_a=k) for k in range(3)] == [["0", "1"], ["2", "3"], ["4", "5", "6"]]
    for length in range(9):
        for count in range(1, length + 1):
            parts = [cut(list(range(length)), k, count) for k in range(count)]
            assert [k for part in parts for k in part] == list(range(length)) and all(parts)


def test_a_run_without_full_leaves_out_what_is_not_chosen() -> None:
    @unless_full(lambda a, test: test == "test" and a != 3)
    @over("b", "xyz")
    @over("a", [1, 2, 3])
    def test(a: Any, b: Any) -> None: ...

    assert chosen(test) == ["1-x", "1-y", "2-x", "2-y", "2-z"]
    assert len(names(test)) == 9


def test_covering_takes_few_cases_that_have_every_value() -> None:
    @covering("a", "b")
    @over("b", "12")
    @over("a", "xyz")
    def test(a: Any, b: Any) -> None: ...

    assert chosen(test) == ["x-1", "y-2", "z-1"]
    assert cover([("x", "1"), ("x", "2"), ("y", "1")]) == {("x", "1"), ("x", "2"), ("y", "1")}


def pytest_of(*arguments: str) -> str:
    """The output of pytest for a small file, which is collected in little time."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_warmup.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240).stdout


def test_k_selects_among_cases_and_full_runs_those_that_are_left_out() -> None:
    one = pytest_of("-k", "each_piece and filling-float64")
    assert "cases: 1 in 1 items" in one and "1 passed" in one
    assert "1 deselected" not in one and " deselected" in one
    assert "no tests" in pytest_of("--collect-only", "-k", "each_piece and filling-float32")
    assert "1/" in pytest_of("--collect-only", "--full", "-k", "each_piece and filling-float32")
