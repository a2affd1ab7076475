"""The runner: one table of kernels, whose rows threads share until one of them has waited for its core."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg
from minigrad.jitting.runner import NEVER
from minigrad.jitting.tape import Rows

N = 1 << 18


class Cubes:
    """A program of two rows that threads share, without the guard that measures whole programs."""

    def __init__(self) -> None:
        if mg.get_num_threads() < 2:
            pytest.skip("one thread: no row is shared")
        self.f = mg.jit(lambda x: (x * x) * x, fuse=False)
        self.x = mg.tensor(np.arange(N, dtype=np.float32), device="cpu")
        for _ in range(3):
            self.result = self.f(self.x)
        (self.table,) = self.f.last.tape.tables
        assert self.table.parallel and self.table.count == 2
        self.f.last.bound["step0"] = self.table.call

    def call(self, *before: int) -> list[int]:
        """Set the shortest times of the rows, run the program, and return the times after it."""
        times = self.table.rows.reshape(-1, 4)[:, 3]
        times[:] = before
        assert np.array_equal(self.f(self.x).numpy(), self.result.numpy())
        return [int(time) for time in times]


@pytest.fixture
def cubes() -> Cubes:
    return Cubes()


def test_the_runner_stores_the_shortest_times_of_shared_rows(cubes: Cubes) -> None:
    assert all(0 < time < NEVER for time in cubes.call(NEVER, NEVER))
    assert cubes.call(1, 1) == [1, 1]


def test_after_a_stall_the_other_rows_run_on_one_thread(cubes: Cubes) -> None:
    assert cubes.call(-NEVER, NEVER) == [-NEVER, NEVER], "the second row was shared"
    assert cubes.call(NEVER, NEVER)[1] < NEVER, "the next call shares its rows again"


def test_with_a_threshold_of_zero_all_rows_are_shared() -> None:
    with mg.override(parallel_threshold=0):
        assert Cubes().call(-NEVER // 2, NEVER)[1] < NEVER


def test_the_error_of_a_row_without_memory(cubes: Cubes) -> None:
    (rows,) = [each for each in cubes.f.last.tape.steps if isinstance(each, Rows)]
    assert not rows.holds_gil and isinstance(rows.failure(-1, ()), MemoryError)
