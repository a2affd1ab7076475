"""Products of bfloat16 in pairs: the same shapes as other products, beside float64 and beside the plain tile."""

import os
import subprocess
import sys

import numpy as np
import pytest

import minigrad as mg
from minigrad.backends.cpu import product, tiles
from minigrad.config import override
from minigrad.kernels.cpu.processor import multiplies_pairs

ULP = 2.0**-7  # of bfloat16, relative; a rounding errs by half of it
needs_pairs = pytest.mark.skipif(not multiplies_pairs(), reason="the processor does not multiply pairs of bfloat16")
PLAIN = """
import minigrad as mg
from minigrad.backends.cpu import product, tiles
product.multiplies_pairs, product.MANY_PAIRS, tiles.has_tiles = (lambda: True), 1, lambda: False
mg.manual_seed(0)
a, b = mg.randn(33, 35).bfloat16(), mg.randn(40, 35).bfloat16().mT
pairs = (a @ b).float()
product.multiplies_pairs = lambda: False
mg.settings.winograd = not mg.settings.winograd    # plans are made again
assert mg.allclose(pairs, (a @ b).float(), rtol=0.01, atol=0.05), "plain Python"
"""


@pytest.fixture(autouse=True)
def without_tiles(monkeypatch):
    """Where the processor has AMX, its tiles would compute these products."""
    monkeypatch.setattr(tiles, "has_tiles", lambda: False)


def operand(generator, batch, rows, cols, turned):
    """A random matrix of bfloat16, dense or stored by columns, and the same in float64."""
    shape = (*batch, cols, rows) if turned else (*batch, rows, cols)
    x = mg.tensor(generator.standard_normal(shape), dtype="bfloat16")
    x = x.mT if turned else x
    return x, x.double().numpy()


@needs_pairs
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    ("batch", "m", "k", "n"),
    [((), 32, 1 << 11, 32), ((), 33, 2049, 65), ((3,), 64, 517, 100), ((2, 2), 150, 128, 120), ((), 300, 300, 301)],
)
def test_products_in_pairs_are_those_of_float64(batch, m, k, n, turned, monkeypatch):
    generator = np.random.default_rng(0)
    (a, x), (b, y) = operand(generator, batch, m, k, turned[0]), operand(generator, batch, k, n, turned[1])
    right, asked = x @ y, []
    used = product.multiplies_pairs
    monkeypatch.setattr(product, "multiplies_pairs", lambda: asked.append(1) or used())
    with override(parallel_threshold=1 << 20):
        result = (a @ b).double().numpy()
    assert asked
    assert np.abs(result - right).max() <= 1.1 * ULP / 2 * np.abs(right).max() + 1e-5


@needs_pairs
def test_a_bias_and_factors_are_added_in_float32():
    generator = np.random.default_rng(0)
    (a, x), (b, y) = operand(generator, (), 130, 150, False), operand(generator, (), 150, 140, False)
    c = mg.tensor(generator.standard_normal(140), dtype="bfloat16")
    result = mg.addmm(c, a, b, beta=0.5, alpha=2.0).double().numpy()
    right = 2.0 * (x @ y) + 0.5 * c.double().numpy()
    assert np.abs(result - right).max() <= 1.1 * ULP / 2 * np.abs(right).max()


@needs_pairs
def test_a_pair_beside_infinity_and_nan():
    a, b = mg.ones(128, 129, dtype="bfloat16"), mg.ones(129, 128, dtype="bfloat16")
    a[3, 128], a[5, 0] = float("inf"), float("nan")
    result = (a @ b).float()
    assert (result[3] == float("inf")).all() and result[5].isnan().all()
    kept = [k for k in range(128) if k not in (3, 5)]
    assert (result[kept] == 129).all()


@needs_pairs
def test_gradients_flow_through_pairs():
    generator = np.random.default_rng(0)
    (a, x), (b, y) = operand(generator, (), 128, 130, False), operand(generator, (), 130, 140, False)
    a.requires_grad_(), b.requires_grad_()
    g, h = operand(generator, (), 128, 140, False)
    (a @ b).backward(g)
    for got, right in ((a.grad, h @ y.T), (b.grad, x.T @ h)):
        assert np.abs(got.double().numpy() - right).max() <= 1.1 * ULP / 2 * np.abs(right).max()


def test_pairs_in_plain_python():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", PLAIN], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
