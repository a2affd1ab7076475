"""Elementwise loops whose operands have one value per row, or one in all: the value is computed once."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels import store


@pytest.mark.parametrize(("shape", "label"), [((3, 1), "rows0"), ((1, 1), "dense0")])
def test_a_repeated_value_is_computed_once(shape, label):
    x = mg.tensor(np.linspace(-40.0, 3.0, shape[0]).reshape(shape), dtype="float64", device="cpu")
    y = mg.isnan(x.expand(3, 9)) if label == "dense0" else mg.frexp(x.expand(3, 9))[0]
    expected = np.isnan(x.numpy()) if label == "dense0" else np.frexp(x.numpy())[0]
    assert (y.numpy() == np.broadcast_to(expected, (3, 9))).all()
    (kernel,) = [
        each for name, each in store.loaded.items() if f"_{label}_" in name and ("isnan" in name or "frexp" in name)
    ]
    text = store.source(kernel.path)
    assert "for i in range(1):" in text and "[1:count] = z" in text
