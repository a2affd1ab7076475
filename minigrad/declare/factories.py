"""Functions that make tensors from numbers: a later call finds the plan by its arguments, as they were written.

The body of such a function checks its arguments and returns a recipe, a function that makes the tensor.  `recalled`
makes the public function from it: the first call with some arguments runs the body and stores the recipe, which for the
call of an op contains its plan.  Later calls with equal arguments of equal types only run the recipe.  The key contains
the bytes of the arguments, because 1, 1.0 and True would be equal as keys.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from marshal import dumps
from typing import Any

from minigrad.core.device import default_device
from minigrad.core.formats import strided
from minigrad.core.op import Op
from minigrad.core.plans import keep
from minigrad.core.roles import FlagOrNone, role_of
from minigrad.declare.forms import expect_agreement
from minigrad.declare.signature import OUT
from minigrad.errors import ArgumentError
from minigrad.runtime.dispatch import apply, runner
from minigrad.runtime.into import copy_result
from minigrad.runtime.plans import plan_of
from minigrad.runtime.tensor import PLAIN, Tensor, expect_tensors
from minigrad.runtime.tracers import constant_like
from minigrad.runtime.var import Var

FLAG: Any = role_of(FlagOrNone)
CALLS = 1024  # the number of calls that each function stores
SEQUENCES = ("arange", "linspace", "logspace")  # an `out` with as many elements keeps its shape
NUMBERS, LISTS = (int, float), (tuple, list)
FORMAT = 2  # marshal's last format whose bytes depend on values alone, not on the identities of objects


def later(recipe: Callable[[], Tensor]) -> Tensor:
    """Return a recipe as the result of a body; the type is that of the public function."""
    return recipe  # type: ignore[return-value]


def call_of(function: Any, *operands: Tensor, **params: Any) -> Tensor:
    """Return the recipe that calls an op: with its plan, or by the general path while an observer watches."""
    op: Op = function.op
    if Tensor not in PLAIN:
        return later(partial(apply, op, operands, params))
    return later(partial(runner(len(operands)), op, plan_of(op, operands, params), *operands))


class Recalled:
    """The recipes of a public function, by its arguments."""

    def __init__(self) -> None:
        self.plans: dict[Any, Callable[[], Tensor]] = {}

    def made(self, recipe: Any, requires_grad: bool, key: Any) -> Tensor:
        """Return the tensor of a recipe, which is stored if there is a key; or the tensor that a body has made."""
        x = recipe
        if not isinstance(recipe, Tensor):
            x = recipe()
            if key is not None:
                keep(self, key, recipe, CALLS)
        return Var.of(x) if requires_grad and x.__class__ is not Var else x


def drop_placement(name: str, named: dict[str, Any]) -> None:
    """Remove PyTorch's arguments `layout` and `pin_memory`, which have no effect, from those of a call."""
    if named.pop("layout", strided) is not strided:
        raise ArgumentError(f"{name}: layout must be mg.strided, because there are no sparse tensors; omit layout")
    FLAG.read(named.pop("pin_memory", None), name, "pin_memory", ())


def of_numbers(args: tuple[Any, ...]) -> bool:
    """Return whether all arguments are ints, floats, and shapes of ints, whose bytes contain their types.

    The bytes of a NumPy number do not contain its type, but no number or shape has the same bytes.
    """
    for x in args:
        if x.__class__ in LISTS:
            for each in x:
                if each.__class__ is not int:
                    return False
        elif x.__class__ not in NUMBERS:
            return False
    return True


def recalled(function: Any, into: bool) -> Any:
    """Return the public function of a body.  A shape of several arguments can have its name: `zeros(size=(2, 3))`.

    into: whether there is a parameter `out=`; the defaults of dtype and device are those of `out`.
    """
    signature = inspect.signature(function)
    many = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    memory = Recalled()
    plans = memory.plans

    @functools.wraps(function)
    def call(
        *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, out: Any = None, **named: Any
    ) -> Any:
        key = None
        if not named and out is None and Tensor in PLAIN:
            try:
                key = dumps(args, FORMAT), dtype, device or default_device(), requires_grad
                make = plans.get(key)
            except (TypeError, ValueError):  # an argument is not a number; the body handles it, or has a message
                key = make = None
            if make is not None:
                return Var.of(make()) if requires_grad else make()
        drop_placement(function.__name__, named)
        if many in named:
            if args:
                raise TypeError(f"{function.__name__}() got the argument {many} twice; pass {many} once")
            args = (named.pop(many),)
        if out is not None:
            expect_agreement(function.__name__, dtype, out)
            dtype = getattr(out, "dtype", None) if dtype is None else dtype
            device = getattr(out, "device", None) if device is None else device
        if out is not None and not into:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument 'out'")
        FLAG.read(requires_grad, function.__name__, "requires_grad", ())
        recipe = function(*args, dtype=dtype, device=device, requires_grad=requires_grad, **named)
        x = memory.made(recipe, requires_grad, key if of_numbers(args) else None)
        if out is not None and function.__name__ in SEQUENCES and x.numel() == out.numel():
            x = x.reshape(out.shape)
        return x if out is None else copy_result(function.__name__, x, out)

    parameters = [*signature.parameters.values(), *([OUT.full()] if into else [])]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


def recalled_like(function: Any) -> Any:
    """Return the public function of a body whose defaults of shape, dtype and device are those of its first operand."""
    memory, name = Recalled(), function.__name__
    plans = memory.plans

    @functools.wraps(function)
    def call(
        input: Any, *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **named: Any
    ) -> Any:
        key: Any = None
        kind = input.__class__
        if kind not in PLAIN:
            expect_tensors(name, input)
        elif not named:
            try:
                key = input.layout, input.dtype, input.device, dumps(args, FORMAT), dtype, device, requires_grad
                make = plans.get(key)
            except (TypeError, ValueError):
                key = make = None
            if make is not None:
                return Var.of(make()) if requires_grad else make()
        drop_placement(name, named)
        FLAG.read(requires_grad, name, "requires_grad", ())
        recipe = function(input, *args, dtype=dtype, device=device, requires_grad=requires_grad, **named)
        return constant_like(input, memory.made(recipe, requires_grad, key if of_numbers(args) else None))

    return call
