"""Many cases in one test item: `over` loops inside the item, where `pytest.mark.parametrize` creates an item per value.

A failing case does not stop the loop.  At the end one error names every case that failed, with its message, and has the
traceback of the first one.  `-k` selects among the cases as among items, so `-k "test_dtypes and add-float16"` runs one
case.  `unless_full`, `covering` and a function `left_out(name)` of the test's module leave cases out of a run
without `--full`; an item without cases is deselected.
"""

from __future__ import annotations

import inspect
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from _pytest.mark import KeywordMatcher, ParameterSet
from _pytest.mark.expression import Expression

Values = dict[str, Any]
FOUND = pytest.StashKey[set[str]]()  # names of the cases of an item that `-k` selects


class FailedCases(AssertionError):
    """Some cases of a test item failed."""


@dataclass
class Loop:
    """The cases of a test function: the product of its axes without those that a run without `--full` leaves out.

    axes: argument names, the cases on this axis as (name, values), and the number of items that share them.
    """

    name: str
    axes: list[tuple[tuple[str, ...], list[tuple[str, Values]], int]] = field(default_factory=list)
    wanted: list[Callable[..., bool]] = field(default_factory=list)
    covered: tuple[str, ...] = ()

    def cases(self, fixed: Values, left_out: Callable[[str], bool]) -> Iterator[tuple[str, Values]]:
        """Return (name, values) of each case that runs without `--full` in the item whose parameters are `fixed`."""
        known = {"test": self.name, **fixed}
        found = (
            (name, values)
            for name, values in self.product(fixed)
            if all(accepts(by, known | values) for by in self.wanted) and not left_out(f"{self.name}[{name}]")
        )
        if not self.covered:
            return found
        cases = list(found)
        tuples = [tuple(text(values[name]) for name in self.covered) for _, values in cases]
        few = cover(list(dict.fromkeys(tuples)))
        return (case for case, values in zip(cases, tuples, strict=True) if values in few)

    def product(self, fixed: Values) -> Iterator[tuple[str, Values]]:
        """Return (name, values) of each case of the item whose parameters are `fixed`."""
        axes = [
            cut(values, fixed[f"part_of_{names[0]}"], items) if items else values for names, values, items in self.axes
        ]
        for combination in product(*axes):
            values = {name: value for _, part in combination for name, value in part.items()}
            yield "-".join(name for name, _ in combination), values


def over(names: str | tuple[str, ...], values: Iterable[Any], ids: Any = None, items: int = 0) -> Callable[[Any], Any]:
    """Run the test once per value, as `pytest.mark.parametrize` does, and all of it in one item.

    items: divide the values among this number of items instead, for a test that takes long.
    """
    arguments = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else tuple(names)
    labels = list(map(str, ids)) if isinstance(ids, Iterable) else []
    cases = []
    for index, value in enumerate(values):
        label, row = (value.id, value.values) if isinstance(value, ParameterSet) else (None, value)
        row = row if len(arguments) > 1 or isinstance(value, ParameterSet) else (row,)
        given = dict(zip(arguments, row, strict=True))
        label = label or (labels[index] if labels else None)
        cases.append((label or "-".join(called(ids, v, f"{name}{index}") for name, v in given.items()), given))
    often = {name for name, count in Counter(name for name, _ in cases).items() if count > 1}
    cases = [(f"{name}{k}" if name in often else name, given) for k, (name, given) in enumerate(cases)]

    def decorate(test: Any) -> Any:
        loop = loop_of(test)
        count = min(items, len(cases))
        loop.axes.append((arguments, cases, count))
        signature = inspect.signature(test)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        if not count:
            test.__signature__ = signature.replace(parameters=rest)
            return test
        part = f"part_of_{arguments[0]}"
        test.__signature__ = signature.replace(
            parameters=[*rest, inspect.Parameter(part, inspect.Parameter.KEYWORD_ONLY)]
        )
        ids_of_parts = [f"{k + 1} of {count}" for k in range(count)]
        return pytest.mark.parametrize(part, range(count), ids=ids_of_parts)(test)

    return decorate


def unless_full(by: Callable[..., bool]) -> Callable[[Any], Any]:
    """Run only the cases for which `by` returns True, unless `--full` is given.

    by: takes parameters of the case by name; `test` is the name of the test function.
    """

    def decorate(test: Any) -> Any:
        loop_of(test).wanted.append(by)
        return test

    return decorate


def covering(*names: str) -> Callable[[Any], Any]:
    """Run each value of these arguments once instead of their product, unless `--full` is given."""

    def decorate(test: Any) -> Any:
        loop_of(test).covered = names
        return test

    return decorate


def loop_of(test: Any) -> Loop:
    """Return the loop of a test function, which is created by the first decorator."""
    if not hasattr(test, "loop"):
        test.loop = Loop(test.__name__)
    loop: Loop = test.loop
    return loop


def cut(values: list[Any], part: int, count: int) -> list[Any]:
    """Return one of `count` consecutive parts of nearly equal length."""
    return values[part * len(values) // count : (part + 1) * len(values) // count]


def called(ids: Any, value: Any, otherwise: str) -> str:
    """Return the name of a value, by the rules of `pytest.mark.parametrize`."""
    name = ids(value) if callable(ids) else None
    value = value if name is None else name
    if value is None or isinstance(value, (str, int, float, complex, bool)):
        return str(value)
    return str(getattr(value, "__name__", otherwise))


def accepts(by: Callable[..., bool], known: Values) -> bool:
    """Return whether a choice accepts a case, of which it takes some parameters."""
    names = by.__code__.co_varnames[: by.__code__.co_argcount]
    return bool(by(**{name: known[name] for name in names if name in known}))


def text(value: Any) -> str:
    """Return the name of a parameter's value."""
    return str(getattr(value, "__name__", None) or getattr(value, "name", None) or value)


def cover(tuples: list[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return a few tuples that contain each value at each of its positions; equal lists have equal results."""
    left = {(place, value) for values in tuples for place, value in enumerate(values)}
    found = set()
    for new in range(len(tuples[0]) if tuples else 0, 0, -1):
        for values in tuples:
            here = set(enumerate(values)) & left
            if len(here) >= new:
                found.add(values)
                left -= here
    return found


def cases_of(item: Any) -> Iterator[tuple[str, Values]]:
    """Return the cases of an item that this run selects."""
    fixed = getattr(getattr(item, "callspec", None), "params", {})
    loop: Loop = item.function.loop
    left_out = getattr(item.module, "left_out", lambda name: False)
    found = loop.product(fixed) if item.config.getoption("full") else loop.cases(fixed, left_out)
    if not item.config.option.keyword:
        return found
    expression = Expression.compile(item.config.option.keyword)
    names = frozenset(KeywordMatcher.from_item(item)._names) - item.stash.get(FOUND, set())
    return (case for case in found if expression.evaluate(KeywordMatcher(names | {case[0]})))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect items without cases, and have `-k` find the items of its cases."""
    kept, empty = [], []
    for item in items:
        if not hasattr(getattr(item, "function", None), "loop"):
            kept.append(item)
            continue
        found = cases_of(item)
        first = next(found, None)
        (empty if first is None else kept).append(item)
        if config.option.keyword and first is not None:
            item.stash[FOUND] = {first[0], *(name for name, _ in found)}
            item.extra_keyword_matches.update(item.stash[FOUND])
    if empty:
        config.hook.pytest_deselected(items=empty)
        items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> bool | None:
    """Run the cases of an item, and report how many there were."""
    __tracebackhide__ = True
    if not hasattr(pyfuncitem.function, "loop"):
        return None
    arguments = inspect.signature(pyfuncitem.function).parameters
    given = {name: pyfuncitem.funcargs[name] for name in arguments if not name.startswith("part_of_")}
    cases = list(cases_of(pyfuncitem))
    if pyfuncitem.function.loop.axes:
        pyfuncitem.user_properties.append(("cases", len(cases)))
    skipped = run(pyfuncitem.obj, given, cases)
    pyfuncitem.user_properties.append(("skipped cases", skipped))
    return True


def run(test: Callable[..., None], given: Values, cases: list[tuple[str, Values]]) -> int:
    """Call the test with each case, then raise one error for all that failed; return how many were skipped.

    If every case skips, the item skips.  A timeout is that of the item, so no case runs after it.
    """
    __tracebackhide__ = True
    failed: list[tuple[str, BaseException]] = []
    skipped: list[BaseException] = []
    for name, values in cases:
        try:
            with warnings.catch_warnings():  # so that each case shows its warnings
                test(**given, **values)
        except pytest.skip.Exception as skip:
            skipped.append(skip)
        except (Exception, pytest.fail.Exception) as error:
            if len(cases) == 1:
                raise
            failed.append((name, error))
            if "from pytest-timeout" in str(error):
                break
    if failed:
        fail(failed, len(cases))
    if skipped and len(skipped) == len(cases):
        raise skipped[0]
    return len(skipped)


def fail(failed: list[tuple[str, BaseException]], count: int) -> None:
    """Raise the error that names the cases that failed, and has the first error as its cause."""
    names = ", ".join(f"[{name}]" for name, _ in failed)
    messages = "\n".join(f"[{name}] {where(error)}: {summary(error)}" for name, error in failed)
    raise FailedCases(f"{len(failed)} of {count} cases failed: {names}\n{messages}") from failed[0][1]


def where(error: BaseException) -> str:
    """Return the file and line of the innermost frame of an error."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}:{frame.lineno}"


def summary(error: BaseException) -> str:
    """Return the type and the first 500 characters of the message of an error."""
    return f"{type(error).__name__}: {error}"[:500]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many cases ran in items that loop, and how many of them were skipped."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    told = [dict(report.user_properties) for report in reports if getattr(report, "when", "") == "call"]
    items, skipped = (
        [each["cases"] for each in told if "cases" in each],
        sum(each.get("skipped cases", 0) for each in told),
    )
    if items:
        more = f", {skipped} of them skipped" if skipped else ""
        terminalreporter.write_line(f"cases: {sum(items)} in {len(items)} items that loop{more}")
