"""Compute NumPy functions of tensors: `np.sin(x)`, `np.mean(x, axis=0)`, `np.ones(3) + x`.

NumPy passes a call with a tensor among its arguments to `__array_ufunc__` or `__array_function__` (NEPs 13 and 18).
The function of `mg` or `mg.array_api` with the same meaning computes the result, which is a tensor, so gradients flow.
If there is no such function, tensors that do not require a gradient are converted to arrays, and NumPy computes the
result.  With a tensor that requires a gradient, the call then raises GradientError.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad.special as special
from minigrad.api.aliases import ALIASES
from minigrad.api.interop import array_api
from minigrad.api.interop.numpy_functions import DETACHED, FUNCTIONS
from minigrad.api.interop.numpy_helpers import array
from minigrad.declare.names import MG, namespaces
from minigrad.errors import ArgumentError, GradientError
from minigrad.ops.creation import tensor
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer

# NumPy's name of a ufunc -> the name of the function in `mg`, where the two names differ.
UFUNCS = ALIASES | {
    "power": "pow", "invert": "bitwise_not", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "degrees": "rad2deg", "radians": "deg2rad", "equal": "eq", "fabs": "abs",
    "conjugate": "conj", "sign": "sgn",
}  # fmt: skip
einsum, tensordot, transpose = (FUNCTIONS[name] for name in ("einsum", "tensordot", "transpose"))  # for opt_einsum
# For each method of a ufunc and each ufunc, the function of `mg.array_api` that computes it.
METHODS = {
    "reduce": {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
               "logical_or": "any"},
    "accumulate": {"add": "cumulative_sum", "multiply": "cumulative_prod"},
}  # fmt: skip


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
    # SciPy's functions are ufuncs too.
    ours: Any = namespaces[MG].get(known) or FUNCTIONS.get(known) or vars(special).get(known)
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
    if name == "broadcast_arrays":  # plotting libraries also pass numbers, lists and None to it
        ours = None
    if ours is None:
        return unserved(f"np.{name}", function, args, kwargs)
    if args and isinstance(args[0], np.ndarray):  # as in np.gradient(array, x)
        args = (tensor(args[0], device=x.device), *args[1:])
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
        detached = name.removeprefix("np.") in DETACHED
        if detached and isinstance(value, Tracer):
            raise GradientError(
                f"{name}: NumPy reads the elements of {describe(value)}, which a value of a transform does not "
                "have; call it outside"
            )
        if isinstance(value, Tensor) and not detached and (isinstance(value, Tracer) or value.requires_grad):
            ours = f"mg.{name.removeprefix('np.')}"
            known = ours.removeprefix("mg.") in namespaces[MG]
            reason = f"call {ours}, because NumPy's" if known else "minigrad has no such function, and NumPy's"
            raise GradientError(
                f"{name}: {reason} function would lose the gradient of {describe(value)}; pass x.detach() if the "
                "gradient is not needed"
            )
        if isinstance(value, Tensor):
            value = array(value).view()
            value.flags.writeable = False  # a graph would not detect writes by np.copyto
        return value

    return function(*map(converted, args), **{key: converted(value) for key, value in kwargs.items()})
