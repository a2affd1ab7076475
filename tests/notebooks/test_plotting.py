"""What matplotlib makes of tensors: the numbers, without a warning, whether or not gradients flow through them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minigrad as mg

pyplot = pytest.importorskip("matplotlib.pyplot")
KINDS: dict[str, Callable[[Any], Any]] = {
    "tensor": lambda values: mg.tensor(values),
    "Var": lambda values: mg.Var(values),
    "result": lambda values: mg.Var(values) * 1.0,
    "view": lambda values: mg.tensor(np.repeat(values, 2, axis=0))[::2],
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Nothing is shown, and what is warned of is an error."""
    pyplot.switch_backend("agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    pyplot.close("all")


@pytest.fixture(params=["float32", "float64", "float16", "int64"])
def values(request: pytest.FixtureRequest) -> Any:
    """Twelve numbers that every dtype holds."""
    return (np.arange(12) % 5).astype(request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_are_plotted_as_their_numbers(kind: str, values: Any) -> None:
    if values.dtype.kind == "i" and kind in ("Var", "result"):
        pytest.skip("integers carry no gradient")
    x, places = KINDS[kind](values), mg.linspace(0.0, 1.0, 12)
    (alone,) = pyplot.plot(x)
    (against,) = pyplot.plot(places, x)
    assert alone.get_ydata().tolist() == values.tolist() == against.get_ydata().tolist()
    assert against.get_xdata().tolist() == places.tolist()
    counts, _, bars = pyplot.hist(x, bins=5)
    assert counts.tolist() == np.histogram(values, 5)[0].tolist() and len(bars) == 5
    dots = pyplot.scatter(places, x, c=x)
    assert dots.get_offsets()[:, 1].tolist() == values.tolist() == dots.get_array().tolist()
    image = pyplot.imshow(x.reshape(3, 4))
    assert np.asarray(image.get_array()).tolist() == values.reshape(3, 4).tolist()
    pyplot.gcf().canvas.draw()


def test_losses_as_they_come_and_single_numbers_are_plotted() -> None:
    losses = [mg.Var(3.0) * 1.0, mg.tensor(2.0), mg.Var(1.0)]
    (line,) = pyplot.plot(losses)
    assert [float(y) for y in line.get_ydata()] == [3.0, 2.0, 1.0]
    pyplot.axhline(mg.Var(2.0) * 1.0)
    pyplot.fill_between(mg.arange(3), mg.Var([1.0, 2.0, 3.0]), mg.zeros(3))
    pyplot.gcf().canvas.draw()
