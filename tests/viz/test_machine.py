"""The view of an op at every level, down to its machine code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import minigrad as mg
from minigrad.errors import GradientError, MinigradError


def test_both_ways_from_the_scalar_function_to_the_assembly(tmp_path: Path) -> None:
    x = mg.Var(mg.linspace(-1.0, 1.0, 100), name="x")
    picture = mg.viz.kernel(x.tanh())
    text, html = str(picture), picture._repr_html_()
    for title in ("== forward", "== backward, to x", "def tanh(x):", "def tanh_vjp_x(g, y):"):
        assert title in text
    assert text.count("instructions of vector arithmetic, up to ") == 2
    assert html.count("<summary>LLVM</summary>") == 2 == html.count("<summary>assembly</summary>")
    assert "define" in html and "retq" in html and ".cfi_" not in html
    assert picture.save(tmp_path / "tanh.html").exists() and x.grad is None


def test_what_runs_no_kernel_says_so_and_several_operands_have_a_column_each() -> None:
    x = mg.Var(mg.ones(4, dtype="float64"), name="x")
    assert "== backward, to x\nno kernel: the gradient is passed on" in str(mg.viz.kernel(x.sum(), machine=False))
    assert "== forward\nno kernel: the gradient is passed on" in str(mg.viz.kernel(x[1:], machine=False))
    both = mg.viz.kernel(x * x, machine=False)
    assert "== backward, to input" in str(both) and "== backward, to other" in str(both) and "LLVM" not in both.html


def test_what_has_no_op_or_no_graph_is_refused() -> None:
    x = mg.Var([1.0])
    with pytest.raises(GradientError, match=r"^viz.kernel: float32\(1,\) must be the result of a recorded op"):
        mg.viz.kernel(x)
    y = (x * x).sum()
    z = x * x
    y.backward()
    z.backward()
    with pytest.raises(GradientError, match="the graph was freed"):
        mg.viz.kernel(z)


def test_without_the_compiler_it_says_what_cannot_be_shown() -> None:
    program = (
        "import minigrad as mg\nx = mg.Var([1.0, 2.0])\nprint(mg.viz.kernel(x.exp(), machine=False).text[:10])\n"
        "try:\n    mg.viz.kernel(x.exp())\nexcept mg.KernelError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True,
        env={"NUMBA_DISABLE_JIT": "1", "PATH": ""},
    )  # fmt: skip
    assert "== forward" in done.stdout and "cannot be compiled: NUMBA_DISABLE_JIT is set" in done.stdout


def test_of_another_device_it_shows_what_runs_there_and_no_machine_code() -> None:
    with mg.override(cuda="simulator"):
        x = mg.Var([1.0, 2.0], name="x", device="cuda")
        picture = mg.viz.kernel(x.exp())
    assert "== forward" in picture.text and "cuda.threadIdx" in picture.text and "LLVM" not in picture.html
    z = mg.Var([1.0, 2.0], name="z", device="reference")
    assert "LLVM" not in mg.viz.kernel(z.exp()).html


@pytest.mark.parametrize("name", ["step", "graph", "kernel", "memory"])
def test_errors_name_what_was_called(name: str) -> None:
    freed = (mg.Var([1.0]) * mg.Var([2.0])).exp()
    freed.backward()
    for given in (3, mg.ones(2), *([] if name == "graph" else [freed])):
        with pytest.raises(MinigradError, match=rf"^viz\.{name}: "):
            getattr(mg.viz, name)(given)
