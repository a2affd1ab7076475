"""The functions of the array API standard next to NumPy's, which follow it too, and signatures next to those of
array-api-strict; SciPy and scikit-learn compute on tensors.

`python -m pytest tests/test_array_api.py -rs` runs all of it and lists the libraries that are not installed.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.api.interop import standard
from minigrad.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("reference")

xp = mg.array_api
STRICT = "array-api-strict is not installed: no signatures to compare with"
ABSENT = {"broadcast_shapes"}  # of the next version of the standard
FLOATS, INTS, COMPLEX = ("float32", "float64"), ("uint8", "int16", "int64", "uint64"), ("complex64", "complex128")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-3, np.inf, -np.inf, np.nan)
OF_FLOATS = """acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal signbit sin sinh
    sqrt tan tanh""".split()
OF_INTS, OF_BOOLS = ["bitwise_invert"], ["logical_not"]
OF_COMPLEX = """abs acos acosh asin asinh atan atanh conj cos cosh exp expm1 imag isfinite isinf isnan log log1p log2
    log10 negative positive real reciprocal round sin sinh sqrt square tan tanh add divide equal multiply not_equal pow
    subtract""".split()
PAIRS_OF_FLOATS = "atan2 copysign divide hypot logaddexp nextafter".split()
PAIRS_OF_INTS = "bitwise_and bitwise_or bitwise_xor".split()
PAIRS_OF_BOOLS = "logical_and logical_or logical_xor".split()
SHIFTS = "bitwise_left_shift bitwise_right_shift".split()


def hold(ours: Any, theirs: Any, tolerance: float = 1e-5) -> None:
    """Compare results: tensors with arrays in dtype, shape and values, -0.0 included; sequences item by item."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            hold(one, other, tolerance)
        return
    theirs = np.asarray(theirs)
    assert isinstance(ours, mg.Tensor) and ours.dtype.name == theirs.dtype.name
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=tolerance, atol=tolerance / 10)
    if theirs.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(ours.numpy()) & (theirs == 0), np.signbit(theirs) & (theirs == 0))


def numbers(dtype: str) -> np.ndarray:
    if dtype == "bool":
        return np.array([True, False, True])
    if dtype in FLOATS:
        return np.array(SPECIAL, dtype)
    if dtype in COMPLEX:
        return np.array([1 + 2j, -0.5 + 0.25j, -3, 1.5j, 2.5 - 1.5j, 0.25 - 2j], dtype)
    return np.array([0, 1, 2, 7, 100, np.iinfo(dtype).max] + ([-1, -8] if np.iinfo(dtype).min else []), dtype)


def dtypes_of(name: str) -> tuple[str, ...]:
    """The dtypes for which the standard defines an elementwise function."""
    return real_dtypes_of(name) + (COMPLEX if name in OF_COMPLEX else ())


def real_dtypes_of(name: str) -> tuple[str, ...]:
    if name == "imag":
        return ()
    if name in OF_FLOATS + PAIRS_OF_FLOATS:
        return FLOATS
    if name in OF_BOOLS + PAIRS_OF_BOOLS:
        return ("bool",)
    if name in OF_INTS + PAIRS_OF_INTS:
        return ("bool", *INTS)
    return INTS if name in SHIFTS else ("bool", *INTS, *FLOATS) if name[-5:] == "equal" else INTS + FLOATS


@over("name", [*xp.UNARY.split(), "round"])
def test_functions_of_one_operand(name: str) -> None:
    for dtype in dtypes_of(name):
        a = numbers(dtype)
        for each in (a, a[:0], a[1], np.stack([a, a])[:, ::2]):
            with np.errstate(all="ignore"):
                hold(getattr(xp, name)(xp.asarray(np.asarray(each))), getattr(np, name)(each))


@over("name", [*xp.BINARY.split(), "floor_divide"])
def test_functions_of_two_operands(name: str) -> None:
    for dtype in dtypes_of(name):
        a = numbers(dtype)
        b = (a[:4] if dtype in INTS and name in (*SHIFTS, "pow") else a)[:, None]
        if name in ("floor_divide", "remainder") and dtype in FLOATS:  # of infinities NumPy departs from the standard
            a, b = a[np.isfinite(a)], b[np.isfinite(b) & (b != 0)][:, None]
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(a, b)
            hold(getattr(xp, name)(xp.asarray(a), xp.asarray(b)), expected)
            hold(getattr(xp, name)(xp.asarray(a), b[1].item()), getattr(np, name)(a, b[1].item()))


def test_a_tensor_without_dims_counts_for_the_dtype() -> None:
    x, one = xp.asarray([1.0, 2.0], dtype=xp.float32), xp.asarray(1.0, dtype=xp.float64)
    assert xp.add(x, one).dtype is xp.float64 and (x + one).dtype is mg.float32
    assert xp.where(x > 1, x, one).dtype is xp.concat([x, one], axis=None).dtype is xp.float64
    assert xp.result_type(x, one) is xp.float64 and xp.result_type(x, 1.0) is xp.float32


A, B = np.arange(24.0).reshape(2, 3, 4) % 7 - 2.5, np.array([[3.0, 1.0, 2.0], [-1.0, 5.0, 2.0]])
INT, ROW = np.array([[3, 1, 2], [1, 5, 2]]), np.array([2.0, 1.0, 2.0, 7.0])
Case = tuple[Callable[..., Any], tuple[Any, ...]]


def cases() -> Iterator[tuple[str, Case]]:
    """Calls in a namespace, by a name: reductions over axes, scans, shapes, positions, sets, creation, products."""
    for name, axis in product("sum prod max min mean std var all any".split(), (None, 0, (0, 2), -1)):
        a = (A > 0,) if name in ("all", "any") else (A,)
        yield f"{name}-{axis}", (lambda xp, x, n=name, d=axis: getattr(xp, n)(x, axis=d, keepdims=d == 0), a)
    for dtype in ("uint8", "int8", "uint64", "int64", "float32"):
        a = np.arange(1, 5, dtype=dtype)
        for name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
            yield f"{name}-{dtype}", (lambda xp, x, n=name: getattr(xp, n)(x), (a,))
    yield "sum-dtype", (lambda xp, x: xp.sum(x, dtype=xp.float32), (A,))
    yield "sum-empty", (lambda xp, x: xp.sum(x[:0], axis=0), (A,))
    yield "sum-scalar", (lambda xp, x: [xp.sum(x[0, 0, 0]), xp.max(x[0, 0, 0], axis=())], (A,))
    yield "std-correction", (lambda xp, x: [xp.std(x, correction=1), xp.var(x, axis=1, correction=0.5)], (A,))
    yield (
        "cumulative-initial",
        (lambda xp, x: [f(x, axis=1, include_initial=True) for f in (xp.cumulative_sum, xp.cumulative_prod)], (A,)),
    )
    yield "positions", (lambda xp, x: [f(x, axis=1, keepdims=True) for f in (xp.argmax, xp.argmin)], (A,))
    yield "positions-flat", (lambda xp, x: [xp.argmax(x), xp.argmin(x), *xp.nonzero(x)], (A,))
    yield "count_nonzero", (lambda xp, x: [xp.count_nonzero(x), xp.count_nonzero(x, axis=0, keepdims=True)], (INT - 1,))
    yield "sort", (lambda xp, x: [xp.sort(x), xp.sort(x, axis=0), xp.argsort(x, axis=1, stable=True)], (A,))
    yield (
        "searchsorted",
        (lambda xp, x, v: [xp.searchsorted(x, v), xp.searchsorted(x, v, side="right")], (np.sort(ROW), B)),
    )
    yield "searchsorted-sorter", (lambda xp, x, v: xp.searchsorted(x, v, sorter=xp.argsort(x)), (ROW, B))
    yield "unique_all", (lambda xp, x: tuple(xp.unique_all(x)), (INT,))
    yield "unique", (lambda xp, x: [*xp.unique_counts(x), *xp.unique_inverse(x), xp.sort(xp.unique_values(x))], (INT,))
    yield "unique-nan", (lambda xp, x: tuple(xp.unique_all(x)), (np.array([np.nan, 1.0, np.nan, -0.0, 0.0]),))
    z = np.array([[1 + 2j, 1 - 2j, 0], [1 + 2j, complex(np.nan, 1), -0.0]])
    yield "unique-complex", (lambda xp, x: tuple(xp.unique_all(x)), (z,))
    yield "linspace-complex", (lambda xp: xp.linspace(1j, 2, 5, dtype=xp.complex64), ())
    yield "isin", (lambda xp, x, y: [xp.isin(x, y), xp.isin(x, y, invert=True)], (INT, np.array([1, 2])))
    yield "take", (lambda xp, x, i: [xp.take(x, i, axis=0), xp.take(x[:, 0, 0], i)], (A, np.array([1, 0, 1])))
    yield "take_along_axis", (lambda xp, x, i: xp.take_along_axis(x, i, axis=1), (B, np.array([[0], [2]])))
    yield "where", (lambda xp, x, y: [xp.where(x > 0, x, y), xp.where(x > 0, x, 1.0)], (A, A[0]))
    yield "clip", (lambda xp, x: [xp.clip(x, 0, None), xp.clip(x, None, 1), xp.clip(x, 0, x * 0 + 1)], (A,))
    yield "diff", (lambda xp, x: [xp.diff(x), xp.diff(x, axis=1, n=2), xp.diff(x, prepend=x, append=x)], (A,))
    yield (
        "shapes",
        (
            lambda xp, x: [
                xp.reshape(x, (6, -1)),
                xp.permute_dims(x, (2, 0, 1)),
                xp.moveaxis(x, 0, -1),
                xp.expand_dims(x, axis=1),
                xp.squeeze(x[:1], 0),
                xp.flip(x),
                xp.flip(x, axis=(0, 1)),
                xp.roll(x, 5),
                xp.roll(x, (1, 2), axis=(0, 2)),
                xp.tile(x, (2, 1)),
                xp.repeat(x, 2),
                xp.repeat(x, 3, axis=1),
                xp.broadcast_to(x, (2, 2, 3, 4)),
                xp.matrix_transpose(x),
                xp.reshape(x, (24,), copy=True),
            ],
            (A,),
        ),
    )
    yield (
        "several",
        (
            lambda xp, x, y: [
                xp.concat([x, y]),
                xp.concat([x, y], axis=None),
                xp.stack([x, x], axis=-1),
                *xp.unstack(x, axis=1),
                *xp.broadcast_arrays(x, x[:1]),
                *xp.meshgrid(x[0], y[0]),
                *xp.meshgrid(x[0], y[0], indexing="ij"),
            ],
            (B, -B),
        ),
    )
    yield "triangles", (lambda xp, x: [xp.tril(x), xp.triu(x, k=1), xp.tril(x, k=-1)], (A,))
    yield (
        "products",
        (
            lambda xp, x, y: [
                xp.matmul(x, xp.matrix_transpose(y)),
                xp.tensordot(x, y, axes=([0, 1], [0, 1])),
                xp.vecdot(x, y),
                xp.vecdot(x, y, axis=0),
                xp.tensordot(x, y, axes=0),
            ],
            (B, -B),
        ),
    )
    yield (
        "linalg",
        (
            lambda xp, x: [
                xp.linalg.vector_norm(x),
                xp.linalg.vector_norm(x, axis=(0, 2), keepdims=True, ord=1),
                xp.linalg.diagonal(x),
                xp.linalg.matrix_norm(x),
                xp.linalg.trace(x, offset=1),
                xp.linalg.outer(x[0, 0], x[1, 1]),
                xp.linalg.cross(x[..., :3], x[..., 1:]),
                xp.linalg.cross(x[..., :3], x[0, 0, 1:]),
            ],
            (A,),
        ),
    )
    yield (
        "matrices",
        (
            lambda xp, x: [
                xp.linalg.matrix_power(x, 3),
                xp.linalg.cholesky(xp.matmul(x, xp.matrix_transpose(x))),
                xp.linalg.cholesky(xp.matmul(x, xp.matrix_transpose(x)), upper=True),
            ],
            (A[:, :, :3] + 9 * np.eye(3),),
        ),
    )
    yield (
        "fft",
        (
            lambda xp, x: [
                xp.fft.fft(x, n=5, axis=1),
                xp.fft.ifft(x, norm="ortho"),
                xp.fft.fftn(x, s=(2, 5), axes=(0, 1)),
                xp.fft.ifftn(x),
                xp.fft.irfft(xp.fft.rfft(x), n=4),
                xp.fft.irfftn(xp.fft.rfftn(x, axes=(1, 2)), axes=(1, 2), norm="forward"),
                xp.fft.hfft(xp.fft.ihfft(x), n=4),
                xp.fft.fftshift(x, axes=1),
                xp.fft.ifftshift(x),
            ],
            (A,),
        ),
    )
    yield (
        "creation",
        (
            lambda xp: [
                xp.arange(5),
                xp.arange(2, 9, 3),
                xp.arange(0, 1, 0.25, dtype=xp.float64),
                xp.eye(2, dtype=xp.float64),
                xp.eye(2, 4, k=1, dtype=xp.int64),
                xp.full((2, 1), 7),
                xp.full(3, True),
                xp.ones((2, 0), dtype=xp.uint16),
                xp.zeros(2, dtype=xp.uint64),
                xp.linspace(0, 1, 5, dtype=xp.float64),
                xp.asarray([[1, 2], [3, 4]]),
                xp.linspace(1, 0, num=4, endpoint=False, dtype=xp.float32),
                xp.asarray(True),
                xp.asarray([1.5, 2], dtype=xp.int8),
            ],
            (),
        ),
    )
    yield (
        "likes",
        (
            lambda xp, x: [
                xp.zeros_like(x),
                xp.ones_like(x, dtype=xp.uint8),
                xp.full_like(x, 3),
                xp.astype(x, xp.int32),
            ],
            (B,),
        ),
    )
    yield (
        "operators",
        (lambda xp, x: [+x, -x, x << 1, x >> 1, 1 << x, ~x, x & 1, x | 4, x ^ x, x // 2, 7 % x, x**2], (INT,)),
    )


CASES = dict(cases())


@over("name", CASES)
def test_a_call_gives_numpys_result(name: str) -> None:
    call, arrays = CASES[name]
    hold(call(xp, *map(xp.asarray, arrays)), call(np, *arrays))


def test_kinds_of_dtypes() -> None:
    info = xp.__array_namespace_info__()
    assert set(info.dtypes()) == {d.name for d in standard.DTYPES} and set(info.dtypes(kind="complex floating")) == {
        "complex64", "complex128",
    }  # fmt: skip
    for name, dtype in info.dtypes().items():
        for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric"):
            assert xp.isdtype(dtype, kind) == np.isdtype(np.dtype(name), kind)
        for other, to in info.dtypes().items():
            if np.isdtype(np.dtype(name), "integral") and np.isdtype(np.dtype(other), "integral"):
                assert xp.can_cast(dtype, to) == np.can_cast(np.dtype(name), np.dtype(other))
            elif dtype.is_float or dtype.is_complex:
                assert xp.can_cast(dtype, to) == np.can_cast(name, other)
    assert xp.isdtype(xp.int8, (xp.int8, "bool")) and not xp.can_cast(xp.int64, xp.float64)
    with pytest.raises(ArgumentError, match="isdtype"):
        xp.isdtype(xp.int8, "whole")
    for name in ("float32", "float64"):
        ours, theirs = xp.finfo(getattr(xp, name)), np.finfo(name)
        for fact in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(ours, fact) == getattr(theirs, fact)
    assert (xp.iinfo(xp.uint64).max, xp.iinfo(xp.asarray([1])).bits) == (2**64 - 1, 64)
    assert info.default_dtypes()["real floating"] is mg.default_float() and info.devices() == [info.default_device()]


def test_complex_numbers() -> None:
    z = xp.asarray([3 + 4j, 0])
    assert xp.sign(z).tolist() == pytest.approx([0.6 + 0.8j, 0]) and xp.linspace(0, 1j, 3).dtype is xp.complex64
    assert xp.astype(z, xp.bool).tolist() == [True, False] and xp.astype(z, xp.complex128).dtype is xp.complex128
    with pytest.raises(TypeError, match=r"xp\.real\(x\)"):
        xp.astype(z, xp.float32)


def test_floor_divide_of_infinities() -> None:
    a = np.array(SPECIAL)
    with np.errstate(all="ignore"):
        expected = np.floor(a[:, None] / a)
        infinite = np.isinf(a[:, None]) | np.isinf(a)
    found = xp.floor_divide(xp.asarray(a)[:, None], xp.asarray(a))
    hold(found[xp.asarray(infinite)], expected[infinite])
    assert xp.floor_divide(xp.asarray([-1.0]), np.inf).tolist() == [0.0] and (mg.tensor([-1.0]) // np.inf).item() == -1
    x = mg.Var([3.0, np.inf])
    assert xp.floor_divide(x, 2.0).sum().backward()[x].tolist() == [0.0, 0.0]


def test_broadcast_arrays_returns_a_list() -> None:
    assert type(xp.broadcast_arrays(xp.ones(2))) is list


def test_arrays_in_and_out() -> None:
    a = np.arange(3.0)
    shared = xp.asarray(a, copy=False, device="cpu")
    a[0] = 9.0
    assert shared.tolist() == [9.0, 1.0, 2.0] and xp.asarray(shared) is shared
    assert xp.asarray(shared, copy=True).data_ptr() != shared.data_ptr()
    assert xp.from_dlpack(a).tolist() == a.tolist()
    for obj, dtype in (([1.0], None), (a, xp.float32)):
        with pytest.raises(ValueError, match="copy=False"):
            xp.asarray(obj, dtype=dtype, copy=False)
    x = mg.Var([1.0, 2.0])
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is xp
    assert xp.astype(x, mg.float32) is not x is xp.astype(x, mg.float32, copy=False)
    with pytest.raises(ValueError, match="version"):
        x.__array_namespace__(api_version="2019.12")
    assert x.to_device("cpu") is not x and x.to_device(x.device) is x
    square = xp.ones((2, 2))
    for wrong in (
        lambda: xp.nonzero(xp.asarray(1)), lambda: xp.squeeze(square, 0), lambda: xp.take(square, xp.asarray([0])),
        lambda: xp.cumulative_sum(square), lambda: x.to_device("cpu", stream=1),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            wrong()


def test_contracted_axes_do_not_broadcast() -> None:
    one, three = xp.ones((2, 1)), xp.ones((2, 3))
    for call in (xp.vecdot, xp.linalg.vecdot, lambda x, y: xp.tensordot(x, y, axes=([1], [1]))):
        for x, y in ((one, three), (three, one)):
            with pytest.raises(ValueError, match="the lengths along axis"):
                call(x, y)
    assert xp.vecdot(three[:1], three).tolist() == [3.0, 3.0]


def test_right_hand_sides_of_several_dims_are_matrices() -> None:
    a, b = A[:, :2, :2] + 5 * np.eye(2), np.array([[1.0, 2.0], [3.0, 5.0]])
    for right in (b, b[0], b[None], b[:, :1]):
        hold(xp.linalg.solve(xp.asarray(a), xp.asarray(right)), np.linalg.solve(a, right), 1e-9)
    mixed = xp.linalg.solve(xp.asarray(a), xp.asarray(b, dtype=xp.float32))
    assert mixed.dtype is xp.float64
    hold(mixed, np.linalg.solve(a, b), 1e-6)


def test_gradients_pass() -> None:
    x = mg.Var([[1.0, 2.0], [3.0, 5.0]], dtype="float64")
    mg.testing.gradcheck(lambda x: xp.std(xp.concat([x, xp.sin(x)]), axis=0, correction=1), [x])
    mg.testing.gradcheck(lambda x: xp.linalg.vector_norm(xp.cumulative_prod(x, axis=1, include_initial=True)), [x])


@pytest.mark.arrays
def test_signatures_are_the_standards() -> None:
    strict = pytest.importorskip("array_api_strict", reason=STRICT)
    wrong = []
    for space, theirs in ((xp, strict), (xp.linalg, strict.linalg), (xp.fft, strict.fft)):
        names = {name for name in theirs.__all__ if "trict" not in name and name[0] != "_"} - ABSENT
        wrong += [f"{name} is absent" for name in names if not hasattr(space, name)]
        for name in names - {"finfo", "iinfo"}:
            if inspect.isfunction(getattr(theirs, name)) and hasattr(space, name):
                wrong += differences(name, getattr(space, name), getattr(theirs, name))
    assert not wrong, "\n".join(wrong)


def differences(name: str, ours: Any, theirs: Any) -> list[str]:
    """How the parameters of a function differ; one that must be given by position may also have a name."""
    mine, found = list(inspect.signature(ours).parameters.values()), []
    for k, p in enumerate(inspect.signature(theirs).parameters.values()):
        if p.kind is p.KEYWORD_ONLY or p.kind is p.POSITIONAL_OR_KEYWORD:
            same = [q for q in mine if q.name == p.name and q.kind is not q.POSITIONAL_ONLY]
        else:
            same = mine[k : k + 1]
        default = None if p.default is p.empty or "Undef" in repr(p.default) else p.default
        if not same:
            found.append(f"{name} has no {p}")
        elif default is not None and same[0].default != default:
            found.append(f"{name}: {same[0]} instead of {p}")
    return found


S = np.random.default_rng(0).normal(size=(6, 3))
P = np.abs(S) + 0.1
# Functions of SciPy by module and name, with what follows the tensor.
SCIPY: dict[str, tuple[Any, ...]] = {
    "special.logsumexp": (), "special.softmax": (1,), "special.log_softmax": (1,), "special.entr": (),
    "special.rel_entr": (P,), "special.xlogy": (P,), "stats.zscore": (), "stats.gmean": (), "stats.hmean": (),
    "stats.pmean": (2,), "stats.moment": (2,), "stats.skew": (), "stats.kurtosis": (), "stats.variation": (),
    "stats.sem": (), "stats.entropy": (), "stats.circmean": (), "integrate.trapezoid": (),
    "integrate.cumulative_trapezoid": (), "signal.detrend": (), "cluster.vq.whiten": (),
}  # fmt: skip
SKLEARN: dict[str, tuple[str, ...]] = {
    "preprocessing.StandardScaler": ("fit_transform",), "preprocessing.MinMaxScaler": ("fit_transform",),
    "preprocessing.MaxAbsScaler": ("fit_transform",), "metrics.pairwise.rbf_kernel": (),
    "metrics.pairwise.cosine_similarity": (),
}  # fmt: skip


@pytest.fixture
def library(float64: None) -> Callable[..., Any]:
    """A function of a library by its name."""

    def find(package: str, name: str) -> Any:
        pytest.importorskip(package, reason=f"{package} is not installed: none of its functions is called")
        module, _, last = f"{package}.{name}".rpartition(".")
        return getattr(importlib.import_module(module), last)

    return find


@pytest.mark.arrays
@over("name", SCIPY)
def test_scipy_computes_on_tensors(name: str, library: Callable[..., Any]) -> None:
    function, arrays = library("scipy", name), (P, *SCIPY[name])
    tensors = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in arrays]
    hold(function(*tensors), function(*arrays), 1e-9)


@pytest.mark.arrays
@pytest.mark.parametrize("name", ["stats.skew", "stats.gmean", "special.logsumexp", "integrate.trapezoid"])
def test_gradients_pass_through_scipy(name: str, library: Callable[..., Any]) -> None:
    mg.testing.gradcheck(library("scipy", name), [mg.Var(P)])


@pytest.mark.arrays
@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn_computes_on_tensors(name: str, library: Callable[..., Any]) -> None:
    function = library("sklearn", name)
    with library("sklearn", "config_context")(array_api_dispatch=True):
        call = (lambda x: getattr(function(), SKLEARN[name][0])(x)) if SKLEARN[name] else function
        hold(call(xp.asarray(S)), call(S), 1e-9)
