"""The number of kernels that a test run loads: each costs a second in a cold run, so a default run has a limit.

Every process of the run tells at its end which kernels each test file was the first to load.  Kernels that only
programs in processes of their own load are counted when they are compiled: by the files that are new in the cache.
The sum is held whether or not the cache was warm; what others compile into the same cache meanwhile counts too.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from minigrad.config import settings
from minigrad.kernels import store

# 1,400 for the functions, 25 of the 40 for networks and fused loops, 12 for tiles of AMX, 60 for complex numbers, 5 for
# factors in blocks, and some to spare
LIMIT = 1525
BUDGET = pytest.StashKey["Budget"]()


class Budget:
    """The kernels of a session: `loaded` by test file, and the files that the cache had before.

    limit: how many there may be; None for the whole product and for a part of the tests, unless one was given.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.worker = hasattr(config, "workerinput")
        given = config.getoption("--kernels")
        partly = config.getoption("--full") or narrowed(config)
        self.limit: int | None = given if given is not None else None if partly else LIMIT
        self.before = on_disk()
        self.known: set[str] = set()
        self.loaded: dict[str, list[str]] = {}

    def look(self, file: str) -> None:
        """Count the kernels that were loaded since the last call for a test file."""
        here = {Path(name).stem for name in list(store.loaded)}
        self.loaded.setdefault(file, []).extend(sorted(here - self.known))
        self.known |= here

    def merge(self, loaded: dict[str, list[str]]) -> None:
        """Add the kernels that another process has loaded."""
        for file, names in loaded.items():
            self.loaded.setdefault(file, []).extend(names)

    def total(self) -> tuple[int, int]:
        """Return the count of all kernels, and of those that were compiled in this run."""
        new = on_disk() - self.before
        return len(new.union(*self.loaded.values())), len(new)

    def verdict(self) -> str:
        """Return the message for a run over the budget, or ""."""
        total, _ = self.total()
        if self.limit is None or total <= self.limit:
            return ""
        most = Counter({file: len(set(names)) for file, names in self.loaded.items()}).most_common(5)
        files = ", ".join(f"{file} ({count})" for file, count in most)
        return f"{total} kernels are more than the {self.limit} that a run may load; most come with {files}"


def narrowed(config: pytest.Config) -> bool:
    """Return whether tests were selected by path, name or mark."""
    options = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "collectonly")
    chosen = [Path(argument).name for argument in config.args if config.args_source.name != "TESTPATHS"]
    return any(config.getoption(name, None) for name in options) or chosen not in ([], ["tests"])


def on_disk() -> set[str]:
    """Return the kernels in the cache."""
    return {path.stem for path in (settings.cache_dir / "kernels").glob("[!.]*.py")}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kernels", type=int, help=f"how many kernels a run may load ({LIMIT} for all tests)")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[BUDGET] = Budget(config)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Count the kernels at the end of a test file, or of its part of the run."""
    if nextitem is None or nextitem.path != item.path:
        item.config.stash[BUDGET].look(item.location[0])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Add a worker's count in the process that gathers the counts."""
    node.config.stash[BUDGET].merge(getattr(node, "workeroutput", {}).get("kernels", {}))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Report the count in a worker; check it against the budget in the main process."""
    budget = session.config.stash[BUDGET]
    if budget.worker:
        session.config.workeroutput["kernels"] = budget.loaded  # type: ignore[attr-defined]
    elif budget.verdict() and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    budget = config.stash[BUDGET]
    total, new = budget.total()
    if total:
        terminalreporter.write_line(f"kernels: {total} loaded, {new} of them compiled")
    if budget.verdict():
        terminalreporter.write_line(f"FAILED {budget.verdict()}", red=True)
