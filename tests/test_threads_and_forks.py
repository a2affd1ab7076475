"""Parallel kernels under Python threads and forks, and the same bits whatever the number of threads.

A threading layer can abort or hang the whole process, so each program (`parallel_work.py`) runs in one of its own, with
a time limit.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parallel_work import in_threads

import minigrad as mg

PROGRAM = Path(__file__).with_name("parallel_work.py")
LIMIT = 240  # seconds, with an empty kernel cache on two slow cores; a hang would last forever
POOLS = {"omp": "numba.np.ufunc.omppool", "workqueue": "numba.np.ufunc.workqueue"}
layers = pytest.mark.parametrize("layer", list(POOLS))


def run(scenario: str, **environment: str) -> dict[str, Any]:
    """The report of a program.  Fails on a crash, and on a hang; what it has forked goes with it."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), scenario],
        env={**os.environ, "PYTHONPATH": str(PROGRAM.parent.parent), "NUMBA_NUM_THREADS": "2", **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        out, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, errors = process.communicate()
        pytest.fail(f"{scenario} hangs: {errors[-2000:]}")
    assert process.returncode == 0, f"{scenario} ended with {process.returncode}: {errors[-2000:]}"
    report: dict[str, Any] = json.loads(out)
    return report


def need(layer: str) -> None:
    """Skip, and say so, where Numba was built without that layer or its library is missing."""
    try:
        found = importlib.util.find_spec(POOLS[layer]) is not None
        if found:
            __import__(POOLS[layer])
    except ImportError:
        found = False
    if not found:
        pytest.skip(f"Numba has no threading layer {layer} on this machine")


def assert_same(found: dict[str, str], wanted: dict[str, str]) -> None:
    assert [name for name in wanted if found[name] != wanted[name]] == [], "results whose bits differ"


@layers
@pytest.mark.slow
def test_four_threads_run_parallel_kernels_at_once(layer: str) -> None:
    need(layer)
    report = run("threads", NUMBA_THREADING_LAYER=layer, MINIGRAD_PARALLEL_THRESHOLD="0")
    assert report["layer"] == layer and len(report["found"]) == 8
    for found in report["found"]:
        assert_same(found, report["alone"])


@layers
@pytest.mark.slow
def test_a_pool_forked_from_a_busy_parent_computes_the_same(layer: str) -> None:
    need(layer)
    report = run("forks", NUMBA_THREADING_LAYER=layer, MINIGRAD_PARALLEL_THRESHOLD="0")
    assert report["layer"] == layer and len(report["found"]) == 5
    for found in report["found"]:
        assert_same(found, report["alone"])


@pytest.mark.slow
def test_one_and_two_threads_and_every_threshold_give_the_same_bits() -> None:
    always = run("bits", MINIGRAD_PARALLEL_THRESHOLD="0")
    assert_same(always["2"], always["1"])
    assert_same(run("bits")["2"], always["1"])
    assert_same(run("bits", MINIGRAD_PARALLEL_THRESHOLD=str(10**12))["1"], always["1"])


@pytest.mark.parametrize("threshold", ["0", "65536"])
def test_four_threads_may_be_the_first_to_run_an_op(threshold: str) -> None:
    """What calls kernels is made once, however many ask for it at the same time."""
    for _ in range(2):
        assert run("first", MINIGRAD_PARALLEL_THRESHOLD=threshold)["found"] == [[2.0, 4.0, 6.0]] * 4


def test_ten_threads_add_one_tensor_to_itself() -> None:
    t = mg.tensor([1.0, 2.0, 3.0])
    for twice in in_threads(10, lambda k: [(t + t).tolist() for _ in range(50)]):
        assert twice == [[2.0, 4.0, 6.0]] * 50


def test_ten_threads_differentiate_their_own_functions_of_one_leaf() -> None:
    x = mg.Var(np.arange(4.0))
    for k, gradient in enumerate(in_threads(10, lambda k: mg.grad(x * x * float(k), x).tolist())):
        assert gradient == [2.0 * n * k for n in range(4)]


def test_no_grad_in_one_thread_is_no_grad_in_that_thread_only() -> None:
    x = mg.Var([1.0])

    def work(k: int) -> bool:
        if k % 2:
            return bool((x * 2.0).requires_grad)
        with mg.no_grad():
            return bool((x * 2.0).requires_grad)

    assert in_threads(6, work) == [False, True] * 3
