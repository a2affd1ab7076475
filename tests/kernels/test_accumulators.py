"""Reductions of users with several accumulators and results: sizes around every cut, layouts, dtypes, declarations.

The kernels run as plain Python here, cut so short that small sizes cross every boundary; a few are compiled."""

import itertools
import math

import numpy as np
import pytest
from asking import Asking
from cases import over
from plain_kernels import interpreted
from strided import WAYS, arrange, blank, check_gaps, contents
from welford import joined, moments, step

import minigrad as mg
from minigrad.backends.cpu import mapped, reduction_plans
from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core import reducer
from minigrad.core.device import as_device
from minigrad.core.dtype import f16, f32, f64, i32, i64, u8
from minigrad.core.requests import Reduce
from minigrad.declare.partials import declared
from minigrad.errors import ArgumentError, DeclarationError, DTypeError, ShapeError

REFERENCE = Asking(backend_of(as_device("reference")))
RNG = np.random.default_rng(5)


def ends(low, high, x):
    return (x if x < low or x != x else low), (x if x > high or x != x else high)


def sum_and_product(out, acc, x_0):
    return out + x_0, acc * (1 if x_0 > 2 else x_0)


def joined_sums(out, acc, other, more):
    return out + other, acc * more


def gap(x_0, work):
    return abs(x_0 - work)


def spread(low, high):
    return high - low


def thrice(acc, n):
    return acc, acc * n, n


def total(acc, x):
    return acc + x


def digits(first, last, x):
    return first * 2 + x, last * 3 + first + x


THREE = ("zero",) * 3
REDUCTIONS = {
    "ends": declared(ends, ("highest", "lowest"), order="extreme"),
    "spread": declared(ends, ("highest", "lowest"), order="extreme", finish=spread),
    "names": declared(sum_and_product, ("zero", "one"), combine=joined_sums),
    "apart": declared(ends, ("highest", "lowest"), order="extreme", map=gap),
    "one to three": declared(total, "zero", order="sum", finish=thrice, results=3),
    "mapped sum": declared(total, "zero", order="sum", map=gap, finish=thrice, results=3),
    "digits": declared(digits, ("zero", "one"), order="sequential"),
    "mapped digits": declared(digits, ("zero", "one"), order="sequential", map=gap),
}


def hold(backend, which, operands, dims, out_way="dense", compute=np.int64, out_dtype=None):
    """Hold a reduction to the reference; whole numbers, so that every order of a sum gives the same bits."""
    reducer = REDUCTIONS[which]
    shape = tuple(1 if d in dims else n for d, n in enumerate(operands[0][1].shape))
    dtype = out_dtype or (i64 if np.dtype(compute).kind == "i" else f64)
    outs = [blank(shape, dtype, way) for way in [out_way, "dense", "stepped"][: reducer.results]]
    results = []
    for device in (backend, REFERENCE):
        memories = [memory.copy() for memory, _ in outs]
        request = Reduce(reducer, np.dtype(compute), dims)
        launch = device.prepare(request, tuple(spec for _, spec in outs), *[spec for _, spec in operands])
        launch(*[memory for memory, _ in operands], *memories)
        for memory, (_, spec) in zip(memories, outs):
            check_gaps(memory, spec)
        results.append([contents(memory, spec) for memory, (_, spec) in zip(memories, outs)])
    for found, wanted in zip(*results):
        np.testing.assert_array_equal(found, wanted, f"{which} {operands[0][1].layout} {dims}")


def numbers(shape, seed=1):
    return np.random.default_rng(seed).integers(-2, 4, shape)


def operands_of(which, values, dtype, ways):
    """One operand, or two for a reduction of gaps."""
    both = [values, values[::-1].copy()] if REDUCTIONS[which].map else [values]
    return [arrange(x, dtype, way) for x, way in zip(both, ways)]


@pytest.fixture
def short(monkeypatch):
    """The interpreted backend, and cuts so small that these sizes stand on both sides of every one."""
    for name, size in {"PIECE": 40, "COLUMNS": 10, "CHUNK": 30, "TINY": 20, "FEW": 4}.items():
        monkeypatch.setattr(reduction_plans, name, size)
        monkeypatch.setattr(mapped, name, size, raising=False)
    monkeypatch.setattr(mapped, "LANES", 12)
    monkeypatch.setattr(reducer, "SHORT", 4)
    return interpreted(monkeypatch)[0]


BOUNDARIES = sorted({n + k for n in (12, 20, 24, 40, 80) for k in (-1, 0, 1)} | {1, 2, 163})


@over("compute", [np.int64, np.float64], ids=["integers", "floats"])
@over("which", REDUCTIONS)
def test_stretches_of_every_length_around_a_cut(short, which, compute):
    sequential = "digits" in which
    for n, way in itertools.product(BOUNDARIES, ("dense", "stepped", "flipped")):
        if not (sequential and (n > 30 and compute is np.float64)):  # beyond what a float64 holds exactly
            dtype = i32 if compute is np.int64 else f32
            hold(short, which, operands_of(which, numbers((n,)), dtype, (way, "dense")), (0,), compute=compute)


@pytest.mark.parametrize("which", REDUCTIONS)
def test_every_layout_over_every_set_of_dims(short, which):
    for shape in [(3, 5, 7), (2, 11, 30), (30, 2, 3)]:
        for (way, other), count in itertools.product(zip(WAYS, (*WAYS[2:], *WAYS[:2])), range(4)):
            for dims in itertools.combinations(range(3), count):
                hold(short, which, operands_of(which, numbers(shape), i32, (way, other)), dims, "permuted")


@pytest.mark.parametrize("which", ["names", "one to three", "digits"])
def test_nothing_gives_what_finish_makes_of_the_identities(short, which):
    for shape, dims in [((0,), (0,)), ((3, 0), (1,)), ((0, 30), (0,)), ((0, 3), (1,))]:
        hold(short, which, operands_of(which, numbers(shape), i32, ("dense", "dense")), dims)


@pytest.mark.parametrize("n", [5, 600])
def test_results_are_stored_in_dtypes_of_their_own(n):
    x = arrange(numbers((n,)), f16)
    outs = [blank((1,), dtype) for dtype in (f16, u8, f32)]
    request = Reduce(REDUCTIONS["one to three"], np.dtype(np.float32), (0,))
    backend = backend_of(as_device("cpu"))
    backend.prepare(request, tuple(spec for _, spec in outs), x[1])(x[0], *[memory for memory, _ in outs])
    whole = numbers((n,)).sum()
    wanted = [np.float16(whole), np.clip(whole * n, 0, 255), n]
    assert [contents(*out)[0] for out in outs] == wanted


def test_reductions_over_any_dims(short):
    for which, shape, dims in itertools.product(REDUCTIONS, [(4, 5, 3), (1, 7, 1)], [(0,), (1, 2), (0, 2), ()]):
        hold(short, which, operands_of(which, numbers(shape), i32, ("stepped", "flipped")), dims)
    for which in ("names", "digits"):
        hold(short, which, [arrange(numbers((0, 3)), i32)], (0,))


# ---- declared


def spread_evenly(g, dims, shape):
    """A gradient stretched back over the reduced dims."""
    for d in dims if g.ndim < len(shape) else ():
        g = g.unsqueeze(d)
    return g.expand(shape)


def moments_rule(g0, g1, x, mean, *, dims, in_shape):
    n = math.prod(in_shape[d] for d in dims)
    parts = [] if g0 is None else [spread_evenly(g0 / n, dims, in_shape)]
    if g1 is not None:
        parts.append(spread_evenly(g1, dims, in_shape) * (x - spread_evenly(mean, dims, in_shape)) * (2.0 / n))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@mg.reduction(dtype=mg.rules.accumulate, identity=THREE, combine=joined, finish=moments, outputs=("mean", "var"),
              vjp=(moments_rule,))  # fmt: skip
def welford(mean, m2, n, x):
    """The mean and the variance in one pass."""
    count = n + 1
    delta = x - mean
    new = mean + delta / count
    return new, m2 + delta * (x - new), count


def joined_top(top, total, other_top, other_total):
    best = other_top if other_top > top else top
    safe = best if math.isfinite(best) else 0
    return best, total * math.exp(top - safe) + other_total * math.exp(other_top - safe)


def log_of_both(top, total):
    return math.log(total) + (top if math.isfinite(top) else 0)


@mg.reduction(dtype=mg.rules.accumulate, identity=("lowest", "zero"), combine=joined_top, finish=log_of_both)
def log_of_sum(top, total, x):
    """The logarithm of a sum of exponentials in one pass: two accumulators, one result."""
    best = x if x > top else top
    safe = best if math.isfinite(best) else 0
    return best, total * math.exp(top - safe) + math.exp(x - safe)


@mg.reduction(dtype=mg.rules.promote, identity=("highest", "lowest"), order="extreme", outputs=("low", "high"))
def ends_of(low, high, x):
    """Both ends."""
    return (x if x < low or x != x else low), (x if x > high or x != x else high)


@pytest.mark.parametrize("threshold", [0, 1 << 40], ids=["parallel", "serial"])
def test_welford_s_method_on_all_threads_is_that_of_numpy(threshold):
    with override(parallel_threshold=threshold):
        for shape, dim in [((100_001,), None), ((1000, 70), 0), ((70, 1000), 1), ((3, 4, 5), (0, 2))]:
            values = RNG.normal(1000.0, 1.0, shape).astype(np.float32)
            for view in (values, values[::-1]):
                mean, var = found = welford(mg.tensor(values)[:: 1 if view is values else -1], dim)
                assert found._fields == ("mean", "var") and type(found).__name__ == "welford"
                np.testing.assert_allclose(mean.numpy(), view.mean(dim, np.float64), rtol=1e-6)
                np.testing.assert_allclose(var.numpy(), view.var(dim, np.float64), rtol=1e-5)


def test_two_accumulators_may_have_one_result():
    x = RNG.normal(0.0, 300.0, (3, 700))
    for device in ("cpu", "reference"):
        found = log_of_sum(mg.tensor(x, device=device), 1, keepdim=True)
        top = x.max(1, keepdims=True)
        np.testing.assert_allclose(found.numpy(), np.log(np.exp(x - top).sum(1, keepdims=True)) + top, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float64"])
def test_ends_of_every_dtype_also_of_nan(dtype):
    x = mg.tensor(RNG.integers(0, 2 if dtype == "bool" else 9, (4, 5)), device="reference").to(dtype)
    low, high = ends_of(x, 1)
    assert low.dtype is x.dtype and (low.tolist(), high.tolist()) == (x.amin(1).tolist(), x.amax(1).tolist())
    if dtype.startswith("float"):
        x[1, 2] = math.nan
        assert np.isnan([y.numpy()[1] for y in ends_of(x, 1)]).all()


def reference(values):
    return mg.Var(values, dtype="float64", device="reference")


@pytest.mark.parametrize(
    "use", [lambda r: r.mean + r.var, lambda r: r.mean, lambda r: r.var * r.mean], ids="both one product".split()
)
@pytest.mark.parametrize("dim", [None, 0, (0, 1)], ids=str)
def test_rules_name_the_gradients_of_results(use, dim):
    x = reference(RNG.normal(size=(3, 4)))

    def f(x):
        return use(welford(x, dim)).sum()

    assert mg.testing.gradcheck(f, [x], modes=("reverse", "forward", "batched")) and mg.testing.gradgradcheck(f, [x])


def test_a_batch_in_front_and_an_out_of_two():
    x = mg.tensor(RNG.normal(size=(3, 4, 5)), device="reference")
    low, high = mg.func.vmap(lambda row: tuple(ends_of(row, 0)))(x)
    assert low.tolist() == x.amin(1).tolist() and high.tolist() == x.amax(1).tolist()
    outs = mg.zeros(3, 5, dtype="float64", device="reference"), mg.zeros(5, 3, dtype="float64", device="reference").T
    assert ends_of(x, dim=1, out=outs)[1] is outs[1] and outs[1].tolist() == high.tolist()
    with pytest.raises(ArgumentError, match="out must be a tuple of 2 tensors"):
        ends_of(x, dim=1, out=outs[0])
    with pytest.raises(DTypeError, match="ends_of"):
        ends_of([1.0, 2.0])
    with pytest.raises(ShapeError, match="ends_of: input must have an element"):
        ends_of(x[:0], 0)


def test_pictures_and_observers_see_an_op_with_two_results():
    x = reference([1.0, 2.0, 4.0])
    with mg.debug():
        y = welford(x).var
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), [-8 / 9, -2 / 9, 10 / 9])
    assert "welford" in str(mg.viz.graph(y))


# ---- declarations


def wrong(match, body, identity, **how):
    with pytest.raises(DeclarationError, match=match):
        mg.reduction(dtype=mg.rules.promote, identity=identity, **how)(body)


def documented(low, high, x):
    """Both ends."""
    return (x if x < low else low), (x if x > high else high)


def sums(s, q, x):
    """A sum, and a sum of squares."""
    return s + x, q + x * x


def one(s, q, x):
    """One value."""
    return s + x


def summed(a, b, x):
    """Two sums."""
    return a + x, b + x


BOTH = ("highest", "lowest")


@over(
    ("body", "identity", "how", "message"),
    [
        (documented, BOTH, {}, "does not say how partial results become one"),
        (documented, BOTH, {"order": "extreme", "outputs": ("a", "b")}, "of -2 and nan it keeps -2"),
        (documented, ("zero", "lowest"), {"order": "extreme", "outputs": ("a", "b")}, "and not at 'zero'"),
        (documented, ("low", "high"), {"order": "sum", "outputs": ("a", "b")}, "begins at identity='low'"),
        (documented, "lowest", {"order": "sum"}, "a tuple is returned .*write identity= with one entry for each value"),
        (documented, THREE, {"order": "sum"}, "2 values returned for 3 accumulators"),
        (one, BOTH, {"order": "sum", "outputs": ("a", "b")}, "1 value returned for 2 accumulators"),
        (sums, ("zero", "zero"), {"order": "sum", "outputs": ("a", "b")}, r"sums\(\(.*, .*\), \(.*\)\) = \(.*\) in"),
        (summed, ("zero", "zero"), {"order": "sum"}, "has 2 accumulators and 1 result; write finish=f"),
        (summed, ("zero", "zero"), {"order": "sum", "outputs": ("a", "b", "c")}, "has 2 accumulators and 3 results"),
        (summed, ("zero", "zero"), {"order": "sum", "outputs": ("a", "x")}, "at least two different names"),
        (summed, ("zero", "zero"), {"combine": total, "outputs": ("u", "v")}, "1 value returned for 2 accumulators"),
        (summed, ("zero", "zero"), {"combine": ends, "outputs": ("u", "v")}, "needs four arguments for ends"),
        (summed, ("zero", "zero"), {"order": "sum", "finish": gap, "outputs": ("u", "v")}, "1 value returned for 2"),
        (summed, ("zero", "zero"), {"order": "sum", "finish": step}, "a tuple is returned"),
        (summed, (), {"order": "sum"}, "2 values returned for 0 accumulators"),
    ],
)  # fmt: skip
def test_a_declaration_that_does_not_fit_is_refused(body, identity, how, message):
    wrong(message, body, identity, **how)


def shifted(out):
    return out + 1


def test_an_operand_has_no_name_of_a_parameter():
    wrong("has an operand and a parameter 'out'; rename the operand", total_of, "zero", order="sum", map=shifted)


def total_of(acc, x):
    """A sum."""
    return acc + x


def first_only(acc):
    return acc


def test_finish_takes_all_accumulators():
    message = r"finishes by first_only, which must take \(2 accumulators\) or \(2 accumulators, n\), not \(acc\)"
    wrong(message, summed, ("zero", "zero"), order="sum", finish=first_only)


def test_each_of_several_accumulators_is_joined_by_itself():
    found = declared(ends, BOTH, order="extreme")
    assert found.combine.args == ("a0", "a1", "b0", "b1") and found.accumulators == found.results == 2
