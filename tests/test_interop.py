"""Conversion from NumPy and to NumPy: which memory is copied, which is shared, and which is rejected."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import DTypeError, GradientError, ShapeError


def test_tensor_copies_and_from_numpy_shares() -> None:
    a = np.arange(6.0).reshape(2, 3)
    copied, shared = mg.tensor(a), mg.from_numpy(a)
    a[0, 0] = 42.0
    assert copied[0, 0].item() == 0.0 and shared[0, 0].item() == 42.0
    shared[1, 2] = 7.0
    assert a[1, 2] == 7.0


@pytest.mark.parametrize(
    "view",
    [lambda a: a, lambda a: a.T, lambda a: a[::2, 1:], lambda a: a[::-1, ::-2], lambda a: a[1, 2], lambda a: a[:0]],
    ids=["dense", "transposed", "stepped", "negative", "scalar", "empty"],
)
def test_shared_memory_of_any_strides(view: Any) -> None:
    a = view(np.arange(20.0).reshape(4, 5))
    a = np.asarray(a) if isinstance(a, np.ndarray) else np.array(a)
    x = mg.from_numpy(a)
    np.testing.assert_array_equal(x.numpy(), a)
    x += 1.0
    np.testing.assert_array_equal(x.numpy(), a)


def test_a_shared_array_lives_as_long_as_its_tensor() -> None:
    a: Any = np.ones(1000)
    alive = weakref.ref(a)
    x = mg.from_numpy(a)[::2]
    del a
    gc.collect()
    assert x.sum().item() == 500.0
    del x
    gc.collect()
    assert alive() is None


def test_numpy_out_shares_and_outlives_the_tensor() -> None:
    x: Any = mg.tensor([1.0, 2.0, 3.0])
    out = x.numpy()
    x.mul_(2.0)
    assert out.tolist() == [2.0, 4.0, 6.0]
    del x
    _ = [mg.full((3,), 9.0) for _ in range(50)]
    assert out.tolist() == [2.0, 4.0, 6.0], "memory that NumPy still sees was given away"


def test_dtypes_in_and_out() -> None:
    for name in ("bool", "uint8", "int8", "int16", "uint32", "int32", "int64", "float16", "float32", "float64"):
        a = np.array([0, 1, 1], name)
        assert mg.from_numpy(a).dtype is mg.tensor(a).dtype is mg.as_dtype(name)
        assert mg.tensor(a).numpy().dtype == a.dtype
    half = np.array([1.5, -2.25], ml_dtypes.bfloat16)
    assert mg.from_numpy(half).dtype is mg.bfloat16 and mg.tensor(half).numpy().dtype == ml_dtypes.bfloat16


def test_np_asarray_and_arithmetic_with_arrays() -> None:
    x = mg.Var([1.0, 2.0])
    seen = np.asarray(x)
    seen[0] = 5.0
    assert x.tolist() == [1.0, 2.0], "a Var must not be writable through np.asarray"
    assert (np.float64(3.0) * mg.tensor([1.0, 2.0])).tolist() == [3.0, 6.0]


def test_an_array_beside_a_tensor_is_a_tensor_of_its_own_dtype() -> None:
    x = mg.Var([[1.0, 2.0], [3.0, 4.0]], device="reference")
    wide = np.array([10.0, 20.0])
    for y in (x * wide, wide * x):
        assert y.tolist() == [[10.0, 40.0], [30.0, 80.0]] and y.dtype is mg.float64
    assert (x - np.float32([1, 1])).dtype is mg.float32
    assert (x == np.array([1.0, 4.0])).tolist() == [[True, False], [False, True]]
    assert (np.array([1.0, 4.0]) != x).tolist() == [[False, True], [True, False]]
    assert (np.eye(2) @ x).tolist() == (x @ np.eye(2)).tolist() == x.tolist()
    assert mg.where(np.array([True, False]), x, 0.0).tolist() == [[1.0, 0.0], [3.0, 0.0]]
    (x * wide).sum().backward()
    assert x.grad.tolist() == [[10.0, 20.0], [10.0, 20.0]]
    wide[0] = 0.0
    assert (x * wide).tolist()[0] == [0.0, 40.0], "an array is read at each call"


@pytest.mark.parametrize("kind", ["bool", "uint8", "int64", "float16", "float32", "float64", "complex64"])
def test_operators_promote_an_array_as_numpy_does(kind: str) -> None:
    """PyTorch leaves `x + array` to NumPy, so a script expects NumPy's dtype."""
    with mg.device("reference"):
        for other in ("bool", "int32", "int64", "float16", "float32", "complex64"):
            for shape, length in (((2,), 2), ((), 2), ((2,), 0), ((), 0)):
                a = np.ones(length, other) if length else np.array(1, other)
                x = mg.ones(shape, dtype=kind)
                expected = np.add(x.numpy(), a)
                results = [x + a, a + x, mg.add(x, a)]
                assert {(y.dtype.name, y.shape) for y in results} == {(str(expected.dtype), expected.shape)}
                assert (x / a).dtype.name == np.divide(x.numpy(), a).dtype.name
                assert (x == a).dtype is mg.bool
    x = mg.ones(2, dtype=mg.bfloat16, device="reference")
    assert (x + np.arange(2)).dtype is mg.bfloat16, "NumPy does not promote bfloat16"
    for call in (lambda: x @ np.array(2.0), lambda: np.array(2.0) @ x.float()):
        with pytest.raises(ShapeError, match=r"matmul: .* must have at least 1 dim"):
            call()


def test_an_array_is_added_in_place() -> None:
    x = mg.ones(2, device="reference")
    same = x
    x += np.arange(2)
    x *= np.array(2.0)
    assert same is x and x.dtype is mg.float32 and x.tolist() == [2.0, 4.0]
    with pytest.raises(DTypeError, match="float64"):
        x.int().add_(np.array([0.5]))


def test_dlpack_both_ways() -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]])
    seen = np.from_dlpack(x.T)
    assert seen.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    a = np.arange(3, dtype=np.float32)
    y = mg.from_dlpack(a)
    a[0] = 9.0
    assert y.tolist() == [9.0, 1.0, 2.0]


def test_what_cannot_leave_or_enter_says_why() -> None:
    with pytest.raises(GradientError, match="detach"):
        mg.Var([1.0]).numpy()
    with pytest.raises(DTypeError, match="bfloat16"):
        np.from_dlpack(mg.tensor([1.0], dtype="bfloat16"))
    with pytest.raises(ShapeError, match=r"strides \(-1,\)"):
        np.from_dlpack(mg.tensor([1.0, 2.0]).flip(0))
    with pytest.raises(DTypeError, match="mask"):
        mg.from_numpy(np.ma.masked_array([1.0, 2.0], [True, False]))
    readonly = np.ones(2)
    readonly.flags.writeable = False
    with pytest.raises(ShapeError, match=r"mg\.tensor"):
        mg.from_numpy(readonly)


def test_a_capsule_shares_memory() -> None:
    x = mg.arange(3)
    y = mg.utils.dlpack.from_dlpack(mg.utils.dlpack.to_dlpack(x))
    y[0] = 7
    assert x.tolist() == mg.asarray(mg.utils.dlpack.to_dlpack(x)).tolist() == [7, 1, 2]


def test_what_a_graph_saved_is_read_only_through_dlpack() -> None:
    x = mg.Var([1.0, 2.0], dtype="float64")
    seen = np.from_dlpack(x.exp().detach())
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 5.0
    np.from_dlpack(x.exp().detach().clone())[0] = 5.0


MASKED = np.ma.masked_array([1.0, 2.0], [True, False])
ENTRANCES = {
    "tensor": lambda x: mg.tensor(MASKED),
    "Var": lambda x: mg.Var(MASKED),
    "from_numpy": lambda x: mg.from_numpy(MASKED),
    "from_dlpack": lambda x: mg.from_dlpack(MASKED),
    "an operand": lambda x: x + MASKED,
    "the operand on the left": lambda x: MASKED - x,
    "one of several": lambda x: mg.where(x > 0, x, MASKED),
    "a bound": lambda x: x.clamp(MASKED),
    "an item": lambda x: x.__setitem__(slice(None), MASKED),
    "an index": lambda x: x[np.ma.masked_array([0, 1], [True, False])],
    "copy_": lambda x: x.copy_(MASKED),
    "set": lambda x: mg.Var([1.0, 2.0], device="reference").set(MASKED),
    "the masked number": lambda x: x + np.ma.masked,
    "the masked number as data": lambda x: mg.tensor(np.ma.masked),
}


@pytest.mark.parametrize("name", ENTRANCES)
def test_a_masked_array_is_refused_wherever_data_comes_in(name: str) -> None:
    x = mg.tensor([5.0, 6.0], device="reference")
    with pytest.raises(DTypeError, match=r"got a masked array, whose mask would be lost; pass"):
        ENTRANCES[name](x)
    assert x.tolist() == [5.0, 6.0]


X = np.array([[1.0, 2.0], [3.0, 5.0]])
NUMPY_CALLS: dict[str, Any] = {
    "sin": lambda x: np.sin(x), "an array first": lambda x: X - x, "power": lambda x: np.power(x, 3),
    "invert": lambda x: np.invert(x > 2), "rint": lambda x: np.rint(x / 2), "maximum": lambda x: np.maximum(2.0, x),
    "a NumPy number first": lambda x: np.float64(2.0) * x, "matmul": lambda x: X @ x,
    "reduce": lambda x: np.add.reduce(x), "outer": lambda x: np.multiply.outer(x, X),
    "accumulate": lambda x: np.add.accumulate(x), "mean": lambda x: np.mean(x, 0),
    "mean of ints": lambda x: np.mean(x > 2), "std": lambda x: np.std(x, ddof=1),
    "var": lambda x: np.var(x, axis=(0, 1), keepdims=True), "sum": lambda x: np.sum(x, axis=-1),
    "max": lambda x: np.max(x), "argmax": lambda x: np.argmax(x, axis=1), "median": lambda x: np.median(x, axis=1),
    "cumsum": lambda x: np.cumsum(x), "concatenate": lambda x: np.concatenate([x, X]),
    "stack": lambda x: np.stack([X, x], 1), "vstack": lambda x: np.vstack([x, x]),
    "transpose": lambda x: np.transpose(x), "reshape": lambda x: np.reshape(x, (4,)), "ravel": lambda x: np.ravel(x),
    "where": lambda x: np.where(X > 1, x, 0.0), "sort": lambda x: np.sort(-x, axis=None),
    "take": lambda x: np.take(x, [0, 1]), "clip": lambda x: np.clip(x, 1.5, None), "dot": lambda x: np.dot(x, X),
    "dot of vectors": lambda x: np.dot(x[0], X[1]), "einsum": lambda x: np.einsum("ij,ij->i", x, X),
    "norm": lambda x: np.linalg.norm(x), "trace": lambda x: np.trace(x), "squeeze": lambda x: np.squeeze(x[:1]),
    "expand_dims": lambda x: np.expand_dims(x, 1), "tile": lambda x: np.tile(x, 2),
    "split": lambda x: np.split(x, 2)[1], "diag": lambda x: np.diag(x), "zeros_like": lambda x: np.zeros_like(x),
    "permute_dims": lambda x: np.permute_dims(x, (1, 0)), "flip": lambda x: np.flip(x, 0),
    "outer product": lambda x: np.outer(x, x), "outer product with an array": lambda x: np.outer(X, x[0]),
    "ptp": lambda x: np.ptp(x, axis=0), "amax": lambda x: np.amax(x, 1), "amin": lambda x: np.amin(x),
    "average": lambda x: np.average(x, 0), "percentile": lambda x: np.percentile(x, [25, 60], axis=1),
    "moveaxis": lambda x: np.moveaxis(x, source=0, destination=1), "append": lambda x: np.append(x, X[0]),
    "append rows": lambda x: np.append(X, x, axis=0), "flipud": lambda x: np.flipud(x),
    "fliplr": lambda x: np.fliplr(x), "atleast_3d": lambda x: np.atleast_3d(x),
    "cross": lambda x: np.cross(np.ones(3), np.append(x[:1], 1.0)), "inv": lambda x: np.linalg.inv(x),
    "pinv": lambda x: np.linalg.pinv(x), "det": lambda x: np.linalg.det(x),
    "slogdet": lambda x: np.linalg.slogdet(x)[1],
    "solve": lambda x: np.linalg.solve(x, X[0]), "cholesky": lambda x: np.linalg.cholesky(x @ x.T),
    "qr": lambda x: abs(np.linalg.qr(x)[1]), "svd": lambda x: np.linalg.svd(x)[1],
    "singular values": lambda x: np.linalg.svd(x, compute_uv=False), "eigh": lambda x: np.linalg.eigh(x + x.T)[0],
    "eigvalsh": lambda x: np.linalg.eigvalsh(x + x.T), "matrix_power": lambda x: np.linalg.matrix_power(x, 3),
    "multi_dot": lambda x: np.linalg.multi_dot([x, X, x]), "convolve": lambda x: np.convolve(x[0], np.arange(4.0)),
    "convolve, same": lambda x: np.convolve(np.arange(5.0), x[1], "same"),
    "convolve, valid": lambda x: np.convolve(x[0], np.arange(4.0), mode="valid"),
    "average with weights": lambda x: np.average(x, 0, [1.0, 3.0]),
    "average with a table of weights": lambda x: np.average(x, weights=X, keepdims=True),
    "around": lambda x: np.around(x / 3, 1), "fix": lambda x: np.fix(-x / 2), "cbrt": lambda x: np.cbrt(-x),
    "vstack of dtype": lambda x: np.vstack([x, X], dtype="float64"), "dstack": lambda x: np.dstack([x, X]),
    "array_split": lambda x: np.array_split(x, 3, axis=1)[0], "hsplit": lambda x: np.hsplit(x, 2)[1],
    "hsplit of a vector": lambda x: np.hsplit(x[0], 2)[1], "vsplit": lambda x: np.vsplit(x, [1])[1],
    "dsplit": lambda x: np.dsplit(x[None], 2)[1], "nanprod": lambda x: np.nanprod(gaps(x), 0),
    "nancumsum": lambda x: np.nancumsum(gaps(x)), "nancumprod": lambda x: np.nancumprod(gaps(x), axis=1),
    "nanmax": lambda x: np.nanmax(gaps(x), axis=0), "nanmin": lambda x: np.nanmin(gaps(x)),
    "nanmedian": lambda x: np.nanmedian(gaps(x), 0), "nanquantile": lambda x: np.nanquantile(gaps(x), 0.3),
    "nanpercentile": lambda x: np.nanpercentile(gaps(x), [20, 80]), "nanmean": lambda x: np.nanmean(gaps(x), 0),
    "nanvar": lambda x: np.nanvar(gaps(x)), "nanstd": lambda x: np.nanstd(gaps(x), 0, keepdims=True),
    "rot90": lambda x: np.rot90(x, 3), "rollaxis": lambda x: np.rollaxis(x[None], 2),
    "rollaxis to the end": lambda x: np.rollaxis(x[None] * 2, 0, 3), "resize": lambda x: np.resize(x, (2, 3)),
    "delete": lambda x: np.delete(x, 1, axis=0), "delete from all": lambda x: np.delete(x, [0, 2]),
    "pad": lambda x: np.pad(x, 1), "pad with numbers": lambda x: np.pad(x, ((1, 0), (2, 1)), constant_values=(7, 8)),
    **{f"pad by {mode}": lambda x, mode=mode: np.pad(x, ((3, 1), (0, 4)), mode)
       for mode in ("edge", "reflect", "symmetric", "wrap")},
    "linspace": lambda x: np.linspace(x, X[0] ** 2, 4, axis=-1),
    "linspace of numbers": lambda x: np.linspace(x[0, 0], 9, 3),
    "linspace without the end": lambda x: np.linspace(1.0, x, 3, endpoint=False),
    "partition": lambda x: np.partition(x, 0),
    "append to a list": lambda x: np.append([x[0, 0], x[1, 1] * 2, 7.0], x[0]),
    "cross along axes": lambda x: np.cross(np.append(x, [[1.0, 2.0]], 0), np.append(X, x[:, :1], 1), axisa=0, axisc=0),
    "ediff1d": lambda x: np.ediff1d(x), "select": lambda x: np.select([X > 4, X > 1], [x, 2 * x], 9.0),
    "extract": lambda x: np.extract(X > 1, x), "compress": lambda x: np.compress([True, False], x, axis=1),
    "correlate": lambda x: np.correlate(np.arange(4.0), x[1], "full"), "vdot": lambda x: np.vdot(x, X),
    "interp": lambda x: np.interp(x, [0.0, 2.0, 3.0], [1.0, 5.0, 4.0]),
    "interp of points": lambda x: np.interp(X.ravel() - 1, x.reshape(-1), x.reshape(-1) ** 2, left=-1.0, right=9.0),
    "polyval": lambda x: np.polyval([2.0, 0.0, 1.0], x), "trapezoid": lambda x: np.trapezoid(x, dx=0.5),
    "trapezoid over positions": lambda x: np.trapezoid(X, x, axis=0), "gradient": lambda x: np.gradient(x, axis=1),
    "gradient in both": lambda x: np.gradient(np.tile(x, (2, 2)), 0.5, [0.0, 1.0, 3.0, 4.0], edge_order=2)[1],
    "cov": lambda x: np.cov(x), "cov of two": lambda x: np.cov(x[0], x[1] ** 2, bias=True),
    "corrcoef": lambda x: np.corrcoef(np.append(x, [[1.0], [9.0]], 1), rowvar=False), "diagflat": np.diagflat,
    "vander": lambda x: np.vander(x[0], 3), "real": lambda x: np.real(x), "imag": lambda x: np.imag(x * 1j).real,
    "angle": lambda x: np.angle(x * (1 + 2j), deg=True), "sinc": lambda x: np.sinc(x / 3), "i0": np.i0,
    "modf": lambda x: np.modf(x / 2)[0],
    "divmod": lambda x: np.divmod(x, 2)[1], "vecdot": lambda x: np.vecdot(x, X), "matvec": lambda x: np.matvec(x, X[0]),
    "vecmat": lambda x: np.vecmat(X[0], x), "cond": lambda x: np.linalg.cond(x),
    "linalg.diagonal": lambda x: np.linalg.diagonal(x, offset=1), "linalg.trace": lambda x: np.linalg.trace(x),
    "linalg.cross": lambda x: np.linalg.cross(np.ones((2, 3)), np.append(x, [[1.0], [2.0]], 1)),
    "eig": lambda x: abs(np.linalg.eig(x)[0]).sum(), "eigvals": lambda x: abs(np.linalg.eigvals(x)).sum(),
    "lstsq": lambda x: np.linalg.lstsq(x, X[0])[0], "linalg.matmul": lambda x: np.linalg.matmul(X, x),
    "linalg.outer": lambda x: np.linalg.outer(x[0], X[1]), "linalg.tensordot": lambda x: np.linalg.tensordot(X, x),
    "linalg.vecdot": lambda x: np.linalg.vecdot(X, x), "matrix_norm": lambda x: np.linalg.matrix_norm(x, ord=2),
    "vector_norm": lambda x: np.linalg.vector_norm(x, axis=0, ord=3), "svdvals": lambda x: np.linalg.svdvals(x),
    "linalg.matrix_transpose": lambda x: np.linalg.matrix_transpose(x),
    "tensorinv": lambda x: np.linalg.tensorinv(x, ind=1), "tensorsolve": lambda x: np.linalg.tensorsolve(x, X[0]),
    **{name: lambda x, name=name: abs(getattr(np.fft, name)(x, 3)).sum() for name in
       ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{name: lambda x, name=name: abs(getattr(np.fft, name)(x, norm="ortho")).sum() for name in
       ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")},
    "fftshift": lambda x: np.fft.fftshift(x), "ifftshift": lambda x: np.fft.ifftshift(x, axes=1),
}  # fmt: skip


def gaps(x: Any) -> Any:
    """Return x, with a nan instead of the largest element."""
    return np.where(X > 4, np.nan, x)


ORDERED = {"invert", "maximum", "mean of ints", "max", "argmax", "median", "sort", "clip", "ptp", "amax", "amin",
           "nanmax", "nanmin", "nanmedian", "partition"}  # fmt: skip


@over("name", NUMPY_CALLS)
def test_numpys_functions_give_tensors(name: str) -> None:
    call, x = NUMPY_CALLS[name], mg.Var(X, device="reference")
    result, expected = call(x), np.asarray(call(X))
    assert isinstance(result, mg.Tensor) and result.dtype.name == expected.dtype.name
    np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-12)
    assert result.requires_grad == (result.dtype.is_float and name not in ("zeros_like", "mean of ints"))


def test_numpys_functions_of_an_array_and_a_tensor_give_tensors() -> None:
    calls = (lambda x: np.gradient(X, x, 0.5)[0], lambda x: np.clip(X, x - 1.0, None))
    for call in calls:
        result = call(mg.Var(X[0], device="reference"))
        assert result.requires_grad
        np.testing.assert_allclose(result.detach().numpy(), call(X[0]), rtol=1e-12)


@over("name", NUMPY_CALLS)
def test_numpys_functions_have_gradients(name: str) -> None:
    x = mg.Var(X * 0.9, device="reference")
    if NUMPY_CALLS[name](x).requires_grad:
        assert mg.autograd.gradcheck(NUMPY_CALLS[name], (x,))


@over("name", NUMPY_CALLS)
def test_numpys_functions_of_complex_tensors(name: str) -> None:
    a = X * (1 - 2j) + [[1j, 2], [3, -1j]]
    try:
        expected = np.asarray(NUMPY_CALLS[name](a))
    except (TypeError, ValueError):  # NumPy's function is for real numbers
        return
    try:
        result = NUMPY_CALLS[name](mg.tensor(a, device="reference"))
    except mg.DTypeError:  # sorting and rounding: minigrad's functions are for real numbers
        assert name in ORDERED
        return
    assert result.dtype.name == expected.dtype.name
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("ord", [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"])
def test_the_norm_of_a_matrix_is_that_of_numpy(ord: Any) -> None:
    a = np.arange(12.0).reshape(2, 2, 3) - 4.0
    for axis, x in ((None, a[0]), ((1, 2), a), ((0, 1), a)):
        result = np.linalg.norm(mg.Var(x, device="reference"), ord, axis)
        assert isinstance(result, mg.Tensor)
        np.testing.assert_allclose(result.detach().numpy(), np.linalg.norm(x, ord, axis), rtol=1e-12)


def test_what_numpy_does_in_another_order_or_refuses_is_refused() -> None:
    x = mg.tensor(np.arange(6.0).reshape(2, 3), device="reference")
    assert np.ravel(x, order="K").tolist() == [0, 1, 2, 3, 4, 5]
    for call in (lambda: np.ravel(x.T, order="K"), lambda: np.reshape(x.T, -1, order="A")):
        with pytest.raises(mg.ArgumentError, match="order must be 'C'"):
            call()
    with pytest.raises(mg.ArgumentError, match=r"split: the length of axis 1 of float64\(2, 3\) must be a multiple"):
        np.split(x, 2, axis=1)
    for ends in ([1, 2], np.cumsum([1, 1])):
        assert [part.shape for part in np.split(x, ends, axis=1)] == [(2, 1), (2, 1), (2, 1)]


def test_out_is_written_or_refused() -> None:
    x, out = mg.tensor(X, device="reference"), mg.zeros(2, dtype=mg.float64, device="reference")
    for call in (
        lambda: np.add.reduce(x, axis=1, out=out), lambda: np.add.accumulate(x[0], out=out),
        lambda: np.cbrt(x[0], out=out), lambda: np.modf(x[0], out=(out, None)), lambda: np.nanmax(x, 0, out=out),
        lambda: np.hypot.reduce(x, out=out),
    ):  # fmt: skip
        with pytest.raises(mg.ArgumentError, match="out"):
            call()
    assert out.tolist() == [0, 0] and np.add.outer(x[0], x[1, :1], out=out.reshape(2, 1)).shape == (2, 1)
    assert out.tolist() == (X[0] + X[1, 0]).tolist()


def test_numpys_functions_do_not_write_into_tensors() -> None:
    x, w = mg.tensor([1.0, 2.0], device="reference"), mg.Var([3.0, 4.0], device="reference")
    y = (x * w).sum()
    for call in (lambda: np.copyto(x, np.zeros(2, np.float32)), lambda: np.add.at(x, 0, 1), lambda: np.put(x, [0], 9)):
        with pytest.raises(ValueError, match=r"read-only|np\.add\.at: .* NumPy cannot write into"):
            call()
    assert y.backward()[w].tolist() == [1, 2]


def test_facts_that_numpy_asks_for() -> None:
    x = mg.Var(X, device="reference")
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)) == ((2, 2), 2, 4, 2)
    assert np.allclose(x, X) and np.array_equal(X, x) and not np.array_equal(x, X.T)
    assert np.allclose(x, X + 1, 0.0, mg.ones(2)) and not np.allclose(x, X + 1, mg.zeros(2))
    assert mg.func.vmap(lambda row: np.sin(row).sum())(x).shape == (2,)


def test_numpys_functions_never_lose_a_gradient_unnoticed() -> None:
    x, a = mg.Var([1.0, 2.0], device="reference"), np.ones(2)
    for call in (lambda x: np.spacing(x), lambda x: np.poly(x), lambda x: np.unwrap(x)):
        with pytest.raises(GradientError, match=r"np\.[\w.]+: minigrad has no such function.*x\.detach\(\)"):
            call(x)
        assert isinstance(call(x.detach()), np.ndarray), "without a gradient it is NumPy's result"
    with pytest.raises(GradientError, match=r"np\.unique: call mg\.unique, because NumPy's .* lose the gradient"):
        np.unique(x)
    with pytest.raises(
        mg.ArgumentError,
        match=r"np\.add: out must be a tensor, got an array for the result of float32\(2,\).*a = a \+ x",
    ):
        a += x
    with pytest.raises(mg.ArgumentError, match=r"np\.sum: .*got an unexpected keyword argument 'where'"):
        np.sum(x, where=a > 0)
    y = mg.zeros(2, device="reference")
    assert np.exp(x.detach(), out=y) is y and y.tolist() == x.exp().tolist()


def test_functions_of_numpy_that_read_lists_of_values_and_positional_axes() -> None:
    x, index = mg.Var([[1.0, 0.0], [2.0, 3.0]], device="reference"), np.array([[1], [0]])
    taken = np.take_along_axis(x, index, 1)
    assert taken.tolist() == np.take_along_axis(x.detach().numpy(), index, 1).tolist() and taken.requires_grad
    assert np.take_along_axis(x, np.array([3, 0]), None).tolist() == [3.0, 1.0]
    for values in ([0.0, 3.0], 3.0, np.array([2.0])):
        assert np.isin(x, values).tolist() == np.isin(x.detach().numpy(), values).tolist()
