"""The module that drives a real device, on a driver that runs nothing: `stub.c`, compiled here.

What kernels compute is held by the simulator and by `make test-gpu`; here it is what is asked of a driver, and that
the packages that ask it can be used in this way.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minigrad.backends.cuda import presence

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc")

if presence.missing_packages():
    pytest.skip(f"{presence.missing_packages()} are not installed", allow_module_level=True)
if COMPILER is None or not sys.platform.startswith("linux") or importlib.util.find_spec("cuda.bindings") is None:
    pytest.skip("there is no C compiler to make a stand-in for the driver with", allow_module_level=True)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What `on_stub.py` prints."""
    folder = tmp_path_factory.mktemp("driver")
    made = [COMPILER, "-shared", "-fPIC", "-w", "-o", str(folder / "libcuda.so.1"), str(HERE / "stub.c")]
    subprocess.run(made, check=True)
    done = subprocess.run(
        [sys.executable, str(HERE / "on_stub.py")], capture_output=True, text=True, timeout=120,
        env={**os.environ, "LD_LIBRARY_PATH": str(folder), "MINIGRAD_CUDA": "real",
             "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_the_device_is_there(report):
    assert report["there"] == [True, 1, "stub"]


def test_copies_take_what_is_seen(report):
    assert report["there and back"] is True
    assert report["an item"] == [707.0, 1]


def test_a_copy_from_pinned_memory_waits_only_where_it_is_told_to(report):
    assert report["pinned"] == [True, 0, 1, list(range(8))]
    assert report["pinned, waited for"] == 1
    assert report["kept"] == [0, True]


def test_streams_and_events_reach_the_driver(report):
    assert report["order"] == [True, True, 2, True, True, True]


def test_memory_is_shared_in_the_order_of_streams(report):
    assert report["interop"] == [[2.0, 3.0, 4.0], 4, 1, 1, True, [2, 0]]


def test_a_graph_is_made_once_and_its_nodes_follow_the_memory_of_a_call(report):
    eager, recorded, again, moved = report["graphs"]
    assert eager[:2] == [0, 0] and eager[3] == 2
    assert recorded == [2, 1, 0, 0, [True, True]], "two nodes, launched together"
    assert again == [2, 2, 2, 0, [True, True]], "both use the result, which is new memory"
    assert moved == [2, 3, 2, 0, [True, True]], "the argument is another one"


def test_memory_is_counted_and_its_end_is_told(report):
    assert report["counted"] == [1 << 20, 1 << 20, 140 << 30, 0]
    assert report["no memory"].startswith(f"cuda:0 has no memory for 1,048,576 bytes: {report['held']} are in use here")
    assert report["trimmed"] == 1


def test_a_forked_process_is_refused_and_its_parent_goes_on(report):
    assert report["fork"] == presence.FORKED
    assert report["after it"] == 5.0
