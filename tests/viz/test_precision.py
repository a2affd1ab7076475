"""viz.precision: the error of an op is separated from the error of its inputs, and pictures show the same numbers."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import minigrad as mg
from minigrad.api.page import DARK
from minigrad.errors import ArgumentError, DTypeError, GradientError
from minigrad.viz import svg

NUMPY = {mg.float32: np.float32, mg.float16: np.float16, mg.bfloat16: ml_dtypes.bfloat16}

# The device does not matter for these tests, and this one compiles nothing.
pytestmark = pytest.mark.usefixtures("reference")


def difference(x: Any) -> Any:
    return (x + 1.0).sqrt() - x.sqrt()


def by_name(found: Any, name: str) -> Any:
    return next(vertex for vertex in found.vertices if vertex.name == name)


@pytest.mark.parametrize("dtype", NUMPY)
def test_errors_are_those_of_numpy(dtype: Any) -> None:
    found = mg.viz.precision(difference, 1000.3, dtypes=[dtype])
    kind = NUMPY[dtype]
    eps = float(ml_dtypes.finfo(kind).eps)
    x = kind(1000.3)
    steps = [x, kind(x + kind(1)), kind(np.sqrt(kind(x + kind(1)))), kind(np.sqrt(x))]
    steps.append(kind(steps[2] - steps[3]))
    right = [1000.3, 1001.3, math.sqrt(1001.3), math.sqrt(1000.3), math.sqrt(1001.3) - math.sqrt(1000.3)]
    vertices = [vertex for vertex in found.vertices if vertex.kind != "constant"]
    for vertex, got, wanted in zip(vertices, steps, right, strict=True):
        error = vertex.errors[dtype].total
        assert error.got == float(got) and error.right == wanted == vertex.right
        assert error.size == pytest.approx(abs(float(got) - wanted) / wanted / eps)


def test_a_difference_is_exact_and_shows_what_came_in() -> None:
    found = mg.viz.precision(difference, 1000.0)
    for dtype in found.dtypes:
        errors = by_name(found, "sub").errors[dtype]
        came = [found.vertices[p].errors[dtype].total.size for p in by_name(found, "sub").parents]
        assert errors.own.size == 0 and max(came) <= 0.5 and errors.total.size > 10
        assert all(found.vertices[p].errors[dtype].own.size <= 0.5 for p in by_name(found, "sub").parents)
    assert "most is lost at #5 sub() at " in str(found) and "bfloat16: the result is 0, and 0.015807437 in" in str(
        found
    )
    better = mg.viz.precision(lambda x: 1.0 / ((x + 1.0).sqrt() + x.sqrt()), 1000.0)
    assert all(better.vertices[-1].errors[dtype].total.size < 1 for dtype in better.dtypes)
    assert "most goes" not in str(better)


def test_the_rounding_of_inputs_and_of_numbers_is_an_error_of_theirs() -> None:
    found = mg.viz.precision(lambda x: x + 0.1, mg.tensor([0.5, 0.3], dtype="float64"), dtypes=["float16"])
    x, number, total = (vertex.errors[mg.float16] for vertex in found.vertices)
    assert x.total.index == (1,) and x.total.size == pytest.approx(abs(float(np.float16(0.3)) - 0.3) / 0.3 * 1024)
    assert x.own == x.total and number.own.size == pytest.approx(abs(float(np.float16(0.1)) - 0.1) / 0.1 * 1024)
    assert total.own.size <= 0.5 and found.vertices[1].kind == "constant" and total.total.right in (0.6, 0.4)


def test_a_gradient_is_looked_at_like_any_function() -> None:
    x = mg.tensor([0.5, 0.3], dtype="float64")
    found = mg.viz.precision(mg.func.grad(lambda x: (x.exp() * x).sum()), x, dtypes=["float32"])
    assert str(found).startswith("<lambda>(x), transformed, in float32, compared with float64")
    (end,) = [vertex for vertex in found.vertices if vertex.number == len(found.vertices) - 1]
    assert np.allclose(end.right, np.exp([0.5, 0.3]) * np.array([1.5, 1.3]), rtol=1e-15)
    wanted = mg.func.grad(lambda x: (x.exp() * x).sum())(x.float()).numpy()
    error = end.errors[mg.float32].total
    assert error.got == wanted[error.index] and 0 < error.size < 4


def test_other_transforms_and_checkpoints_run_inside() -> None:
    def f(x: Any) -> Any:
        _, slope = mg.func.jvp(lambda r: r * r, (x,), (x,))
        return mg.func.vmap(lambda r: r * r + mg.checkpoint(lambda s: s * s, r))(slope)

    found = mg.viz.precision(f, [1.5, 0.1], dtypes="float32")
    assert found.vertices[-1].right.tolist() == pytest.approx([2 * 4.5**2, 2 * 0.02**2])
    assert 0 < found.vertices[-1].errors[mg.float32].total.size < 8


def test_a_write_in_place_is_refused_in_words() -> None:
    def f(x: Any) -> Any:
        x = x.clone()
        x += 1.0
        return x

    with pytest.raises(GradientError, match="belongs to a transform and cannot be written in place"):
        mg.viz.precision(f, 1.0)


def test_overflow_and_underflow_are_named() -> None:
    found = mg.viz.precision(lambda x: x.exp() + 1.0, 20.0, dtypes=["float32", "float16"])
    assert "float16: #1 exp() at " in str(found) and " is inf, and 4.85165e+08 in float64" in str(found)
    assert by_name(found, "exp").errors[mg.float32].total.finite
    # One mark is in the legend. exp has a mark for its own error and one for its total error; the sum has one for its
    # total error.
    assert found.svg.count(svg.ODD) == 1 + 3
    nothing = mg.viz.precision(lambda x: x.exp() - x.exp(), 20.0, dtypes=["float16"])
    end = nothing.vertices[-1].errors[mg.float16]
    assert math.isnan(end.total.got) and end.total.size == math.inf and end.own.size == 0 and "nan" in nothing.svg
    small = mg.viz.precision(lambda x: x * x, 1e-4, dtypes=["float16"])
    assert small.vertices[1].errors[mg.float16].own.size == 1024.0 and "1024!" in str(small)


def test_what_the_result_does_not_come_of_is_not_blamed() -> None:
    def loss(w: Any) -> Any:
        miss = w * 0.0009765625
        return (miss * miss * 0.0009765625).sum()  # the square is 0 in float16, but its derivative is not

    found = mg.viz.precision(mg.func.grad(loss), 1.5 * 2.0**-6, dtypes=["float16"])
    squares = [vertex for vertex in found.vertices if vertex.errors[mg.float16].own.size == 1024.0]
    assert len(squares) >= 2 and f"most is lost at #{squares[0].number} " not in str(found)
    assert "no digit is correct; most is lost at #" in str(found)


def test_several_results_views_whole_numbers_and_masks() -> None:
    def f(x: Any) -> Any:
        values, places = x.reshape(2, 2).sort(1)
        return {"a": mg.where(values > 0.0, values, 0.0).T, "b": [places, x.argmax()]}

    found = mg.viz.precision(f, mg.tensor([3.0, 1.0, -1.0, 2.0]), dtypes=["float32"])
    names = [vertex.name for vertex in found.vertices]
    assert {"sort.values", "sort.indices", "where", "argmax", "gt"} <= set(names)
    assert all(errors.total.size == 0 for vertex in found.vertices for errors in vertex.errors.values())
    found = mg.viz.precision(lambda x: x.argmax(), mg.tensor([1.0, 1.0001]), dtypes=["float16"])
    assert found.vertices[-1].errors[mg.float16].total.size == 1024.0  # 0 for 1
    assert "(0,)" in str(mg.viz.precision(lambda x: x + 1.0, mg.zeros(0)))


def test_where_f_casts_the_first_run_stays_in_float64_and_the_box_shows_the_rounding() -> None:
    found = mg.viz.precision(lambda x: (x * x).to("float16").exp() + x.float(), 0.1, dtypes=["float32"])
    x, product = np.float32(0.1), np.float32(0.1) * np.float32(0.1)
    assert [vertex.name for vertex in found.vertices] == ["x", "mul", "exp", "add"]
    assert found.vertices[-1].right == math.exp(0.1 * 0.1) + 0.1
    fair = float(x) ** 2
    own = found.vertices[1].errors[mg.float32].own
    assert own.got == float(np.float16(product)) and own.size == pytest.approx(abs(own.got - fair) / fair * 2**23)


def test_rules_that_compute_halves_in_float32_are_followed() -> None:
    x = mg.tensor([0.5, 0.3, 0.1], dtype="float64")
    found = mg.viz.precision(mg.func.grad(lambda x: (x * x).mean()), x)
    assert all(0 < found.vertices[-1].errors[dtype].total.size < 2 for dtype in found.dtypes)


def test_random_numbers_are_the_same_in_each_run_and_none_is_used_up() -> None:
    mg.manual_seed(3)
    wanted = mg.rand(4).tolist()
    mg.manual_seed(3)
    found = mg.viz.precision(lambda x: (x * mg.rand(4) + mg.rand(4)).sum(), mg.tensor(2.0), dtypes=["float32"])
    assert found.vertices[-1].errors[mg.float32].total.size < 2
    assert mg.rand(4).tolist() == wanted


def test_another_way_is_refused_with_both_lines() -> None:
    def f(x: Any) -> Any:
        if (x * x).item() > 0:
            return x.exp()
        return x.sqrt()

    with pytest.raises(ArgumentError, match=r"same ops in float16 as in float64, but in float16 comes sqrt\(\) at .* "
                                            r"and in float64 exp\(\) at .*:\d+; .* mg.where"):  # fmt: skip
        mg.viz.precision(f, 1e-5)
    with pytest.raises(ArgumentError, match=r"in float16 comes the end and in float64 exp\(\)"):
        mg.viz.precision(lambda x: x * x if (x * x).item() == 0 else (x * x).exp(), 1e-5)
    with pytest.raises(ArgumentError, match=r"in float16 comes exp\(\) at .* and in float64 the end"):
        mg.viz.precision(lambda x: (x * x).exp() if (x * x).item() == 0 else x * x, 1e-5)


def test_what_is_given_keeps_its_digits_and_what_is_no_float_stays_as_it_is() -> None:
    for given in (0.1, [0.1], np.array([0.1]), np.float64(0.1), mg.tensor(0.1, dtype="float64")):
        found = mg.viz.precision(lambda x: x + x, given, dtypes="float32")
        assert found.vertices[0].right == 0.1 and found.vertices[0].errors[mg.float32].total.size > 0
    found = mg.viz.precision(lambda x, mask, k: mg.where(mask, x[k], 0.0), [1.0, 3.0], [True, False], np.array([1, 0]),
                             dtypes=mg.float32)  # fmt: skip
    assert found.vertices[-1].right.tolist() == [3.0, 0.0]


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"got float32, float64;"):
        mg.viz.precision(difference, 1.0, dtypes=["float32", "float64"])
    with pytest.raises(ArgumentError, match=r"got none;"):
        mg.viz.precision(difference, 1.0, dtypes=[])
    with pytest.raises(ArgumentError, match="f must compute its result from its inputs with ops"):
        mg.viz.precision(lambda x: x, 1.0)
    with pytest.raises(ArgumentError, match="f must have a float input"):
        mg.viz.precision(lambda x: x + 1, mg.tensor([1, 2]))
    with pytest.raises(GradientError, match=r"a transform leaves no \.grad"):
        mg.viz.precision(lambda x: (x * x).backward(), 1.0)


def test_an_op_that_a_dtype_lacks_is_named() -> None:
    def only_wide(x: Any) -> Any:
        return mg.nn.functional.cross_entropy(x, mg.tensor([0]).to(x.dtype if x.dtype is mg.float16 else mg.int64))

    with pytest.raises(
        DTypeError,
        match=r"^viz.precision: f raises an error in float16, but not in float64: cross_entropy: target",
    ):
        mg.viz.precision(only_wide, mg.zeros(1, 3), dtypes=["float16"])


def test_the_picture_the_text_and_the_page_say_the_same(tmp_path: Path) -> None:
    found = mg.viz.precision(difference, 1000.0)
    root = ET.fromstring(found.save(tmp_path / "a.svg").read_text())
    texts = [part.text for part in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("own") == texts.count("all") == 5  # the number 1 is exact, and has no table
    assert {"#5 sub", "128!", "355", "bfloat16", "no digit left"} <= set(texts)
    assert "#5  sub   0.0158074            0    355            0     12             0   128!" in str(found)
    assert "no digit left" in found.save(tmp_path / "a.html").read_text() and "<details>" in found._repr_html_()
    dark = mg.viz.precision(difference, 1000.0, dark=True).svg
    assert DARK[svg.STEPS[4]] in dark and not any(
        colour in dark for colour in (*svg.STEPS, svg.ODD, svg.NONE, "#ffffff")
    )
    assert all(len(line) < 200 for line in str(found).splitlines()[:-3])


def test_names_that_no_encoding_knows_are_saved(tmp_path: Path) -> None:
    found = mg.viz.precision(lambda a: a * 2.0, 1.5, names=["\ud800<b>"])
    for name in ("p.html", "p.svg"):
        text = found.save(tmp_path / name).read_text(encoding="utf-8")
        assert "\ufffd&lt;b&gt;" in text and "<b>" not in text
