"""How tensors print."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.diagnostics.shown import as_grid


def test_values_then_what_is_not_usual() -> None:
    assert repr(mg.tensor([3.0, 1.0, 4.0])) == "tensor([3., 1., 4.])"
    assert repr(mg.tensor([1, 2])) == "tensor([1, 2])"
    assert repr(mg.tensor(2.5)) == "tensor(2.5000)"
    assert repr(mg.tensor([1.5], dtype="bfloat16")) == "tensor([1.5000], dtype=bfloat16)"
    assert repr(mg.tensor([1.0], dtype="float64")) == "tensor([1.], dtype=float64)"
    assert repr(mg.tensor([True], device="reference")) == "tensor([True], device='reference')"
    assert repr(mg.zeros(0, 3)) == "tensor([], shape=(0, 3))"


def test_vars_and_results_say_so() -> None:
    x = mg.Var([3.0, 1.0], name="x", device="reference")
    assert repr(x).startswith("Var([3., 1.]") and "name='x'" in repr(x)
    assert repr(x * 2.0).endswith("op=mul)")


def test_rows_are_aligned_and_long_tensors_cut() -> None:
    assert repr(mg.tensor([[1.0, 2.0], [3.0, 4.0]])) == "tensor([[1., 2.],\n        [3., 4.]])"
    assert "..." in repr(mg.zeros(2000)) and len(repr(mg.zeros(2000))) < 200


def test_print_options() -> None:
    x = mg.tensor([0.1234567])
    with mg.printoptions(precision=2):
        assert repr(x) == "tensor([0.12])"
    assert repr(x) == "tensor([0.1235])"
    with pytest.raises(TypeError, match="unexpected keyword argument 'digits'"):
        mg.set_printoptions(digits=3)
    with mg.printoptions(edgeitems=1, threshold=2):
        assert repr(mg.tensor([1, 2, 3])) == "tensor([1,  ..., 3])"
        with mg.printoptions(3):
            assert repr(x) == "tensor([0.123])"
    assert repr(mg.tensor([1, 2, 3])) == "tensor([1, 2, 3])"


def test_what_is_nearly_whole_does_not_print_as_if_it_were() -> None:
    assert repr(mg.tensor(1.0000001)) == "tensor(1.0000)"
    assert repr(mg.tensor([0.99999, 2.0])) == "tensor([1.0000, 2.0000])"
    assert repr(mg.tensor([1.5, 2.0])) == "tensor([1.5000, 2.0000])"
    assert repr(mg.tensor([1e-8, 1.0])) == "tensor([1.0000e-08, 1.0000e+00])"
    with mg.printoptions(precision=8):
        assert repr(mg.tensor(1.0000001)) == "tensor(1.00000012)"


SHOWN = {
    "[1e5, 1]": ([1e5, 1.0], "[1.0000e+05, 1.0000e+00]"), "[nan, 1]": ([math.nan, 1.0], "[nan, 1.]"),
    "[0, -0, inf]": ([0.0, -0.0, math.inf], "[0., -0., inf]"), "[1e-3, 2]": ([0.5e-3, 0.25], "[0.0005, 0.2500]"),
    "[1e-5]": ([1e-5], "[1.0000e-05]"), "[99, 2.5]": ([99.0, 2.5], "[99.0000,  2.5000]"),
    "[1e9, 2e9]": ([1e9, 2e9], "[1.0000e+09, 2.0000e+09]"), "[]": ([], "[]"),
    "[[], []]": ([[], []], "[], shape=(2, 0)"),
    "ints": ([[1, -20], [300, 4]], "[[  1, -20],\n        [300,   4]]"),
    "cube": ([[[1.0]], [[2.0]]], "[[[1.]],\n\n        [[2.]]]"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_numbers_are_laid_out_as_pytorch_does(name: str) -> None:
    values, text = SHOWN[name]
    assert repr(mg.tensor(values)) == f"tensor({text})"


def test_profiles_and_exponents() -> None:
    x = mg.tensor([0.5, 20.0])
    with mg.printoptions(sci_mode=True, precision=1):
        assert repr(x) == "tensor([5.0e-01, 2.0e+01])"
    with mg.printoptions(sci_mode=False):
        assert repr(mg.tensor([1e-5, 1.0])) == "tensor([    0.0000,     1.0000])".replace("    ", "")
    with mg.printoptions(profile="short"):
        assert repr(x) == "tensor([ 0.50, 20.00])"
    with mg.printoptions(profile="full"):
        assert repr(mg.zeros(2000)).count("0.") == 2000
    with pytest.raises(mg.ArgumentError, match="profile must be 'default', 'short', 'full' or None, got 'long'"):
        mg.set_printoptions(profile="long")


def test_notes_that_do_not_fit_begin_a_line() -> None:
    with mg.printoptions(linewidth=30):
        assert repr(mg.zeros(3, dtype="float64")) == "tensor([0., 0., 0.],\n       dtype=float64)"
        assert repr(mg.arange(12)) == "tensor([ 0,  1,  2,  3,  4,\n         5,  6,  7,  8,  9,\n        10, 11])"


@pytest.mark.torch
def test_numbers_print_as_in_an_installed_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
    rng = np.random.default_rng(0)
    shapes = ((7,), (3, 4), (2, 2, 3), (1100,), (2, 30, 30))
    arrays = [rng.normal(size=shape) * 10.0**k for shape in shapes for k in (-5, 0, 3, 9)]
    arrays += [rng.integers(-1000, 1000, (6, 40)), rng.random((3, 9)) < 0.5, np.arange(1200.0)]
    for array in arrays:
        for dtype in ("float32", "float64", "float16") if array.dtype.kind == "f" else (str(array.dtype),):
            with np.errstate(over="ignore"):
                cast = array.astype(dtype)
            ours, theirs = repr(mg.tensor(cast)), repr(torch.tensor(cast))
            assert ours[: ours.rindex("]")] == theirs[: theirs.rindex("]")]


def test_gradients_print_with_their_names_and_values() -> None:
    x, w = mg.Var([3.0, 1.0], name="x"), mg.Var([[1.0, 2.0], [3.0, 4.0]])
    assert repr((x * x).sum().backward()) == "GradStore(x = tensor([6., 2.]))"
    assert repr((w @ x).sum().backward()) == (
        f"GradStore(\n    x = tensor([4., 6.]),\n    Var #{w.id} = tensor([[3., 1.],\n            [3., 1.]]),\n)"
    )


def test_in_a_notebook_numbers_are_text_and_many_of_them_an_image() -> None:
    assert mg.tensor([1.0, 2.0])._repr_html_() == "<pre>tensor([1., 2.])</pre>"
    html = mg.Var(mg.ones(5, 4), name="<w>")._repr_html_()
    assert '<img src="data:image/png;base64,' in html and "&lt;w&gt; float32(5, 4), 1 to 1" in html
    x = mg.Var([3.0], name="x")
    assert "<th>x</th><td> [6] <small>float32(1,)</small></td>" in (x * x).sum().backward()._repr_html_()
    seen = []
    mg.func.vmap(lambda row: seen.append(row._repr_html_()) or row)(mg.ones(2, 30))
    assert seen == ["<pre>Batched(float32, shape=(30,), in a transform)</pre>"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1.7e308, -1.7e308, float("inf"), float("nan"), 5e-324])
def test_an_image_of_extreme_numbers_is_drawn_in_silence(value: float) -> None:
    x = mg.full((100, 100), value, dtype="float64")
    assert "<img" in x._repr_html_()
    mixed = mg.where(mg.arange(10_000).reshape(100, 100) % 2 == 0, x, -x)
    assert "<img" in mixed._repr_html_()


def test_a_patch_of_large_numbers_is_not_shown_as_what_is_not_finite() -> None:
    grid = as_grid(np.full((100, 100), 1e308))
    assert np.allclose(grid, 1e308, rtol=1e-12)
