"""The arguments of a call as tensors and keys: numbers become tensors, parameters become parts of a plan's key.

A number adapts to the dtype of the tensors next to it.  A parameter is part of the key of a plan.  Keys must
distinguish all values that the rules of an op may distinguish, such as 1, 1.0 and True, or 0.0 and -0.0. `==` does not
distinguish them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.registry import backend_of
from minigrad.core.device import Device
from minigrad.core.dtype import (
    DType,
    bfloat16,
    cast_array,
    complex128,
    fit_number,
    float16,
    float32,
    float64,
    promote_all,
    promote_number,
)
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.core.roles import AS_IT_COMES, Entries
from minigrad.core.shape import Size, Window
from minigrad.core.storage import ConstantStorage
from minigrad.errors import ArgumentTypeError, DTypeError
from minigrad.runtime.data import refuse_masked, store
from minigrad.runtime.tensor import Tensor, describe

SCALAR = Layout.contiguous(())
REALS = frozenset({bool, int, float})
NUMBERS = REALS | {complex}
# Values of these classes are their own keys: equal values are one object, or have the same meaning.
INTERNED = frozenset({DType, Device, Layout, Op, Entries, Window})
OWN_KEYS = INTERNED | {int, str, type(None)}  # a parameter of these classes is its own part of the key of a plan
NUMBER_LIMIT = 1024
CONCRETE: set[type] = {Tensor}  # the classes of tensors with memory; values of transforms have other classes
_numbers: dict[Any, Tensor] = {}
_weak: dict[Any, Tensor] = {}


ARITHMETIC = frozenset({"add", "sub", "mul", "div", "floor_divide"})  # as in PyTorch, also of numbers alone
# Results of these ops wrap around, so the number may wrap before: uint8 minus 300 is uint8 minus 44.
WRAPPING = frozenset({"add", "sub", "mul", "bitwise_and", "bitwise_or", "bitwise_xor"})
# The ops of Python's operators. PyTorch leaves `x + array` to NumPy, so an array promotes as in NumPy.
OPERATORS = ARITHMETIC | WRAPPING | {
    "remainder", "pow", "bitwise_left_shift", "bitwise_right_shift", "eq", "ne", "lt", "le", "gt", "ge", "matmul",
}  # fmt: skip
HALVES = frozenset({float16, bfloat16})
# The ops that compute with a number as it is next to half precision, as in PyTorch; others round it first.
PRECISE = frozenset({
    "mul", "div", "lerp", "add_product", "add_quotient", "leaky_relu", "elu", "celu", "softplus", "softshrink",
})  # fmt: skip


class WeakNumber:
    """Base class of numbers whose value is not known yet; next to tensors they behave like a Python float."""

    __slots__ = ()

    def beside(self, dtype: DType, like: Tensor, op: Op) -> Tensor:
        """Return the number as a 0-d tensor next to tensors of a dtype; `like` is one of these tensors."""
        raise NotImplementedError


# ---- numbers --------------------------------------------------------------------------------------------------------


def number(value: complex, dtype: DType, device: Device) -> Tensor:
    """Return a Python number as a 0-d tensor of `dtype`.  Such tensors are cached, since literals occur again."""
    # 0, 0.0, -0.0 and False are equal as keys, but their texts differ; so do 1+0j and 1-0j.
    kind = type(value)
    key = (kind, repr(value) if kind is complex else value or repr(value), dtype, device)
    result = _numbers.get(key)
    if result is None:
        fit_number(value, dtype)
        result = constant(cast_array(np.asarray(value), dtype), dtype, device)
        if len(_numbers) >= NUMBER_LIMIT:
            _numbers.clear()
        _numbers[key] = result
    return result


def constant(values: NDArray[Any], dtype: DType, device: Device) -> Tensor:
    """Return an array as a tensor that no op may write into; any number of calls may share it."""
    storage = backend_of(device).constant(values.reshape(-1), dtype, device)
    storage.__class__ = ConstantStorage
    return Tensor(storage, Layout.contiguous(values.shape))


def as_operands(op: Op, operands: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Convert Python numbers among the operands to weak 0-d tensors.  Raise DTypeError for other objects."""
    for x in operands:
        if not isinstance(x, Tensor):
            break
    else:
        return operands
    like, mixed = None, False
    for x in operands:
        if isinstance(x, Tensor):
            if like is None:
                like = x
            elif x.dtype is not like.dtype:
                mixed = True
    if like is None and op.name in ARITHMETIC and all(type(x) in REALS for x in operands):
        return tuple([Tensor(*store(x, None, None)) for x in operands])
    if like is None:
        shown = ", ".join(describe(x) for x in operands)
        raise DTypeError(f"{op.label}: at least one operand must be a tensor, got {shown}; wrap data in mg.tensor(...)")
    if op.kind == "kernel" and op.signature is not None:
        expect_arrays(op, operands)
    dtype = like.dtype
    if mixed:
        dtype = promote_all([(x.dtype, x.layout.ndim) for x in operands if isinstance(x, Tensor)])
    return tuple([x if isinstance(x, Tensor) else weak_number(op, x, dtype, like) for x in operands])


def expect_arrays(op: Op, operands: tuple[Any, ...]) -> None:
    """Raise DTypeError for a number among the operands of an op that declares tensors."""
    for name, x in zip(op.operands, operands):
        if not isinstance(x, (Tensor, np.ndarray)) and name not in op.signature.numbers:
            raise no_tensor(op, x, operands)


def no_tensor(op: Op, x: Any, operands: Sequence[Any]) -> DTypeError:
    """Return the error for an operand that is not a tensor."""
    others = [describe(each) for each in operands if isinstance(each, Tensor)]
    shown = f" next to {' and '.join(others)}" if others else ""
    return DTypeError(f"{op.label}: expected a tensor{shown}, got {describe(x)}; wrap data in mg.tensor(...)")


def weak_number(op: Op, x: Any, dtype: DType, like: Tensor) -> Tensor:
    """Return a number as a tensor next to tensors of `dtype`, to which it adapts; an array does not adapt."""
    kind = type(x)  # `type` is used because the __class__ of a WeakNumber may be float
    if kind not in REALS:
        return fitted_number(op, x, dtype, like)
    # 0.0 and -0.0 are equal as keys, so zeros have keys of their own; 1, 1.0 and True are distinguished by their types.
    key: Any = x or ("zero" if math.copysign(1.0, x) > 0 else "-zero"), kind, dtype, like.device
    result = _weak.get(key)
    if result is None and dtype in HALVES:
        result = _weak.get((*key, op, like.layout.ndim > 0))
    if result is None:
        name = op.name if op.public.__module__.startswith("minigrad.") else ""  # a user may declare another `add`
        if name == "float_power":  # it computes in float64, which has the numbers that an integer dtype has not
            return number(float(x), float64, like.device)
        wraps = name in WRAPPING and dtype.is_int and dtype.itemsize < 8 and kind is int
        if wraps and not dtype.lowest <= x <= dtype.highest:  # not in the cache, which all ops share
            x = (x - int(dtype.lowest)) % 256**dtype.itemsize + int(dtype.lowest)
            return number(x, dtype, like.device)
        if dtype in HALVES and inexact(x, dtype):
            key = (*key, op, like.layout.ndim > 0)
            result = half_number(op, x, dtype, like)
        else:
            result = fitted_number(op, x, dtype, like)
        if len(_weak) >= NUMBER_LIMIT:
            _weak.clear()
        _weak[key] = result
    return result


def inexact(x: float, dtype: DType) -> bool:
    """Return whether a finite number is not one of the numbers of a dtype with half precision."""
    with np.errstate(all="ignore"):
        return math.isfinite(x) and float(np.float32(x).astype(dtype.storage)) != float(np.float32(x))


def is_precise(op: Op) -> bool:
    """Return whether an op computes with a number as it is next to half precision."""
    return op.name in PRECISE and op.public.__module__.startswith("minigrad.")


def half_number(op: Op, x: float, dtype: DType, like: Tensor) -> Tensor:
    """Return a number that half precision would round: in float32, in which the op computes, if the op is in PRECISE,
    or the number beyond the normal numbers of float16.
    """
    precise = is_precise(op) or (dtype is float16 and not 2.0**-14 <= abs(x) <= 65504.0)
    wide = precise and op.kind == "elementwise" and like.layout.ndim > 0
    return number(float(x), float32, like.device) if wide else fitted_number(op, x, dtype, like)


def fitted_number(op: Op, x: Any, dtype: DType, like: Tensor) -> Tensor:
    """Compute `weak_number` without the cache."""
    if isinstance(x, WeakNumber):
        return x.beside(dtype, like, op)
    refuse_masked(op.label, x)
    if isinstance(x, np.ndarray):
        if op.name in OPERATORS and dtype is not bfloat16 and x.dtype.kind in "biufc":
            wide = np.result_type(x.dtype, dtype.numpy)
            x = x.astype(np.float64 if op.name == "div" and wide.kind in "biu" else wide, copy=False)
            if not x.ndim and like.layout.ndim and op.name != "matmul":
                x = x.reshape(1)  # a tensor without dims would adapt its dtype
        if x.ndim or op.name in OPERATORS:
            return Tensor(*store(x, None, like.device))
    if isinstance(x, (np.generic, np.ndarray)):
        x = x.item()
    if not isinstance(x, (bool, int, float, complex)):
        raise DTypeError(
            f"{op.label}: an operand next to {describe(like)} must be a tensor or a number, got {describe(x)}; wrap "
            "data in mg.tensor(...)"
        )
    exact = isinstance(x, complex) and op.name == "float_power"  # it computes in complex128
    try:
        return number(x, complex128 if exact else promote_number(dtype, x), like.device)
    except DTypeError as error:
        raise DTypeError(f"{op.label}: next to {describe(like)}, {error}") from None


# ---- parameters -----------------------------------------------------------------------------------------------------


def keyed(value: Any) -> Any:
    """Return a parameter as a part of a key.

    Values of two types have different keys, except a Size and a tuple of ints.  0.0 and -0.0 have different keys, too;
    the key of nan equals itself.  Raises TypeError for a value that cannot be hashed.
    """
    kind = value.__class__
    if kind is tuple or kind is Size:
        for each in value:  # a comprehension takes 0.2 us longer
            if each.__class__ is not int:
                break
        else:
            return value  # a tuple of ints is its own key: all other tuples in a key begin with a class
    if kind is float:
        return kind, value.hex()
    if kind is bool:
        return kind, value
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if kind in OWN_KEYS:
        return value
    if isinstance(value, (tuple, list)):
        return kind, *[each if each.__class__ is int else keyed(each) for each in value]
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    if isinstance(value, frozenset):
        return kind, frozenset(map(keyed, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return kind, *[keyed(getattr(value, field.name)) for field in dataclasses.fields(value)]
    hash(value)
    return kind, value


def steady(value: Any) -> Any:
    """Return an argument of a composed op, other than a tensor, as a part of a key.

    Raises TypeError for a tensor, whose values may matter, and for functions and other objects, which the key would
    keep alive.
    """
    kind = value.__class__
    if kind is float or kind is bool or kind is complex:
        return keyed(value)
    if kind is tuple or kind is list or kind is Size:
        return (kind, *[each if each.__class__ is int else steady(each) for each in value])
    if kind not in OWN_KEYS:
        raise TypeError
    return keyed(value)


def canonical(op: Op, operands: tuple[Tensor, ...], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a call in canonical form; the role of a parameter converts its value.

    Raises the error of the role for a value that the role cannot convert, and ArgumentTypeError for an unhashable
    value, such as a list, of a parameter without a role.
    """
    result = dict(params)
    for name, role in op.roles.items():
        if role.read is not AS_IT_COMES:
            result[name] = role.read(result[name], op.label, name, operands)
    if wrong := unhashable(result):
        raise ArgumentTypeError(f"{op.label}: {wrong}, but numbers were expected")
    return result


def unhashable(params: Mapping[str, Any]) -> str:
    """Describe the parameters that could change under a plan made for them: lists, arrays and their containers."""
    wrong = [name for name, value in params.items() if value.__class__ is not int and not is_hashable(value)]
    return ", ".join([f"{name} is {describe(params[name])}" for name in wrong]) if wrong else ""


def is_hashable(value: Any) -> bool:
    """Return whether `hash` accepts a value.

    A tuple of lists has the method but raises an error.
    """
    try:
        hash(value)
    except TypeError:
        return False
    return True


def forget_numbers() -> None:
    """Clear the caches of numbers as tensors, because their backend may be replaced."""
    _weak.clear()
    _numbers.clear()


def are_plain(*values: Any) -> bool:
    """Return whether all values except None are tensors outside transforms."""
    return CONCRETE.issuperset([type(x) for x in values if x is not None])
