"""`python -m tests.benchmarks --device cuda`: every row runs and is right, at tiny sizes; what is told of a row."""

import json
from dataclasses import replace

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.config import settings
from tests.benchmarks import device, libraries
from tests.benchmarks.__main__ import main
from tests.benchmarks.cases.device import LARGE, TINY, rows
from tests.benchmarks.libraries import Minigrad, OnCuda
from tests.benchmarks.timing import Times

CASES = rows(TINY)
BY_TITLE = {case.title: case for case in CASES}
ADD, LAUNCH = BY_TITLE["contiguous/add f32"], BY_TITLE["launch/x + y of 16"]


@over("title", BY_TITLE)
def test_every_row_runs_and_is_right(title):
    """As the reference computes it, which compiles nothing; the command asks the CPU."""
    try:
        device.run(BY_TITLE[title], [OnCuda()], Minigrad("reference"), None)
    except device.NotHere as reason:
        assert BY_TITLE[title].cublas and "cuBLAS is not installed" in str(reason)


def test_titles_are_different_and_the_large_rows_are_the_same():
    assert len(BY_TITLE) == len(CASES)
    large = rows(LARGE)
    assert [case.goal for case in large if case.group != "matmul"] == [c.goal for c in CASES if c.group != "matmul"]
    assert large[0].nbytes == 2 * 256 << 20 and {case.group for case in large} == {case.group for case in CASES}


def test_a_row_that_is_wrong_is_refused():
    wrong = replace(ADD, fn=lambda m, a, b: a + b + (0.001 if str(a.device) == "cuda:0" else 0))
    with pytest.raises(AssertionError, match="the CPU and minigrad differ"):
        device.run(wrong, [OnCuda()], Minigrad("reference"), None)


@pytest.mark.parametrize("title", [ADD.title, LAUNCH.title])
def test_a_row_is_timed_by_events_or_by_the_host(title):
    result = device.run(BY_TITLE[title], [OnCuda()], Minigrad("reference"), 0.01, 1e9)
    assert result.times["minigrad"].median > 0 and result.copy == 1e9


def test_the_peak_of_memory_is_that_of_one_run():
    x, before = mg.ones(1000, device="cuda"), mg.cuda.memory_allocated()
    del x
    result = device.run(replace(ADD, peak=True), [OnCuda()], Minigrad("reference"), 0.01)
    assert 3 * 4 * TINY.flat <= result.peaks["minigrad"] < before


def told(case, copy=1e9, peaks=None, **seconds):
    return device.DeviceResult(case, {name: Times(t, 0.02) for name, t in seconds.items()}, copy, peaks or {})


def test_a_row_of_memory_is_a_share_of_the_copy():
    one = ADD.nbytes / 1e9
    result = told(ADD, minigrad=one / 0.9, torch=one / 0.8, cupy=one / 0.5)
    assert result.share == pytest.approx(0.9) and not result.missed
    assert device.line(result).endswith("90%    85%      2%  1 GB/s, torch 80%, cupy 50%")
    slow = told(ADD, minigrad=one / 0.6)
    assert slow.missed == "60%, goal 85%" and "85%!" in device.line(slow)


def test_a_product_is_a_share_of_what_pytorch_reaches():
    case = BY_TITLE["matmul/9 f32, own kernels"]
    result = told(case, minigrad=case.flops / 3e13, torch=case.flops / 4e13)
    assert result.share == pytest.approx(0.75) and not result.missed
    assert device.line(result).endswith("minigrad 30.0 TFLOP/s, torch 40.0 TFLOP/s")
    assert told(case, minigrad=1.0).share is None and not told(case, minigrad=1.0).missed


def test_a_launch_has_so_many_seconds_and_a_step_no_more_memory_than_another():
    assert told(LAUNCH, minigrad=9e-6).missed == "9 us, goal 8 us" and not told(LAUNCH, minigrad=7e-6).missed
    step = BY_TITLE["training/step of 6-5-4, batch 3"]
    result = told(step, minigrad=1.0, torch=2.0, peaks={"minigrad": 3 << 20, "torch": 2 << 20})
    assert result.share == 2 and result.missed == "a peak of 3145728 bytes, torch 2097152"
    assert device.line(result).endswith("minigrad at most 3.0 MB, torch at most 2.0 MB")
    assert device.summary([result], 1, 0) == (
        f"1 rows right, 1 left out, 0 failed\nshort of their goals:\n  {step.title}: {result.missed}"
    )


def test_the_command_says_what_it_compares_and_writes_numbers(simulator, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(device, "Minigrad", lambda: Minigrad("reference"))
    given = ["--device", "cuda", "--only", "casts", "--only", "cuBLAS", "--json", str(tmp_path / "found.json")]
    assert main(given) == 0
    printed = capsys.readouterr().out
    for sentence in (
        "torch is not compared: it has no simulator", "cupy is not compared: it has no simulator",
        "times would say nothing and are left out", "left out: cuBLAS is not installed", "4 rows right, 3 left out",
    ):  # fmt: skip
        assert sentence in printed
    assert [row["row"] for row in json.loads((tmp_path / "found.json").read_text())["rows"]] == [
        title for title in BY_TITLE if title.startswith("casts")
    ]


def test_the_command_fails_where_a_row_does(simulator, capsys, monkeypatch):
    monkeypatch.setattr(device, "Minigrad", lambda: Minigrad("reference"))
    monkeypatch.setattr(OnCuda, "array", lambda lib, x: np.zeros(3))
    assert main(["--device", "cuda", "--only", "f16 to f32"]) == 1
    assert "failed: AssertionError: minigrad has shape (3,)" in capsys.readouterr().out


def test_without_a_device_the_command_says_what_is_missing(simulator, capsys, monkeypatch):
    monkeypatch.setattr(mg.cuda, "is_available", lambda: False)
    monkeypatch.setattr(device, "fault", lambda: "no NVIDIA driver was found")
    assert main(["--device", "cuda"]) == 2
    (sentence,) = capsys.readouterr().out.splitlines()
    assert sentence.startswith("no row is measured on --device cuda: no NVIDIA driver was found; MINIGRAD_CUDA=")


def test_what_is_not_installed_is_said(monkeypatch):
    monkeypatch.setattr(settings, "cuda", "real")
    monkeypatch.setattr(libraries.importlib.util, "find_spec", lambda name: None)
    found, absent = libraries.installed_on_cuda()
    assert [lib.name for lib in found] == ["minigrad"]
    assert absent == [f"{name} is not compared: it is not installed" for name in ("torch", "cupy")]
