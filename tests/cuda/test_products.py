"""Products by tiles in the simulator: every way of reading, edges, pieces, and what of a mistake in them is noticed."""

import itertools

import numpy as np
import pytest
from cases import unless_full
from strided import arrange, blank, check_gaps, contents

from minigrad.backends.cuda import CudaBackend, matmul, tiles
from minigrad.backends.cuda.runtime import Program, Properties
from minigrad.backends.cuda.simulator import Simulator
from minigrad.backends.cuda.watched import Notice
from minigrad.backends.cuda.words import results
from minigrad.core import requests
from minigrad.core.dtype import bf16, bool_, f16, f32, f64, i8, i32
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels import half

ORDERS = ["forward", "reverse", "random"]
NEAR = {2: 2e-2, 4: 2e-6, 8: 1e-14}  # of the largest element
SIDES = list(itertools.product([False, True], repeat=2))


@pytest.fixture
def backend():
    return CudaBackend(Simulator())


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) if dtype.is_float else rng.integers(0, 2 if dtype is bool_ else 9, shape)


def even(values, dtype, turned):
    """Values in a buffer that begins with them, row by row or column by column."""
    layout = Layout.contiguous(values.shape[::-1] if turned else values.shape)
    buffer, spec = arrange(values.T if turned else values, dtype)
    assert spec.layout.shape == layout.shape
    return buffer, Spec(spec.layout.transpose(0, 1) if turned else spec.layout, dtype)


def run(backend, request, out, *operands):
    """Prepare, launch and read."""
    machine = backend.runtime
    launch = backend.prepare(request, out[1], *(spec for _, spec in operands))
    buffers = []
    for buffer, spec in (*operands, out):  # nothing behind the last element, so that nobody goes there unnoticed
        there = machine.allocate(spec.layout.span()[1], buffer.dtype)
        machine.copy_to_device(there, buffer[: there.size])
        buffers.append(there)
    launch(*buffers)
    found = out[0].copy()
    found[: buffers[-1].size] = machine.copy_to_host(buffers[-1])
    check_gaps(found, out[1])
    return np.float64(contents(found, out[1]))


def hold(backend, a, b, dtype, out=None, added=None, alpha=1, beta=0, way="dense"):
    """A product against NumPy's in float64."""
    shape = (*a[1].shape[:-1], b[1].shape[-1])
    out = blank(shape, out or dtype, way)
    found = run(backend, requests.Product(alpha, beta), out, a, b, *([added] if added else []))
    wanted = alpha * (np.float64(contents(*a)) @ np.float64(contents(*b)))
    if added:
        wanted = wanted + beta * np.float64(contents(*added))
    near = NEAR[out[1].dtype.itemsize] * max(1, np.abs(wanted).max(initial=0))
    assert np.abs(found - wanted).max(initial=0) <= near
    return found


def labels(backend):
    """The tiles that were used."""
    return {args[2].arguments[0].label for _, args in backend.kernels if args[0].__name__ == "tiles"}


@pytest.mark.parametrize("sides", SIDES, ids=lambda sides: "".join("NT"[side] for side in sides))
@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
@unless_full(lambda dtype, sides: dtype is f16 or sides == (False, False))
def test_halves_on_the_tensor_cores_by_asynchronous_copies(backend, dtype, sides):
    m, k, n = 40, 72, 24  # neither whole tiles nor whole slices
    operands = [even(numbers(s, dtype, i), dtype, side) for i, (s, side) in enumerate(zip([(m, k), (k, n)], sides))]
    with backend.runtime.ordered("reverse" if dtype is f16 else "random", 3):
        hold(backend, *operands, dtype)
    assert labels(backend) == {"mma32x32x32_" + "_".join("nt"[side] + "w" for side in sides)}


@pytest.mark.parametrize("sides", SIDES, ids=lambda sides: "".join("NT"[side] for side in sides))
def test_halves_on_the_tensor_cores_at_odd_sizes(backend, sides):
    ways = ["transposed" if side else "offset" for side in sides]
    a, b = (arrange(numbers(s, f16, i), f16, way) for i, (s, way) in enumerate(zip([(33, 41), (41, 17)], ways)))
    c = arrange(numbers((33, 17), f16, 2), f16, "flipped")
    hold(backend, a, b, f16, added=c, alpha=2, beta=3, way="stepped")
    assert labels(backend) == {"mma32x32x32_" + "_".join("nt"[side] for side in sides)}


@pytest.mark.parametrize("tile", tiles.MMA_TILES[:2], ids=lambda tile: tile.label)
@pytest.mark.parametrize("sides", [(False, False), (True, True)], ids=["NN", "TT"])
@unless_full(lambda tile, sides: tile.high == 64 and not sides[0])
def test_larger_tiles_of_the_tensor_cores(backend, monkeypatch, tile, sides):
    monkeypatch.setattr(matmul, "tile_for", lambda *given: tile)
    m, k, n = tile.high - 8, 64, tile.broad // 2 + 8
    operands = [even(numbers(s, bf16, i), bf16, side) for i, (s, side) in enumerate(zip([(m, k), (k, n)], sides))]
    hold(backend, *operands, bf16)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", [f32, f64, i32, i8], ids=str)
@unless_full(lambda dtype, order: dtype is f32 or order == "forward")
def test_tiles_of_one_thread_each(backend, dtype, order):
    with backend.runtime.ordered(order, 1):
        a, b = (
            arrange(numbers((19, 21), dtype), dtype, "flipped"),
            arrange(numbers((21, 18), dtype, 1), dtype, "offset"),
        )
        values = [contents(*x).astype(dtype.compute) for x in (a, b)]
        out = blank((19, 18), dtype, "transposed")
        found = run(backend, requests.Product(), out, a, b)
    if dtype.is_float:
        assert np.allclose(found, values[0] @ values[1], rtol=NEAR[dtype.itemsize], atol=NEAR[dtype.itemsize])
    else:  # integers wrap
        assert np.array_equal(found, values[0] @ values[1])


@pytest.mark.parametrize("tile", tiles.TILES[:2], ids=lambda tile: tile.label)
def test_larger_tiles_of_one_thread_each(backend, monkeypatch, tile):
    monkeypatch.setattr(matmul, "tile_for", lambda *given: tile)
    a, b = arrange(numbers((tile.high + 1, 5), f32), f32), arrange(numbers((5, 9), f32, 1), f32, "transposed")
    hold(backend, a, b, f32)


@pytest.mark.parametrize("order", ORDERS)
def test_the_inner_dim_in_pieces(backend, order):
    a, b = arrange(numbers((3, 520), f32), f32), arrange(numbers((520, 4), f32, 1), f32)
    c = arrange(numbers((3, 4), f32, 2), f32, "transposed")
    with backend.runtime.ordered(order, 1):
        hold(backend, a, b, f32, added=c, alpha=0.5, beta=2)
    assert {args[0].__name__ for _, args in backend.kernels} == {"tiles", "add_up"}


@pytest.mark.parametrize("order", ORDERS)
@unless_full(lambda shape, order: order == "random")
@pytest.mark.parametrize(
    ("shape", "way"), [((9, 70), "dense"), ((35, 70), "transposed"), ((3, 2100), "dense")], ids=str
)
def test_products_with_a_vector(backend, shape, way, order):
    matrix = arrange(numbers(shape, f32), f32, way)
    column = arrange(numbers((shape[1], 1), f32, 1), f32, "flipped")
    turned = [(buffer, Spec(spec.layout.transpose(0, 1), spec.dtype)) for buffer, spec in (column, matrix)]
    with backend.runtime.ordered(order, 1):
        there, back = hold(backend, matrix, column, f32), hold(backend, *turned, f32)
    assert np.array_equal(there.T, back)


@pytest.mark.parametrize("order", ORDERS)
def test_small_matrices(backend, order):
    a, b = (arrange(numbers((3, 4, 5), f32, i), f32, way) for i, way in enumerate(["permuted", "flipped"]))
    b = b[0], Spec(b[1].layout.transpose(1, 2), f32)
    with backend.runtime.ordered(order, 1):
        hold(backend, a, b, f32, added=arrange(numbers((3, 4, 4), f32, 2), f32, "stepped"), alpha=2, beta=3)


def test_operands_of_several_dtypes_are_not_copied_first(backend):
    a, b = arrange(numbers((6, 70), bf16), bf16), arrange(numbers((70, 5), bool_, 1), bool_)
    hold(backend, a, b, f64)
    assert len(backend.kernels) == 1


def test_halves_on_a_device_without_such_tensor_cores(backend, monkeypatch):
    monkeypatch.setattr(Simulator, "properties", Properties("older", (7, 5), 2, 1 << 30))
    hold(backend, *(even(numbers((20, 20), f16, i), f16, False) for i in range(2)), f16)
    assert labels(backend) == {"tile16x16x16_n_n"}


# ---- what a warp does together


def test_the_multiplication_of_a_warp_is_that_of_its_matrices():
    a, b, c = (numbers(s, f32, i).astype(np.float32) for i, s in enumerate([(16, 16), (16, 8), (16, 8)]))
    bits = {"float16": lambda x: x.astype(np.float16).view(np.uint16), "bfloat16": np.vectorize(half.float_to_bfloat)}
    for kind, turn in bits.items():
        left, right = turn(a).astype(np.uint32), turn(b).astype(np.uint32)
        brought = {}
        for lane in range(32):
            g, q = lane // 4, lane % 4 * 2
            pairs = [left[g + i, q + j : q + j + 2] for j in (0, 8) for i in (0, 8)]
            pairs += [right[q + j : q + j + 2, g] for j in (0, 8)]
            sums = [c[g + i, q + j] for i in (0, 8) for j in (0, 1)]
            brought[lane] = (*(int(low) | int(high) << 16 for low, high in pairs), *sums)
        found = results(f"mma_{kind}", brought)
        exact = c + a @ b
        for lane, given in found.items():
            wanted = [exact[lane // 4 + i, lane % 4 * 2 + j] for i in (0, 8) for j in (0, 1)]
            assert np.allclose(given, wanted, atol=0.1)


# ---- convolutions and pools


@pytest.mark.parametrize("dtype", [f32, f16], ids=str)
@unless_full(lambda dtype: dtype is f32)
def test_the_parts_of_a_convolution(backend, dtype):
    x, w, y = (
        arrange(numbers(s, dtype, i) * 0.5, dtype) for i, s in enumerate([(2, 4, 6, 7), (6, 2, 3, 2), (2, 6, 3, 6)])
    )
    bias = arrange(numbers((6,), dtype, 3), dtype)
    # A linear map and its two transposes: <y, conv(x, w)> = <x, back(y, w)> = <w, weigh(y, x)>.
    rest = ((2, 1), (1, 0), (1, 1), 2)
    none = arrange(np.zeros(6), dtype)
    sides = []
    for part, like, operands in (("output", y, (x, w, none)), ("input", x, (y, w)), ("weight", w, (y, x))):
        with backend.runtime.ordered("random", 5):
            found = run(backend, requests.Convolve(part, *rest), blank(like[1].shape, f32), *operands)
        sides.append(float((np.float64(contents(*like)) * found).sum()))
    assert np.allclose(sides, sides[0], rtol=1e-4)
    with_bias = run(backend, requests.Convolve("output", *rest), blank((2, 6, 3, 6), f32), x, w, bias)
    without = run(backend, requests.Convolve("output", *rest), blank((2, 6, 3, 6), f32), x, w, none)
    assert np.allclose(with_bias - without, np.float64(contents(*bias)).reshape(6, 1, 1), atol=1e-5)
    assert any(label.startswith("mma" if dtype is f16 else "tile") for label in labels(backend))


# ---- mistakes

MISTAKES = [
    ("cuda.syncthreads()", "pass", "unwritten"),
    ("line_0 + e * 4 < size_0", "True", "bounds"),
    ("k_0 < deep", "True", "bounds"),
    ("if col < numbers[6]", "if col <= numbers[6]", "race"),
    ("if row < numbers[5]", "if row <= numbers[5]", "bounds race"),
    ("if row < numbers[5]", "if row < numbers[5] - 1", "unwritten"),
    ("for kk in range(0, 16", "for kk in range(0, 15", "values"),
    ("% 2 * 320", "% 2 * 316", "unwritten race"),
]
MMA_MISTAKES = [
    ("cuda.syncthreads()", "pass", "unwritten race"),
    ("copies_landed_1()", "pass", "unwritten"),
    ("copies_sent()", "pass", "unwritten"),
    (", 8 if inside else 0)", ", 8)", "values"),
    ("lane >> 4", "lane >> 3", "unwritten bounds values"),
    ("lane & 15", "lane & 7", "values"),
    ("if col < numbers[6]", "if col <= numbers[6]", "race"),
    ("steps + 3 - 1", "steps + 3 - 2", "values"),
]
WINDOW_MISTAKES = [
    ("p2 >= 0", "True", "bounds values"),
    ("p2 < ", "p2 <= ", "bounds values"),
    ("if col < numbers[6]", "if col <= numbers[6]", "bounds race"),
    ("inside = inside and where >= 0", "pass", "bounds"),
]


def noticed(change, act):
    """What the simulator, or else the values, say of a changed text, in one order of threads or another."""
    for order, seed in (("forward", 0), ("reverse", 0), ("random", 1)):
        backend = CudaBackend(Simulator())
        load = backend.runtime.load

        def changed(program, load=load):
            text = program.text.replace(*change)
            assert text != program.text, f"{change[0]} is not in it"
            return load(Program(program.name, text))

        backend.runtime.load = changed
        with backend.runtime.ordered(order, seed):
            try:
                act(backend)
            except Notice as notice:
                return notice.kind
            except AssertionError as error:
                assert "is not in it" not in str(error)
                return "values"
    return ""


def multiply(dtype):
    """A product of which the tiles and slices are not whole."""
    size = (24, 72, 24) if dtype is f16 else (18, 20, 18)
    a, b = (even(1 + numbers(s, dtype, i), dtype, False) for i, s in enumerate([size[:2], size[1:]]))
    return lambda backend: hold(backend, a, b, dtype)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[0])
def test_mistakes_in_tiles_are_noticed(mistake):
    assert noticed(mistake[:2], multiply(f32)) in mistake[2].split()


@pytest.mark.parametrize("mistake", MMA_MISTAKES, ids=lambda mistake: mistake[0])
def test_mistakes_around_the_tensor_cores_are_noticed(mistake):
    assert noticed(mistake[:2], multiply(f16)) in mistake[2].split()


@pytest.mark.parametrize("mistake", WINDOW_MISTAKES, ids=lambda mistake: mistake[0])
def test_mistakes_at_the_edges_of_an_image_are_noticed(mistake):
    x, w, bias = arrange(np.ones((1, 1, 3, 3)), f64), arrange(np.ones((1, 1, 3, 3)), f64), arrange(np.zeros(1), f64)

    def convolve(backend):
        found = run(
            backend, requests.Convolve("output", (1, 1), (1, 1), (1, 1), 1), blank((1, 1, 3, 3), f64), x, w, bias
        )
        assert found.tolist() == [[[[4, 6, 4], [6, 9, 6], [4, 6, 4]]]]

    assert noticed(mistake[:2], convolve) in mistake[2].split()


@pytest.mark.parametrize(("change", "kind"), [
    (("e < numbers[0]", "e <= numbers[0]"), "bounds race"), (("q >= 0", "True"), "bounds values"),
    (("if r >= 0 and r < numbers[", "if r < numbers["), "bounds values"),
])  # fmt: skip
def test_mistakes_in_a_pool_are_noticed(change, kind):
    x = arrange(np.arange(9.0).reshape(1, 1, 3, 3), f64)

    def pool(backend):
        out = blank((1, 1, 2, 2), f64)
        found = run(backend, requests.MaxPool("values", (2, 2), (2, 2), (1, 1), (1, 1)), out, x)
        assert found.tolist() == [[[[0, 2], [6, 8]]]]

    assert noticed(change, pool) in kind.split()
