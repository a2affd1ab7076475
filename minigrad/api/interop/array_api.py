"""The functions of the array API standard, version 2024.12: `xp = x.__array_namespace__()`.

Libraries that are written against the standard, such as SciPy and scikit-learn, accept tensors through this module.
The names and arguments are those of the standard (`axis`, `keepdims`, `correction=0`).  Values, views and gradients are
those of the functions of `mg`, which behave as in PyTorch.
Source: https://data-apis.org/array-api/2024.12.
"""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import minigrad.special as special
from minigrad.api.aliases import ALIASES
from minigrad.api.interop import standard
from minigrad.api.interop.arrays import from_dlpack
from minigrad.core.code import defined
from minigrad.core.device import Device
from minigrad.core.dtype import finfo, iinfo
from minigrad.declare.manual import document_all
from minigrad.declare.names import FFT, LINALG, MG, listed, namespaces
from minigrad.runtime.tensor import Tensor

__array_api_version__ = "2024.12"
__array_namespace_info__ = standard.namespace_info
# Functions that `mg` has with the same arguments, under the same name or under an alias.
UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf
    isnan log log1p log2 log10 logical_not negative positive real reciprocal sign signbit sin sinh sqrt square tan tanh
    trunc"""
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
    greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply
    nextafter not_equal pow remainder subtract"""
OURS = ALIASES | {"bitwise_invert": "bitwise_not", "equal": "eq", "sign": "sgn"}

# Functions that `mg` lacks or declares with other arguments, each with the expression that it returns.
SPELLED = """
all(x, /, *, axis=None, keepdims=False): mg.all(x, axis, keepdims)
any(x, /, *, axis=None, keepdims=False): mg.any(x, axis, keepdims)
argmax(x, /, *, axis=None, keepdims=False): mg.argmax(x, axis, keepdims)
argmin(x, /, *, axis=None, keepdims=False): mg.argmin(x, axis, keepdims)
max(x, /, *, axis=None, keepdims=False): mg.amax(x, axis, keepdims)
min(x, /, *, axis=None, keepdims=False): mg.amin(x, axis, keepdims)
mean(x, /, *, axis=None, keepdims=False): mg.mean(x, axis, keepdims)
sum(x, /, *, axis=None, dtype=None, keepdims=False): mg.sum(x, axis, keepdims, dtype=wide(x, dtype))
prod(x, /, *, axis=None, dtype=None, keepdims=False): mg.prod(x, axis, keepdims, dtype=wide(x, dtype))
std(x, /, *, axis=None, correction=0.0, keepdims=False): mg.std(x, axis, correction, keepdims)
var(x, /, *, axis=None, correction=0.0, keepdims=False): mg.var(x, axis, correction, keepdims)
count_nonzero(x, /, *, axis=None, keepdims=False): mg.sum(x != 0, axis, keepdims)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False): scan(0, x, axis, dtype, include_initial)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False): scan(1, x, axis, dtype, include_initial)
argsort(x, /, *, axis=-1, descending=False, stable=True): mg.argsort(x, axis, descending, stable)
sort(x, /, *, axis=-1, descending=False, stable=True): mg.sort(x, axis, descending, stable)[0]
searchsorted(x1, x2, /, *, side="left", sorter=None): mg.searchsorted(x1, x2, side=side, sorter=sorter)
round(x, /): mg.complex(mg.round(x.real), mg.round(x.imag)) if x.dtype.is_complex else mg.round(x)
isin(x1, x2, /, *, invert=False): mg.isin(x1, x2, invert=invert)
floor_divide(x1, x2, /): floored(*joined(x1, x2))
where(condition, x1, x2, /): mg.where(condition, *joined(x1, x2))
clip(x, /, min=None, max=None): mg.clone(x) if min is None and max is None else mg.clamp(x, min, max)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None): mg.diff(x, n, axis, prepend, append)
take(x, indices, /, *, axis=None): mg.index_select(x, only_axis("take", x, axis), indices)
take_along_axis(x, indices, /, *, axis=-1): mg.take_along_dim(x, indices, axis)
broadcast_arrays(*arrays): list(mg.broadcast_tensors(*arrays))
broadcast_to(x, /, shape): mg.broadcast_to(x, shape)
concat(arrays, /, *, axis=0): mg.cat(joined(*[mg.ravel(x) if axis is None else x for x in arrays]), axis or 0)
expand_dims(x, /, axis=0): mg.unsqueeze(x, axis)
flip(x, /, *, axis=None): mg.flip(x, tuple(axes(x, axis)))
moveaxis(x, source, destination, /): mg.movedim(x, source, destination)
permute_dims(x, /, axes): mg.permute(x, tuple(axes))
repeat(x, repeats, /, *, axis=None): mg.repeat_interleave(x, repeats, axis)
reshape(x, /, shape, *, copy=None): (mg.view if copy is False else mg.reshape)(x.clone() if copy else x, shape)
roll(x, /, shift, *, axis=None): mg.roll(x, shift, () if axis is None else axis)
squeeze(x, /, axis): mg.squeeze(x, only_ones(x, axis))
stack(arrays, /, *, axis=0): mg.stack(joined(*arrays), axis)
tile(x, repetitions, /): mg.tile(x, *repetitions)
unstack(x, /, *, axis=0): mg.unbind(x, axis)
meshgrid(*arrays, indexing="xy"): list(mg.meshgrid(*arrays, indexing=indexing))
tril(x, /, *, k=0): mg.tril(x, k)
triu(x, /, *, k=0): mg.triu(x, k)
unique_all(x, /): grouped(x, "values indices inverse_indices counts")
unique_counts(x, /): grouped(x, "values counts")
unique_inverse(x, /): grouped(x, "values inverse_indices")
unique_values(x, /): mg.unique(x)
matmul(x1, x2, /): mg.matmul(*joined(x1, x2))
matrix_transpose(x, /): x.mT
tensordot(x1, x2, /, *, axes=2): mg.tensordot(*paired("tensordot", x1, x2, axes), axes)
vecdot(x1, x2, /, *, axis=-1): lin.vecdot(*paired("vecdot", x1, x2, ([axis], [axis])), dim=axis).to(result_type(x1, x2))
arange(start, /, stop=None, step=1, *, dtype=None, device=None): mg.arange(start, stop, step, **made(dtype, device))
empty(shape, *, dtype=None, device=None): mg.empty(shape, **made(dtype, device))
empty_like(x, /, *, dtype=None, device=None): mg.empty_like(x, **made(dtype, device))
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None): diagonal_ones(n_rows, n_cols, k, dtype, device)
full(shape, fill_value, *, dtype=None, device=None): mg.full(shape, fill_value, **made(dtype, device))
full_like(x, /, fill_value, *, dtype=None, device=None): mg.full_like(x, fill_value, **made(dtype, device))
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True): row(start, stop, num, endpoint, dtype, device)
ones(shape, *, dtype=None, device=None): mg.ones(shape, **made(dtype, device))
ones_like(x, /, *, dtype=None, device=None): mg.ones_like(x, **made(dtype, device))
zeros(shape, *, dtype=None, device=None): mg.zeros(shape, **made(dtype, device))
zeros_like(x, /, *, dtype=None, device=None): mg.zeros_like(x, **made(dtype, device))
"""

# The extension for linear algebra.  A line is used only if `mg.linalg` or `mg` has the function that it calls.
SPELLED_LINALG = """
cholesky(x, /, *, upper=False): lin.cholesky(x, upper=upper)
cross(x1, x2, /, *, axis=-1): lin.cross(*same_ndim(*joined(x1, x2)), dim=axis)
det(x, /): lin.det(x)
diagonal(x, /, *, offset=0): mg.diagonal(x, offset, -2, -1)
eig(x, /): lin.eig(x)
eigh(x, /): lin.eigh(x)
eigvals(x, /): lin.eigvals(x)
eigvalsh(x, /): lin.eigvalsh(x)
inv(x, /): lin.inv(x)
matmul(x1, x2, /): mg.matmul(*joined(x1, x2))
matrix_norm(x, /, *, keepdims=False, ord="fro"): lin.matrix_norm(x, ord, keepdim=keepdims)
matrix_power(x, n, /): lin.matrix_power(x, n)
matrix_rank(x, /, *, rtol=None): lin.matrix_rank(x, rtol=rtol)
matrix_transpose(x, /): x.mT
outer(x1, x2, /): mg.outer(*joined(x1, x2))
pinv(x, /, *, rtol=None): lin.pinv(x, rtol=rtol)
qr(x, /, *, mode="reduced"): lin.qr(x, mode)
slogdet(x, /): lin.slogdet(x)
solve(x1, x2, /): lin.solve(*system(x1, x2))
svd(x, /, *, full_matrices=True): lin.svd(x, full_matrices)
svdvals(x, /): lin.svdvals(x)
tensordot(x1, x2, /, *, axes=2): mg.tensordot(*paired("tensordot", x1, x2, axes), axes)
trace(x, /, *, offset=0, dtype=None): total(mg.diagonal(x, offset, -2, -1), dtype)
vecdot(x1, x2, /, *, axis=-1): lin.vecdot(*paired("vecdot", x1, x2, ([axis], [axis])), dim=axis).to(result_type(x1, x2))
vector_norm(x, /, *, axis=None, keepdims=False, ord=2): lin.vector_norm(x, ord, axis, keepdims)
"""

# The extension for Fourier transforms.
SPELLED_FFT = "".join([
    f'{name}(x, /, *, n=None, axis=-1, norm="backward"): dft.{name}(x, n, axis, norm)\n'
    f'{name}n(x, /, *, s=None, axes=None, norm="backward"): dft.{name}n(x, s, axes, norm)\n'
    for name in ("fft", "ifft", "rfft", "irfft")
]) + """hfft(x, /, *, n=None, axis=-1, norm="backward"): dft.hfft(x, n, axis, norm)
ihfft(x, /, *, n=None, axis=-1, norm="backward"): dft.ihfft(x, n, axis, norm)
fftfreq(n, /, *, d=1.0, dtype=None, device=None): dft.fftfreq(n, d, **made(dtype, device))
rfftfreq(n, /, *, d=1.0, dtype=None, device=None): dft.rfftfreq(n, d, **made(dtype, device))
fftshift(x, /, *, axes=None): dft.fftshift(x, axes)
ifftshift(x, /, *, axes=None): dft.ifftshift(x, axes)
"""  # fmt: skip

# The type and the description of each parameter of these functions.
DESCRIBED = {
    "append": ("Tensor, optional", "Values after the last ones."),
    "arrays": ("Tensor or sequence of Tensor", "The tensors."),
    "axes": ("int or tuple", "The axes, or the number of axes that are summed."),
    "axis": ("int or tuple of int, optional", "Axis; a negative one counts from the end."),
    "condition": ("Tensor", "Bools; where true, the element of `x1` is chosen."),
    "copy": ("bool, optional", "Whether the memory is copied; by default only if necessary."),
    "correction": ("float", "Number that is subtracted from the count in the divisor."),
    "d": ("float", "Distance of two samples."),
    "descending": ("bool", "Whether the largest element comes first."),
    "destination": ("int or tuple of int", "New positions of the axes."),
    "device": ("Device or str, optional", "Device of the result."),
    "dtype": ("DType, optional", "Dtype of the result."),
    "endpoint": ("bool", "Whether `stop` is the last value."),
    "fill_value": ("bool, int, float or complex", "Value of all elements."),
    "full_matrices": ("bool", "Whether the factors are square."),
    "include_initial": ("bool", "Whether the result begins with 0, or 1 for products."),
    "indexing": ("str", 'Order of the first two axes, "xy" or "ij".'),
    "indices": ("Tensor", "Integer indices."),
    "invert": ("bool", "Whether the result is inverted."),
    "k": ("int", "Diagonal: 0 is the main one, positive ones are above it."),
    "keepdims": ("bool", "Whether reduced axes stay, with length 1."),
    "max": ("Tensor or float, optional", "Upper bound."),
    "min": ("Tensor or float, optional", "Lower bound."),
    "mode": ("str", '"reduced" or "complete".'),
    "n": ("int, optional", "Number of repetitions, the exponent of a matrix, or the length of a transform."),
    "n_cols": ("int, optional", "Number of columns; by default that of rows."),
    "n_rows": ("int", "Number of rows."),
    "norm": ("str", '"backward", "ortho" or "forward": which transform is divided by its length.'),
    "num": ("int", "Number of values."),
    "offset": ("int", "Diagonal: 0 is the main one, positive ones are above it."),
    "ord": ("int, float or str", "Order of the norm."),
    "prepend": ("Tensor, optional", "Values before the first ones."),
    "repeats": ("int or Tensor", "Number of repetitions of each element."),
    "repetitions": ("tuple of int", "Number of repetitions along each axis."),
    "rtol": ("float, optional", "Singular values up to this fraction of the largest one count as 0."),
    "s": ("tuple of int, optional", "Lengths of the transforms."),
    "shape": ("int or tuple of int", "Shape of the result."),
    "shift": ("int or tuple of int", "Number of positions by which elements move."),
    "side": ("str", '"left" or "right": the side of equal elements.'),
    "sorter": ("Tensor, optional", "Indices that sort `x1`."),
    "source": ("int or tuple of int", "Axes to move."),
    "stable": ("bool", "Whether equal elements keep their order."),
    "start": ("float", "First value; if `stop` is missing, the end, and 0 is the first value."),
    "step": ("float", "Difference of neighbours."),
    "stop": ("float, optional", "End of the values."),
    "upper": ("bool", "Whether the factor is upper triangular."),
    "x": ("Tensor", "The tensor."),
    "x1": ("Tensor", "First operand."),
    "x2": ("Tensor", "Second operand; shapes broadcast."),
}


# ---- the table as functions -----------------------------------------------------------------------------------------


def spelled(lines: str, **others: Any) -> dict[str, Any]:
    """Return the functions of a table, by name.

    A function is left out if `mg.linalg` lacks a function that it calls.  others: further names that lines may use.
    """
    names = {"mg": SimpleNamespace(**namespaces[MG]), "lin": SimpleNamespace(**namespaces[LINALG])}
    names |= {"dft": SimpleNamespace(**namespaces[FFT])} | vars(standard) | others
    functions: dict[str, Any] = {}
    for line in lines.strip().splitlines():
        head, _, expression = line.partition("): ")
        name, _, parameters = head.partition("(")
        needed = [part.partition("(")[0] for part in expression.split("lin.")[1:]]
        if builtins.all(each in namespaces[LINALG] for each in needed):
            last = name.rpartition(".")[2]
            text = f"def {last}({parameters}):\n    return {expression}\n"
            functions[name] = defined(last, text, dict(names), f"{name}({parameters})", readable=True)
            functions[name].__doc__ = f"Return `{expression}`."
    return functions


def document_parameters(function: Callable[..., Any]) -> None:
    """Add sections for the parameters and the result to the docstring of a function."""
    lines = [str(function.__doc__), "", "Parameters", "----------"]
    for p in inspect.signature(function).parameters.values():
        kind, text = DESCRIBED[p.name]
        default = "" if p.default in (p.empty, None) else f", default {p.default!r}"
        lines += [f"{'*' * (p.kind is p.VAR_POSITIONAL)}{p.name} : {kind}{default}", f"    {text}"]
    lines += ["", "Returns", "-------", "Tensor or tuple of Tensor", "    The result of the expression above."]
    function.__doc__ = "\n".join(lines)


def meeting(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a binary function in which an operand without dims has full weight in the promotion of dtypes."""

    def call(x1: Any, x2: Any, /) -> Tensor:
        return function(*standard.joined(x1, x2))

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = f"Return `mg.{function.__name__}(x1, x2)`."
    return call


linalg = ModuleType(f"{__name__}.linalg", "The functions of the array API's extension for linear algebra.")
fft = ModuleType(f"{__name__}.fft", "The functions of the array API's extension for Fourier transforms.")
extension, transforms = spelled(SPELLED_LINALG), spelled(SPELLED_FFT)
NAMES: dict[str, Any] = {name: meeting(namespaces[MG][OURS.get(name, name)]) for name in BINARY.split()}
NAMES |= spelled(SPELLED)
for each in (*NAMES.values(), *extension.values(), *transforms.values()):
    document_parameters(each)
NAMES |= {name: namespaces[MG][OURS.get(name, name)] for name in UNARY.split()}
NAMES |= {function.__name__: function for function in standard.FUNCTIONS}
NAMES |= {"e": math.e, "pi": math.pi, "inf": math.inf, "nan": math.nan, "newaxis": None, "linalg": linalg}
NAMES["fft"] = fft
NAMES["special"] = special  # not of the standard: SciPy looks there for its own functions before it uses arrays
NAMES |= {"Device": Device, "from_dlpack": from_dlpack, "finfo": finfo, "iinfo": iinfo}
NAMES |= {dtype.name: dtype for dtype in standard.DTYPES}
document_all(extension)
document_all(transforms)
document_all(NAMES)
linalg.__dict__.update(extension)
fft.__dict__.update(transforms)
globals().update(NAMES)
__all__ = sorted(NAMES)
__dir__ = listed([*__all__, "__array_api_version__", "__array_namespace_info__"])
