"""The film of a backward pass: its numbers are those of `backward()`, and its page is whole without scripts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.diagnostics.shown import as_grid, shown
from minigrad.errors import ArgumentError, DTypeError, GradientError


def meeting() -> tuple[Any, Any]:
    """A graph in which three paths meet at x."""
    x = mg.Var([3.0, 1.0, 4.0], name="x")
    return x, (x * x + x * 5.0).sum()


def test_frames_come_in_the_order_of_the_walk_with_formulas_and_sums() -> None:
    x, y = meeting()
    film = mg.viz.step(y)
    assert [frame.title for frame in film.frames] == ["sum", "add", "mul", "mul"]
    shares = [share for frame in film.frames for share in frame.shares if share.name == "x"]
    assert [share.text for share in shares] == ["ȳ · other", "ȳ · other", "ȳ · input"]
    assert [(share.number, share.of) for share in shares] == [(1, 3), (2, 3), (3, 3)]
    assert [share.total["text"] for share in shares] == ["[5, 5, 5]", "[8, 6, 9]", "[11, 7, 13]"]
    y.backward()
    assert x.grad.tolist() == [11.0, 7.0, 13.0]


def test_the_arrows_that_light_up_are_those_along_which_a_gradient_goes() -> None:
    _, y = meeting()
    film = mg.viz.step(y)
    lit = [re.findall(r'data-edges="([^"]*)"', film.item(frame))[0].split() for frame in film.frames]
    assert [len(edges) for edges in lit] == [1, 2, 1, 2], "none comes from the constant 5"
    into = [{film.graph.edges[int(k)].source for k in edges} for edges in lit]
    assert into == [{share.to for share in frame.shares} for frame in film.frames]


def test_the_gradients_at_the_leaves_are_those_of_backward() -> None:
    weight, bias = mg.Var(np.arange(6.0).reshape(2, 3), name="weight"), mg.Var([0.5, -1.0], name="bias")
    loss = mg.nn.functional.cross_entropy((mg.ones(4, 3, dtype="float64") @ weight.T + bias).tanh(), mg.arange(4) % 2)
    film = mg.viz.step(loss)
    grads = loss.backward()
    for var in (weight, bias):
        assert film.leaves[f"v{var.id}"] == shown(grads[var])
    (added,) = [share for frame in film.frames for share in frame.shares if share.name == "bias"]
    assert added.text == "sum(ȳ, to=(2,))"


def test_what_is_kept_and_let_go_is_said() -> None:
    x = mg.Var([1.0, 2.0], name="x")
    film = mg.viz.step((x.exp() * x).sum())
    product, exponential = film.frames[1:]
    assert [name for name, _ in product.saved] == ["input", "other"] and product.freed == "input (64 B)", (
        "x stays with its Var"
    )
    assert exponential.freed == "y (64 B)"
    u = x * 2.0
    assert mg.viz.step((u * u).sum()).frames[1].freed == "input and other (64 B)", "one piece of memory"
    assert product.operands == (("input", "exp, step 3"), ("other", "x")) and product.declared.startswith(
        "minigrad/ops/pointwise/arithmetic.py:"
    )
    assert all(Path(file).is_file() for frame in film.frames for file in frame.kernels) and product.kernels


def test_an_operand_that_is_wanted_twice_and_a_function_and_several_results() -> None:
    class Twice(mg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return mg.tensor(g.numpy() * 2)

    x = mg.Var([2.0, 1.0], name="x")
    values, _ = mg.sort(Twice.apply(x))
    film = mg.viz.step((values * values).sum())
    assert [frame.title for frame in film.frames] == ["sum", "mul", "sort", "Twice"]
    assert film.frames[-1].shares[0].text == "Twice.backward(ȳ)"
    assert film.leaves[f"v{x.id}"]["text"] == "[16, 8]"
    assert "Twice.backward" in film.html()


def test_the_page_asks_for_nothing_and_tells_all_without_its_script() -> None:
    _, y = meeting()
    html = mg.viz.step(y).html()
    assert not re.search(r"https?://(?!www\.w3\.org/)", html) and "src=" not in html.replace('src="data:', "")
    still = re.sub(r"<script>.*</script>", "", html, flags=re.S)
    assert "<svg" in still and "[11, 7, 13]" in still and still.count("<li ") == 6
    svg = re.search(r"<svg.*</svg>", html, flags=re.S)
    assert svg is not None
    boxes = {part.get("id") for part in ET.fromstring(svg.group()).iter() if part.get("id")}
    named = {f"node-{name}" for name in re.findall(r'<li data-node="([^"]+)"', html)}
    edges = {f"edge-{k}" for text in re.findall(r'data-edges="([^"]*)"', html) for k in text.split()}
    assert named | edges <= boxes and len(named) == 4


def test_two_films_on_one_page_have_names_of_their_own(tmp_path: Path) -> None:
    _, y = meeting()
    film = mg.viz.step(y)
    names = {re.search(r'id="(mg-step-\w+)"', film.html()).group(1) for _ in range(2)}  # type: ignore[union-attr]
    assert len(names) == 2
    assert film.save(tmp_path / "film.html").read_text().startswith("<!doctype html>")
    with pytest.raises(ArgumentError, match=r"^save: path must end in .html, got 'film.pdf'"):
        film.save(tmp_path / "film.pdf")


def test_text_from_a_user_is_escaped() -> None:
    x = mg.Var([1.0], name="<b>&'\"")
    html = mg.viz.step((x * 2.0).sum()).html()
    assert "<b>&'" not in html and "&lt;b&gt;&amp;" in html


def test_printed_it_is_a_text() -> None:
    _, y = meeting()
    film = mg.viz.step(y)
    text = str(film).splitlines()
    assert text[0] == "backward from float32(), 4 steps" and text[-1] == "gradient of x: [11, 7, 13]"
    assert "     input (x) receives ȳ · other = [3, 1, 4]; path 2 of 3, sum: [8, 6, 9]" in text
    assert (
        "     input (mul, step 4) receives ȳ = [1, 1, 1]" in text
        and "     other (mul, step 3) receives ȳ = [1, 1, 1]" in text
    )
    assert repr(film) == str(film) and len(film) == 4


def test_of_a_long_film_the_first_lines_stand_for_it_where_it_is_not_asked_for() -> None:
    y = mg.Var([1.0], name="x", device="reference")
    for _ in range(40):
        y = -y
    film = mg.viz.step(y)
    shown, whole = repr(film).splitlines(), film.text().splitlines()
    assert shown[:61] == whole[:61] and shown[61:] == [f"... {len(whole) - 61} more lines; .text() has all"]
    assert str(film) == film.text()


def test_it_changes_nothing_and_says_what_is_missing() -> None:
    x, y = meeting()
    mg.viz.step(y)
    assert x.grad is None
    y.backward()
    with pytest.raises(GradientError, match=r"^viz\.step: .*freed"):
        mg.viz.step(y)
    with pytest.raises(GradientError, match=r"has no graph"):
        mg.viz.step(mg.ones(2))
    with pytest.raises(DTypeError, match=r"^viz\.step: expected a tensor, got int 3; wrap data in mg\.tensor"):
        mg.viz.step(3)


def test_a_lone_var_has_a_film_without_frames() -> None:
    x = mg.Var([1.0, 2.0], name="x")
    film = mg.viz.step(x)
    assert len(film) == 0 and film.leaves == {f"v{x.id}": shown(mg.ones(2))}


def test_many_elements_are_an_image_of_their_signs() -> None:
    found = shown(mg.tensor(np.array([[1.0, -1.0, 0.0, np.nan]] * 4)))
    assert found["text"] == "-1 to 1, 4 not finite" and (found["width"], found["height"]) == (4, 4)
    data = b64decode(found["image"].partition(",")[2])
    begin = data.index(b"IDAT") + 4
    row = zlib.decompress(data[begin : data.index(b"IEND") - 8])[: 1 + 12]
    assert list(row) == [0, 190, 40, 30, 30, 80, 170, 255, 255, 255, 0, 0, 0]


@pytest.mark.parametrize("shape", [(13,), (48,), (49,), (5000,), (100, 3), (3, 100), (2, 3, 50), (1, 97)])
def test_a_large_tensor_is_patches_of_means(shape: tuple[int, ...]) -> None:
    grid = as_grid(np.full(shape, 2.0))
    assert max(grid.shape) <= 48
    assert grid.max() == pytest.approx(2.0)
    if len(shape) > 1:
        assert grid.min() == pytest.approx(2.0)
