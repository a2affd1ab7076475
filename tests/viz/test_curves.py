"""Curves of functions with their derivatives, and of the numbers of a training."""

from __future__ import annotations

import math
import re
import warnings
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError
from minigrad.viz.axes import inside, ticks

SVG = "{http://www.w3.org/2000/svg}"


def strokes(picture: Any) -> list[list[tuple[float, float]]]:
    """The points of every line that is drawn, but for those of the legend."""
    root = ET.fromstring(picture.svg)
    found = [[tuple(map(float, pair.split(","))) for pair in line.get("points", "").split()]
             for line in root.iter(f"{SVG}polyline")]  # fmt: skip
    return [points for points in found if points[0][1] != 17.0]


def test_derivatives_are_those_of_the_function() -> None:
    picture = mg.viz.curves(mg.tanh, over=(-2, 2), orders=2)
    assert list(picture.values) == ["tanh", "tanh'", "tanh''"]
    x = np.linspace(-2, 2, 401)
    wanted = [np.tanh(x), 1 - np.tanh(x) ** 2, -2 * np.tanh(x) * (1 - np.tanh(x) ** 2)]
    for (places, heights), y in zip(picture.values.values(), wanted, strict=True):
        np.testing.assert_allclose(places, x)
        np.testing.assert_allclose(heights, y, atol=1e-12)


def test_each_curve_is_few_calls_on_all_places() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(x.numel())
        return x.tanh()

    mg.viz.curves(f)
    assert seen.count(401) == 3 and len(seen) <= 8, "a look at the shape, the function, its derivative"


def test_names_come_from_functions_ops_mappings_and_the_caller() -> None:
    assert list(mg.viz.curves("relu", orders=0).values) == ["relu"]
    assert list(mg.viz.curves(lambda x: x * x).values) == ["f", "f'"]
    both = mg.viz.curves({"square": lambda x: x * x, "cube": lambda x: x * x * x})
    assert list(both.values) == ["square", "square'", "cube", "cube'"] and both.title == "square, square', cube, cube'"
    assert list(mg.viz.curves(mg.tanh, names=["value", "slope"]).values) == ["value", "slope"]


def test_a_kink_of_the_function_is_a_gap_in_its_derivative() -> None:
    picture = mg.viz.curves(mg.relu)
    function, left, right = sorted(strokes(picture), key=lambda points: (-len(points), points[0]))
    assert len(function) == 401, "the function itself goes on"
    assert {y for _, y in left} != {y for _, y in right} and len({y for _, y in left + right}) == 2
    assert left[-1][0] < right[0][0]


@pytest.mark.parametrize("name", ["floor", "reciprocal", "tan", "sign"])
def test_jumps_and_poles_are_not_joined(name: str) -> None:
    for points in strokes(mg.viz.curves(name, orders=0)):
        rises = [abs(b[1] - a[1]) for a, b in pairwise(points)]
        assert max(rises, default=0) < 100, "of some 230 that the picture is high"


def test_a_gap_between_two_places_is_found() -> None:
    def stepped(x: Any) -> Any:
        return mg.where((x - 0.0075).abs() < 5e-4, math.nan, x.sign())

    assert len(strokes(mg.viz.curves(stepped, over=(-3.001, 2.999), orders=0))) == 2


def test_what_is_steep_and_not_a_jump_is_joined() -> None:
    assert len(strokes(mg.viz.curves(lambda x: (x * 200.0).tanh(), orders=0))) == 1
    assert len(strokes(mg.viz.curves(lambda x: x.abs().sqrt(), orders=0))) == 1


def test_what_overflows_is_drawn_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "1e" in mg.viz.curves("exp", over=(0, 800), orders=1).text
        mg.viz.curves([math.inf, math.inf, -math.inf, math.nan])


def test_truth_values_are_steps() -> None:
    picture = mg.viz.curves(lambda x: x > 0, orders=0)
    assert len(strokes(picture)) == 2 and set(picture.values["f"][1]) == {0.0, 1.0}


def test_beside_a_pole_most_of_the_curve_is_shown() -> None:
    picture = mg.viz.curves(mg.reciprocal, orders=0)
    heights = picture.values["reciprocal"][1]
    assert abs(heights[np.isfinite(heights)]).max() > 60
    numbers = [float(part.text or "0") for part in ET.fromstring(picture.svg).iter(f"{SVG}text")
               if re.fullmatch(r"-?[\d.]+", part.text or "")]  # fmt: skip
    assert max(numbers) <= 20 and min(numbers) >= -20
    exponential = [part.text for part in ET.fromstring(mg.viz.curves(mg.exp, orders=0).svg).iter(f"{SVG}text")]
    assert "20" in exponential, "what only grows is shown whole"


def test_nan_breaks_a_line_and_a_lone_point_is_a_dot() -> None:
    picture = mg.viz.curves([1.0, 2.0, math.nan, 3.0, math.inf, 4.0, 5.0])
    assert [len(points) for points in strokes(picture)] == [2, 2]
    assert len(list(ET.fromstring(picture.svg).iter(f"{SVG}circle"))) == 1


def test_numbers_of_a_training_stand_against_the_step() -> None:
    picture = mg.viz.curves({"train": [3.0, 2.0, 1.0], "test": ([0, 2], mg.tensor([3.5, 1.5]))})
    assert [list(map(list, pair)) for pair in picture.values.values()] == [
        [[0, 1, 2], [3, 2, 1]],
        [[0, 2], [3.5, 1.5]],
    ]
    assert "step" in picture.svg and "train, test against the step" in picture.svg
    losses = [mg.tensor(2.0), mg.tensor(1.0)]
    assert list(mg.viz.curves(losses).values["value"][1]) == [2.0, 1.0], "losses as they come"
    assert list(mg.viz.curves(mg.Var([4.0, 2.0])).values["value"][1]) == [4.0, 2.0]


def test_many_numbers_keep_their_peaks() -> None:
    losses = np.ones(100_000)
    losses[50_123], losses[70_321] = 9.0, -7.0
    picture = mg.viz.curves(losses)
    (points,) = strokes(picture)
    assert len(points) <= 1000 and len(picture.values["value"][1]) == 100_000
    heights = sorted({y for _, y in points})
    assert len(heights) == 3


@pytest.mark.parametrize("other", [math.nan, math.inf, -math.inf])
def test_peaks_beside_what_is_not_finite_are_kept(other: float) -> None:
    y = np.zeros(5000)
    y[2501:2506:2] = other, 50.0, -70.0
    assert "50 ┤" in mg.viz.curves(y).text and "-50 ┤" in mg.viz.curves(y).text
    y = np.ones(5000)
    y[2501:2504:2] = -1.0, 1e-9
    assert "1e-8 ┤" in mg.viz.curves(y, log=True).text


def test_names_are_written_as_text_whatever_they_are(tmp_path: Path) -> None:
    drawn = mg.viz.curves({1: [1.0, 2.0], "a\x00\ud800<": [2.0, 3.0]})
    assert list(drawn.values) == ["1", "a\x00\ud800<"] and "a\ufffd\ufffd<" in "".join(
        ET.fromstring(drawn.svg).itertext()
    )
    for name in ("c.svg", "c.html"):
        drawn.save(tmp_path / name)
    assert list(mg.viz.curves(mg.sin, names=[0, 1]).values) == ["0", "1"]


def test_a_logarithmic_scale_has_powers_and_counts_what_it_leaves_out() -> None:
    picture = mg.viz.curves({"loss": [100.0, 1.0, 0.0, 0.01, -1.0]}, log=True)
    assert "2 of 5 numbers of loss are not above 0" in picture.text
    texts = [part.text for part in ET.fromstring(picture.svg).iter(f"{SVG}text")]
    assert {"1e-2", "1e-1", "1e0", "1e1", "1e2"} <= set(texts)
    (first,) = strokes(picture)
    assert len(first) == 2


@over(
    ("given", "more", "words"),
    [
        ("tahn", {}, r"no op is called 'tahn'; did you mean 'tan' or .*'tanh'.*\?$"),
        ("matmul", {}, "with one operand and one result, got 'matmul'"),
        ("mul", {}, "with one operand and one result, got 'mul'"),
        (
            lambda x: (x * x).sum(),
            {},
            r"must return one real value per point, got float64\(\) for float64\(401,\); a curve needs",
        ),
        (lambda x: x.softmax(0), {}, "f must compute each element separately"),
        (lambda x: 3.0, {}, "f must return one real value"),
        (lambda x: x > 0, {}, "f returns bool, which has no derivatives; pass orders=0"),
        ({"a": mg.tanh, "b": [1.0]}, {}, "either functions or"),
        ({}, {}, "got none or both"),
        ({"a": [[1.0]]}, {}, "'a' must be a function or a sequence of numbers"),
        ({"a": ([1, 2], [3.0])}, {}, "'a' has 2 steps and 1 numbers"),
        ([], {}, "a curve must be a function or a sequence of numbers"),
        (
            mg.tanh,
            {"over": (2, -2)},
            r"over must be \(from, to\), two increasing numbers with space for 401 points, got \(2, -2\)",
        ),
        (mg.tanh, {"over": (0, 5e-324)}, "with space for 401 points"),
        (mg.tanh, {"over": (-1e308, 1e308)}, "with space for 401 points"),
        (([1.0, math.nan], [1.0, 2.0]), {}, "the steps must be finite numbers"),
        ({"a": ([1e308, -1e308], [1.0, 2.0])}, {}, "the steps of 'a' must be finite numbers"),
        (([1, [2]], [1, 2]), {}, "must be a function or a sequence of numbers"),
        (mg.tanh, {"over": 3}, "over must be"),
        (mg.tanh, {"over": (0, math.inf)}, "over must be"),
        (mg.tanh, {"orders": -1}, "orders must not be negative, got -1"),
        (mg.tanh, {"orders": 1.5}, "got 1.5"),
        (mg.tanh, {"names": ["one"]}, "names must have one entry per curve, got 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_advice(given: Any, more: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=rf"^viz\.curves: .*{words}"):
        mg.viz.curves(given, **more)


def test_a_function_of_one_number_is_drawn_with_vmap() -> None:
    w = mg.tensor([1.0, 2.0], dtype="float64")
    picture = mg.viz.curves(mg.func.vmap(lambda x: (w * x).sin().sum()), over=(0, 1))
    x = np.linspace(0, 1, 401)
    np.testing.assert_allclose(picture.values["f'"][1], np.cos(x) + 2 * np.cos(2 * x))


def test_a_terminal_shows_dots_numbers_and_letters_on_the_lines() -> None:
    text = str(mg.viz.curves(mg.tanh))
    lines = text.splitlines()
    assert lines[:2] == ["tanh, tanh'", "a tanh   b tanh'"] and max(map(len, lines)) <= 72
    assert sum(any(0x2800 < ord(letter) < 0x2900 for letter in line) for line in lines) >= 10
    drawn = "".join(lines[2:-2])
    assert drawn.count("a") == 3 == drawn.count("b")
    assert lines[-1].split() == ["-3", "-2", "-1", "0", "1", "2", "3"] and "┤" in text and "└" in lines[-2]
    assert repr(mg.viz.curves([1.0, 2.0])).splitlines()[0] == "value against the step"
    level = str(mg.viz.curves({"two": [2.0, 2.0], "none": [0.0, 0.0]})).splitlines()
    dotted = [line for line in level if any(0x2800 < ord(letter) < 0x2900 for letter in line)]
    assert [line[:5] for line in dotted] == ["  2 ┤", "  0 ┤"], "lines stand at their numbers"


def test_on_black_the_lines_and_letters_are_light(tmp_path: Path) -> None:
    picture = mg.viz.curves(mg.tanh, names=["#4a6fa5", "slope"])
    dark = picture.save(tmp_path / "a.svg", dark=True).read_text()
    assert "#ffffff" not in dark and 'stroke="#4a6fa5"' not in dark and ">#4a6fa5<" in dark, "a name stays as it is"
    ET.fromstring(dark)
    assert picture.save(tmp_path / "b.svg").read_text() == picture.svg != dark


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (-1.0, 1.0, ["-1", "-0.5", "0", "0.5", "1"]),
        (0.0, 21.0, ["0", "5", "10", "15", "20"]),
        (2e6, 8e6, ["2e6", "4e6", "6e6", "8e6"]),
        (0.101, 0.104, ["0.101", "0.102", "0.103", "0.104"]),
    ],
)
def test_ticks_are_round(low: float, high: float, texts: list[str]) -> None:
    assert [text for _, text in ticks(low, high)] == texts


def test_ticks_of_logarithms() -> None:
    assert [text for _, text in ticks(-3.0, 2.0, log=True)] == ["1e-3", "1e-2", "1e-1", "1e0", "1e1", "1e2"]
    assert [text for _, text in ticks(0.0, 0.9, log=True)] == ["2", "4", "6"]
    assert all(value == pytest.approx(math.log10(float(text))) for value, text in ticks(-0.2, 0.3, log=True))


def test_a_line_that_leaves_ends_at_the_border() -> None:
    piece = [(0.0, 0.5), (0.1, 1.5), (0.2, 0.5), (0.3, -0.5), (0.4, -2.0)]
    found = [[(round(a, 6), b) for a, b in part] for part in inside(piece)]
    assert found == [[(0.0, 0.5), (0.05, 1.0)], [(0.15, 1.0), (0.2, 0.5), (0.25, 0.0)]]
