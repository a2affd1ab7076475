"""After a shared launch had to wait for a thread, the next launches use one thread for a while."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import minigrad as mg
from minigrad.backends import parallel
from minigrad.backends.parallel import ALLOWANCE, LONG, PART, STALL, guarded

WORK = 1e-5  # seconds that one thread takes in most of these tests


class World:
    """A clock, and a kernel of some tasks that threads share in half of the time, unless a core is taken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.busy, self.work, self.late = 100.0, False, WORK, 8 * STALL
        self.ran: list[str] = []
        monkeypatch.setattr(parallel, "perf_counter", lambda: self.now)
        monkeypatch.setattr(parallel, "core", parallel._Core())
        self.launch = guarded(self.shared, lambda: self.alone)

    def shared(self, numbers: np.ndarray) -> str:
        self.now += self.late if self.busy else self.work / 2
        self.ran.append("shared")
        return "shared"

    def alone(self, numbers: np.ndarray) -> str:
        self.now += self.work
        self.ran.append("alone")
        return "alone"

    def call(self, times: int = 1, tasks: int = 4) -> list[str]:
        self.ran.clear()
        for _ in range(times):
            assert self.launch(np.array([tasks, 0])) in ("shared", "alone")
        return list(self.ran)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with mg.override(parallel_threshold=1):
        yield World(monkeypatch)


def test_while_every_thread_has_a_core_all_is_shared(world: World) -> None:
    assert world.call(50) == ["shared"] * 50


def stalls(ran: list[str]) -> int:
    """Return the number of shared launches, all of which come before those on one thread."""
    shared = ran.count("shared")
    assert ran == ["shared"] * shared + ["alone"] * (len(ran) - shared)
    return shared


AT_ONCE = -int(-ALLOWANCE // (8 * STALL - WORK))  # launches that stall until these cost more than ALLOWANCE


def test_after_stalls_one_thread_works_until_the_pause_is_over(world: World) -> None:
    world.busy = True
    assert world.call(2) == ["shared", "alone"], "what one thread takes is found out first"
    assert AT_ONCE <= stalls(world.call(100)) <= 2 * AT_ONCE
    world.now += ALLOWANCE / PART
    world.busy = False
    assert world.call(20) == ["shared"] * 20


def test_a_thread_that_is_late_only_at_first_is_waited_for(world: World) -> None:
    world.busy = True
    world.call(2)
    assert world.call(AT_ONCE - 2) == ["shared"] * (AT_ONCE - 2)
    world.busy = False
    assert world.call(100) == ["shared"] * 100


def test_stalls_cost_a_sixteenth_of_the_time_at_most(world: World) -> None:
    world.busy = True
    world.call(2)
    start = world.now
    ran = world.call(1000)
    while world.now < start + 60.0:
        world.now += 0.1  # other work
        ran += world.call(10)
    lost = ran.count("shared") * (8 * STALL - WORK)
    assert lost <= (world.now - start) * PART + ALLOWANCE + 8 * STALL


def test_one_long_interruption_changes_nothing(world: World) -> None:
    world.busy, world.late = True, 300 * STALL
    world.call(2)
    assert world.call() == ["shared"]
    world.busy = False
    assert world.call(20) == ["shared"] * 20


def test_a_pause_is_as_long_as_its_stalls_require(world: World) -> None:
    world.busy = True
    assert world.call(100)[-1] == "alone"
    assert world.now < parallel.core.until <= world.now + 8 * STALL / PART
    world.now = parallel.core.until
    assert world.call(2) == ["shared", "alone"], "each stall has a pause of its own"


def test_rare_stalls_are_accepted(world: World) -> None:
    world.busy = True
    world.call(2)
    for _ in range(100):
        world.now += 8 * STALL / PART
        world.busy = True
        assert world.call() == ["shared"]
        world.busy = False
        assert world.call(5) == ["shared"] * 5


@pytest.mark.parametrize(
    ("work", "launches", "pays"),
    [(0.5 * STALL, 40, True), (0.5 * STALL, 5, False), (4 * STALL, 6, True), (4 * STALL, 0, False)],
    ids=["short", "too few short", "long", "too few long"],
)  # fmt: skip
def test_stalls_are_accepted_while_launches_between_them_save_more(
    world: World, work: float, launches: int, pays: bool
) -> None:
    world.work, world.busy = work, True
    world.call(2)
    ran = []
    for _ in range(100):
        world.busy = True
        ran += world.call()
        world.busy = False
        ran += world.call(launches)
    assert (ran.count("alone") == 0) == pays


def test_work_that_takes_long_is_shared_also_while_a_core_is_taken(world: World) -> None:
    world.work = 10 * STALL
    assert world.call(5) == ["shared", "alone", "shared", "shared", "shared"], "one try on one thread, and no stall"
    world.busy = True
    assert world.call(50) == ["shared"] * 50


def test_a_launch_that_takes_very_long_is_never_tried_on_one_thread(world: World) -> None:
    world.work = 4 * LONG
    assert world.call(5) == ["shared"] * 5


def test_a_threshold_of_zero_shares_always(world: World) -> None:
    world.busy = True
    assert world.call(100)[-1] == "alone"
    with mg.override(parallel_threshold=0):
        assert world.call(5) == ["shared"] * 5
