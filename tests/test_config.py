"""A setting holds from the moment it is set, also for calls that were made before."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backends.reference import ReferenceBackend
from minigrad.backends.registry import backend_of
from minigrad.config import DECLARED
from minigrad.core.device import as_device
from minigrad.declare.record import schema
from minigrad.environment import report_unknown
from minigrad.kernels.store import watch


def test_the_default_float_holds_for_a_call_that_was_planned() -> None:
    n = mg.tensor([1, 2], device="reference")
    assert (n / 2).dtype is mg.float32
    mg.set_default_float("float64")
    try:
        assert (n / 2).dtype is mg.float64
    finally:
        mg.set_default_float("float32")
    assert (n / 2).dtype is mg.float32


def test_the_parallel_threshold_holds_for_a_call_that_was_planned() -> None:
    x = mg.tensor(np.ones(10, np.float32))
    _ = x + x
    with mg.override(parallel_threshold=0), watch() as inside:
        _ = x + x
    with watch() as outside:
        _ = x + x
    assert len(inside) == len(outside) == 1 and inside == outside, "one machine code serves both"
    backend = backend_of(as_device("cpu"))
    kinds = {(kind, backend.compiled[key].path) for key, kind in backend.kernels}
    assert {("shared", inside[0]), ("brief", inside[0])} <= kinds


def test_a_debug_block_leaves_plans_as_they_are() -> None:
    x = mg.tensor([1.0, 2.0])
    _ = x + x
    plans = dict(schema["add"].plans)
    with mg.debug():
        y = x + x
    _ = x + x
    assert y.tolist() == [2.0, 4.0]
    assert plans and all(schema["add"].plans.get(key) is plan for key, plan in plans.items())


def test_a_backend_that_is_registered_again_runs_the_next_call() -> None:
    calls = []

    class Counting(ReferenceBackend):
        def prepare(self, request, outs, *operands):  # type: ignore[no-untyped-def]
            calls.append(request.scalar.name)
            return super().prepare(request, outs, *operands)

    x = mg.tensor([1.0], device="reference")
    _ = x * x
    mg.register_backend("reference", Counting)
    try:
        _ = x * x
    finally:
        mg.register_backend("reference", ReferenceBackend)
    assert calls == ["mul"]


WRONG: dict[str, tuple[list[Any], str]] = {
    "winograd": (["abc", "1", None, 2, 0.5], "True or False"),
    "debug": (["yes", [True]], "True or False"),
    "parallel_threshold": ([-1, 2.5, "65536", True], "an int of at least 0"),
    "plan_limit": ([0, None], "an int of at least 1"),
    "cuda": (["gpu", "", 0], "auto, real or simulator"),
    "cache_dir": ([None, 3], "a path"),
    "site_cache_dir": ([3], "a path"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_setting_refuses_another_value_with_a_sentence_and_stays(name: str) -> None:
    values, expected = WRONG[name]
    before = getattr(mg.settings, name)
    for value in values:
        sentence = (
            rf"settings\.{name}: expected {expected}, got {re.escape(repr(value))}; the default is mg\.settings\."
        )
        with pytest.raises(mg.ArgumentError, match=sentence):
            setattr(mg.settings, name, value)
        with pytest.raises(mg.ArgumentError, match=sentence), mg.override(short_errors=False, **{name: value}):
            pass
        assert getattr(mg.settings, name) is before and mg.settings.short_errors is True


def test_a_setting_has_its_own_type_whatever_stands_for_the_value(tmp_path: Path) -> None:
    with mg.override(winograd=np.False_, deterministic=0, plan_limit=np.int64(7), cache_dir=str(tmp_path)):
        assert mg.settings.winograd is False is mg.settings.deterministic
        assert mg.settings.plan_limit == 7 and type(mg.settings.plan_limit) is int
        assert mg.settings.cache_dir == tmp_path


def test_the_settings_show_each_name_value_and_meaning() -> None:
    with mg.override(winograd=False, cuda="simulator"):
        shown = repr(mg.settings)
    assert re.search(r"^winograd = False\n    a CPU convolves 32-bit and 16-bit floats", shown, re.MULTILINE)
    assert "cuda = 'simulator'\n" in shown and f"cache_dir = {str(mg.settings.cache_dir)!r}\n" in shown
    assert re.findall(r"^(\w+) = ", shown, re.MULTILINE) == sorted(DECLARED)


def test_a_misspelt_setting_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(AttributeError, match=r"settings: expected one of cache_dir, .*winograd.*, got 'wingorad'"):
        mg.settings.wingorad = False  # type: ignore[attr-defined]


def test_an_unknown_variable_is_reported_with_the_nearest_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIGRAD_CACHEDIR", "/scratch")
    with pytest.warns(UserWarning) as told:
        report_unknown(DECLARED)
    assert [str(warning.message) for warning in told] == [
        "minigrad: expected the environment variables MINIGRAD_<NAME> of settings, got MINIGRAD_CACHEDIR, which has no "
        "effect; did you mean MINIGRAD_CACHE_DIR? print(mg.settings) lists the names"
    ]


def test_known_variables_are_not_reported(monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder) -> None:
    for name in (*DECLARED, "ranks"):
        monkeypatch.setenv(f"MINIGRAD_{name.upper()}", "1")
    report_unknown(DECLARED)
    assert not recwarn.list


def test_a_misspelt_variable_is_reported_once_at_the_line_of_the_import(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import minigrad\nimport minigrad.func\n")
    environment = {**os.environ, "MINIGRAD_WINGORAD": "0", "PYTHONPATH": str(Path(mg.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr.count("did you mean MINIGRAD_WINOGRAD?") == 1 and "program.py:1: UserWarning" in done.stderr


def test_an_unknown_setting_is_refused_and_the_others_stay() -> None:
    before = mg.settings.parallel_threshold
    with pytest.raises(AttributeError), mg.override(parallel_threshold=1, colour="red"):
        pass
    assert mg.settings.parallel_threshold == before
