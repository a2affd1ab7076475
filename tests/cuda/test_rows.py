"""Rows by groups of threads: in registers of some lanes, a warp or a block, read again, across memory."""

import numpy as np
import pytest
from cases import over, unless_full
from cuda_mistakes import noticed, text_of

import minigrad as mg
from minigrad.backends.cuda import rows
from minigrad.backends.cuda.reduction_plans import BLOCKS
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.cuda.simulator import check_written
from minigrad.core.dtype import f32
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels.cuda import rows as loops
from minigrad.kernels.cuda.rows import ROWS, row_words
from minigrad.nn import functional as F
from minigrad.ops.nn.normalization import LAYER_NORM_BACKWARD
from minigrad.ops.nn.softmax import SOFTMAX

# A few lanes a row, some loads of a warp, a block, neighbours across memory.
SHAPES = [((5, 6), -1), ((2, 70), -1), ((1, 560), -1), ((9, 5), 0)]


def numbers(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def both(function, *arrays):
    """What a function and its derivatives give on the device and on the reference, which compiles nothing."""
    found = []
    for device in ("reference", "cuda"):
        xs = [mg.tensor(x, device=device, requires_grad=x.dtype.kind == "f") for x in arrays]
        y = function(*xs)
        (y * mg.tensor(numbers(y.shape, 7), device=device)).sum().backward()
        found.append([y.detach().cpu().numpy(), *[x.grad.cpu().numpy() for x in xs if x.requires_grad]])
    for wanted, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=3e-5, atol=3e-6)


@unless_full(lambda order, shape, dim: order[0] == "random" or shape == (2, 70))
@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=str)
def test_rows_of_every_form_in_every_order(order, shape, dim):
    both(lambda x: x.softmax(dim), numbers(shape))


@unless_full(lambda shape: shape == (17, 36))
@pytest.mark.parametrize("shape", [(3, 5), (17, 36), (40, 6), (2, 560)], ids=str)
def test_norms_and_the_sums_down_their_columns(simulator, shape):
    n = shape[-1:]
    with simulator.ordered("random", 3):
        both(lambda x, w, b: F.layer_norm(x, n, w, b), numbers(shape), numbers(n, 1), numbers(n, 2))


def test_rows_that_find_no_registers_are_read_again(simulator, monkeypatch):
    monkeypatch.setattr(rows, "REGISTERS", 1)
    x = numbers((2, 300), 5)  # a shape of its own: launches are kept
    with simulator.ordered("random", 1):
        both(lambda x: x.log_softmax(-1), x)
        both(lambda x, w: F.rms_norm(x, (300,), w), x, numbers((300,), 6))


@unless_full(lambda reduction: reduction == "mean")
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_picked_elements(simulator, reduction):
    targets = np.array([3, -100, 0, 8])
    with simulator.ordered("random", 1):
        both(lambda x, t: F.cross_entropy(x, t, reduction=reduction), numbers((4, 9)), targets)


def test_totals_of_float32_are_as_near_as_they_say(simulator):
    g = np.float32(10.0) ** np.random.default_rng(8).integers(-6, 6, (2, 500)) * numbers((2, 500), 9)
    x = mg.tensor(np.zeros((2, 500), np.float32), device="cuda", requires_grad=True)
    (x.log_softmax(-1) * mg.tensor(g, device="cuda")).sum().backward()
    exact = g - np.float64(g).sum(1, keepdims=True) / 500
    near = (32 + 8 + 4) / 2**24 * np.abs(np.float64(g)).sum(1, keepdims=True) / 500 + np.abs(exact) / 2**23
    assert (np.abs(x.grad.numpy() - exact) <= near).all()


@unless_full(lambda dtype: dtype == "bfloat16")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes(simulator, dtype):
    x = mg.tensor(numbers((2, 24)), dtype=dtype, device="reference")
    wanted, got = x.softmax(-1).to("float64").numpy(), x.to("cuda").softmax(-1).to("float64").numpy()
    np.testing.assert_allclose(got, wanted, rtol=1e-14 if dtype == "float64" else 1e-2)


def test_layouts(simulator):
    x = mg.tensor(numbers((6, 8)), device="reference")
    for view in (x.t(), x.flip(1), x[::2, 1::2], x[1:2].expand(3, 8)):
        np.testing.assert_allclose(view.to("cuda").softmax(-1).numpy(), view.softmax(-1).numpy(), rtol=1e-6)
    y = x.to("cuda")
    for seen, view in ((y.t(), x.t()), (y.flip(1), x.flip(1)), (y[::2, 1::2], x[::2, 1::2])):
        np.testing.assert_allclose(seen.softmax(-1).numpy(), view.softmax(-1).numpy(), rtol=1e-6)


def test_how_rows_are_shared_depends_on_shapes_alone():
    cases = [(10, 2, (8, 32, 1), 1), (64, 4, (16, 16, 1), 1), (512, 4, (32, 8, 1), 4), (4096, 4, (256, 1, 1), 4),
             (8192, 4, (256, 1, 1), 8), (9000, 4, (256, 1, 1), 0)]  # fmt: skip
    for n, width, block, loads in cases:
        x = Spec(Layout.contiguous((4096, n)), f32)
        form, found, _, numbers = rows.plan_rows(SOFTMAX, x, [x], 1, 0.0)
        assert (form.width, found, form.loads, numbers["rows"]) == (width, block, loads, 4096)
    x = Spec(Layout.contiguous((1 << 16, 4096)), f32)
    assert rows.plan_rows(LAYER_NORM_BACKWARD, x, [x, x, x], 1, 0.0)[0].loads and BLOCKS == 1024


# ---- mistakes

MISTAKES = [
    (560, ("        cuda.syncthreads()\n        acc", "        acc"), "race unwritten"),
    (560, ("    if cuda.blockDim.x > 32:\n", "    if cuda.threadIdx.x > 32:\n"), "divergence"),
    (24, ("if j < m:", "if j <= m:"), "bounds race"),
    (24, ("m = n if inside", "m = n - 4 if inside"), "unwritten"),
    (24, ("lanes > 0:", "lanes > 0 and cuda.threadIdx.x != 1:"), "divergence"),
    (24, ("first + cuda.threadIdx.y < numbers[0]", "first + cuda.threadIdx.y < numbers[0] - 1"), "unwritten"),
    (24, ("first + cuda.threadIdx.y < numbers[0]", "True"), "bounds"),
]


def launched(simulator, n, change=("", "")):
    """Launch a text, changed, as the backend would launch the right one."""
    x = Spec(Layout.contiguous((3, n)), f32)
    form, block, groups, told = rows.plan_rows(SOFTMAX, x, [x], 1, 0.0)
    words, told = row_words(SOFTMAX, form, f32.compute, ""), ROWS.packed(groups, told)
    text = text_of(loops.rows, (f32, None, None, None, f32), words, f32.compute, rank=1)
    assert change[0] in text and len(told) == ROWS.fixed({"rank": 1}).count(2)
    there, goal = (simulator.allocate(3 * n, np.dtype("f4")) for _ in range(2))
    simulator.copy_to_device(there, numbers(3 * n))
    kernel, before = simulator.load(Program("changed", text.replace(*change))), simulator.launches
    simulator.launcher(kernel, (1, 1, 1), block, told)(there.address, goal.address)
    check_written(x, goal, before)
    return simulator.copy_to_host(goal).reshape(3, n).sum(1)


@pytest.mark.parametrize(("n", "change", "kind"), MISTAKES)
def test_a_mistake_in_these_loops_is_noticed(simulator, n, change, kind):
    for order, seed in (("forward", 0), ("reverse", 0)):
        with simulator.ordered(order, seed), noticed(kind):
            launched(simulator, n, change)


def test_without_a_mistake_nothing_is_noticed(simulator):
    assert np.allclose(launched(simulator, 24), 1)


EDGES = [(1, 3, 4), (3, 1, 4), (3, 4, 1), (1, 1, 1), (0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 0, 3), (2, 1, 1, 3)]


def layers(x):
    """Norms over the last dim with a weight and a bias."""
    n = x.shape[-1:]
    weight, bias = (mg.tensor(numbers(n, k), device=x.device) for k in (1, 2))
    return F.layer_norm(x, n, weight, bias) + F.rms_norm(x, n, weight)


def entropies(x):
    """Cross entropies of the classes of the second dim, one of which is ignored."""
    shape = (x.shape[0], *x.shape[2:])
    target = mg.zeros(shape, dtype="int64", device=x.device)
    return F.cross_entropy(x, target, reduction="none") + F.cross_entropy(x, target - 100, reduction="sum")


@over("turned", [False, True])
@over("shape", EDGES, ids=str)
def test_dims_of_one_element_or_none_may_stand_anywhere(simulator, shape, turned):
    def seen(x):
        return x.permute(*reversed(range(x.ndim))) if turned else x

    x = numbers(shape, 3)
    for dim in range(len(shape)):
        both(lambda x, d=dim: seen(x).softmax(d) * seen(x).log_softmax(d), x)
        if 0 not in shape:
            both(lambda x, d=dim: seen(x).logsumexp(d) + seen(x).amax(d) + seen(x).sum(d), x)
        both(lambda x, d=dim: seen(x).cumsum(d) + seen(x).logcumsumexp(d) + seen(x).sort(d)[0], x)
    both(lambda x: layers(seen(x)), x)
    if shape[-2 if turned else 1]:  # a target needs a class
        both(lambda x: entropies(seen(x)), x)
