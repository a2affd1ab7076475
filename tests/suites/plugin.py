"""The part of a run inside pytest: names, time limits, looser error checks, and a file of results.

The environment variables SUITES_AS (torch or minigrad), SUITES_FOLDER (PyTorch's test folder) and SUITES_RESULTS
(a file that receives one line per test) configure it. Each test has 60 seconds.
"""

from __future__ import annotations

import importlib
import json
import linecache
import os
import re
import signal
import sys
import unittest
import warnings
from pathlib import Path
from typing import Any

import pytest

from minigrad.nn.modules import global_hooks
from minigrad.nn.modules.members import registrations
from tests.suites import replaced, scope

SECONDS = 60
HELPERS = ("common_utils", "common_cuda", "common_mkldnn", "common_nn")
LISTS = "common_methods_invocations"  # the lists of operators, whose import takes seconds
results = Path(os.environ["SUITES_RESULTS"])
seen: dict[str, str] = {}
compared: set[str] = set()
WARNINGS = re.compile(r"assert.*(len\((w|ws|warning_list|warns|record)\)|\b(w|ws|warns)\[)")


class AnyError:
    """`assertRaises` of any class and text, except of names that minigrad lacks."""

    exception: BaseException | None = None

    def __enter__(self) -> AnyError:
        """Return the context, whose `exception` is set at its end."""
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        """Require an error."""
        if error is None:
            raise AssertionError("expected an error")
        self.exception = error
        return isinstance(error, Exception) and not isinstance(error, (replaced.Absent, unittest.SkipTest))


def any_error(skip: int) -> Any:
    """Make `assertRaises` (skip 1) or `assertRaisesRegex` (skip 2): the class and the text are not compared."""

    def check(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) <= skip:
            return AnyError()
        with AnyError():
            args[skip](*args[skip + 1 :], **kwargs)
        return None

    return check


def any_warning(skip: int) -> Any:
    """Make `assertWarns` or `assertWarnsRegex`: a warning is not required."""

    def check(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) > skip:
            return args[skip](*args[skip + 1 :], **kwargs)
        return warnings.catch_warnings()

    return check


def pytest_configure(config: pytest.Config) -> None:
    """Install the names before the test file is imported."""
    folder = os.environ["SUITES_FOLDER"]
    sys.path.append(folder)
    text = Path(config.args[0].partition("::")[0]).read_text(encoding="utf-8")
    for helper in (*HELPERS, *((LISTS,) if LISTS in text else ())):
        real = importlib.import_module(f"torch.testing._internal.{helper}")
        real.__getattr__ = replaced.missing(real)  # type: ignore[method-assign]
    if os.environ["SUITES_AS"] == "torch":
        return
    replaced.install(folder)
    replaced.install_lookup()
    case: Any = replaced.module("torch.testing._internal.common_utils").TestCase
    case.assertRaises, case.assertRaisesRegex = any_error(1), any_error(2)
    case.assertRaisesRegexp = case.assertRaisesRegex
    case.assertWarns, case.assertWarnsRegex = any_warning(1), any_warning(2)
    case.assertWarnsOnceRegex = case.assertWarnsRegex


def unwind(cls: Any) -> None:
    """Replace `super(self.__class__, self).setUp()`, which calls itself in classes derived by helpers."""
    for name in ("setUp", "tearDown"):
        if "__class__" in getattr(vars(cls).get(name), "__code__", late.__code__).co_names:
            setattr(cls, name, lambda self, name=name: getattr(super(cls, self), name)())


def written_in(item: Any) -> Path:
    """Return the file that defines a test, which another file may import."""
    module = sys.modules.get(getattr(item.obj, "__module__", ""))
    file = Path(getattr(module, "__file__", None) or item.path)
    return file if file.is_relative_to(os.environ["SUITES_FOLDER"]) else item.path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Remove tests that are out of scope, that have a result already, and further dtypes with FEW=1."""
    texts: dict[Path, dict[str, str]] = {}
    known: dict[Path, dict[str, bool]] = {}
    done = {json.loads(line)[0] for line in results.read_text(encoding="utf-8").splitlines()}
    names = [item.nodeid for item in items]
    chosen = scope.few(names) if os.environ.get("FEW") == "1" else set(names)
    only = os.environ.get("SUITES_ONLY")
    chosen &= set(Path(only).read_text(encoding="utf-8").splitlines()) if only else chosen
    for cls in {cls for item in items for cls in item.cls.__mro__}:  # type: ignore[attr-defined]
        unwind(cls)
    kept = []
    for item in items:
        path = written_in(item)
        if path not in texts:
            texts[path], known[path] = scope.sources(path), {}
        if item.nodeid in chosen and item.nodeid not in done and not scope.outside(item.name, texts[path], known[path]):
            kept.append(item)
    items[:] = kept


def late(*_: Any) -> None:
    """End a test at its time limit."""
    raise TimeoutError(f"longer than {SECONDS} seconds")


def write(name: str, outcome: str, text: str = "") -> None:
    """Append a result to the file."""
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, outcome, text]) + "\n")


def forget_hooks() -> None:
    """Remove the hooks of all modules, whose private tables the files of PyTorch replace between their tests."""
    for hooks in (*vars(global_hooks.everywhere).values(), *registrations.values()):
        hooks.clear()
    global_hooks.refresh()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """Limit the time of a test, and write its result."""
    write(item.nodeid, "died")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    replaced.running = True
    try:
        return (yield)
    finally:
        signal.alarm(0)
        replaced.running = False
        forget_hooks()
        write(item.nodeid, *seen.pop(item.nodeid, "skipped\n").split("\n", 1))


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Note a failure at a line of the test that compares recorded warnings."""
    if call.when == "call":
        signal.alarm(0)
    entries = list(call.excinfo.traceback)[:20] if call.excinfo else []
    lines = [linecache.getline(str(entry.path), entry.lineno + 1) for entry in entries]
    if any(WARNINGS.search(line) for line in lines):
        compared.add(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember the outcome of a test: that of its call, or a failure before or after it."""
    if report.when == "call" or report.outcome == "failed":
        crash = getattr(report.longrepr, "reprcrash", None)
        outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        outcome = "warnings" if report.nodeid in compared else outcome
        seen[report.nodeid] = f"{outcome}\n{crash.message if crash else ''}"
