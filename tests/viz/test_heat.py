"""The heat map of a tensor: its numbers are those of NumPy, and nothing that is not finite is hidden."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, GradientError

pytestmark = pytest.mark.usefixtures("reference")

SVG = "{http://www.w3.org/2000/svg}"
ODD = mg.tensor([[1.0, math.nan, 0.0], [-2.0, math.inf, -math.inf]])


def cells(picture: Any) -> dict[str, tuple[str, float]]:
    """Colour and opacity of each cell by the text under the pointer."""
    found = {}
    for part in ET.fromstring(picture.svg).iter(f"{SVG}rect"):
        title = part.find(f"{SVG}title")
        if title is not None and " = " in str(title.text):
            found[str(title.text)] = str(part.get("fill")), float(part.get("fill-opacity", "0"))
    return found


def test_the_statistics_are_those_of_the_finite_elements() -> None:
    s = mg.viz.tensor(ODD).statistics
    assert (s.low, s.high, s.mean, s.zeros) == (-2.0, 1.0, pytest.approx(-1 / 3), pytest.approx(1 / 6))
    assert (s.nans, s.infinities, s.negative) == (1, 1, 1)
    assert s.counts.sum() == 3 and s.counts[0] == s.counts[-1] == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int64", "uint8"])
def test_the_histogram_and_the_mean_are_those_of_numpy(dtype: str) -> None:
    x = mg.tensor(np.arange(60).reshape(3, 4, 5) % 17).to(getattr(mg, dtype))
    numbers, s = np.arange(60) % 17, mg.viz.tensor(x).statistics
    counts, edges = np.histogram(numbers / 16, 20)
    assert s.counts.tolist() == counts.tolist() and np.allclose(s.edges, 16 * edges)
    assert s.mean == numbers.mean() and s.zeros == (numbers == 0).mean() and (s.low, s.high) == (0, 16)


@pytest.mark.parametrize("values", [[1.7e308, 1.6e308, 1.7e308], [-1.7e308, 1.7e308], [5e-324, 0.0], [1.0, 1.0 + 1e-16],
                                    [0.0, 0.0]])  # fmt: skip
def test_extreme_values_have_a_mean_and_a_histogram(values: list[float]) -> None:
    s = mg.viz.tensor(mg.tensor(values, dtype="float64")).statistics
    assert min(values) <= s.mean <= max(values) and s.counts.sum() == len(values)


def test_the_colour_is_the_sign_and_its_strength_the_size() -> None:
    found = cells(mg.viz.tensor(mg.tensor([[1.0, -4.0], [0.0, 2.0]])))
    (warm, low), (cold, most), (none, _), (same, half) = (
        found[f"[{i}, {j}] = {v}"] for i, j, v in ((0, 0, 1), (0, 1, -4), (1, 0, 0), (1, 1, 2))
    )
    assert warm == same != cold and none == "none"
    assert (low, most, half) == (0.25, 1.0, 0.5)


def test_what_is_not_finite_is_marked_by_colour_line_and_letter() -> None:
    text = mg.viz.tensor(ODD).svg
    assert all(f">{word}<" in text for word in ("nan", "inf", "-inf"))
    found = cells(mg.viz.tensor(ODD))
    assert len({found[f"[{i}, {j}] = {v}"][0] for i, j, v in ((0, 1, "nan"), (1, 1, "inf"), (1, 2, "-inf"))}) == 3
    lines = [part for part in ET.fromstring(text).iter(f"{SVG}rect") if part.get("stroke-width") == "2"]
    assert len(lines) == 4, "two cells, and two in the legend"


def test_a_nan_in_a_large_matrix_is_not_hidden_by_its_patch() -> None:
    x = np.random.default_rng(0).normal(size=(200, 300))
    x[150, 20] = math.nan
    x[3, 299], x[100, 100] = -math.inf, 50.0
    found = cells(mg.viz.tensor(mg.tensor(x)))
    assert len(found) == 32 * 32
    assert [key for key in found if key.endswith("nan")] == ["[150:156, 18:28] = nan"]
    assert [key for key in found if key.endswith("-inf")] == ["[0:6, 290:300] = -inf"]
    assert any(key.endswith("= 50") for key in found), "the element that is farthest from 0"
    lines = str(mg.viz.tensor(mg.tensor(x))).splitlines()
    assert sum("n" in line for line in lines[-32:]) == sum("-" in line for line in lines[-32:]) == 1


def test_each_rank_up_to_four_has_its_cells() -> None:
    for shape in ((), (5,), (20,), (3, 4), (2, 3, 4), (2, 3, 2, 2)):
        x = mg.arange(math.prod(shape)).reshape(*shape) + 1
        found = cells(mg.viz.tensor(x)) if shape else {}
        wanted = {f"[{', '.join(map(str, i))}] = {x[i].item()}" for i in np.ndindex(shape)} if shape else set()
        assert found.keys() == wanted
        assert str(x[(0,) * len(shape)].item() if shape else 1) in str(mg.viz.tensor(x)).split()
    assert "[1, 2]" in str(mg.viz.tensor(mg.zeros(2, 3, 2, 2)))


def test_more_matrices_than_there_is_room_for_are_counted() -> None:
    picture = mg.viz.tensor(mg.ones(64, 3, 5, 5))
    assert "the first 40 of 192 matrices" in str(picture) and len(cells(picture)) == 40 * 25


def test_as_text_small_tensors_are_numbers_and_large_ones_letters() -> None:
    assert str(mg.viz.tensor(ODD)).splitlines() == [
        "float32(2, 3)", "-2 to 1, mean -0.3333, 16.7% zeros", "1 nan, 1 inf, 1 -inf",
        "histogram  -2 █            █     █ 1", "", "     1   nan     0", "    -2   inf  -inf",
    ]  # fmt: skip
    x = np.zeros((20, 20))
    x[0, :6] = 9.0, -9.0, 1.0, -0.001, math.nan, math.inf
    lines = str(mg.viz.tensor(mg.tensor(x))).splitlines()
    assert lines[-20:] == ["9i1an+" + 14 * "."] + 19 * [20 * "."]
    assert max(map(len, str(mg.viz.tensor(mg.ones(5, 40, 40))).splitlines())) <= 92


def test_an_empty_tensor_says_so_and_a_name_is_the_title() -> None:
    assert str(mg.viz.tensor(mg.zeros(0, 3))) == "float32(0, 3)\nno elements"
    assert str(mg.viz.tensor(mg.Var([1.0], name="w"))).startswith("w: float32(1,)\n")
    ET.fromstring(mg.viz.tensor(mg.zeros(2, 0)).svg)
    assert "no finite element" in str(mg.viz.tensor(mg.tensor([math.nan])))


def test_it_is_saved_light_and_dark(tmp_path: Path) -> None:
    picture = mg.viz.tensor(ODD)
    light, dark = (picture.save(tmp_path / f"{k}.svg", dark=bool(k)).read_text() for k in (0, 1))
    assert light == picture.svg and len(set(re.findall("#[0-9a-f]{6}", light + dark))) > 8 and light != dark
    page = picture.save(tmp_path / "h.html").read_text()
    assert "var(--mg-warm)" in page and not re.search(r"https?://(?!www\.w3\.org/)", page)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(
        ArgumentError, match=r"^viz.tensor: x must have at most 4 dims, got float32\(1, 1, 1, 1, 2\); select"
    ):
        mg.viz.tensor(mg.zeros(1, 1, 1, 1, 2))
    with pytest.raises(DTypeError, match=r"^viz.tensor: expected a tensor, got .*wrap data"):
        mg.viz.tensor([1.0])
    with pytest.raises(GradientError, match="belongs to a transform and has no values"):
        mg.func.vmap(mg.viz.tensor)(mg.zeros(2, 3))


@pytest.mark.parametrize("odd", [(), (math.nan,), (math.inf,), (-math.inf,), (math.nan, math.inf, -math.inf)])
def test_every_text_is_inside_the_picture(odd: tuple[float, ...]) -> None:
    root = ET.fromstring(mg.viz.tensor(mg.tensor([-1.2345e-30, *odd])).svg)
    for part in root.iter(f"{SVG}text"):
        if part.get("text-anchor") == "start":
            end = float(part.get("x", "0")) + 0.6 * float(part.get("font-size", "0")) * len(str(part.text))
            assert end <= float(root.get("width", "0")), part.text
