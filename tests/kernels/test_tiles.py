"""Products of bfloat16 by AMX's tiles: beside float64 for all sizes and layouts, in threads, forks and plain Python."""

import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import minigrad as mg
from minigrad.backends.cpu import tiles
from minigrad.kernels.store import watch

ULP = 2.0**-7  # of bfloat16, relative; a rounding errs by half of it
needs_tiles = pytest.mark.skipif(not tiles.has_tiles(), reason="the processor has no AMX, or the system refuses it")
PLAIN = """
import minigrad as mg
from minigrad.backends.cpu import tiles
mg.manual_seed(0)
a, b, c = mg.randn(33, 35).bfloat16(), mg.randn(40, 35).bfloat16().mT, mg.randn(40).bfloat16()
results = []
for used in (True, False):
    tiles.has_tiles = lambda: used
    mg.settings.winograd = not mg.settings.winograd    # plans are made again
    products = mg.addmm(c, a, b, beta=0.5), mg.ones(64, 64).bfloat16() @ b[:32].tile(2, 1)
    # The scores are float32.
    results.append((*products, mg.nn.functional.scaled_dot_product_attention(a, b.mT, b.mT)))
for x, y in zip(*results):
    assert mg.allclose(x.float(), y.float(), rtol=0.01, atol=0.1), "plain Python"
"""
FORK = """
import os, sys, threading
import minigrad as mg
from minigrad.backends.cpu import tiles
assert tiles.has_tiles()
a = mg.ones(40, 40, dtype="bfloat16")
right = lambda: ((a @ a) == 40).all().item() and ((a[:33] @ a) == 40).all().item()
assert right()
child = os.fork()
if child == 0:
    mg.set_num_threads(1)
    os._exit(7 if right() and tiles.has_tiles() else 8)
found = []
thread = threading.Thread(target=lambda: found.append(right()))
thread.start(), thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), found[0])
"""


def program(text, **environment):
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def operand(generator, batch, rows, cols, form):
    """A random matrix of bfloat16 with dense rows, dense columns or neither, and the same in float64."""
    if form == "strided":
        x = mg.tensor(generator.standard_normal((*batch, rows, 2 * cols, 2)), dtype="bfloat16")[..., ::2, 1]
    else:
        shape = (*batch, rows, cols) if form == "rows" else (*batch, cols, rows)
        x = mg.tensor(generator.standard_normal(shape), dtype="bfloat16")
        x = x if form == "rows" else x.mT
    return x, x.double().numpy()


def by_tiles(function):
    """The result in float64, of which tiles compute a part."""
    with watch() as files:
        result = function()
    assert any("multiply_tiles" in file for file in files)
    return result.double().numpy()


def assert_near(result, right, terms):
    """Compare with float64: half a unit of bfloat16, and a float32 sum of `terms`, the sums of absolute products."""
    assert (np.abs(result - right) <= ULP / 2 * np.abs(right) + 2.0**-20 * terms).all()


@needs_tiles
@pytest.mark.parametrize("left", ["rows", "columns", "strided"])
@pytest.mark.parametrize("right", ["rows", "columns", "strided"])
@pytest.mark.parametrize(
    ("batch", "m", "k", "n"),
    [((), 32, 64, 32), ((), 33, 1057, 47), ((), 300, 520, 290), ((3,), 64, 96, 70), ((2, 3), 45, 33, 31)],
)
def test_products_by_tiles_are_those_of_float64(batch, m, k, n, left, right):
    generator = np.random.default_rng(0)
    (a, x), (b, y) = operand(generator, batch, m, k, left), operand(generator, batch, k, n, right)
    result = by_tiles(lambda: mg.matmul(a, b))
    assert_near(result, x @ y, np.abs(x) @ np.abs(y))


@needs_tiles
def test_tails_of_all_sizes():
    generator = np.random.default_rng(1)
    (a, x), (b, y) = operand(generator, (), 69, 67, "rows"), operand(generator, (), 67, 70, "columns")
    for size in range(24, 66):
        m, k, n = size, 24 + 5 * size % 43, 24 + 7 * size % 46
        u, v, (c, d) = x[:m, :k], y[:k, :n], (a[:m, :k], b[:k, :n])
        assert_near(by_tiles(partial(mg.matmul, c, d)), u @ v, np.abs(u) @ np.abs(v))


@needs_tiles
@pytest.mark.parametrize("right", ["rows", "columns"])
def test_a_repeated_operand_of_a_batch_is_packed_once(right):
    generator = np.random.default_rng(2)
    (a, x), (b, y) = operand(generator, (1,), 40, 48, "columns"), operand(generator, (4,), 48, 36, right)
    assert_near(by_tiles(lambda: a @ b), x @ y, np.abs(x) @ np.abs(y))
    assert_near(by_tiles(lambda: b.mT @ a.mT[0]), y.swapaxes(1, 2) @ x[0].T, np.abs(y).swapaxes(1, 2) @ np.abs(x[0]).T)


@needs_tiles
@pytest.mark.parametrize("added", [(50, 60), (60,), (50, 1), (1, 1)])
def test_factors_and_an_added_matrix_are_rounded_once(added):
    generator = np.random.default_rng(3)
    (a, x), (b, y) = operand(generator, (), 50, 150, "rows"), operand(generator, (), 150, 60, "rows")
    c = mg.tensor(generator.standard_normal(added), dtype="bfloat16")
    z = c.double().numpy()
    result = by_tiles(lambda: mg.addmm(c, a, b, beta=0.5, alpha=2.0))
    assert_near(result, 2.0 * (x @ y) + 0.5 * z, 2 * np.abs(x) @ np.abs(y) + np.abs(z))


@needs_tiles
def test_a_product_is_added_to_its_result():
    a, b = mg.ones(40, 64, dtype="bfloat16"), mg.full((64, 36), 2.0, dtype="bfloat16")
    total = mg.ones(40, 36, dtype="bfloat16")
    by_tiles(lambda: total.addmm_(a, b))
    assert (total == 129).all()


@needs_tiles
def test_infinity_nan_and_subnormal_numbers():
    a, b = mg.ones(40, 65, dtype="bfloat16"), mg.ones(65, 36, dtype="bfloat16")
    a[3, 64], a[5, 0], a[6, 1], a[6, 2] = float("inf"), float("nan"), float("inf"), -float("inf")
    a[7], a[8] = 2.0**-130, 3e38
    result = mg.tensor(by_tiles(lambda: a @ b))
    assert (result[3] == float("inf")).all() and (result[8] == float("inf")).all()
    assert result[5].isnan().all() and result[6].isnan().all()
    assert (result[7] == 0).all()  # as with pairs, subnormal operands count as 0
    kept = [k for k in range(40) if k not in (3, 5, 6, 7, 8)]
    assert (result[kept] == 65).all()


@needs_tiles
def test_bits_do_not_depend_on_threads():
    generator = np.random.default_rng(4)
    (a, _), (b, _) = operand(generator, (), 200, 1100, "columns"), operand(generator, (), 1100, 150, "columns")
    results, threads = [], mg.get_num_threads()
    try:
        for count in (1, threads):
            mg.set_num_threads(count)
            results.append(by_tiles(lambda: a @ b))
            mg.settings.winograd = not mg.settings.winograd  # plans are made again
    finally:
        mg.set_num_threads(threads)
    assert (results[0] == results[1]).all()


@needs_tiles
def test_gradients_flow_through_tiles():
    generator = np.random.default_rng(5)
    (a, x), (b, y) = operand(generator, (), 70, 90, "rows"), operand(generator, (), 90, 80, "rows")
    g, h = operand(generator, (), 70, 80, "rows")
    a.requires_grad_(), b.requires_grad_()
    (a @ b).backward(g)
    assert_near(a.grad.double().numpy(), h @ y.T, np.abs(h) @ np.abs(y).T)
    assert_near(b.grad.double().numpy(), x.T @ h, np.abs(x).T @ np.abs(h))


@needs_tiles
def test_linear_layers_under_autocast_use_tiles():
    layer, x = mg.nn.Linear(72, 56), mg.randn(48, 72)
    with mg.no_grad(), mg.amp.autocast("cpu", dtype=mg.bfloat16):
        result = by_tiles(lambda: layer(x))
    right = x.double().numpy() @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()
    assert np.abs(result - right).max() < 0.05


@needs_tiles
@pytest.mark.parametrize("causal", [False, True])
def test_attention_uses_tiles_and_adds_gradients_of_blocks_in_float32(causal):
    generator = np.random.default_rng(6)
    pairs = [operand(generator, (2,), 300, 40, "rows") for _ in range(4)]
    *inputs, g = [x for x, _ in pairs]
    *exact, h = [mg.tensor(right) for _, right in pairs]
    results = []
    for operands, incoming in ((inputs, g), (exact, h)):
        xs = [x.detach().requires_grad_() for x in operands]
        with watch() as files:
            y = mg.nn.functional.scaled_dot_product_attention(*xs, is_causal=causal)
            y.backward(incoming)
        assert any("multiply_tiles" in file for file in files) == (incoming is g)
        results.append([t.double().numpy() for t in (y.detach(), *[x.grad for x in xs])])
    for got, right in zip(*results, strict=True):
        # Weights and scores' gradients are rounded to bfloat16, and results once more.
        assert np.abs(got - right).max() <= 2 * ULP * np.abs(right).max()


@needs_tiles
def test_a_forked_process_and_a_thread_use_tiles():
    assert program(FORK, NUMBA_THREADING_LAYER="workqueue") == ["7", "True"]


def test_a_processor_without_the_features_is_not_asked():
    text = "from minigrad.kernels.cpu.processor import has_tiles; print(has_tiles())"
    assert program(text, NUMBA_CPU_NAME="skylake-avx512", NUMBA_CPU_FEATURES="+avx512f,+avx512bw") == ["False"]


def test_a_refused_permission_leaves_the_other_kernels(monkeypatch):
    monkeypatch.setattr(tiles, "has_tiles", lambda: False)
    a = mg.ones(41, 43, dtype="bfloat16")
    with watch() as files:
        assert ((a @ a.mT) == 43).all()
    assert files and not any("tiles" in file for file in files)


def test_tiles_in_plain_python():
    program(PLAIN, NUMBA_DISABLE_JIT="1")
