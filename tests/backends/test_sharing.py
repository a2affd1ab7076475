"""After a shared launch had to wait for a thread, the next launches use one thread for a while."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import minigrad as mg
from minigrad.backends import parallel
from minigrad.backends.parallel import LONG, PAUSES, STALL, guarded

WORK = 1e-5  # seconds that one thread takes in most of these tests


class World:
    """A clock, and a kernel of some tasks that threads share in half of the time, unless a core is taken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.busy, self.work = 100.0, False, WORK
        self.ran: list[str] = []
        monkeypatch.setattr(parallel, "perf_counter", lambda: self.now)
        monkeypatch.setattr(parallel, "core", parallel._Core())
        self.launch = guarded(self.shared, lambda: self.alone)

    def shared(self, numbers: np.ndarray) -> str:
        self.now += 8 * STALL if self.busy else self.work / 2
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


def test_after_a_stall_one_thread_works_until_the_pause_is_over(world: World) -> None:
    world.busy = True
    assert world.call(2) == ["shared", "alone"], "what one thread takes is found out first"
    assert world.call(20) == ["shared"] + ["alone"] * 19
    world.now += PAUSES[0]
    world.busy = False
    assert world.call(20) == ["shared"] * 20


def test_a_pause_that_was_too_short_is_doubled_up_to_a_limit(world: World) -> None:
    world.busy = True
    world.call(3)
    lengths = []
    for _ in range(8):
        lengths.append(round(parallel.core.pause, 6))
        world.now = parallel.core.until
        assert world.call(2) == ["shared", "alone"]
    assert lengths == [0.05, 0.1, 0.2, 0.4, 0.8, 0.8, 0.8, 0.8]
    world.now += 10
    world.call(1)
    assert parallel.core.pause == PAUSES[0], "it was long ago"


def test_work_that_takes_long_is_shared_also_while_a_core_is_taken(world: World) -> None:
    world.work = 4 * STALL
    assert world.call(5) == ["shared", "alone", "shared", "shared", "shared"], "one try on one thread, and no stall"
    world.busy = True
    assert world.call(5) == ["shared"] * 5


def test_a_launch_that_takes_very_long_is_never_tried_on_one_thread(world: World) -> None:
    world.work = 4 * LONG
    assert world.call(5) == ["shared"] * 5


def test_a_threshold_of_zero_shares_always(world: World) -> None:
    world.busy = True
    world.call(4)
    with mg.override(parallel_threshold=0):
        assert world.call(5) == ["shared"] * 5
