"""The reference backend is the specification, so it is compared with NumPy's independent arithmetic."""

import math
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from asking import Asking
from cases import over
from strided import WAYS, arrange, blank, broadcast, check_gaps, contents, run

from minigrad.backends import registry
from minigrad.backends.reference import ReferenceBackend
from minigrad.backends.registry import register_backend
from minigrad.core import allocator
from minigrad.core.allocator import get_allocator, set_allocator
from minigrad.core.device import as_device
from minigrad.core.dtype import ALL, FLOATS, INTS, bf16, bool_, cast_array, f16, f32, f64, i8, i32, i64, u8, u32
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.declare.record import schema
from minigrad.errors import DeviceError, DTypeError
from minigrad.kernels.scalar import parse
from minigrad.ops.pointwise import arithmetic, compare, explog
from minigrad.ops.reduction.extremes import GREATER, LESS
from minigrad.runtime.data import host_array, store
from minigrad.runtime.tensor import Tensor

pytestmark = pytest.mark.filterwarnings("error")
backend = Asking(ReferenceBackend())
INF, NAN = math.inf, math.nan


def elementwise(scalar, *values, compute, dtype, way="dense"):
    operands = [arrange(np.asarray(v, compute), way=way) for v in values]
    prepare = lambda out, *specs: backend.elementwise(scalar, np.dtype(compute), out, specs)
    return run(prepare, blank(operands[0][1].shape, dtype, way), *operands)


def one(name, *values, compute=np.float32):
    """The op of that name on single numbers."""
    op = schema[name]
    dtype = bool_ if op.dtype_rule.__name__.startswith(("compare", "logical")) else np.dtype(compute)
    return elementwise(op.scalar, *([v] for v in values), compute=compute, dtype=dtype)[0]


def reducer(name, values, dims, *, compute, dtype=None, way="dense"):
    operand = arrange(values, way=way)
    shape = tuple(1 if d in dims else n for d, n in enumerate(operand[1].shape))
    prepare = lambda out, a: backend.reduce(schema[name].reducer, np.dtype(compute), out, a, dims)
    return run(prepare, blank(shape, dtype or compute, way), operand)


# ---- elementwise


@pytest.mark.parametrize("way", WAYS)
def test_a_loop_reads_and_writes_every_layout_in_row_major_order(way):
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    result = elementwise(arithmetic.sub.op.scalar, a, 10 * a, compute=np.float32, dtype=f32, way=way)
    assert np.array_equal(result, -9 * a)


def test_broadcast_operands_repeat():
    row, column = arrange(np.float32([1, 2, 3])), arrange(np.float32([[10], [20]]))
    prepare = lambda out, *specs: backend.elementwise(arithmetic.add.op.scalar, np.dtype(np.float32), out, specs)
    result = run(prepare, blank((2, 3), f32), broadcast(row, (2, 3)), broadcast(column, (2, 3)))
    assert result.tolist() == [[11, 12, 13], [21, 22, 23]]


def test_three_operands_of_three_dtypes_meet_in_the_compute_dtype():
    condition, a, b = arrange([True, False]), arrange(np.int8([7, 8])), arrange(np.float16([0.5, 0.25]))
    prepare = lambda out, *specs: backend.elementwise(compare.where.op.scalar, np.dtype(np.float32), out, specs)
    assert run(prepare, blank((2,), f16), condition, a, b).tolist() == [7, 0.25]


def test_an_exact_alias_of_an_operand_may_be_the_output():
    buffer, spec = arrange(np.float32([1, 2, 3]))
    backend.elementwise(arithmetic.mul.op.scalar, np.dtype(np.float32), spec, [spec, spec])(buffer, buffer, buffer)
    assert contents(buffer, spec).tolist() == [1, 4, 9]


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
@pytest.mark.parametrize("name", ["add", "mul", "div"])
def test_halves_are_rounded_once_to_nearest_even(dtype, name):
    rng = np.random.default_rng(1)
    a, b = (cast_array(rng.standard_normal(300).astype(np.float32), dtype).view(dtype.numpy) for _ in range(2))
    ufunc = {"add": np.add, "mul": np.multiply, "div": np.divide}[name]
    prepare = lambda out, *specs: backend.elementwise(schema[name].scalar, np.dtype(np.float32), out, specs)
    result = run(prepare, blank((300,), dtype), arrange(a), arrange(b))
    wanted = ufunc(a.astype(np.float32), b.astype(np.float32)).astype(dtype.numpy)
    assert np.array_equal(result.view(np.uint16), wanted.view(np.uint16))


SPECIAL = [
    ("exp", [INF], INF), ("exp", [-INF], 0.0), ("exp", [1000.0], INF), ("log", [0.0], -INF), ("log", [-1.0], NAN),
    ("log1p", [-1.0], -INF), ("div", [0.0, 0.0], NAN), ("div", [1.0, 0.0], INF), ("div", [1.0, -0.0], -INF),
    ("reciprocal", [0.0], INF), ("sqrt", [-1.0], NAN), ("rsqrt", [0.0], INF), ("atanh", [1.0], INF),
    ("acosh", [0.5], NAN), ("sin", [INF], NAN), ("tanh", [INF], 1.0), ("erf", [-INF], -1.0), ("erfc", [INF], 0.0),
    ("pow", [-8.0, 3.0], -512.0), ("pow", [-8.0, 0.5], NAN), ("pow", [0.0, -1.0], INF), ("pow", [NAN, 0.0], 1.0),
    ("remainder", [-7.0, 3.0], 2.0), ("remainder", [1.0, 0.0], NAN), ("sign", [NAN], NAN), ("relu", [NAN], NAN),
    ("maximum", [NAN, 1.0], NAN), ("minimum", [1.0, NAN], NAN), ("sigmoid", [-1000.0], 0.0), ("round", [2.5], 2.0),
    ("floor", [-0.5], -1.0), ("isfinite", [INF], False), ("isinf", [-INF], True), ("isnan", [NAN], True),
]  # fmt: skip


@over("compute", [np.float32, np.float64])
@over(("name", "values", "wanted"), SPECIAL, ids=lambda v: str(v))
def test_special_values_are_those_of_ieee_754(name, values, wanted, compute):
    result = one(name, *values, compute=compute)
    assert result == wanted or (np.isnan(result) and wanted != wanted)


def gamma_of(x):
    return math.gamma(x)


def lgamma_of(x):
    return math.lgamma(x)


@pytest.mark.parametrize(
    ("function", "x", "wanted"),
    [(gamma_of, 5.0, 24.0), (gamma_of, 0.0, INF), (gamma_of, -0.0, -INF), (gamma_of, -2.0, NAN), (gamma_of, -INF, NAN),
     (gamma_of, 200.0, INF), (lgamma_of, 1.0, 0.0), (lgamma_of, -3.0, INF), (lgamma_of, 0.0, INF),
     (lgamma_of, -INF, INF)],
)  # fmt: skip
def test_the_poles_of_gamma_do_not_raise(function, x, wanted):
    result = elementwise(parse(function), [x], compute=np.float64, dtype=f64)[0]
    assert result == wanted or (np.isnan(result) and wanted != wanted)


def test_elementary_functions_are_rounded_once_from_float64():
    x = np.linspace(-20, 20, 401).astype(np.float32)
    result = elementwise(explog.exp.op.scalar, x, compute=np.float32, dtype=f32)
    assert np.array_equal(result, np.exp(x.astype(np.float64)).astype(np.float32))


def float_arithmetic(x):
    third = 1 / 3
    return x * third + 2


def test_literals_take_the_compute_dtype():
    x = np.float32([0.1, 0.7, 1e8])
    result = elementwise(parse(float_arithmetic), x, compute=np.float32, dtype=f32)
    assert np.array_equal(result, x * (np.float32(1) / np.float32(3)) + np.float32(2))


@pytest.mark.parametrize("compute", [np.int8, np.uint8, np.int32, np.uint32, np.int64])
def test_integers_wrap(compute):
    top, low = np.iinfo(compute).max, np.iinfo(compute).min
    assert one("add", top, 1, compute=compute) == low
    assert one("sub", low, 1, compute=compute) == top
    assert one("mul", top, 2, compute=compute) == np.array(-2).astype(compute)
    assert one("neg", 1, compute=compute) == np.array(-1).astype(compute)


def test_integer_division_floors_and_gives_0_for_0():
    a, b = [7, -7, 7, -7, 5], [2, 2, -2, -2, 0]
    result = elementwise(parse(whole_division), a, b, compute=np.int64, dtype=i64)
    assert result.tolist() == [3, -4, -4, 3, 0]
    assert [one("remainder", *pair, compute=np.int32) for pair in zip(a, b)] == [1, 1, -1, -1, 0]


def whole_division(a, b):
    return a // b


@pytest.mark.parametrize(
    ("a", "b", "exact"),
    [(3, 4, 81), (3, 50, 3**50), (-2, 63, -(2**63)), (2, 64, 2**64), (0, 0, 1),
     (2, -1, 0), (1, -5, 1), (-1, -3, -1), (-1, -2, 1), (0, -1, 0)],
)  # fmt: skip
def test_integer_powers_wrap_and_lose_their_fraction_below_0(a, b, exact):
    assert int(one("pow", a, b, compute=np.int64)) % 2**64 == exact % 2**64


def test_a_literal_below_0_next_to_unsigned_operands_is_harmless():
    assert [one("sign", v, compute=np.uint8) for v in (0, 200)] == [0, 1]


def test_large_integers_pass_through_rounding_exactly():
    assert one("floor", 2**60 + 1, compute=np.int64) == 2**60 + 1
    assert one("round", 2**60 + 1, compute=np.int64) == 2**60 + 1


def test_for_bool_sum_is_or_and_product_is_and():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert elementwise(arithmetic.add.op.scalar, a, b, compute=np.bool_, dtype=bool_).tolist() == (a | b).tolist()
    assert elementwise(arithmetic.mul.op.scalar, a, b, compute=np.bool_, dtype=bool_).tolist() == (a & b).tolist()
    assert one("isfinite", True, compute=np.bool_)


# ---- copies


@over("target", ALL, ids=str)
@over("source", ALL, ids=str)
def test_copy_converts_every_dtype_to_every_other(source, target):
    # A number that is not 0 has an imaginary part in a complex dtype.
    numbers = np.array([0, 1, 2, 3, 100]) * (1 - 2j if source.is_complex else 1.0)
    copy = lambda: run(backend.copy, blank((5,), target, "stepped"), arrange(numbers, source, "flipped"))
    if source.is_complex and not target.is_complex and target is not bool_:
        with pytest.raises(DTypeError, match=f"from {source} to {target} would lose the imaginary parts"):
            copy()
        return
    wanted = numbers != 0 if bool_ in (source, target) else numbers
    assert np.array_equal(copy().astype(np.complex128), wanted.astype(np.complex128))


def test_float_to_int_saturates_and_sends_nan_to_0():
    x = arrange(np.float32([NAN, INF, -INF, 300.9, -300.9, 1.9, -1.9]))
    assert run(backend.copy, blank((7,), i8), x).tolist() == [0, 127, -128, 127, -128, 1, -1]
    assert run(backend.copy, blank((7,), u8), x).tolist() == [0, 255, 0, 255, 0, 1, 0]
    assert run(backend.copy, blank((7,), i64), x).tolist() == [0, 2**63 - 1, -(2**63), 300, -300, 1, -1]
    assert run(backend.copy, blank((7,), bool_), x).tolist() == [True] * 7


def test_int_to_int_wraps():
    x = arrange(np.int64([256, 257, -1, 2**40 + 5]))
    assert run(backend.copy, blank((4,), u8), x).tolist() == [0, 1, 255, 5]
    assert run(backend.copy, blank((4,), i32), x).tolist() == [256, 257, -1, 5]


def test_a_large_int_is_rounded_once_to_bfloat16():
    # Just above the middle of two bfloat16 numbers; rounded to float32 first, it would be a tie and go down.
    x = arrange(np.int32([2**24 + 2**16 + 1]))
    assert run(backend.copy, blank((1,), bf16), x).astype(np.float64).tolist() == [2**24 + 2**17]


# ---- folds


@over("way", WAYS)
@over("dims", [(0,), (1,), (2,), (0, 1), (0, 2), (0, 1, 2), ()])
def test_reductions_over_any_dims_of_any_layout(dims, way):
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 9
    kept = lambda f: f(a, axis=dims, keepdims=True) if dims else a
    assert np.array_equal(reducer("sum", a, dims, compute=np.float64, dtype=f32, way=way), kept(np.sum))
    assert np.array_equal(reducer("amax", a, dims, compute=np.float32, way=way), kept(np.max))


def test_sums_of_integers_and_bools_are_kept_in_int64():
    assert reducer("sum", np.int8([127, 127]), (0,), compute=np.int64) == [254]
    assert reducer("sum", np.array([True, True]), (0,), compute=np.int64) == [2]


def test_float16_sums_are_kept_in_float32():
    values = np.float16([2048, 1, 1])
    assert reducer("sum", values, (0,), compute=np.float32, dtype=f16) == [2050]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("sum", 0), ("prod", 1), ("any", False), ("all", True)],
)
def test_a_reduction_of_nothing_is_the_identity(name, wanted):
    empty = np.zeros((2, 0), np.float32)
    dtype = bool_ if name in ("any", "all") else f32
    result = reducer(name, empty, (1,), compute=np.float32, dtype=dtype)
    assert result.tolist() == [[wanted], [wanted]]


def test_nan_wins_every_extreme():
    values = np.float32([1, NAN, 3])
    assert np.isnan(reducer("amax", values, (0,), compute=np.float32)).all()
    assert np.isnan(reducer("amin", values, (0,), compute=np.float32)).all()


def test_integer_extremes_start_at_the_ends_of_the_range():
    low = np.full(2, -128, np.int8)
    assert reducer("amax", low, (0,), compute=np.int8) == [-128]
    assert reducer("amin", low + np.int8(-1), (0,), compute=np.int8) == [127]


def test_the_mean_divides_by_the_count_and_is_nan_for_nothing():
    prepare = lambda out, a: backend.reduce(schema["mean"].reducer, np.dtype(np.float64), out, a, (0,))
    assert run(prepare, blank((1, 2), f32), arrange(np.float32([[1, 2], [2, 4]]))).tolist() == [[1.5, 3]]
    assert np.isnan(run(prepare, blank((1, 2), f32), arrange(np.zeros((0, 2), np.float32)))).all()


@pytest.mark.parametrize("way", WAYS)
def test_positions_are_of_the_first_winner(way):
    values = np.float32([[3, 1, 3], [NAN, 5, NAN]])
    prepare = lambda better: lambda out, a: backend.argreduce(better, out, a, 1)
    assert run(prepare(GREATER), blank((2, 1), i64, way), arrange(values, way=way)).tolist() == [[0], [0]]
    assert run(prepare(LESS), blank((2, 1), i64, way), arrange(values, way=way)).tolist() == [[1], [0]]


# ---- products


@pytest.mark.parametrize("way", WAYS)
def test_matrix_products_take_any_layout_and_repeat_batches(way):
    a = np.arange(12, dtype=np.float32).reshape(1, 2, 2, 3) - 5
    b = np.arange(24, dtype=np.float32).reshape(2, 1, 3, 4) - 7
    lhs, rhs = broadcast(arrange(a, way=way), (2, 2, 2, 3)), broadcast(arrange(b, way=way), (2, 2, 3, 4))
    assert np.array_equal(run(backend.matmul, blank((2, 2, 2, 4), f32, way), lhs, rhs), a @ b)


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS], ids=str)
def test_matrix_products_of_every_dtype(dtype):
    a, b = np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)
    result = run(backend.matmul, blank((2, 2), dtype), arrange(a, dtype), arrange(b, dtype))
    assert result.astype(np.float64).tolist() == [[10, 13], [28, 40]]


def test_integer_products_wrap_and_bool_products_ask_for_any_pair():
    big = np.int32([[2**30, 2**30]])
    assert run(backend.matmul, blank((1, 1), i32), arrange(big), arrange(big.T)).tolist() == [[0]]
    a, b = np.array([[1, 0], [0, 0]], bool), np.array([[1, 0], [1, 1]], bool)
    assert run(backend.matmul, blank((2, 2), bool_), arrange(a), arrange(b)).tolist() == (a @ b).tolist()


def test_an_inner_size_of_0_gives_zeros_and_products_follow_ieee():
    empty = run(backend.matmul, blank((2, 3), f32), arrange(np.zeros((2, 0), "f4")), arrange(np.zeros((0, 3), "f4")))
    assert empty.tolist() == [[0] * 3] * 2
    assert np.isnan(run(backend.matmul, blank((1, 1), f32), arrange(np.float32([[INF]])), arrange(np.float32([[0]]))))


# ---- indexing


@over("way", WAYS)
@over("dim", [0, 1, 2])
def test_gather_reads_along_one_dim(dim, way):
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    index = np.random.default_rng(dim).integers(-a.shape[dim], a.shape[dim], (2, 3, 4))
    result = run(lambda out, *s: backend.gather(out, *s, dim), blank((2, 3, 4), f32, way), arrange(a, way=way),
                 arrange(index, way=way))  # fmt: skip
    assert np.array_equal(result, np.take_along_axis(a, index, dim))


def test_gather_with_a_smaller_index_reads_a_corner():
    a = np.float32([[1, 2, 3], [4, 5, 6]])
    result = run(
        lambda out, *s: backend.gather(out, *s, 1), blank((1, 2), f32), arrange(a), arrange(np.int32([[2, -3]]))
    )
    assert result.tolist() == [[3, 1]]


@pytest.mark.parametrize("way", WAYS)
def test_scatter_add_sums_repeated_positions(way):
    a, index = np.zeros((2, 3), np.float32), np.int64([[0, 0, -1], [1, 1, 1]])
    src = np.float32([[1, 2, 4], [8, 16, 32]])
    result = run(lambda out, *s: backend.scatter_add(out, *s, 1), blank((2, 3), f32, way), arrange(a, way=way),
                 arrange(index, way=way), arrange(src, way=way))  # fmt: skip
    assert result.tolist() == [[3, 0, 4], [0, 56, 0]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dim", [0, 1])
def test_index_select_and_index_add_are_take_and_its_adjoint(dim, way):
    a = np.arange(12, dtype=np.float64).reshape(3, 4)
    index = np.int64([2, 0, -1, 2])
    taken = np.take(a, index, dim)
    select = lambda out, *s: backend.index_select(out, *s, dim)
    assert np.array_equal(
        run(select, blank(taken.shape, f64, way), arrange(a, way=way), arrange(index, way=way)), taken
    )
    wanted = a.copy()
    np.add.at(wanted, (index,) if dim == 0 else (slice(None), index), taken)
    result = run(lambda out, *s: backend.index_add(out, *s, dim), blank(a.shape, f64, way), arrange(a, way=way),
                 arrange(index, way=way), arrange(taken, way=way))  # fmt: skip
    assert np.array_equal(result, wanted)


def test_view_add_sums_overlapping_windows():
    g = arrange(np.float32([[1, 2, 3], [10, 20, 30]]))
    out = blank((4,), f32)
    windows = Spec(Layout.make((2, 3), (1, 1), 0), f32)
    assert run(lambda o, s: backend.view_add(o, s, windows), out, g).tolist() == [1, 12, 23, 30]


def test_index_bounds_are_the_extremes_and_empty_for_nothing():
    buffer, spec = arrange(np.int32([[3, -2], [7, 0]]), way="transposed")
    assert backend.index_bounds(spec)(buffer) == (-2, 7)
    assert backend.index_bounds(Spec(Layout.contiguous((0,)), i64))(np.zeros(0, np.int64)) == (0, -1)


# ---- filling


@over("way", WAYS)
@over("dtype", ALL, ids=str)
def test_fill_writes_one_number_everywhere_and_nowhere_else(dtype, way):
    buffer, spec = blank((2, 3), dtype, way)
    backend.fill(spec)(buffer, 1)
    assert (contents(buffer, spec).astype(np.complex128) == 1).all()
    check_gaps(buffer, spec)


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS], ids=str)
def test_arange_counts_in_every_dtype(dtype):
    buffer, spec = blank((5,), dtype, "flipped")
    backend.arange(spec)(buffer, 2, 3)
    assert contents(buffer, spec).astype(np.float64).tolist() == [2, 5, 8, 11, 14]


def draw(kind, dtype, shape=(20,), counter=0, low=0.0, high=1.0, way="dense"):
    buffer, spec = blank(shape, dtype, way)
    backend.random(kind, spec)(buffer, 7, counter, low, high)
    check_gaps(buffer, spec)
    return contents(buffer, spec)


@pytest.mark.parametrize(
    ("kind", "dtype"), [("uniform", f32), ("uniform", f64), ("normal", f16), ("integer", i32)], ids=str
)
def test_random_numbers_depend_on_the_index_alone(kind, dtype):
    low, high = (-5, 90) if kind == "integer" else (0.0, 1.0)
    flat = draw(kind, dtype, low=low, high=high)
    assert np.array_equal(draw(kind, dtype, (4, 5), low=low, high=high, way="transposed").reshape(-1), flat)
    per = 2 if dtype in (f64, i32) else 4
    assert np.array_equal(draw(kind, dtype, counter=1, low=low, high=high)[:-per], flat[per:])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_numbers_fill_the_half_open_interval(dtype):
    values = draw("uniform", dtype, (500,), low=2.0, high=3.0).astype(np.float64)
    assert (values >= 2).all() and (values < 3).all() and abs(values.mean() - 2.5) < 0.05


def test_integers_take_every_value_and_stay_below_high():
    assert set(draw("integer", i8, (200,), low=-2, high=2).tolist()) == {-2, -1, 0, 1}


def test_normal_numbers_have_the_mean_and_the_deviation():
    values = draw("normal", f64, (2000,), low=3.0, high=2.0)
    assert abs(values.mean() - 3) < 0.2 and abs(values.std() - 2) < 0.15


# ---- emptiness


def test_no_launch_minds_an_empty_output():
    empty, index = arrange(np.zeros((0, 3), np.float32)), arrange(np.zeros((0, 3), np.int64))
    out = lambda dtype=f32: blank((0, 3), dtype)
    assert elementwise(schema["exp"].scalar, np.zeros((0, 3)), compute=np.float64, dtype=f64).shape == (0, 3)
    assert run(backend.copy, out(u32), empty).shape == (0, 3)
    assert run(lambda o, *s: backend.gather(o, *s, 0), out(), arrange(np.ones((2, 3), "f4")), index).shape == (0, 3)
    assert run(lambda o, *s: backend.scatter_add(o, *s, 0), out(), empty, index, empty).shape == (0, 3)
    assert run(backend.matmul, out(), arrange(np.zeros((0, 2), "f4")), arrange(np.zeros((2, 3), "f4"))).shape == (0, 3)
    buffer, spec = out()
    backend.fill(spec)(buffer, 1)
    backend.random("uniform", spec)(buffer, 0, 0, 0.0, 1.0)
    backend.arange(Spec(Layout.contiguous((0,)), f32))(buffer, 0, 1)
    check_gaps(buffer, spec)


# ---- a device of its own


def test_it_has_four_loops_and_numpys_general_eigenvalues_and_the_rest_is_composed_of_them():
    loops = {"Elementwise", "Reduce", "Gather", "Scatter"}
    assert {kind.__name__ for kind in ReferenceBackend.served()} == {*loops, "Eigh"}


def test_it_does_not_load_a_compiler():
    program = "import sys; import minigrad.backends.reference; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_device_from_outside_runs_an_op_once_it_has_a_backend_and_an_allocator(monkeypatch):
    for name in ("_factories", "_backends", "_by_device"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    monkeypatch.setattr(allocator, "_allocators", dict(allocator._allocators))
    register_backend("outside", ReferenceBackend)
    with pytest.raises(DeviceError, match="no allocator is set for the device kind 'outside'"):
        store([1.0, 2.0], device="outside")
    set_allocator("outside", get_allocator("cpu"))
    x = Tensor(*store([1.0, 2.0], device="outside"))
    y = arithmetic.add(x, x)
    assert y.device is as_device("outside")
    assert host_array(y).tolist() == [2.0, 4.0]


def test_bfloat16_numbers_are_those_of_ml_dtypes():
    every = np.arange(2**16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    result = run(backend.copy, blank((2**16,), f32), arrange(every))
    assert np.array_equal(result, every.astype(np.float32), equal_nan=True)
