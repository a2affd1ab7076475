"""Compute NumPy functions of tensors: `np.sin(x)`, `np.mean(x, axis=0)`, `np.ones(3) + x`.

NumPy passes a call with a tensor among its arguments to `__array_ufunc__` or `__array_function__` (NEPs 13 and 18).
The function of `mg` or `mg.array_api` with the same meaning computes the result, which is a tensor, so gradients flow.
If there is no such function, tensors that do not require a gradient are converted to arrays, and NumPy computes the
result.  With a tensor that requires a gradient, the call then raises GradientError.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import minigrad.special as special
from minigrad.api.aliases import ALIASES
from minigrad.api.interop import array_api
from minigrad.api.interop.array_api import spelled
from minigrad.api.interop.arrays import shared_array
from minigrad.declare.names import MG, namespaces
from minigrad.errors import ArgumentError, GradientError
from minigrad.ops.comparison import as_tensor
from minigrad.ops.shape.padding import pad
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer

# NumPy's name of a ufunc -> the name of the function in `mg`, where the two names differ.
UFUNCS = ALIASES | {
    "power": "pow", "invert": "bitwise_not", "left_shift": "bitwise_left_shift", "rint": "round",
    "right_shift": "bitwise_right_shift", "degrees": "rad2deg", "radians": "deg2rad", "equal": "eq", "fabs": "abs",
    "conjugate": "positive",
}  # fmt: skip
# For each method of a ufunc and each ufunc, the function of `mg.array_api` that computes it.
METHODS = {
    "reduce": {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
               "logical_or": "any"},
    "accumulate": {"add": "cumulative_sum", "multiply": "cumulative_prod"},
}  # fmt: skip

# NumPy functions that the array API lacks or declares with other arguments, each with the expression of the result.
SPELLED = """
all(a, axis=None, out=None, keepdims=False): xp.all(a, axis=axis, keepdims=keepdims)
any(a, axis=None, out=None, keepdims=False): xp.any(a, axis=axis, keepdims=keepdims)
max(a, axis=None, out=None, keepdims=False): xp.max(a, axis=axis, keepdims=keepdims)
min(a, axis=None, out=None, keepdims=False): xp.min(a, axis=axis, keepdims=keepdims)
sum(a, axis=None, dtype=None, out=None, keepdims=False): xp.sum(a, axis=axis, dtype=dtype, keepdims=keepdims)
prod(a, axis=None, dtype=None, out=None, keepdims=False): xp.prod(a, axis=axis, dtype=dtype, keepdims=keepdims)
mean(a, axis=None, dtype=None, out=None, keepdims=False): mg.mean(floats(a), axis, keepdims, dtype=dtype)
std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False): mg.std(floats(a, dtype), axis, ddof, keepdims)
var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False): mg.var(floats(a, dtype), axis, ddof, keepdims)
amax(a, axis=None, out=None, keepdims=False): xp.max(a, axis=axis, keepdims=keepdims)
amin(a, axis=None, out=None, keepdims=False): xp.min(a, axis=axis, keepdims=keepdims)
ptp(a, axis=None): xp.max(a, axis=axis) - xp.min(a, axis=axis)
average(a, axis=None, *, keepdims=False): mg.mean(floats(a), axis, keepdims)
percentile(a, q, axis=None, *, keepdims=False): mg.quantile(a, ten(q, a).to(a.dtype) / 100, axis, keepdims)
argmax(a, axis=None, out=None, *, keepdims=False): mg.argmax(a, axis, keepdims)
argmin(a, axis=None, out=None, *, keepdims=False): mg.argmin(a, axis, keepdims)
median(a, axis=None, out=None, *, keepdims=False): mg.quantile(a, 0.5, axis, keepdims)
quantile(a, q, axis=None, *, method="linear", keepdims=False): mg.quantile(a, q, axis, keepdims, interpolation=method)
nansum(a, axis=None, dtype=None, out=None, keepdims=False): mg.nansum(a, axis, keepdims, dtype=dtype)
nanmean(a, axis=None, dtype=None, out=None, keepdims=False): mg.nanmean(a, axis, keepdims, dtype=dtype)
count_nonzero(a, axis=None, *, keepdims=False): xp.count_nonzero(a, axis=axis, keepdims=keepdims)
cumsum(a, axis=None, dtype=None, out=None): mg.cumsum(flat(a, axis), axis or 0, dtype=dtype)
cumprod(a, axis=None, dtype=None, out=None): mg.cumprod(flat(a, axis), axis or 0, dtype=dtype)
sort(a, axis=-1, kind=None): mg.sort(flat(a, axis), axis or 0, stable=True)[0]
argsort(a, axis=-1, kind=None): mg.argsort(flat(a, axis), axis or 0, stable=True)
diff(a, n=1, axis=-1, prepend=None, append=None): mg.diff(a, n, axis, prepend, append)
clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None): xp.clip(a, first(a_min, min), first(a_max, max))
round(a, decimals=0, out=None): mg.round(a, decimals=decimals)
concatenate(arrays, /, axis=0, out=None): xp.concat(list(arrays), axis=axis)
stack(arrays, axis=0, out=None): xp.stack(list(arrays), axis=axis)
vstack(tup): mg.vstack(list(tup))
hstack(tup): mg.hstack(list(tup))
column_stack(tup): mg.column_stack(list(tup))
split(ary, indices_or_sections, axis=0): list(mg.tensor_split(ary, even(ary, indices_or_sections, axis), axis))
transpose(a, axes=None): mg.permute(a, tuple(range(a.ndim)[::-1] if axes is None else axes))
swapaxes(a, axis1, axis2): mg.swapaxes(a, axis1, axis2)
moveaxis(a, source, destination): mg.movedim(a, source, destination)
append(arr, values, axis=None): mg.cat([flat(ten(arr, values), axis), flat(ten(values, arr), axis)], axis or 0)
flipud(m): mg.flipud(m)
fliplr(m): mg.fliplr(m)
expand_dims(a, axis): mg.unsqueeze(a, axis)
squeeze(a, axis=None): mg.squeeze(a) if axis is None else xp.squeeze(a, axis)
reshape(a, /, shape=None, order="C", *, copy=None): xp.reshape(rows(a, order), shape, copy=copy)
ravel(a, order="C"): mg.ravel(rows(a, order))
flip(m, axis=None): xp.flip(m, axis=axis)
roll(a, shift, axis=None): xp.roll(a, shift, axis=axis)
repeat(a, repeats, axis=None): xp.repeat(a, repeats, axis=axis)
tile(A, reps): mg.tile(A, *(reps if isinstance(reps, (tuple, list)) else (reps,)))
broadcast_to(array, shape): mg.broadcast_to(array, shape)
where(condition, x, y, /): mg.where(condition, x, y)
take(a, indices, axis=None, out=None): mg.take(a, indices) if axis is None else xp.take(a, indices, axis=axis)
searchsorted(a, v, side="left", sorter=None): mg.searchsorted(a, v, side=side, sorter=sorter)
dot(a, b, out=None): a * b if not (np.ndim(a) and np.ndim(b)) else mg.tensordot(a, b, ([-1], [max(-2, -b.ndim)]))
inner(a, b, /): mg.inner(a, b)
outer(a, b, out=None): mg.outer(mg.ravel(ten(a, b)), mg.ravel(ten(b, a)))
cross(a, b, axis=-1): mg.cross(*mg.broadcast_tensors(ten(a, b), ten(b, a)), dim=axis)
convolve(a, v, mode="full"): convolved(ten(a, v), ten(v, a), mode)
tensordot(a, b, axes=2): mg.tensordot(a, b, axes)
einsum(subscripts, *operands): mg.einsum(subscripts, *operands)
kron(a, b): mg.kron(a, b)
trace(a, offset=0, axis1=0, axis2=1): mg.diagonal(a, offset, axis1, axis2).sum(-1)
diagonal(a, offset=0, axis1=0, axis2=1): mg.diagonal(a, offset, axis1, axis2)
diag(v, k=0): mg.diag(v, k)
tril(m, k=0): mg.tril(m, k)
triu(m, k=0): mg.triu(m, k)
zeros_like(a, dtype=None): mg.zeros_like(a, dtype=dtype)
ones_like(a, dtype=None): mg.ones_like(a, dtype=dtype)
full_like(a, fill_value, dtype=None): mg.full_like(a, fill_value, dtype=dtype)
isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False): mg.isclose(a, b, rtol, atol, equal_nan)
allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False): np.allclose(array(a), array(b), rtol, atol, equal_nan)
array_equal(a1, a2, equal_nan=False): np.array_equal(array(a1), array(a2), equal_nan)
atleast_1d(*arys): mg.atleast_1d(*arys)
atleast_2d(*arys): mg.atleast_2d(*arys)
atleast_3d(*arys): mg.atleast_3d(*arys)
nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None): mg.nan_to_num(x, nan, posinf, neginf)
copy(a): mg.clone(a)
shape(a): tuple(a.shape)
ndim(a): a.ndim
size(a, axis=None): a.numel() if axis is None else a.shape[axis]
linalg.norm(x, ord=None, axis=None, keepdims=False): lin.norm(x, ord, axis, keepdims)
linalg.inv(a): lin.inv(a)
linalg.pinv(a): lin.pinv(a)
linalg.det(a): lin.det(a)
linalg.slogdet(a): lin.slogdet(a)
linalg.solve(a, b): lin.solve(ten(a, b), ten(b, a))
linalg.cholesky(a): lin.cholesky(a)
linalg.qr(a, mode="reduced"): np.linalg.qr(array(a), mode) if mode == "raw" else lin.qr(a, mode)
linalg.svd(a, full_matrices=True, compute_uv=True): lin.svd(a, full_matrices) if compute_uv else lin.svdvals(a)
linalg.eigh(a, UPLO="L"): lin.eigh(a, UPLO)
linalg.eigvalsh(a, UPLO="L"): lin.eigvalsh(a, UPLO)
linalg.matrix_power(a, n): lin.matrix_power(a, n)
linalg.multi_dot(arrays): lin.multi_dot([ten(x, *arrays) for x in arrays])
"""


def floats(x: Tensor, dtype: Any = None) -> Tensor:
    """Convert x to `dtype`; with None, convert integers to float64, as NumPy does."""
    return x.to(dtype) if dtype is not None else x if x.dtype.is_float else x.double()


def flat(x: Tensor, axis: int | None) -> Tensor:
    """Return x, flattened to one dim if `axis` is None."""
    return x if axis is not None else x.reshape(-1)


def first(value: Any, other: Any) -> Any:
    """Return `value`, or `other` if `value` is None, for an argument with two names."""
    return other if value is None else value


def array(x: Any) -> Any:
    """Return a tensor as a NumPy array, for results that carry no gradient; other values are returned unchanged."""
    return shared_array(x.detach()) if isinstance(x, Tensor) else x


def even(x: Tensor, sections: Any, axis: int) -> Any:
    """Return the sections of `np.split`, a number or positions.

    Raises ArgumentError if a number of sections does not divide the length; only `np.array_split` allows this.
    """
    if isinstance(sections, int) and sections > 0 and x.shape[axis] % sections:
        raise ArgumentError(
            f"split: the length of axis {axis} of {describe(x)} must be a multiple of the number of parts {sections}; "
            "use np.array_split for parts of different lengths",
            op="split",
        )
    return sections


def rows(x: Tensor, order: str) -> Tensor:
    """Return x if `order` means row-major order: "C", or "A" and "K" for a contiguous tensor.

    Raises ArgumentError for any other order.
    """
    if order != "C" and not (order in ("A", "K") and x.is_contiguous()):
        raise ArgumentError(f"reshape: order must be 'C', got {order!r} for {describe(x)}; omit order", op="reshape")
    return x


def ten(x: Any, *others: Any) -> Tensor:
    """Return a tensor of an array, a number or a tensor, on the device of the first tensor among the others."""
    devices = [each.device for each in (x, *others) if isinstance(each, Tensor)]
    return as_tensor(x, device=devices[0] if devices else None)


def convolved(a: Tensor, v: Tensor, mode: str) -> Tensor:
    """Return `np.convolve` of two vectors, of which `v` is turned around and moved along `a`."""
    n, m = a.numel(), v.numel()
    full = pad(a, (m - 1, m - 1)).unfold(0, m, 1) @ v.flip(0)
    lost = {"full": 0, "same": (min(n, m) - 1) // 2, "valid": min(n, m) - 1}[mode]
    return full.narrow(0, lost, {"full": n + m - 1, "same": max(n, m), "valid": abs(n - m) + 1}[mode])


HELPERS = {function.__name__: function for function in (floats, flat, first, array, even, rows, ten, convolved)}
FUNCTIONS = spelled(SPELLED, xp=SimpleNamespace(**array_api.NAMES), np=np, max=max, list=list, **HELPERS)
einsum, tensordot, transpose = (FUNCTIONS[name] for name in ("einsum", "tensordot", "transpose"))  # for opt_einsum


def ufunc(x: Tensor, function: Any, method: str, *inputs: Any, **named: Any) -> Any:
    """Compute a call of a NumPy ufunc, or of its `reduce`, `accumulate` or `outer`.

    Raises ArgumentError for arguments that the function of `mg` does not accept, for a NumPy array as `out=`, and for
    the method `at`.  If minigrad has no such function, raises GradientError for a tensor that requires a gradient.
    """
    out = named.pop("out", (None,))
    if any(isinstance(each, np.ndarray) for each in out):
        raise ArgumentError(
            f"np.{function.__name__}: out must be a tensor, got an array for the result of {describe(x)}, whose "
            "gradient would be lost; write a = a + x instead of a += x"
        )
    results = {} if all(each is None for each in out) else {"out": out[0] if len(out) == 1 else out}
    if method in METHODS and function.__name__ in METHODS[method]:
        named = {"axis": 0} | named | results
        return tried(function, array_api.NAMES[METHODS[method][function.__name__]], inputs, named)
    known = UFUNCS.get(function.__name__, function.__name__)
    ours: Any = namespaces[MG].get(known) or vars(special).get(known)  # SciPy's functions are ufuncs too
    if method == "at":  # for `at`, NumPy does not check whether an array is read-only
        raise ArgumentError(
            f"np.{function.__name__}.at: expected an array, got {describe(inputs[0])}, and NumPy cannot write into a "
            "tensor; use the method index_put_"
        )
    if ours is None or method not in ("__call__", "outer"):
        return unserved(f"np.{function.__name__}", getattr(function, method), inputs, named | results)
    if method == "outer":
        inputs = (inputs[0].reshape(*np.shape(inputs[0]), *(1,) * np.ndim(inputs[1])), inputs[1])
    return tried(function, ours, inputs, named | results)


def array_function(x: Tensor, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Compute a call of a NumPy function that is not a ufunc.  Raises the same errors as `ufunc`."""
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    ours = FUNCTIONS.get(name) or (array_api.NAMES.get(name) if function.__module__ == "numpy" else None)
    # Plotting libraries also pass numbers, lists and None to the first; the ends of the second are numbers in `mg`.
    if name in ("broadcast_arrays", "linspace"):
        ours = None
    if ours is None:
        return unserved(f"np.{name}", function, args, kwargs)
    return tried(function, ours, args, kwargs)


def tried(function: Any, ours: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a function of this package.  Raises ArgumentError for arguments that only NumPy's function takes."""
    out = kwargs.pop("out", None) if "out" in kwargs and kwargs["out"] is None else kwargs.get("out")
    try:
        inspect.signature(ours).bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(
            f"np.{function.__name__}: minigrad's function for tensors does not accept these arguments ({error}); omit "
            "arguments that only NumPy's function has",
            op=function.__name__,
        ) from None
    if out is not None and not hasattr(ours, "op"):
        raise ArgumentError(
            f"np.{function.__name__}: out is not supported for tensors; omit out and use the result",
            op=function.__name__,
        )
    return ours(*args, **kwargs)


def unserved(name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a NumPy function that minigrad does not implement, on arrays that share the memory of the tensors.

    Raises GradientError for a tensor that requires a gradient, and ArgumentError for a tensor as `out=`, because NumPy
    must not write into its memory.
    """
    out = kwargs.get("out")
    if any(isinstance(each, Tensor) for each in (out if isinstance(out, tuple) else (out,))):
        raise ArgumentError(
            f"{name}: out must not be a tensor, because minigrad has no such function and NumPy cannot write into a "
            "tensor; omit out"
        )

    def converted(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(map(converted, value))
        if isinstance(value, Tensor) and (isinstance(value, Tracer) or value.requires_grad):
            raise GradientError(
                f"{name}: minigrad has no such function, and NumPy's function would lose the gradient of "
                f"{describe(value)}; pass x.detach() if the gradient is not needed"
            )
        if isinstance(value, Tensor):
            value = array(value).view()
            value.flags.writeable = False  # a graph would not detect writes by np.copyto
        return value

    return function(*map(converted, args), **{key: converted(value) for key, value in kwargs.items()})
