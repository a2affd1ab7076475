"""One set of cases for every backend, compared with `reference`: each result is as its preparer specifies.

Integers, truth values, copies and basic arithmetic must agree to the last bit, elementary functions to the ulp that the
design allows.  Buffers travel through `from_host` and `to_host`, so a backend with memory of its own runs them too.
"""

import itertools

import numpy as np
import pytest
from asking import Asking
from cases import covering, over, unless_full
from compiled_dtypes import ALL
from selection import BASE, runs_in
from strided import WAYS, arrange, blank, broadcast, check_gaps, contents

from minigrad.backends.base import Backend, services
from minigrad.backends.registry import _factories, backend_of
from minigrad.config import override
from minigrad.core import requests
from minigrad.core.device import as_device
from minigrad.core.dtype import bf16, bool_, cast_array, f16, f32, f64, i16, i32, i64, u8, u32
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.declare import rules
from minigrad.declare.many import many
from minigrad.declare.record import schema
from minigrad.errors import DeviceError, DTypeError
from minigrad.ops.nn import normalization as norm_rows
from minigrad.ops.nn import softmax
from minigrad.ops.reduction import scan
from minigrad.ops.reduction.extremes import GREATER, LESS


@many
def descent(p, g, *, rate, rising):
    """One step."""
    return p - rate * (-g if rising else g)


KINDS = [kind for kind in _factories if kind not in ("reference", "cuda")]  # tests/cuda calls these too
pytestmark = pytest.mark.parametrize("kind", KINDS)
INF, NAN = np.inf, np.nan


# ---- what runs without --full: layouts here in one dtype; each dtype of each template is in the op table


def base(dtype):
    """The dtype in which every kernel is compiled anyway."""
    return dtype.name == BASE


def as_in_the_table(name, dtype):
    """What the op table compiles."""
    return runs_in(name, dtype.name)


def takes_truths(op):
    """Whether an elementwise op takes operands of bool."""
    try:
        op.dtype_rule(op, (Spec(Layout.contiguous((2,)), bool_),) * len(op.operands))
    except DTypeError:
        return False
    return True


def truths_once(name):
    """Ops of truth values, and what the op table compiles."""
    return runs_in(name, "bool") or name.startswith(("logical", "bitwise"))


# ---- running and comparing


def on(kind, prepare, out, operands=(), args=()):
    """Run prepare(backend) on one device with copies of the buffers; what `out` then holds."""
    device = as_device(kind)
    backend = Asking(backend_of(device))
    stores = [backend.from_host(buffer, spec.dtype, device) for buffer, spec in (*operands, out)]
    prepare(backend)(*(store.buffer for store in stores), *args)
    backend.synchronize()
    buffer = backend.to_host(stores[-1])[: out[0].size].copy()
    check_gaps(buffer, out[1])
    return contents(buffer, out[1])


def ulps(a, b):
    """How many numbers of the dtype lie between; 0 for two nan or two zeros, very many for one nan."""
    whole = {2: np.int16, 4: np.int32, 8: np.int64}[a.dtype.itemsize]
    bits = [v.view(whole).astype(object) for v in (a, b)]
    lines = [np.where(v < 0, -(v & np.iinfo(whole).max), v) for v in bits]
    far = np.abs(lines[0] - lines[1])
    nans = [np.isnan(v.astype(np.float64)) for v in (a, b)]
    return np.where(nans[0] & nans[1], 0, np.where(nans[0] | nans[1], 1 << 62, far))


def hold(kind, prepare, out, operands=(), args=(), *, ulp=0, rtol=0.0, atol=0.0):
    """Assert that a backend gives what the reference gives: bit for bit, within ulps, or within tolerances."""
    got, wanted = (on(k, prepare, out, operands, args) for k in (kind, "reference"))
    if not out[1].dtype.is_float:
        assert np.array_equal(got, wanted), f"{got} != {wanted}"
    elif rtol or atol:
        np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=atol)
    else:
        apart = ulps(got, wanted)
        worst = [(str(g), str(w)) for g, w in zip(got[apart > ulp], wanted[apart > ulp])]
        assert not worst, f"more than {ulp} ulp apart: {worst[:5]}"


# ---- the interface


def test_a_backend_serves_every_request_itself_or_by_simpler_ones(kind):
    kinds = {each for each in vars(requests).values() if isinstance(each, type) and issubclass(each, requests.Request)}
    devices = set(type(backend_of(as_device(kind))).__mro__)
    assert {each for each in kinds if devices & services.get(each, {}).keys()} == kinds - {requests.Request}


def test_what_no_backend_serves_is_a_device_error_that_says_what_is_served(kind):
    class Unheard(requests.Request):
        pass

    spec = Spec(Layout.contiguous((2,)), f32)
    with pytest.raises(DeviceError, match=r"does not implement Unheard.*Gather"):
        backend_of(as_device(kind)).prepare(Unheard(), spec, spec)


def test_a_device_has_few_methods_to_write(kind):
    assert Backend.__abstractmethods__ == {"allocate", "from_host", "to_host"}


# ---- many tensors


@over("ways", [("dense",) * 3, ("dense", "transposed", "dense"), WAYS[:3], WAYS[3:]], ids="-".join)
def test_rows_of_many_tensors_are_written_in_place(kind, ways):
    rule = descent.scalar
    arrays = [[np.linspace(-2, k + 1, 12).reshape(shape) for k in range(2)] for shape in ((3, 4), (12,), (2, 2, 3))]
    columns = [[arrange(pair[k], f64, way if k or way != "transposed" else "dense") for pair, way in zip(arrays, ways)]
               for k in range(2)]  # fmt: skip
    numbers = arrange(np.array(descent.constants(rate=0.25, rising=1)), f64)
    results, sources = columns
    request = requests.Many(rule, np.dtype(np.float64), len(arrays))
    device = as_device(kind)
    backend = backend_of(device)
    stores = [backend.from_host(buffer, spec.dtype, device) for buffer, spec in (*sources, numbers, *results)]
    specs = [spec for _, spec in results], [spec for _, spec in (*sources, numbers)]
    launch = backend.prepare(request, tuple(specs[0]), *specs[1])
    launch(*[store.buffer for store in stores])
    backend.synchronize()
    for (p, g), store, (buffer, spec) in zip(arrays, stores[len(sources) + 1 :], results):
        written = backend.to_host(store)[: buffer.size].copy()
        check_gaps(written, spec)
        np.testing.assert_allclose(contents(written, spec), p + 0.25 * g)


# ---- elementwise


EXACT = (
    "add sub mul div neg abs sign square reciprocal sqrt maximum minimum clamp where relu relu6 "
    "leaky_relu floor ceil trunc round remainder floor_divide eq ne lt le gt ge isnan isinf isfinite "
    "logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor"
).split()
ULPS = dict.fromkeys(EXACT, 0) | {"rsqrt": 1, "pow": 4, "tan": 4}
# Composed of several elementary functions, whose ulp differ and may cancel.
COMPOSED = (
    "sigmoid log_sigmoid silu softplus gelu gelu_tanh logaddexp elu".split()
)  # fmt: skip
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.75, 2.5, -3.0, 7.25, -20.0, 90.0, 1e-3, 1e-41, 3e30, -3e30, INF, -INF, NAN]
ELEMENTWISE = sorted(
    name
    for name, op in schema.items()
    if op.kind == "elementwise" and op.where.find("minigrad") >= 0 and op.result is None
)


def grid(op, values, dtype):
    """Every combination of values, one array an operand; a condition alternates."""
    if op.dtype_rule is rules.select:
        a, b = np.array(list(itertools.product(values, values))).T
        return [
            np.arange(len(a)) % 2 == 0,
            cast_array(a, dtype).view(dtype.numpy),
            cast_array(b, dtype).view(dtype.numpy),
        ]
    columns = np.array(list(itertools.product(values, repeat=len(op.operands)))).T
    return [cast_array(column, dtype).view(dtype.numpy) for column in columns]


def hold_elementwise(kind, op, arrays, way="dense", **tolerance):
    operands = [arrange(a, way=way) for a in arrays]
    specs = [spec for _, spec in operands]
    compute, dtype = op.dtype_rule(op, specs)
    out = blank(specs[0].shape, dtype, way)
    hold(kind, lambda b: b.elementwise(op.scalar, compute, out[1], specs), out, operands, **tolerance)


@unless_full(as_in_the_table)
@over("dtype", [f32, f64], ids=str)
@over("name", [n for n in ELEMENTWISE if schema[n].dtype_rule is not rules.integer])
def test_elementwise_ops_of_floats(kind, name, dtype):
    op = schema[name]
    near = {"rtol": 4e-6, "atol": 4e-7} if dtype is f32 else {"rtol": 1e-14, "atol": 1e-15}
    tolerance = near if name in COMPOSED else {"ulp": ULPS.get(name, 2)}
    hold_elementwise(kind, op, grid(op, FLOATS, dtype), **tolerance)


@unless_full(as_in_the_table)
@over("dtype", [u8, i32, i64], ids=str)
@over("name", [n for n in ELEMENTWISE if schema[n].dtype_rule is not rules.to_float])
def test_elementwise_ops_of_integers(kind, name, dtype):
    values = np.array([0, 1, 2, 3, 7, 100, dtype.lowest, dtype.highest, *([-1, -2, -7] if dtype.is_signed else [])])
    arrays = grid(schema[name], values.astype(np.int64).tolist(), dtype)
    if name in ("remainder", "floor_divide"):  # the one quotient that does not fit
        fits = ~((arrays[0] == dtype.lowest) & (arrays[1] == -1)) if dtype.is_signed else slice(None)
        arrays = [a[fits] for a in arrays]
    if name == "pow":  # an integer has no reciprocal of 0; for large exponents see below
        arrays = [a[(np.abs(arrays[1] // 2) < 1000) & ~((arrays[0] == 0) & (arrays[1] < 0))] for a in arrays]
    if name == "round":  # for large integers see below
        arrays = [np.clip(arrays[0], -(2**31), 2**31).astype(dtype.numpy)] if dtype is i64 else arrays
    hold_elementwise(kind, schema[name], arrays)


@unless_full(truths_once)
@over("name", [n for n in ELEMENTWISE if takes_truths(schema[n])])
def test_elementwise_ops_of_truth_values(kind, name):
    op = schema[name]
    tolerance = {"rtol": 4e-6, "atol": 4e-7} if name in COMPOSED else {"ulp": ULPS.get(name, 2)}
    hold_elementwise(kind, op, grid(op, [False, True], bool_), **tolerance)


@unless_full(as_in_the_table)
@over("dtype", ALL, ids=str)
@over("name", ["add", "mul", "maximum"])
def test_arithmetic_in_every_dtype(kind, name, dtype):
    values = FLOATS if dtype.is_float else [0, 1, 3, 100, min(dtype.highest, 2**31)]
    hold_elementwise(kind, schema[name], grid(schema[name], values, dtype))


@over("threshold", [0, 1 << 60], ids=["parallel", "serial"])
@over("way", WAYS)
@over("shape", [(), (5,), (3, 4), (2, 1, 3), (2, 3, 2, 2, 3)], ids=str)
def test_loops_over_every_layout(kind, shape, way, threshold):
    a = np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)
    with override(parallel_threshold=threshold):
        hold_elementwise(kind, schema["sub"], [a, a * 10], way)


def test_broadcast_operands(kind):
    row, column, one = arrange(np.float64([1, 2, 3])), arrange(np.float64([[10], [20]])), arrange(np.float64(5))
    for pair in itertools.product((row, column, one), repeat=2):
        operands = [broadcast(x, (4, 2, 3)) for x in pair]
        out = blank((4, 2, 3), f64)
        prepare = lambda b, out=out, operands=operands: b.elementwise(
            schema["sub"].scalar, np.dtype(np.float64), out[1], [spec for _, spec in operands]
        )
        hold(kind, prepare, out, operands)


# ---- copies


COPIED = [bool_, u8, i16, i32, i64, f16, bf16, f32, f64]


CONVERTED = ((bool_, f64), (f64, i32), (i64, bf16), (f16, f32), (f32, u8), (u8, bool_))  # without --full


@unless_full(lambda source, target: (source, target) in CONVERTED)
@over(("source", "target"), list(itertools.product(COPIED, COPIED)), ids=str)
def test_copies_convert_alike(kind, source, target):
    if source.is_float:
        values = np.array([*FLOATS, 1.9, -1.9, 300.5, -300.5, 65520.0, 1e10, -1e10, 1e19, 2.0**24 + 2.0**16 + 1])
    else:
        values = np.array([0, 1, -1, 127, 128, 256, 65535, 2049, 2**24 + 2**16, 2**31 - 1, -(2**31)])
    a, out = arrange(values, source, "stepped"), blank(values.shape, target, "flipped")
    hold(kind, lambda b: b.copy(out[1], a[1]), out, [a])


# ---- what compiled kernels do not do yet


def test_integer_powers_with_large_exponents_wrap(kind):
    hold_elementwise(kind, schema["pow"], [np.int64([3, -1, 7]), np.int64([2**20 + 1, 2**40 + 1, 65537])])


def test_large_integers_pass_through_round(kind):
    hold_elementwise(kind, schema["round"], [np.int64([2**60 + 1, -(2**53) - 1])])


def test_integers_are_rounded_once_to_bfloat16(kind):
    a, out = arrange(np.int32([2**24 + 2**16 + 1])), blank((1,), bf16)
    hold(kind, lambda b: b.copy(out[1], a[1]), out, [a])


# ---- folds


REDUCTIONS = ("sum", "prod", "amax", "amin", "any", "all")


def hold_reduction(kind, name, values, dims, way="dense", **tolerance):
    op, a = schema[name], arrange(values, way=way)
    compute, dtype = (
        rules.widen(op, (a[1],)) if name in ("sum", "prod", "mean")
        else rules.logical(op, (a[1],)) if name in ("any", "all") else rules.promote(op, (a[1],))
    )  # fmt: skip
    out = blank(tuple(1 if d in dims else n for d, n in enumerate(a[1].shape)), dtype)
    hold(kind, lambda b: b.reduce(op.reducer, compute, out[1], a[1], dims), out, [a], **tolerance)


def numbers_of(dtype, shape, seed=0):
    """Small whole numbers, so that every order of a sum gives the same."""
    return cast_array(np.random.default_rng(seed).integers(0, 4, shape), dtype).view(dtype.numpy).reshape(shape)


@over("way", WAYS)
@over("dims", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), ()], ids=str)
def test_reductions_over_any_dims_of_every_layout(kind, dims, way):
    for name in ("sum", "amax"):
        hold_reduction(kind, name, numbers_of(f64, (3, 4, 5)), dims, way)


@unless_full(as_in_the_table)
@over("dtype", ALL, ids=str)
@over("name", [*REDUCTIONS, "mean"])
def test_reductions_of_every_dtype(kind, name, dtype):
    if name != "mean" or dtype.is_float:
        hold_reduction(kind, name, numbers_of(dtype, (3, 20)), (1,))


@covering("name", "shape", "dims")
@over("name", ["sum", "mean", "amax"])
@over("shape", [(70_001,), (3, 20_011), (20_011, 3)], ids=str)
@over("dims", [(0,), (-1,)])
def test_long_reductions(kind, shape, dims, name):
    values = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    near = {"sum": {"rtol": 1e-6, "atol": 1e-6}, "mean": {"rtol": 1e-6, "atol": 1e-9}}.get(name, {})
    hold_reduction(kind, name, values, (dims[0] % len(shape),), **near)


def test_reductions_of_nothing_and_of_nan(kind):
    for name in ("sum", "prod", "any", "all", "mean"):
        hold_reduction(kind, name, np.zeros((2, 0)), (1,))
    for name in (*REDUCTIONS, "mean"):
        hold_reduction(kind, name, np.float64([[1, NAN, 3], [INF, 2, -INF], [-0.0, 0, 0]]), (1,))


@unless_full(lambda dtype, better: base(dtype) and better is GREATER)  # the op table has the smallest
@over("way", WAYS)
@over("better", [GREATER, LESS], ids=["argmax", "argmin"])
@over("dtype", [bool_, u8, i64, bf16, f32, f64], ids=str)
def test_positions_of_extremes(kind, dtype, better, way):
    values = numbers_of(dtype, (3, 4, 9)).copy()
    if dtype.is_float:
        values[0, 0, 3] = values[0, 0, 5] = values[2, 3, 0] = NAN
    a = arrange(values, way=way)
    for dim in range(3):
        out = blank(tuple(1 if d == dim else n for d, n in enumerate(values.shape)), i64)
        hold(kind, lambda b, dim=dim, out=out: b.argreduce(better, out[1], a[1], dim), out, [a])


# ---- products


@over("way", WAYS)
@over("shape", [(1, 1, 1), (5, 7, 3), (1, 40, 9), (33, 65, 17), (4, 0, 3), (0, 2, 3)], ids=str)
def test_matrix_products_of_every_layout(kind, shape, way):
    m, k, n = shape
    a, b = arrange(numbers_of(f64, (m, k)), way=way), arrange(numbers_of(f64, (k, n), 1), way=way)
    out = blank((m, n), f64)
    hold(kind, lambda backend: backend.matmul(out[1], a[1], b[1]), out, [a, b])


@unless_full(base)
@over("dtype", ALL, ids=str)
def test_matrix_products_of_every_dtype(kind, dtype):
    a, b = arrange(numbers_of(dtype, (5, 6))), arrange(numbers_of(dtype, (6, 7), 1))
    out = blank((5, 7), dtype)
    hold(kind, lambda backend: backend.matmul(out[1], a[1], b[1]), out, [a, b])


def test_matrix_products_of_batches_and_of_any_numbers(kind):
    rng = np.random.default_rng(0)
    a, b = (arrange(rng.standard_normal(s).astype(np.float32)) for s in ((2, 1, 9, 31), (3, 31, 8)))
    operands = [broadcast(a, (2, 3, 9, 31)), broadcast(b, (2, 3, 31, 8))]
    out = blank((2, 3, 9, 8), f32)
    hold(kind, lambda backend: backend.matmul(out[1], *(s for _, s in operands)), out, operands, rtol=2e-5, atol=2e-6)


@unless_full(base)
@over("dtype", [d for d in ALL if d is not bool_], ids=str)
@over("way", WAYS)
def test_products_that_are_added_to_something(kind, dtype, way):
    a, b = arrange(numbers_of(dtype, (5, 6)), way=way), arrange(numbers_of(dtype, (6, 7), 1), way=way)
    c, row = arrange(numbers_of(dtype, (5, 7), 2), way=way), broadcast(arrange(numbers_of(dtype, (7,), 3)), (5, 7))
    out = blank((5, 7), dtype)
    for added, alpha, beta in ((c, 2, 3), (row, 1, 1), (c, 3, 0)):
        specs = [spec for _, spec in (a, b, added)]
        hold(kind, lambda x, s=specs, f=(alpha, beta): x.addmm(out[1], *s, *f), out, [a, b, added])


# ---- convolution

CONVS = [  # image, weight, stride, padding, dilation, groups
    ((2, 3, 9), (4, 3, 2), (1,), (0,), (1,), 1),
    ((1, 4, 11), (6, 2, 3), (2,), (1,), (2,), 2),
    ((2, 3, 5, 6), (4, 3, 3, 2), (1, 1), (1, 0), (1, 1), 1),
    ((1, 4, 7, 6), (4, 1, 2, 3), (3, 2), (1, 2), (2, 1), 4),
    ((1, 2, 4, 5, 3), (3, 2, 2, 3, 1), (1, 2, 2), (0, 1, 1), (1, 1, 1), 1),
]


def hold_conv(kind, case, dtype, way):
    """conv, conv_input and conv_weight on one triple of shapes."""
    image, weight, *rest = case
    sizes = zip(image[2:], weight[2:], *rest[:3], strict=True)
    spots = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)
    shape = (image[0], weight[0], *spots)
    x, w, y = (arrange(numbers_of(dtype, s, i), way=way) for i, s in enumerate((image, weight, shape)))
    bias = arrange(numbers_of(dtype, weight[:1], 3))
    for name, like, operands in (
        ("conv", shape, (x, w, bias)),
        ("conv_input", image, (y, w)),
        ("conv_weight", weight, (y, x)),
    ):
        out = blank(like, dtype)
        specs = [spec for _, spec in operands]
        hold(kind, lambda b, n=name, o=out, s=specs: getattr(b, n)(o[1], *s, *rest), out, operands)


@over("way", WAYS)
@over("case", CONVS, ids=str)
def test_convolutions_of_every_layout(kind, case, way):
    hold_conv(kind, case, f64, way)


@unless_full(base)
@over("dtype", [d for d in ALL if d is not bool_], ids=str)
def test_convolutions_of_every_dtype(kind, dtype):
    hold_conv(kind, CONVS[2], dtype, "dense")


# ---- pooling

POOLS = [  # image, outputs, window, stride, padding, dilation
    ((2, 3, 9), (4,), (3,), (2,), (0,), (1,)),
    ((1, 2, 7), (4,), (3,), (2,), (1,), (1,)),
    ((2, 2, 5, 6), (3, 3), (2, 3), (2, 2), (1, 1), (1, 1)),
    ((1, 2, 7, 6), (3, 4), (3, 2), (1, 1), (0, 0), (2, 2)),
    ((1, 2, 3, 4, 5), (2, 2, 3), (2, 2, 3), (1, 2, 2), (0, 0, 1), (1, 1, 1)),
]


def hold_pool(kind, case, dtype, way, values=None):
    """Every pooling preparer on one image."""
    image, outputs, *rest = case
    like = (*image[:2], *outputs)
    x = arrange(numbers_of(dtype, image) if values is None else values, way=way)
    g, h = arrange(numbers_of(dtype, like, 1), way=way), arrange(numbers_of(dtype, image, 2), way=way)
    calls = [("max_pool", like, dtype, (x,), rest), ("max_pool_indices", like, i64, (x,), rest)]
    if dtype.is_float:
        calls += [("max_pool_pick", like, dtype, (h, x), rest), ("max_pool_back", image, dtype, (g, x), rest)]
        for means in ((True, None), (False, None), (True, 5)):
            if rest[3] == (1,) * len(outputs):
                calls.append(("avg_pool", like, dtype, (x,), (*rest[:3], *means)))
                calls.append(("avg_pool_back", image, dtype, (g,), (*rest[:3], *means)))
    for name, shape, result, operands, args in calls:
        out = blank(shape, result)
        specs = [spec for _, spec in operands]
        prepare = lambda b, n=name, o=out, s=specs, a=args: getattr(b, n)(o[1], *s, *a)
        near = {"rtol": 1e-2 if dtype.itemsize == 2 else 1e-6, "atol": 1e-6} if name.startswith("avg") else {}
        hold(kind, prepare, out, operands, **near)


@over("way", WAYS)
@over("case", POOLS, ids=str)
def test_pooling_of_every_layout(kind, case, way):
    hold_pool(kind, case, f64, way)


@unless_full(base)
@over("dtype", [d for d in ALL if d is not bool_], ids=str)
def test_pooling_of_every_dtype(kind, dtype):
    hold_pool(kind, POOLS[2], dtype, "dense")


def test_pooling_of_nan_infinities_and_ties(kind):
    values = np.random.default_rng(0).choice([NAN, INF, -INF, 0.0, 1.0], (1, 2, 7, 6))
    hold_pool(kind, POOLS[3], f64, "dense", values)


# ---- indexing


@unless_full(base)
@over("way", WAYS)
@over("dtype", [bool_, i64, bf16, f32, f64], ids=str)
@over("dim", [0, 1, 2])
def test_indexing_along_every_dim(kind, dim, dtype, way):
    shape = (3, 4, 5)
    rng = np.random.default_rng(dim)
    a, src = (arrange(numbers_of(dtype, shape, s), way=way) for s in (0, 1))
    full = arrange(rng.integers(-shape[dim], shape[dim], shape), way=way)
    flat = arrange(rng.integers(-shape[dim], shape[dim], 6), way=way)
    taken = (*shape[:dim], 6, *shape[dim + 1 :])
    out, short, slices = blank(shape, dtype), blank(taken, dtype), arrange(numbers_of(dtype, taken, 2), way=way)
    hold(kind, lambda b: b.gather(out[1], a[1], full[1], dim), out, [a, full])
    hold(kind, lambda b: b.scatter_add(out[1], a[1], full[1], src[1], dim), out, [a, full, src])
    hold(kind, lambda b: b.index_select(short[1], a[1], flat[1], dim), short, [a, flat])
    hold(kind, lambda b: b.index_add(out[1], a[1], flat[1], slices[1], dim), out, [a, flat, slices])
    hold(kind, lambda b: b.index_put(out[1], flat[1], slices[1], dim), out, [flat, slices])


def test_repeated_positions_add_in_index_order(kind):
    # 1e8 + 1 is 1e8 in float32, so any other order gives another sum.
    a, index = arrange(np.zeros(2, np.float32)), arrange(np.int64([0, 0, 0, 0, -1]))
    src, out = arrange(np.float32([1, 1e8, -1e8, 1, 5])), blank((2,), f32)
    hold(kind, lambda b: b.scatter_add(out[1], a[1], index[1], src[1], 0), out, [a, index, src])
    hold(kind, lambda b: b.index_add(out[1], a[1], index[1], src[1], 0), out, [a, index, src])


@unless_full(base)
@over("dtype", [i32, bf16, f32, f64], ids=str)
@over("strides", [(1, 1), (2, 1), (0, 1), (3, 2), (-1, 1)], ids=str)
def test_view_add_through_any_view(kind, strides, dtype):
    g, out = arrange(numbers_of(dtype, (3, 4)), way="transposed"), blank((20,), dtype)
    view = Spec(Layout.make((3, 4), strides, 4), dtype)
    hold(kind, lambda b: b.view_add(out[1], g[1], view), out, [g])


@over("way", WAYS)
@over("dtype", [u8, i32, i64], ids=str)
def test_index_bounds(kind, dtype, way):
    buffer, spec = arrange(np.random.default_rng(0).integers(3, 90, (3, 50)), dtype, way)
    device = as_device(kind)
    backend = Asking(backend_of(device))
    store = backend.from_host(buffer, dtype, device)
    found = backend.index_bounds(spec)(store.buffer)
    assert tuple(map(int, found)) == Asking(backend_of(as_device("reference"))).index_bounds(spec)(buffer)


# ---- rows


ROWS = {
    "softmax": (softmax.SOFTMAX, softmax.SOFTMAX_BACKWARD),
    "log_softmax": (softmax.LOG_SOFTMAX, softmax.LOG_SOFTMAX_BACKWARD),
}


# The logarithms are texts of the same template: one layout of them is enough, the op table has others.
@unless_full(lambda dtype, way, name: base(dtype) and (way == "dense" or name == "softmax"))
@over("name", ROWS)
@over("way", WAYS)
@over("dtype", [f16, bf16, f32, f64], ids=str)
@over("dim", [0, 1, 2])
def test_rows_along_every_dim_of_every_layout(kind, dim, dtype, way, name):
    a, g = (arrange(np.random.default_rng(s).standard_normal((3, 4, 5)), dtype, way) for s in (0, 1))
    out = blank((3, 4, 5), dtype)
    rtol = {2: 2e-2, 4: 4e-6, 8: 1e-14}[dtype.itemsize]
    value, slope = ROWS[name]
    hold(kind, lambda b: b.map_rows(value, out[1], (a[1],), dim, 0.0), out, [a], rtol=rtol, atol=rtol)
    hold(kind, lambda b: b.map_rows(slope, out[1], (g[1], a[1]), dim, 0.0), out, [g, a], rtol=rtol, atol=rtol)
    prepare = lambda b: b.map_rows(norm_rows.RMS_NORM, out[1], (a[1], g[1]), dim, 0.5)
    hold(kind, prepare, out, [a, g], rtol=rtol, atol=rtol)


@over("threshold", [0, 1 << 60], ids=["parallel", "serial"])
@over("shape", [(3, 1), (1, 3), (2, 700), (300, 3), (2, 70, 130)], ids=str)
def test_rows_of_every_length_with_parameters(kind, shape, threshold):
    a, g = (arrange(np.random.default_rng(s).standard_normal(shape)) for s in (0, 1))
    line = broadcast(arrange(np.linspace(-1, 2, shape[-1])), shape)
    out, last = blank(shape, f64), len(shape) - 1
    with override(parallel_threshold=threshold):
        for fn in (norm_rows.LAYER_NORM, norm_rows.LAYER_NORM_BACKWARD.only("layer_norm_backward", True, False)):
            operands = [a, line, line] if fn is norm_rows.LAYER_NORM else [g, a, line]
            prepare = lambda b, fn=fn, operands=operands: b.map_rows(fn, out[1], [s for _, s in operands], last, 0.1)
            hold(kind, prepare, out, operands, rtol=1e-12, atol=1e-12)


@covering("name", "threshold", "shape")  # threads share the rows of both in one way
@over("name", ["layer_norm", "rms_norm"])
@over("threshold", [0, 1 << 60], ids=["parallel", "serial"])
@over("shape", [(3, 1), (1, 3), (2, 700), (300, 3), (2, 70, 130)], ids=str)
def test_sums_down_the_columns_are_results_of_their_own(kind, name, shape, threshold):
    a, g = (arrange(np.random.default_rng(s).standard_normal(shape)) for s in (0, 1))
    line = broadcast(arrange(np.linspace(-1, 2, shape[-1])), shape)
    slope = norm_rows.LAYER_NORM_BACKWARD if name == "layer_norm" else norm_rows.RMS_NORM_BACKWARD
    sums = [blank(shape[-1:], f64) for _ in slope.terms]
    only, both = slope.only(f"{name}_sums", False, True), slope.only(f"{name}_gradients", True, True)
    with override(parallel_threshold=threshold):
        cases = ((only, sums, [g, a]), (both, [blank(shape, f64), *sums], [g, a, line]))
        for fn, results, operands in cases:
            n, outs, specs = len(operands), tuple(s for _, s in results), [s for _, s in operands]
            for k, out in enumerate(results):
                others = [each for each in results if each is not out]

                def prepare(b, fn=fn, n=n, k=k, outs=outs, specs=specs):
                    launch = b.sum_columns(fn, outs, specs, 0.1)
                    return lambda *buffers: launch(*buffers[: n + k], buffers[-1], *buffers[n + k : -1])

                hold(kind, prepare, out, [*operands, *others], rtol=1e-12, atol=1e-12)


@unless_full(base)
@covering("reduction", "way")
@over("way", WAYS)
@over("dtype", [bf16, f32, f64], ids=str)
@over("reduction", ["none", "sum", "mean"])
def test_picks_of_one_element_a_row(kind, reduction, dtype, way):
    rng = np.random.default_rng(0)
    a = arrange(rng.standard_normal((3, 4, 70)), dtype, way)
    target = arrange(rng.integers(0, 3, (3, 4)), way=way)
    g = arrange(rng.standard_normal((3, 4) if reduction == "none" else ()), dtype, way)
    rtol = {2: 2e-2, 4: 4e-6, 8: 1e-14}[dtype.itemsize]
    loss, slope = blank(g[1].shape, dtype), blank((3, 4, 70), dtype)
    prepare = lambda b: b.pick(softmax.LOG_SOFTMAX, loss[1], a[1], target[1], 2, reduction)
    hold(kind, prepare, loss, [a, target], rtol=rtol, atol=rtol)
    prepare = lambda b: b.pick_backward(softmax.SOFTMAX, slope[1], g[1], a[1], target[1], 2, reduction)
    hold(kind, prepare, slope, [g, a, target], rtol=rtol, atol=rtol)


def test_rows_with_infinities_and_nan(kind):
    a, out = arrange(np.float64([[1, NAN, 3], [INF, 2, -INF], [-INF, -INF, -INF], [-INF, 0, 88]])), blank((4, 3), f64)
    for dim in (0, 1):
        for fn in (softmax.SOFTMAX, softmax.LOG_SOFTMAX):
            hold(kind, lambda b, fn=fn, dim=dim: b.map_rows(fn, out[1], (a[1],), dim, 0.0), out, [a], rtol=2e-15)


# ---- scans


LAST = {"largest": (scan.NOT_LESS, schema["amax"].reducer), "smallest": (scan.NOT_GREATER, schema["amin"].reducer)}


# The smallest are found as the largest are, and the op table has them.
@unless_full(lambda dtype, extremes: base(dtype) and extremes == "largest")
@covering("dim", "way")
@over("way", WAYS)
@over("extremes", LAST)
@over("dtype", [bool_, u8, i64, bf16, f32, f64], ids=str)
@over("dim", [0, 1, 2])
def test_scans_along_every_dim_of_every_layout(kind, dim, dtype, extremes, way):
    shape = (3, 9, 10)
    a = arrange(numbers_of(dtype, shape), way=way)
    compute, total = np.dtype(dtype.accumulator), blank(shape, dtype.sum_dtype, "permuted")
    hold(kind, lambda b: b.scan(scan.SUM, compute, total[1], [a[1]], dim), total, [a])
    extreme, places = blank(shape, dtype), blank(shape, i64)
    better, step = LAST[extremes]
    hold(kind, lambda b: b.scan(step, dtype.compute, extreme[1], [a[1]], dim), extreme, [a])
    hold(kind, lambda b: b.argscan(better, places[1], a[1], dim), places, [a])
    if dtype.is_float:
        factor, out = arrange(numbers_of(dtype, shape, 1) - 1, dtype, way), blank(shape, dtype)
        prepare = lambda b: b.scan(scan.LINE, dtype.compute, out[1], [a[1], factor[1]], dim)
        hold(kind, prepare, out, [a, factor], rtol=2e-2 if dtype is bf16 else 1e-6)


LONG_SCANS = {"sum": scan.SUM, "largest": schema["amax"].reducer, "log": scan.LOG}


@covering("name", "threshold", "shape")
@over("name", [*LONG_SCANS, "positions"])
@over("threshold", [0, 1 << 60], ids=["parallel", "serial"])
@over("shape", [(3, 20_000), (20_000, 3), (30_011,), (5, 70), (70, 200)], ids=str)
def test_long_scans(kind, shape, threshold, name):
    values = np.random.default_rng(3).standard_normal(shape)
    values[np.abs(values) > 3] = NAN
    a = arrange(numbers_of(f64, shape) if name == "sum" else values)
    out = blank(shape, i64 if name == "positions" else f64)
    near = {"rtol": 1e-12, "atol": 1e-12} if name == "log" else {}
    with override(parallel_threshold=threshold):
        for dim in range(len(shape)):
            if name == "positions":
                prepare = lambda b, dim=dim: b.argscan(scan.NOT_LESS, out[1], a[1], dim)
            else:
                prepare = lambda b, dim=dim: b.scan(LONG_SCANS[name], np.dtype(np.float64), out[1], [a[1]], dim)
            hold(kind, prepare, out, [a], **near)


# ---- masks


@over("threshold", [0, 1 << 60], ids=["parallel", "serial"])
@over("way", WAYS)
@over("shape", [(0, 3), (3,), (4, 5, 6), (3, 9000)], ids=str)
def test_what_holds_of_every_layout(kind, shape, way, threshold):
    values = np.random.default_rng(0).random(shape) < 0.4
    buffer, spec = arrange(values, bool_, way)
    device = as_device(kind)
    backend = Asking(backend_of(device))
    with override(parallel_threshold=threshold):
        count, write = backend.nonzero(spec)
    mask = backend.from_host(buffer, bool_, device)
    total, parts = count(mask.buffer)
    out = backend.allocate(max(total, 1), i64, device)
    if total:
        write(mask.buffer, parts, out.buffer)
    assert backend.to_host(out)[:total].tolist() == np.flatnonzero(values).tolist()


# ---- sorting


@unless_full(base)
@over("way", WAYS)
@over("dtype", ALL, ids=str)
def test_orders_along_every_dim_of_every_layout(kind, dtype, way):
    values = numbers_of(dtype, (3, 9, 40)).copy()
    if dtype.is_float:
        values[0, 3, 5:9] = [NAN, INF, -INF, -0.0]
        values[:, :, 0] *= -1
    a = arrange(values, way=way)
    for dim, count in ((0, 3), (1, 9), (2, 40), (2, 1), (2, 7)):
        out = blank((*a[1].shape[:dim], count, *a[1].shape[dim + 1 :]), i64)
        for down in (False, True):
            hold(kind, lambda b, dim=dim, out=out, down=down: b.argsort(out[1], a[1], dim, down), out, [a])


# ---- filling


@unless_full(lambda dtype: dtype in (i64, f64))
@over("dtype", ALL, ids=str)
def test_filling_and_counting(kind, dtype):
    for way in WAYS:
        out = blank((3, 4), dtype, way)
        hold(kind, lambda b, out=out: b.fill(out[1]), out, args=(1,))
    out = blank((40,), dtype, "flipped")
    hold(kind, lambda b: b.arange(out[1]), out, args=(0, 3))
    if dtype.is_float:
        hold(kind, lambda b: b.arange(out[1]), out, args=(-1.5, 0.1))


DRAWN = (("uniform", f32), ("normal", f64), ("integer", i32))  # without --full


@unless_full(lambda draw, dtype: (draw, dtype) in DRAWN)
@over("way", ["dense", "transposed"])
@over(
    ("draw", "dtype"),
    [
        *itertools.product(["uniform", "normal"], [f16, bf16, f32, f64]),
        *itertools.product(["integer"], [u8, u32, i32, i64]),
    ],
    ids=str,
)
def test_random_numbers_are_the_same(kind, draw, dtype, way):
    out = blank((7, 9), dtype, way)
    limits = (3, 90) if draw == "integer" else (0.25, 2.0)
    # Box-Muller goes through the logarithm and the sine of whoever computes it.
    tolerance = {"rtol": 1e-2 if dtype.itemsize == 2 else 4e-7, "atol": 1e-6} if draw == "normal" else {}
    hold(kind, lambda b: b.random(draw, out[1]), out, args=((5 << 33) + 1, 2**32 - 3, *limits), **tolerance)
