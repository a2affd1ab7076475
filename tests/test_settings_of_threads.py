"""Blocks that change a setting belong to a thread or task, or to the process, and may end in any order."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import minigrad as mg
from minigrad.autodiff.anomaly import is_anomaly_enabled
from minigrad.errors import GradientError
from minigrad.runtime.noting import scopes

# How to open a block, and what to read of it.
BLOCKS: dict[str, tuple[Any, Any]] = {
    "debug": (mg.debug, lambda: mg.settings.debug),
    "no_grad": (mg.no_grad, mg.is_grad_enabled),
    "inference_mode": (mg.inference_mode, mg.is_inference_mode_enabled),
    "saved_tensors_hooks": (
        lambda: mg.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x), lambda: packed(),
    ),
    "scope": (lambda: mg.viz.scope("a"), lambda: scopes.names),
    "printoptions": (lambda: mg.printoptions(precision=2), lambda: repr(mg.tensor([0.123456], device="reference"))),
}  # fmt: skip
PROCESS: dict[str, tuple[Any, Any]] = {
    "parallel_threshold": (lambda: mg.override(parallel_threshold=3), lambda: mg.settings.parallel_threshold),
    "deterministic": (lambda: mg.cuda.deterministic(False), lambda: mg.settings.deterministic),
    "detect_anomaly": (mg.detect_anomaly, is_anomaly_enabled),
}


def packed() -> bool:
    y = mg.Var([1.0], device="reference").exp()
    return type(y.op).__name__ == "HeldNode"


def generator(block: Any) -> Iterator[None]:
    with block():
        yield
    yield


@pytest.mark.parametrize("name", [*BLOCKS, *PROCESS])
def test_blocks_that_end_in_the_order_in_which_they_began_leave_nothing(name: str) -> None:
    block, read = (BLOCKS | PROCESS)[name]
    before = read()
    first, second = generator(block), generator(block)
    next(first), next(second)
    inside = read()
    next(first)
    assert before != inside == read() or name == "scope"
    next(second)
    assert read() == before


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_is_not_seen_by_another_thread_and_two_may_end_in_any_order(name: str) -> None:
    block, read = BLOCKS[name]
    before, seen = read(), []
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        with block():
            begun.set()
            ended.wait(10)
        seen.append(read())

    thread = threading.Thread(target=work)
    with block():
        thread.start()
        begun.wait(10)
    seen.append(read())
    with mg.no_grad():
        seen.append(before)
    ended.set()
    thread.join()
    assert seen == [before] * 3 and read() == before


@pytest.mark.parametrize("name", PROCESS)
def test_blocks_of_the_process_may_end_in_any_order_in_threads(name: str) -> None:
    block, read = PROCESS[name]
    before = read()
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        with block():
            begun.set()
            ended.wait(10)

    thread = threading.Thread(target=work)
    with block():
        thread.start()
        begun.wait(10)
    assert read() != before  # the thread's block has not ended
    ended.set()
    thread.join()
    assert read() == before


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_is_not_seen_by_another_task(name: str) -> None:
    block, read = BLOCKS[name]
    before = read()

    async def inside(started: asyncio.Event, end: asyncio.Event) -> Any:
        with block():
            started.set()
            await end.wait()
            return read()

    async def main() -> tuple[Any, Any]:
        started, end = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(inside(started, end))
        await started.wait()
        outside = read()
        end.set()
        return outside, await task

    outside, within = asyncio.run(main())
    assert outside == before == read() and within != before


def test_a_block_of_no_grad_that_ends_in_another_thread_says_so() -> None:
    block = mg.no_grad()
    wrong: list[str] = []

    def work() -> None:
        with pytest.raises(GradientError, match="no_grad: the block must end in the thread or task") as error:
            block.__exit__(None, None, None)
        wrong.append(str(error.value))

    block.__enter__()
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        block.__exit__(None, None, None)
    assert wrong and mg.is_grad_enabled()


def test_debug_of_one_thread_is_not_written_down_for_another() -> None:
    lines: list[Any] = []
    with mg.debug():
        thread = threading.Thread(target=lambda: lines.append((mg.Var([1.0], device="reference") * 2.0).op.source))
        thread.start()
        thread.join()
        lines.append((mg.Var([1.0], device="reference") * 2.0).op.source)
    assert lines[0] is None and "test_settings_of_threads.py" in lines[1]


def test_an_assignment_holds_until_the_block_ends() -> None:
    before = mg.settings.parallel_threshold
    with mg.override(parallel_threshold=3, debug=True):
        mg.settings.parallel_threshold = 5
        mg.settings.debug = False
        assert mg.settings.parallel_threshold == 5 and not mg.settings.debug
    assert mg.settings.parallel_threshold == before and not mg.settings.debug and not mg.settings.noting


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PARALLEL_THRESHOLD", "abc", "an int of at least 0"),
        ("PARALLEL_THRESHOLD", "-1", "an int of at least 0"),
        ("PLAN_LIMIT", "0", "an int of at least 1"),
        ("DEBUG", "perhaps", "0 or 1"),
        ("COMPILE_AHEAD", "2", "0 or 1"),
        ("CUBLAS", "x", "0 or 1"),
        ("DETERMINISTIC", "x", "0 or 1"),
        ("SHORT_ERRORS", "x", "0 or 1"),
        ("CUDA", "gpu", "auto, real or simulator"),
    ],
)
def test_an_environment_variable_that_cannot_be_read_is_named(name: str, value: str, expected: str) -> None:
    program = "import minigrad.config"
    environment = {**os.environ, f"MINIGRAD_{name}": value}
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    last = found.stderr.strip().splitlines()[-1]
    assert last.startswith(f"minigrad.errors.ArgumentError: MINIGRAD_{name}: expected {expected}, got '{value}'")


@pytest.mark.parametrize("name", ["no_grad", "inference_mode"])
def test_threads_may_share_the_object_that_opens_a_block(name: str) -> None:
    shared = BLOCKS[name][0]()
    begun, ended = threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        with shared:
            begun.set()
            ended.wait(10)
        seen.append(mg.is_grad_enabled())

    thread = threading.Thread(target=work)
    with shared:
        thread.start()
        begun.wait(10)
    seen.append(mg.is_grad_enabled())
    ended.set()
    thread.join()
    assert seen == [True, True]
