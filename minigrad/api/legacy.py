"""PyTorch's older names that scripts still use: `LongTensor`, `set_default_dtype`, `inf`, `Size`.

The module is imported when one of its names is used for the first time.
"""

from __future__ import annotations

import math
from typing import Any

from minigrad.api.aliases import ALIASES
from minigrad.api.constructors import NAMES, TensorType, as_kind
from minigrad.backends.switches import deterministic
from minigrad.core import dtype as dtypes
from minigrad.core.device import default_device
from minigrad.core.dtype import DType
from minigrad.core.formats import MemoryFormat
from minigrad.core.roles import Choice
from minigrad.core.shape import Size as Size
from minigrad.declare.names import MG, namespaces
from minigrad.errors import ArgumentTypeError
from minigrad.ops.pointwise.blends import clamp
from minigrad.ops.shape.joining import cat
from minigrad.runtime.tensor import Tensor

# Aliases of functions, as in PyTorch: `mg.multiply` is `mg.mul`.
SECOND = (
    "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "divide", "fix", "ger",
    "greater", "greater_equal", "less", "less_equal", "multiply", "negative", "not_equal", "subtract",
    "true_divide",
)  # fmt: skip
globals().update({name: namespaces[MG][ALIASES[name]] for name in SECOND})
newaxis = None
promote_types = dtypes.promote
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
dtype, layout, memory_format = DType, MemoryFormat, MemoryFormat
concat = concatenate = cat
clip = clamp
get_default_dtype, get_default_device = dtypes.default_float, default_device


def typed(device: str) -> dict[str, TensorType]:
    """Return the constructors for a kind of device, by name; "" stands for the default device."""
    return {
        name: TensorType(name, (), {"dtype": kind, "device": device, "__doc__": f"Make a tensor of {kind}."})
        for name, kind in NAMES.items()
    }


(FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, LongTensor, IntTensor,
 ShortTensor, CharTensor, ByteTensor, BoolTensor) = typed("").values()  # fmt: skip


def can_cast(from_: Any, to: Any) -> bool:
    """Return whether dtype `from_` can be cast to dtype `to` under PyTorch's rules.

    The order of the kinds is bool, integer, float.  A cast to the same kind or to a later kind is allowed, even if it
    loses precision; a cast to an earlier kind is not allowed.

    >>> can_cast("int64", "float16"), can_cast("float64", "float16"), can_cast("float32", "int64")
    (True, True, False)
    """
    return dtypes.category(dtypes.as_dtype(from_)) <= dtypes.category(dtypes.as_dtype(to))


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """Return the dtype of the result of an op on two tensors or numbers.

    Next to a tensor, a number affects only the kind of the dtype: 2.5 turns int64 into a float, but keeps float16.

    >>> result_type(mg.ones(2, dtype="float16"), 2.5), result_type(mg.tensor([1]), mg.tensor(1.0)), result_type(True, 2)
    (mg.float16, mg.float32, mg.int64)
    """
    if isinstance(tensor1, Tensor) and isinstance(tensor2, Tensor):
        return dtypes.promote_all([(x.dtype, x.ndim) for x in (tensor1, tensor2)])
    x, value = (tensor1, tensor2) if isinstance(tensor1, Tensor) else (tensor2, tensor1)
    first = x.dtype if isinstance(x, Tensor) else dtypes.promote_number(dtypes.bool_, x)
    return dtypes.promote_number(first, value)


def are_deterministic_algorithms_enabled() -> bool:
    """Return the mode that `use_deterministic_algorithms` has set; results are deterministic in both modes."""
    return deterministic.enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return the value of `warn_only` that `use_deterministic_algorithms` has set."""
    return deterministic.warn_only


def get_deterministic_debug_mode() -> int:
    """Return 0 without deterministic algorithms, 1 with `warn_only`, and otherwise 2."""
    return deterministic.enabled * (2 - deterministic.warn_only)


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Call `use_deterministic_algorithms` for one of three modes.

    debug_mode: 0 or "default", 1 or "warn", 2 or "error".

    Raises ArgumentError if debug_mode is not 0, 1, 2, "default", "warn" or "error".
    """
    modes = (0, 1, 2, "default", "warn", "error")
    debug_mode = int(debug_mode) if isinstance(debug_mode, bool) else debug_mode
    Choice(*modes).expect("set_deterministic_debug_mode", debug_mode=debug_mode)
    mode = modes.index(debug_mode) % 3
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_float32_matmul_precision() -> str:
    """Return "highest", always; see `set_float32_matmul_precision`."""
    return "highest"


def set_default_dtype(d: Any) -> None:
    """Set the default float dtype; see `mg.set_default_float`."""
    dtypes.set_default_float(d)


def set_default_tensor_type(t: Any) -> None:
    """Set the default float to the dtype of an old constructor, such as `mg.DoubleTensor` or its name."""
    dtypes.set_default_float(as_kind(t)[0])


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Fill uninitialized memory, if mode is True and `mg.utils.deterministic.fill_uninitialized_memory` is True.

    Results are always deterministic, unless `mg.cuda.deterministic(False)` was called.
    """
    for name, flag in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(flag, bool):
            raise ArgumentTypeError(
                f"use_deterministic_algorithms: {name} must be True or False, got {flag!r}; pass {name}=True, for "
                "example"
            )
    deterministic.set(enabled=mode, warn_only=warn_only)


def set_float32_matmul_precision(precision: str) -> None:
    """Accept PyTorch's setting without effect: products of float32 always have the precision of float32.

    Raises ArgumentError if precision is not 'highest', 'high' or 'medium'.
    """
    Choice("highest", "high", "medium").expect("set_float32_matmul_precision", precision=precision)
