"""Common steps of the public functions of ops: checks of operands, optional operands, writes into `out`.

`signature.py` writes a function for each declaration.  The functions call this module for the steps that depend on
values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from minigrad.backends.launch import Launch
from minigrad.backends.steps import Steps
from minigrad.core.dtype import DType, as_dtype, bool_, category, default_float, expect_no_loss
from minigrad.core.formats import format_of, layout_in, preserve_format
from minigrad.core.op import Op
from minigrad.core.parameters import KEYWORD, SEVERAL
from minigrad.declare.signature import Signature
from minigrad.declare.variants import variant
from minigrad.errors import ArgumentError, ArgumentTypeError, DTypeError, MinigradError
from minigrad.runtime.dispatch import apply, runner
from minigrad.runtime.into import copy_result, read_before
from minigrad.runtime.observers import observed
from minigrad.runtime.operands import WeakNumber, canonical, no_tensor, weak_number
from minigrad.runtime.plans import plan_for
from minigrad.runtime.tensor import PLAIN, Tensor, describe, expect_tensors
from minigrad.runtime.tracers import Tracer, no_way_out

run_one = runner(1)
PART = re.compile(r"[A-Za-z_][\w.]*: ")  # the beginning of a message: the name of an op


def expect_operands(op: Op, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Check the operands of a call, and convert NumPy arrays next to a tensor to tensors on its device.

    Raises DTypeError unless each operand matches its annotation: a tensor or a NumPy array, a number, or None.
    """
    signature, result = op.signature, []
    like = next((x for x in operands if isinstance(x, Tensor)), None)
    for name, x in zip(op.operands, operands):
        number = name in signature.numbers and isinstance(x, (bool, int, float, complex, np.generic, WeakNumber))
        array = isinstance(x, np.ndarray) and like is not None
        absent = x is None and name in signature.optional
        if not (isinstance(x, Tensor) or array or number or absent or name == signature.many):
            raise no_tensor(op, x, operands)
        result.append(weak_number(op, x, like.dtype, like) if array and like is not None else x)
    return observed.begin(op, tuple(result)) if observed.calling else tuple(result)


def apart(op: Op, operands: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
    """Return the operands of a definition whose result is copied into `out`.

    An operand that shares the memory of `out` is handled by `read_before`.
    """
    if any(isinstance(x, Tracer) for x in operands):
        raise no_way_out(op)
    positions = out if isinstance(out, (tuple, list)) else (out,)
    return read_before(operands, [position.storage for position in positions if isinstance(position, Tensor)])


def call(op: Op, operands: tuple[Any, ...], params: dict[str, Any], out: Any = None) -> Any:
    """Call an op with a kernel; an op along a dim treats a scalar as a row of one element."""
    if op.along and operands:
        first = operands[0]
        if isinstance(first, Tensor) and not first.layout.shape:
            result = along_a_scalar(op, operands, params)
            return result if out is None else copy_result(op.label, result, out)
    return apply(op, operands, params, out)


def call_present(op: Op, operands: tuple[Any, ...], params: dict[str, Any], out: Any = None) -> Any:
    """Call an op with optional operands; if some are None, call its variant without these operands."""
    for x in operands:
        if x is None:
            op = variant(op, tuple([each is not None for each in operands]))
            return call(op, tuple([each for each in operands if each is not None]), params, out)
    return call(op, operands, params, out)


def along_a_scalar(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Run an op along a dim on a scalar, as a row of one element; each result of one element is a scalar again."""
    params = canonical(op, operands, params)
    rows = tuple([x.reshape(1) if isinstance(x, Tensor) and not x.layout.shape else x for x in operands])
    result = apply(op, rows, params)
    if op.result is None:
        return result.reshape(()) if result.shape == (1,) else result
    return op.result(*[y.reshape(()) if y.shape == (1,) else y for y in result])


def tensor_list(op: Op, tensors: Any) -> tuple[Tensor, ...]:
    """Return the tensors of a sequence; a NumPy array next to a tensor becomes a tensor on its device.

    Raises ArgumentError for an empty sequence, and ArgumentTypeError if `tensors` is not a list or tuple of tensors and
    NumPy arrays.
    """
    items: list[Any] = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    several = bool(items) and isinstance(tensors, (list, tuple))
    if several and PLAIN.issuperset(map(type, items)):
        return tuple(items)
    like = next((x for x in items if isinstance(x, Tensor)), None) if several else None
    if like is not None and all(isinstance(x, (Tensor, np.ndarray)) for x in items):
        return tuple([x if isinstance(x, Tensor) else weak_number(op, x, like.dtype, like) for x in items])
    shown = ", ".join(describe(x) for x in items) or "nothing"
    error = ArgumentTypeError if items else ArgumentError
    raise error(f"{op.label}: expected a list of at least one tensor, got {shown}; pass [x], for example")


# ---- dtypes ---------------------------------------------------------------------------------------------------------


def in_dtype(op: Op, x: Any, dtype: Any) -> Any:
    """Return a tensor in the requested dtype; a tuple of results is converted one by one."""
    if isinstance(x, tuple):
        return type(x)(*[in_dtype(op, y, dtype) for y in x])
    expect_tensors(op.label, x)
    wanted = as_dtype(dtype)
    expect_lossless(op.label, x, wanted)
    return x if x.dtype is wanted else x.to(wanted)


def expect_lossless(label: str, x: Tensor, dtype: DType) -> None:
    """Raise DTypeError if a parameter `dtype` would lose imaginary parts; `x.to` takes the real parts."""
    try:
        expect_no_loss(x.dtype, dtype)
    except DTypeError as error:
        raise DTypeError(f"{label}: got {describe(x)}; {error}") from None


def call_in_dtype(op: Op, x: Any, dtype: Any, params: dict[str, Any], out: Any = None) -> Any:
    """Call an op of one operand in the requested dtype, which is also the dtype of its results.

    Without it, this is the dtype of `out`, if that is of a lower kind than the operand, or bool; see `DTYPE_FROM_OUT`.
    """
    expect_tensors(op.label, x)
    if dtype is None:
        lower = isinstance(out, Tensor) and (category(x.dtype) > category(out.dtype) or out.dtype is bool_)
        if not lower or x.dtype.is_complex:
            return call(op, (x,), params, out)
        dtype = out.dtype
    if out is None:
        return in_dtype(op, call(op, (in_dtype(op, x, dtype),), params), dtype)
    expect_agreement(op.label, dtype, out)
    (x,) = apart(op, (in_dtype(op, x, dtype),), out)
    return copy_result(op.label, in_dtype(op, call(op, (x,), params), dtype), out)


def expect_agreement(label: str, dtype: Any, out: Any) -> None:
    """Raise DTypeError if a call has both a dtype and `out`, and they differ."""
    if dtype is not None and isinstance(out, Tensor) and out.dtype is not as_dtype(dtype):
        raise DTypeError(f"{label}: dtype is {as_dtype(dtype)}, and out is {describe(out)}; omit dtype")


def as_float(op: Op | str, x: Any, dtype: Any = None) -> Any:
    """Convert a tensor to `dtype`, a float or complex dtype; with None, convert integers to the default float dtype.

    op: the op or its name, for messages.
    """
    label = op if isinstance(op, str) else op.label
    expect_tensors(label, x)
    if dtype is not None:
        wanted = as_dtype(dtype)
        if not wanted.is_inexact:
            raise DTypeError(
                f"{label}: dtype must be a floating dtype, got {wanted} for {describe(x)}; pass dtype=mg.float32"
            )
        expect_lossless(label, x, wanted)
        return x.to(wanted)
    return x if x.dtype.is_inexact else x.to(default_float())


def in_its_memory(op: Op, input: Any, *rest: Any) -> Any:
    """Call an elementwise op with PyTorch's argument `inplace`; if it is true, call the in-place form of the op.

    rest: the other operands, then `inplace` and `out`.
    """
    *parameters, inplace, out = rest
    if not inplace:
        return op.public(input, *parameters, out=out)  # type: ignore[misc]
    if out is not None and out is not input:
        raise ArgumentError(
            f"{op.label}: with inplace=True, out must be None or input, got another tensor; omit inplace or out"
        )
    expect_tensors(op.label, input)
    return getattr(input, f"{op.name}_")(*parameters)


# ---- views ----------------------------------------------------------------------------------------------------------


def several(op: Op, name: str, arguments: tuple[Any, ...], named: Any, missing: Any) -> Any:
    """Return a parameter that is passed as several arguments, as one sequence, or by its name.

    Several arguments become a tuple.  Raises TypeError if the parameter is missing or is passed twice.
    """
    if not arguments:
        if named is missing:
            raise TypeError(f"{op.label}() is missing the argument {name}; pass {name}=...")
        return named
    if named is not missing:
        raise TypeError(f"{op.label}() got the argument {name} twice; pass {name} once")
    return tuple(arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)) else arguments


def older_form(op: Op, public: Callable[..., Any], keywords: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function that reads the positional arguments of PyTorch's older form, and calls the public function.

    The numbers among the arguments are the first of the keywords, as in `addmm(beta, input, alpha, mat1, mat2)`.
    """

    def read(arguments: tuple[Any, ...], out: Any) -> Any:
        numbers = [x for x in arguments if isinstance(x, (bool, int, float, complex))]
        if len(arguments) - len(numbers) != len(op.operands) or len(numbers) > len(keywords):
            raise TypeError(
                f"{op.label}() takes {len(op.operands)} positional arguments but {len(arguments)} were given; pass "
                f"{keywords[0]}=... by name"
            )
        tensors = [x for x in arguments if not isinstance(x, (bool, int, float, complex))]
        return public(*tensors, **dict(zip(keywords, numbers)), out=out)

    return read


# ---- composed ops ---------------------------------------------------------------------------------------------------


def blame(op: Op, error: MinigradError) -> None:
    """Add the name of a composed op to the message of an error inside its definition.

    The message becomes "diff: in sub: ...", or "diff: ..." if it does not begin with the name of an op.
    """
    message = str(error)
    if message and not message.startswith(f"{op.label}:"):
        named = "in " if PART.match(message) else ""
        error.args = (f"{op.label}: {named}{message}", *error.args[1:])


# ---- declared functions ---------------------------------------------------------------------------------------------


def handed_on(op: Op, x: Tensor, params: dict[str, Any]) -> Tensor:
    """Call an op from a derivative rule with the parameters of a recorded op.

    These parameters are ints and tuples of ints, which are already in canonical form.  So they can be the key of the
    call plan directly, whereas `apply` must first convert its parameters to a key.
    """
    if x.__class__ not in PLAIN:
        return apply(op, (x,), params)
    key = (x.layout, x.dtype, x.device, *params.values())
    return run_one(op, op.plans.get(key) or plan_for(op, (x,), params, key), x)


def by_name(function: FunctionType, signature: Signature, head: int) -> Callable[..., Any]:
    """Return the body of a declaration as a function of Specs by position and parameters by name.

    head: the number of arguments before the operands, which are the backend and the Specs of the results.
    """
    parameters, operands = signature.parameters, signature.operands
    first = tuple(p.name for p in parameters[: len(operands)]) == operands and not signature.many
    if first or any(p.kind is SEVERAL for p in parameters):
        return function
    if signature.many:
        return lambda *specs, **params: function(*specs[:head], **{signature.many: specs[head:]}, **params)
    return lambda *specs, **params: function(*specs[:head], **dict(zip(operands, specs[head:])), **params)


def over_steps(body: Callable[..., Any], results: int) -> Callable[..., Any]:
    """Return a body that adds requests to a `Steps` as a function of the backend and of Specs, which returns a launch.

    The body receives Values instead of Specs.  It returns None, or the launch of its steps with the limits of an error.
    """

    def prepare(backend: Any, *specs: Any, **params: Any) -> Launch:
        outs, operands = specs[:results], specs[results:]
        steps = Steps(backend, outs, tuple([x for x in operands if x is not None]))
        values = iter(steps.operands)
        launch = body(steps, *steps.outs, *[None if x is None else next(values) for x in operands], **params)
        return steps.launch if launch is None else launch

    return prepare


def by_operands(op: Op, public: Callable[..., Any]) -> Callable[..., Any]:
    """Return the public function of a composed op as a function of its tensors, and of all other arguments by name.

    An operand that may be None or a number is among the arguments by name; if it is a tensor, the next of the tensors
    replaces it.
    """
    signature = op.signature
    names = [x for x in op.operands if x != signature.many]

    def definition(*tensors: Tensor, **named: Any) -> Any:
        rest = list(tensors)
        operands = {x: rest.pop(0) if x not in named or isinstance(named[x], Tensor) else named[x] for x in names}
        arguments: list[Any] = []
        by_name = {**named, **operands, **({signature.many: rest} if signature.many else {})}
        if any(p.kind is SEVERAL for p in signature.parameters):
            for p in signature.parameters:
                if p.kind is SEVERAL:
                    arguments += by_name.pop(p.name)
                elif p.kind is not KEYWORD:
                    arguments.append(by_name.pop(p.name))
        return public(*arguments, **by_name)

    return definition


def in_format(name: str, x: Tensor, memory_format: Any) -> Tensor:
    """Return x with its elements in the order of a memory format: x itself if it has this order, otherwise a copy.

    None and `preserve_format` are the order that x has.
    Raises ArgumentError for a value that is not a memory format, and ShapeError if x has another number of dims than
    the format requires.
    """
    layout_in(name, x.layout.shape, memory_format)  # its errors have the name of the function
    kept = memory_format is None or memory_format is preserve_format
    return x if kept else x.contiguous(memory_format=memory_format)


def in_format_of_input(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a definition whose results have the memory format of its first operand, if both have the same rank."""

    def definition(x: Tensor, *arguments: Any, **named: Any) -> Any:
        if format_of(x.layout) is None:
            return function(x, *arguments, **named)
        row = x.contiguous()  # the kernels take up to four times as long for other layouts, and this copy a quarter
        result = function(row, *arguments, **named)
        several, wanted = isinstance(result, tuple), format_of(x.layout, strict=True)
        ys = [
            x if y is row else y if y.ndim != x.ndim else in_format("", y, wanted)
            for y in (result if several else (result,))
        ]
        return (result._make(ys) if hasattr(result, "_make") else tuple(ys)) if several else ys[0]

    return definition


def collected(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return a definition with the parameter `*tensors` as a function that takes one sequence of tensors instead."""
    names = [p.name for p in signature.parameters if p.kind is not KEYWORD]
    if not any(p.kind is SEVERAL for p in signature.parameters):
        return function

    def definition(*arguments: Any, **named: Any) -> Any:
        first = [*arguments, *[named.pop(name) for name in names[len(arguments) :]]]
        # The op has `*tensors`, so all other parameters are passed by name.
        return function(*first[:-1], *first[-1], **named)

    return definition
