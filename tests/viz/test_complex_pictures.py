"""Pictures of complex tensors and reports about them: no imaginary part is lost, gradients of Vars are in `.grad`."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg
from minigrad.diagnostics.formula import Term, number
from minigrad.errors import ArgumentError
from minigrad.viz.cells import mark
from minigrad.viz.heat import look
from minigrad.viz.mathematics import plain

pytestmark = pytest.mark.usefixtures("reference")


def variable() -> mg.Var:
    return mg.Var(mg.tensor([1 + 2j, 0.5 - 1j, -0.25 + 0.5j]), name="z")


def test_the_steps_end_with_the_gradients_that_a_user_receives() -> None:
    z, again = variable(), variable()
    steps = mg.viz.step((z * z).abs().sum())
    (again * again).abs().sum().backward()
    assert again.grad.tolist() == [2 * x / abs(x) * abs(x) for x in again.tolist()]  # of |z|**2
    assert "gradient of z: [2+4j, 1-2j, -0.5+1j]" in str(steps)
    assert "input (z) receives \u0233 \u00b7 other = [1-2j, 0.5+1j, -0.25-0.5j]" in str(steps)  # the factor u
    assert "u of dL = Re(u\u00b7dx)" in str(steps) and "u of dL = Re(u\u00b7dx)" in steps.html()
    assert "u of dL" not in str(mg.viz.step((mg.Var([1.0]) * 2).sum()))


def test_a_complex_number_in_a_formula_is_one_factor() -> None:
    assert plain(Term("mul", (Term("x"), Term(number(2 - 1j))))) == "x \u00b7 (2-1j)"
    assert plain(Term("mul", (Term("x"), Term(number(-1j))))) == "-1j \u00b7 x"
    steps = str(mg.viz.step(variable().abs().sum()))
    assert "conj((0 if x = 0 else x / abs((1 if x = 0 else x))))" in steps
    assert "-1j \u00b7 \u0233 / " in str(mg.viz.step(variable().angle().sum()))


def test_a_graph_shows_both_parts() -> None:
    z = variable()
    y = (z * z).abs().sum()
    assert "[-3+4j, -0.75-1j, -0.1875-0.25j]" in str(mg.viz.graph(y))
    y.backward()
    assert "grad [2+4j, 1-2j, -0.5+1j]" in mg.viz.graph(y).svg()


def test_a_view_of_the_parts_is_not_read_as_complex_numbers() -> None:
    z = variable()
    text = str(mg.viz.graph((z.real * z.imag.exp()).sum()))
    assert "as_real  float32(3, 2)\n" in text  # its memory was read beyond its end


def test_a_heat_map_shows_magnitudes_and_angles() -> None:
    x = mg.tensor([[3 + 4j, -1j], [0j, complex("nan")]])
    picture = mg.viz.tensor(x)
    s = picture.statistics
    assert (s.low, s.high, s.zeros, s.nans) == (0.0, 5.0, 0.25, 1)
    assert "magnitudes 0 to 5" in str(picture) and "3+4j" in str(picture)
    turned = mg.viz.tensor(x * 1j)
    assert turned.statistics.high == 5.0 and turned.svg != picture.svg
    many = mg.viz.tensor(mg.tensor(np.exp(1j * np.arange(400.0)).reshape(20, 20)))
    assert "magnitudes 1 to 1" in str(many) and "1 to 9 are magnitudes, . is 0; 9 is 1; n nan, + inf" in str(many)


def test_an_infinity_with_a_nan_is_drawn_and_counted_as_infinite() -> None:
    odd = complex(-np.inf, np.nan)
    picture = mg.viz.tensor(mg.tensor([odd, 1j]))
    assert (picture.statistics.nans, picture.statistics.infinities) == (0, 1)
    infinite, undefined = (look(value, picture.statistics)[0] for value in (odd, complex("nan")))
    assert infinite != undefined and mark(odd) == "+" and mark(complex("nan")) == "n"


def test_the_image_of_a_complex_tensor_has_the_hue_of_the_angle() -> None:
    z = np.exp(1j * np.linspace(0, 6, 64))
    pages = [mg.tensor(factor * z)._repr_html_() for factor in (1, 2, 1j)]
    images = [page.partition('src="')[2].partition('"')[0] for page in pages]
    assert images[0] == images[1] != images[2] and "magnitudes 1 to 1" in pages[0]


def test_a_gradient_is_explained() -> None:
    z = variable()
    assert z.explain_grad((z * z).abs().sum()).kind == "flows"
    w = mg.Var(mg.tensor([0j, 1j]))
    explanation = w.explain_grad((w.log() * 0).abs().sum())
    assert explanation.kind == "nan" and "x = nan+nanj" in str(explanation)
    with mg.debug():
        w = mg.Var(mg.tensor(2 + 1j))
        assert "3+4j" in str(mg.viz.graph((w * w).abs()))


def test_digits_of_complex_values_are_compared_with_complex128() -> None:
    def rotated(x: mg.Tensor) -> mg.Tensor:
        return mg.complex(x, x / 4).square().imag.sum()

    report = mg.viz.precision(rotated, mg.tensor([1.0, 2.0], dtype="float64"), dtypes=["float32"])
    assert "[0.9375+0.5j, 3.75+2j]" in str(report)
    with pytest.raises(ArgumentError, match=r"got complex64\(3,\)"):
        mg.viz.precision(mg.abs, mg.tensor([1j, 2j, 3j]))


def test_a_curve_needs_real_values() -> None:
    with pytest.raises(ArgumentError, match="one real value per point, got complex"):
        mg.viz.curves(lambda x: x * 1j, orders=0)
    with pytest.raises(ArgumentError, match="a sequence of numbers"):
        mg.viz.curves(np.array([1j, 2j]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_imaginary_parts_are_compared(dtype: str) -> None:
    x = mg.tensor([1 + 2j, 3j], dtype=dtype)
    mg.testing.assert_close(x, x * (1 + 1e-8))
    mg.testing.assert_close(1 + 2j, 1 + 2j)
    with pytest.raises(AssertionError, match="Mismatched elements: 2 / 2"):
        mg.testing.assert_close(x, x.conj())
    with pytest.raises(AssertionError, match="Scalars are not close"):
        mg.testing.assert_close(1 + 2j, 1 + 3j)
