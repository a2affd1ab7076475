"""Functions in the expressions for NumPy's functions, where `mg` has none with NumPy's meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from minigrad.api.interop import array_api
from minigrad.api.interop.arrays import shared_array
from minigrad.core.dtype import promote
from minigrad.core.roles import Choice
from minigrad.declare.names import MG, namespaces
from minigrad.errors import ArgumentError
from minigrad.ops.comparison import as_tensor
from minigrad.runtime.tensor import Tensor, describe

mg: Any = SimpleNamespace(**namespaces[MG])


def floats(x: Tensor, dtype: Any = None) -> Tensor:
    """Convert x to `dtype`; with None, convert integers to float64, as NumPy does."""
    return x.to(dtype) if dtype is not None else x if x.dtype.is_inexact else x.double()


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
            "use np.array_split for parts of different lengths"
        )
    return sections


def rows(x: Tensor, order: str) -> Tensor:
    """Return x if `order` means row-major order: "C", or "A" and "K" for a contiguous tensor.

    Raises ArgumentError for any other order.
    """
    if order != "C" and not (order in ("A", "K") and x.is_contiguous()):
        raise ArgumentError(f"reshape: order must be 'C', got {order!r} for {describe(x)}; omit order")
    return x


def ten(x: Any, *others: Any) -> Tensor:
    """Return a tensor of an array, a number or a tensor, on the device of the first tensor among the others.

    A list with tensors becomes one tensor with their gradients.
    """
    if isinstance(x, (list, tuple)) and has_tensors(x):
        return mg.stack([ten(each, *x, *others) for each in x])
    devices = [each.device for each in (x, *others) if isinstance(each, Tensor)]
    x = np.asarray(x) if isinstance(x, (list, tuple)) else x  # numbers in lists are float64
    return as_tensor(x, device=devices[0] if devices else None)


def member(x: Any, values: Any, invert: bool) -> Tensor:
    """Return whether each element of x is among the values."""
    return mg.isin(ten(x, values), ten(values, x), invert=invert)


def has_tensors(x: Any) -> bool:
    """Return whether a value is a tensor, or a nested list that contains one."""
    return any(map(has_tensors, x)) if isinstance(x, (list, tuple)) else isinstance(x, Tensor)


def convolved(a: Tensor, v: Tensor, mode: str) -> Tensor:
    """Return `np.convolve` of two vectors, of which `v` is turned around and moved along `a`."""
    n, m = a.numel(), v.numel()
    full = mg.cat([v.new_zeros(m - 1), a, v.new_zeros(m - 1)]).unfold(0, m, 1) @ v.flip(0)
    lost = {"full": 0, "same": (min(n, m) - 1) // 2, "valid": min(n, m) - 1}[mode]
    return full.narrow(0, lost, {"full": n + m - 1, "same": max(n, m), "valid": abs(n - m) + 1}[mode])


def taken_along(a: Tensor, indices: Tensor, axis: int | None) -> Tensor:
    """Return `np.take`; indices may have any shape."""
    if axis is None:
        return mg.take(a, indices)
    at = axis % a.ndim
    shape = (*a.shape[:at], *indices.shape, *a.shape[at + 1 :])
    return selected(a, at, lambda _: array(indices.reshape(-1))).reshape(shape)


def of_one_dtype(a: Any, b: Any) -> list[Tensor]:
    """Return two tensors with their common dtype."""
    a, b = floats(ten(a, b)), floats(ten(b, a))
    dtype = promote(a.dtype, b.dtype)
    return [a.to(dtype), b.to(dtype)]


def all_as(arrays: Sequence[Any], dtype: Any) -> list[Any]:
    """Return the arrays of a list in a dtype; with None, unchanged."""
    return list(arrays) if dtype is None else [ten(x, *arrays).to(dtype) for x in arrays]


def of_both_parts(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return a function of real numbers of x, of complex numbers by their real and imaginary parts."""
    return mg.complex(function(x.real), function(x.imag)) if x.dtype.is_complex else function(x)


def averaged(a: Any, axis: Any, weights: Any, keepdims: bool) -> Tensor:
    """Return `np.average`; a vector of weights is along `axis`."""
    a = floats(ten(a, weights))
    if weights is None:
        return a.mean(axis, keepdims)
    w = ten(weights, a)
    if w.ndim == 1 and axis is not None:
        w = w.reshape(-1, *[1] * (a.ndim - 1 - axis % a.ndim))
    w = w.expand(a.shape)
    return (a * w).sum(axis, keepdims) / w.sum(axis, keepdims)


def without_nan(a: Tensor, value: float) -> Tensor:
    """Return a with a number instead of each nan."""
    return mg.where(mg.isnan(a), value, a)


def nan_extreme(function: Any, a: Tensor, least: float, axis: Any, keepdims: bool) -> Tensor:
    """Return the extremes of a without its nans; nan where a has nothing else along `axis`."""
    if not a.dtype.is_inexact:
        return function(a, axis=axis, keepdims=keepdims)
    extreme = function(without_nan(a, least), axis=axis, keepdims=keepdims)
    missing = array_api.NAMES["all"](mg.isnan(a), axis=axis, keepdims=keepdims)
    return mg.where(missing, float("nan"), extreme)


def nan_mean(a: Tensor, axis: Any, keepdims: bool) -> Tensor:
    """Return the mean of the elements that are not nan."""
    return without_nan(a, 0).sum(axis, keepdims) / (~mg.isnan(a)).sum(axis, keepdims)


def nan_var(a: Tensor, axis: Any, ddof: int, keepdims: bool) -> Tensor:
    """Return the variance of the elements that are not nan."""
    apart = without_nan(a - nan_mean(a, axis, True), 0).abs()
    return (apart * apart).sum(axis, keepdims) / ((~mg.isnan(a)).sum(axis, keepdims) - ddof)


def nan_std(a: Tensor, axis: Any, ddof: int, keepdims: bool) -> Tensor:
    """Return the square root of `nan_var`, whose gradient at 0 is 0 as that of `std`."""
    variance = nan_var(a, axis, ddof, keepdims)
    still = variance == 0
    return mg.where(still, variance, mg.sqrt(mg.where(still, 1, variance)))


def quantiles(function: Any, a: Any, q: Any, axis: Any, keepdims: bool, method: str = "linear") -> Tensor:
    """Return quantiles over one axis or several."""
    a = floats(ten(a, q))
    q = ten(q, a).to(a.dtype) if np.ndim(q) or isinstance(q, Tensor) else float(q)
    if not isinstance(axis, tuple):
        return function(a, q, axis, keepdims, interpolation=method)
    dims = [dim % a.ndim for dim in axis]
    rest = [dim for dim in range(a.ndim) if dim not in dims]
    rows = mg.permute(a, (*rest, *dims)).reshape(*[a.shape[dim] for dim in rest], -1)
    result = function(rows, q, -1, False, interpolation=method)
    first = [1 if dim in dims else a.shape[dim] for dim in range(a.ndim)]
    return result.reshape(*result.shape[: result.ndim - len(rest)], *first) if keepdims else result


def selected(a: Tensor, axis: int, choose: Callable[[Any], Any]) -> Tensor:
    """Return the elements of a along an axis, at the positions that `choose` makes of all of them."""
    return mg.index_select(a, axis, ten(choose(np.arange(a.shape[axis])), a))


def padded_by(a: Tensor, width: Any, mode: str, values: Any) -> Tensor:
    """Return `np.pad` with constants, or with copies of elements: "edge", "reflect", "symmetric" and "wrap".

    Raises ArgumentError for the other modes of NumPy, which compute new values.
    """
    Choice("constant", "edge", "reflect", "symmetric", "wrap").expect("np.pad", mode=mode)
    numbers = np.broadcast_to(np.asarray(values), (a.ndim, 2)).tolist()
    for dim, (before, after) in enumerate(np.broadcast_to(np.asarray(width), (a.ndim, 2)).tolist()):
        if mode == "constant":
            ends = [(*a.shape[:dim], n, *a.shape[dim + 1 :]) for n in (before, after)]
            a = mg.cat([a.new_full(ends[0], numbers[dim][0]), a, a.new_full(ends[1], numbers[dim][1])], dim)
        elif before or after:
            a = selected(a, dim, partial(np.pad, pad_width=(before, after), mode=mode))
    return a


def between(start: Any, stop: Any, num: int, endpoint: bool, axis: int) -> Tensor:
    """Return `np.linspace`: evenly spaced numbers between the elements of two tensors, along a new axis."""
    low, high = mg.broadcast_tensors(*of_one_dtype(start, stop))
    steps = np.arange(num) / max(1, num - endpoint)
    points = low + (high - low) * ten(steps, low).to(low.dtype).reshape(-1, *[1] * low.ndim)
    if endpoint and num > 1:  # exactly, without the rounding of the sum
        points = mg.cat([points[:-1], high[None]])
    return mg.movedim(points, 0, axis)


def cross_along(a: Any, b: Any, axis: int | None, axes: tuple[int, int, int]) -> Tensor:
    """Return `np.cross`: the axes of a, of b and of the result, or one axis of all."""
    first, second, last = axes if axis is None else (axis,) * 3
    vectors = mg.broadcast_tensors(*[mg.movedim(x, at, -1) for x, at in zip(of_one_dtype(a, b), (first, second))])
    return mg.movedim(mg.cross(*vectors, dim=-1), -1, last)


def first_choice(conditions: Sequence[Any], choices: Sequence[Any], default: Any) -> Tensor:
    """Return `np.select`: of each element the first choice whose condition holds."""
    result = ten(default, *choices, *conditions)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = mg.where(ten(condition, result), ten(choice, result), result)
    return result


def interpolated(x: Tensor, xp: Tensor, fp: Tensor, left: Any, right: Any) -> Tensor:
    """Return `np.interp`: at each x, the line through the two points around it, and beyond them the last values."""
    at = mg.clamp(mg.searchsorted(xp, x.detach().to(xp.dtype), right=True) - 1, 0, max(0, xp.numel() - 2))
    after = mg.clamp(at + 1, max=xp.numel() - 1)
    rise = (fp[after] - fp[at]) / (xp[after] - xp[at])
    inside = mg.where(x == xp[-1], fp[-1], fp[at] + rise * (x - xp[at]))
    above = mg.where(x > xp[-1], fp[-1] if right is None else right, inside)
    return mg.where(x < xp[0], fp[0] if left is None else left, above)


def horner(p: Any, x: Any) -> Any:
    """Return the polynomial with coefficients p, the highest power first, at x, by Horner's rule."""
    result = x * 0
    for coefficient in p:
        result = result * x + coefficient
    return result


def gradients_along(f: Tensor, spacing: Sequence[Any], axis: Any, edge_order: int) -> Any:
    """Return `np.gradient`: a tensor along one axis, and a tuple of tensors along several."""
    axes = tuple(range(f.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    steps = [*spacing] * len(axes) if len(spacing) == 1 else [*spacing] or [1.0] * len(axes)
    results = []
    for dim, step in zip(axes, steps, strict=True):
        positions = (ten(step, f),) if np.ndim(step) else float(step)
        results += mg.gradient(f, spacing=positions, dim=dim, edge_order=edge_order)
    return results[0] if len(results) == 1 else tuple(results)


def covariance(function: Callable[..., Tensor], m: Any, y: Any, rowvar: bool, ddof: int) -> Tensor:
    """Return `np.cov` or `np.corrcoef` by the function of `mg`, of the variables in m and y together."""
    tables = [floats(ten(x, m, y)) for x in (m, y) if x is not None]
    tables = [x.reshape(1, -1) if x.ndim < 2 else x if rowvar else x.mT for x in tables]
    return function(mg.cat(tables).squeeze(0), correction=ddof)
