"""Bytes that are held during the forward and the backward pass."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad.errors import GradientError

SIZE = 4096


def chain(x: Any, n: int) -> Any:
    """n ops that each save their result."""
    for _ in range(n):
        x = x.tanh()
    return x


def parts(x: Any) -> Any:
    """Two blocks of three."""
    for _ in range(2):
        x = mg.checkpoint(chain, x * 1.0, 3)
    return x


def peak_of_backward(y: Any, x: Any) -> int:
    """Bytes that a gradient has in use at most beyond what was in use before."""
    allocator = y.storage.allocator
    with allocator.exact():
        before = allocator.stats().allocated_bytes
        allocator.reset_peak()
        mg.grad(y, x)
    return int(allocator.stats().peak_bytes - before)


def test_what_is_held_rises_and_falls_op_by_op() -> None:
    x = mg.Var(mg.ones(SIZE // 4))
    y = chain(x, 4).sum()
    before = x.grad
    picture = mg.viz.memory(y)
    one = SIZE
    assert picture.forward == [one, 2 * one, 3 * one, 4 * one, 4 * one]
    # At each tanh its gradient comes and that of its operand is made; at the last one the sum's is a view of a number.
    assert [round(held / one) for held in picture.backward] == [3, 4, 5, 5, 4]
    assert picture.peak == max(picture.backward) and picture.rows[picture.at].name == "tanh" and picture.at == 3
    assert x.grad is before and y.op.parents[0].saved is not None  # the graph was kept


@pytest.mark.parametrize("build", [lambda x: chain(x, 6).sum(), lambda x: parts(x).sum()], ids=["plain", "checkpoints"])
def test_the_peak_is_that_of_a_real_backward(build: Any) -> None:
    x = mg.Var(mg.ones(SIZE // 4))
    y = build(x)
    picture = mg.viz.memory(y)
    assert abs(picture.peak - picture.forward[-1] - peak_of_backward(y, x)) <= 256  # numbers, in blocks of 64


def test_checkpoints_hold_what_they_were_called_with_and_compute_the_rest_again() -> None:
    x = mg.Var(mg.ones(SIZE // 4))
    plain, less = mg.viz.memory(chain(x, 6).sum()), mg.viz.memory(parts(x).sum())
    assert plain.forward[-1] == 6 * SIZE and 0 <= less.forward[-1] - 2 * SIZE <= 256  # and numbers
    assert less.peak < plain.peak
    assert max(less.backward) - less.forward[-1] >= 3 * SIZE  # a whole block comes back


def test_the_text_and_the_drawing_say_the_same(tmp_path: Path) -> None:
    x = mg.Var(mg.ones(SIZE // 4))
    picture = mg.viz.memory(chain(x, 3).sum())
    lines = str(picture).splitlines()
    assert lines[0] == "float32(): at most 16 kB held, in the backward pass at tanh(1024,)"
    assert lines[1] == "12 kB of saved values when the backward pass begins"
    bars = [line.count("#") for line in lines[2:6]]
    assert bars[0] >= 8 and all(abs(bar - k * bars[2] / 3) < 1 for bar, k in zip(bars, (1, 2, 3, 3), strict=True))
    assert max(map(len, lines)) <= 72
    assert sum("peak" in line for line in lines[2:]) == 1 and lines[-1].startswith("# saved values")
    root = ET.fromstring(picture.save(tmp_path / "a.svg").read_text())
    hints = [part.text or "" for part in root.iter("{http://www.w3.org/2000/svg}title")]
    assert hints.count("tanh(1024,) holds 4 kB") == 3
    assert sum(hint.startswith("in the backward pass at tanh(1024,): ") for hint in hints) == 3
    assert "peak" in [part.text for part in root.iter("{http://www.w3.org/2000/svg}text")]


def test_many_ops_share_lines_and_none_gives_an_empty_picture() -> None:
    x = mg.Var(mg.ones(8))
    text = str(mg.viz.memory(chain(x, 100)))
    assert text.count("tanh to tanh(8,)") == 40 and len(text.splitlines()) == 43
    long = str(mg.viz.memory(mg.Var(mg.ones(1, 1, 1, 1, 1, 1, 11, 12)).tanh())).splitlines()[1:]
    assert max(map(len, long)) <= 72 and " 11, … " in long[1]


def test_what_holds_nothing_is_refused() -> None:
    x = mg.Var(mg.ones(8))
    with pytest.raises(GradientError, match="not computed from a Var"):
        mg.viz.memory(mg.ones(3))
    y = chain(x, 2)
    y.backward()
    with pytest.raises(GradientError, match="freed"):
        mg.viz.memory(y)
