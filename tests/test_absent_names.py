"""A name that another library has and minigrad has not: the error says what to write instead, and that is there."""

import math
import re
from operator import attrgetter
from pathlib import Path

import numpy
import pytest

import minigrad as mg
from minigrad.api.absent import INSTEAD

ROOT = Path(__file__).parents[1]
ROOMS = {"minigrad": mg, "minigrad.nn": mg.nn, "minigrad.nn.functional": mg.nn.functional, "minigrad.func": mg.func,
         "minigrad.linalg": mg.linalg, "minigrad.special": mg.special}  # fmt: skip


@pytest.mark.parametrize("room", ROOMS)
def test_a_name_of_others_is_answered_with_ours(room: str) -> None:
    with pytest.raises(
        AttributeError,
        match=f"^module '{room}' has no attribute 'array': write mg.tensor, or mg.from_numpy to share memory$",
    ):
        ROOMS[room].array
    with pytest.raises(AttributeError, match=f"^module '{room}' has no attribute 'nonsense'$"):
        ROOMS[room].nonsense
    assert hasattr(ROOMS[room], "Linear") == (room == "minigrad.nn")


@pytest.mark.parametrize("name", INSTEAD)
def test_what_is_named_instead_is_there(name: str) -> None:
    assert name not in mg.__all__
    for path in re.findall(r"\b(?:mg|math|numpy)(?:\.\w+)+", INSTEAD[name]):
        first, *rest = path.split(".")
        found = {"mg": mg, "math": math, "numpy": numpy}[first]
        for part in rest:
            found = getattr(found, part)


def test_what_is_written_instead_does_it() -> None:
    x = mg.arange(9, dtype="float32").reshape(3, 3)
    spaces = {"mg": mg, "x": x, "n": 3, "math": math, "target": x * 2.0, "classes": 3, "index": mg.tensor([2, 0])}

    def written(name):
        return eval(INSTEAD[name].removeprefix("write "), dict(spaces))

    assert written("mse_loss").item() == pytest.approx(float((x.numpy() ** 2).mean()))
    assert written("l1_loss").item() == 4.0
    assert written("one_hot").tolist() == [[0, 0, 1], [1, 0, 0]]


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.name != "differences.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_that_pages_mention_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = re.findall(r"\bmg((?:\.[A-Za-z_]\w*)+)", text)
    names += [
        "." + name for name in re.findall(r"`((?:nn|optim|data|dist|amp|viz|func|linalg)\.[A-Za-z_][\w.]*\w)", text)
    ]
    for name in names:
        attrgetter(name[1:])(mg)
