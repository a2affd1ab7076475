"""A helper process compiles the next kernels; nothing depends on it, and it ends with the process that started it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad.declare.forms import by_operands
from minigrad.kernels import calling, objects, store
from minigrad.kernels.store import Kernel
from minigrad.runtime import ahead
from minigrad.runtime.compositions import Composition

ROOT = Path(__file__).parent.parent.parent
RECORDED = """
import json, time
import minigrad as mg
from minigrad.config import settings
from minigrad.kernels import store
from minigrad.runtime import ahead
x = mg.Var([0.0, 0.0, 0.0])
y = x.tanh()
end = time.monotonic() + 60
while not list((settings.cache_dir / "kernels").glob("tanh_vjp*.o")) and time.monotonic() < end:
    time.sleep(0.05)
grads = y.backward()
print(json.dumps([ahead._helper.pid, [k.origin for k in store.loaded.values()], grads[x].tolist()]))
"""
COMPOSED = """
import json
import minigrad as mg
from minigrad.cli import ahead
from minigrad.kernels.store import collect
wanted = collect()
ahead.set_allocator("cpu", ahead.Zeros(fill="zero"))
x, labels = ((3, 1, 4), (4, 4, 1), 0, "float32", "cpu"), ((1, 2), (2, 1), 0, "int64", "cpu")
named = {"input_lengths": (3,), "target_lengths": (2,), "blank": 0, "reduction": "none", "zero_infinity": False}
where = mg.schema["ctc_loss"].where
ahead.process(("ctc_loss", where, [x, labels], (True, False), named), wanted)
print(json.dumps([name for name, *_ in wanted]))
"""
FORKED = """
import os
import minigrad as mg
from minigrad.runtime import ahead
y = mg.Var([3.0]) * mg.Var([2.0])
assert ahead._helper is not None
child = os.fork()
if not child:
    os._exit(0 if ahead._helper is None and (mg.Var([3.0]) * mg.Var([2.0])).item() == 6.0 else 1)
assert os.waitpid(child, 0)[1] == 0
assert ahead._helper.poll() is None
"""

helped = pytest.mark.skipif(not ahead.useful(), reason="a helper wants a core of its own, a compiler and a cache")


def run(code: str, folder: Path, told: str = "1") -> str:
    """What a fresh process prints that begins with an empty cache."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MINIGRAD_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, "MINIGRAD_COMPILE_AHEAD": told}, capture_output=True,
        text=True, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@helped
def test_the_way_back_of_a_recorded_op_is_compiled_before_it_is_asked_for(tmp_path: Path) -> None:
    pid, origins, gradient = json.loads(run(RECORDED, tmp_path))
    assert gradient == [1.0, 1.0, 1.0]
    assert (origins[0], origins[-1]) == ("compiled", "cache")  # tanh here, its derivative by the helper
    end = time.monotonic() + 20
    while runs(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not runs(pid)


def test_the_kernels_of_a_composed_op_follow_those_of_its_gradient_and_are_taken_from_the_end(tmp_path: Path) -> None:
    names = json.loads(run(COMPOSED, tmp_path, told="0"))
    assert names[-1].startswith("ctc_cost_f32") and "vjp" in "".join(names[:3])


def test_a_composed_call_is_sent_once_and_before_its_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    x = mg.zeros(2, 3, 5, device="reference")
    monkeypatch.setattr(ahead, "_helper", object())
    monkeypatch.setattr(ahead, "send_call", lambda helper, message: sent.append(message[0]))
    for _ in range(2):
        mg.nn.functional.normalize(x, dim=1)
    assert sent[0] == "normalize" and sent.count("normalize") == 1 and len(sent) > 1


def test_a_message_for_a_call_has_its_optional_operands_and_keeps_no_tensor_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "_helper", None)
    y, x = (mg.rand(shape, device="reference") for shape in ((2, 13), (13,)))
    area, freed = mg.trapezoid(y, x), weakref.ref(x)
    name, where, specs, tracked, params = next(each for each in ahead._composed if each[0] == "trapezoid")
    op = mg.schema[name]
    assert where == op.where and [spec[0].shape for spec in specs] == [(2, 13), (13,)] and tracked == (False, False)
    assert op.public is not None
    assert (by_operands(op, op.public)(y, x, **params) == area).all()
    del x
    assert freed() is None


def runs(pid: int) -> bool:
    """Whether there is such a process, which has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


INSIDE = """
import json, os
import minigrad as mg
from minigrad.kernels import store
from minigrad.runtime import ahead
sent = []
ahead.send_call = lambda helper, message: sent.append(message[0])
mg.linalg.pinv(mg.tensor([[1.0, 2.0], [3.0, 5.0]]))
print(json.dumps(sent))
"""


@helped
def test_the_composed_call_in_which_the_first_compilation_begins_is_sent(tmp_path: Path) -> None:
    sent = json.loads(run(INSIDE, tmp_path))
    assert sent[:2] == ["pinv", "svd"]


@helped
def test_a_forked_child_leaves_the_helper_to_its_parent(tmp_path: Path) -> None:
    run(FORKED, tmp_path)


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    run("from minigrad.runtime import ahead; ahead.start(); assert ahead._helper is None", tmp_path, told="0")


def test_a_helper_that_has_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    x = mg.zeros(2)
    process = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, bufsize=0)
    process.wait()
    monkeypatch.setattr(ahead, "_helper", process)
    ahead.begin(mg.exp.op, (x,), {})  # type: ignore[attr-defined]
    assert ahead._helper is None
    ahead.begin(mg.exp.op, (x,), {})  # type: ignore[attr-defined]
    assert ahead._planned.pop()[0] == "exp"


def test_what_cannot_be_sent_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    x = mg.zeros(2)
    monkeypatch.setattr(ahead, "_helper", object())
    monkeypatch.setattr(ahead, "send", lambda helper, message: sent.append(message))
    ahead.begin(mg.exp.op, (x,), {"f": lambda: 0})  # type: ignore[attr-defined]
    assert sent == []
    ahead.begin(mg.exp.op, (x,), {})  # type: ignore[attr-defined]
    assert len(sent) == 1


def test_a_helper_does_not_prevent_that_calls_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    x, found = mg.ones(3, 17), Composition()
    sent: list[Any] = []
    monkeypatch.setattr(ahead, "_helper", object())
    monkeypatch.setattr(ahead, "send", lambda helper, message: sent.append(message))
    for _ in range(2):
        found.learn(lambda x: mg.sub(x, x), (x,), {})
    assert found.function is not None and len(sent) == 1


def test_a_kernel_that_somebody_is_compiling_is_left_to_them(tmp_path: Path) -> None:
    text = "raise AssertionError('it was run')\n"
    with mg.override(cache_dir=tmp_path):
        file = store.file_of("busy", text)
        path = store.cache_folder() / file
        store.publish(path, text)
        with path.open() as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            store.keep("busy", file, text, threading.Lock())
        assert not objects.path_for(path).exists()
        with pytest.raises(mg.KernelError, match="it was run"):
            store.keep("busy", file, text, threading.Lock())


def test_a_process_that_compiles_for_others_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: list[Any] = []
    monkeypatch.setattr(store, "_wanted", wanted)
    monkeypatch.setattr(store, "loaded", {})
    kernel = store.load("never", "raise AssertionError\n")
    assert isinstance(kernel, Kernel) and kernel.origin == "ahead"
    assert [name for name, _, _ in wanted] == ["never"]
    assert calling.function(kernel, "alone")(1, 2, 3) is False
