"""Sobol sequences: PyTorch's points, which SciPy computes."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, RecordingError
from minigrad.quasirandom import SobolEngine

# torch.quasirandom.SobolEngine(5).draw(4) of PyTorch 2.13
POINTS = [[0.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5, 0.5], [0.75, 0.25, 0.25, 0.25, 0.75],
          [0.25, 0.75, 0.75, 0.75, 0.25]]  # fmt: skip


@pytest.fixture
def reference() -> Iterator[None]:
    pytest.importorskip("scipy", reason="SciPy is not installed")
    before = mg.default_device()
    mg.set_default_device("reference")
    yield
    mg.set_default_device(before)


@pytest.mark.usefixtures("reference")
@pytest.mark.filterwarnings("error")
def test_the_points_are_those_of_pytorch() -> None:
    engine, out = SobolEngine(5), mg.empty(0)
    assert engine.draw(3).tolist() == POINTS[:3] and engine.draw(dtype=mg.float64).tolist() == POINTS[3:]
    assert engine.reset().draw_base2(2, out=out) is out and out.tolist() == POINTS and engine.num_generated == 4
    assert engine.reset().fast_forward(2).draw(2).tolist() == POINTS[2:]
    assert SobolEngine(5).fast_forward(0).draw(3).tolist() == POINTS[:3]
    with pytest.raises(ArgumentError, match=r"must be a power of 2, got 4 \+ 2\*\*3"):
        engine.draw_base2(3)


@pytest.mark.usefixtures("reference")
def test_the_default_generator_seeds_the_scrambling() -> None:
    mg.manual_seed(3)
    first, second = (SobolEngine(3, scramble=True).draw(8).numpy() for _ in range(2))
    mg.manual_seed(3)
    np.testing.assert_array_equal(first, SobolEngine(3, scramble=True).draw(8).numpy())
    assert (first != second).any() and ((first * 8).astype(int).sum(0) == 28).all(), "one point in each eighth"
    assert repr(SobolEngine(3, True, seed=7)) == "SobolEngine(dimension=3, scramble=True, seed=7)"


@pytest.mark.usefixtures("reference")
@pytest.mark.parametrize("name", ["draw", "draw_base2", "reset", "fast_forward"])
def test_a_recorded_program_does_not_repeat_the_points_of_its_recording(name: str) -> None:
    engine = SobolEngine(2)

    def called(x: mg.Tensor) -> mg.Tensor:
        getattr(engine, name)(*{"reset": (), "draw_base2": (0,)}.get(name, (1,)))
        return x + 1.0

    program = mg.jit(called)
    program(mg.zeros(2))  # the first call records nothing
    before = engine.num_generated
    with pytest.raises(RecordingError, match=r"SobolEngine.* cannot be called in a recorded function"):
        program(mg.zeros(2))
    assert engine.num_generated == before


def test_a_dimension_without_a_table_and_a_missing_scipy_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match="dimension must be from 1 to 21201, got 0"):
        SobolEngine(0)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        SobolEngine(2)
