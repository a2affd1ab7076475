"""The one road from a call to a kernel: look up the plan, allocate, launch, record.

A call is looked up by its operands' layouts, dtypes and devices.  The first time, `planning` runs the op's rules and
asks the backend to prepare a launch; nothing is allocated before every check has held.  After that a call is one
look-up, one allocation, one launch, and one record if an operand tracks.  `unary` and `binary` make the public
functions of the commonest ops, written out for speed; `apply` serves all others.  docs/decisions/007 says where each
microsecond goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.backends.base import Launch
from minigrad.backends.registry import backend_of
from minigrad.config import listeners, settings
from minigrad.core.device import Device
from minigrad.core.dtype import DType, cast_array, fit_number, promote, promote_number
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.storage import ConstantStorage, Storage
from minigrad.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from minigrad.runtime.graph import BackpropOp, ids, mode, user_line
from minigrad.runtime.planning import CallPlan, make_plan
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.writing import check_writable, current

SCALAR = Layout.contiguous(())
_numbers: dict[Any, Tensor] = {}
_weak: dict[Any, Tensor] = {}
_planned: set[Op] = set()
NUMBER_LIMIT = 1024
NUMBERS = (bool, int, float)
NO_PARAMS: dict[str, Any] = {}
BOTH = (0, 1)
INTO_LIMIT = 64
VECTORS_PAY = 2048  # elements from which a kernel of its own is worth compiling for an operand that is the result
_new_tensor, _new_node = Tensor.__new__, BackpropOp.__new__


# ---- operands -------------------------------------------------------------------------------------------------------


def number(value: float, dtype: DType, device: Device) -> Tensor:
    """A Python number as a 0-d tensor of `dtype`; the common ones are kept, since a literal comes again and again."""
    key = (type(value), value, math.copysign(1.0, value) if value == 0 else 1.0, dtype, device)
    found = _numbers.get(key)
    if found is None:
        fit_number(value, dtype)
        flat = cast_array(np.asarray(value), dtype).reshape(-1)
        found = Tensor(backend_of(device).from_host(flat, dtype, device), SCALAR)
        found.storage.__class__ = ConstantStorage
        if len(_numbers) >= NUMBER_LIMIT:
            _numbers.clear()
        _numbers[key] = found
    return found


def as_operands(op: Op, operands: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Operands with Python numbers made weak 0-d tensors.  Raises DTypeError for what is neither."""
    like = None
    for x in operands:
        if isinstance(x, Tensor):
            if like is None:
                like, dtype = x, x.dtype
            elif x.dtype is not dtype:
                dtype = promote(dtype, x.dtype)
    if like is None:
        shown = ", ".join(describe(x) for x in operands)
        raise DTypeError(
            f"{op.label}: at least one operand must be a tensor, got {shown}; wrap data in mg.tensor(...)", op=op.label
        )
    return tuple([x if isinstance(x, Tensor) else weak_number(op, x, dtype, like) for x in operands])


def weak_number(op: Op, x: Any, dtype: DType, like: Tensor) -> Tensor:
    """A number next to tensors of `dtype`: it adapts to them, an array does not."""
    # 0.0 and -0.0 are equal as keys; 1, 1.0 and True are told apart by their types.
    if x.__class__ in NUMBERS and x:
        found = _weak.get((x, x.__class__, dtype, like.device))
        if found is not None:
            return found
        found = fitted_number(op, x, dtype, like)
        if len(_weak) >= NUMBER_LIMIT:
            _weak.clear()
        _weak[x, x.__class__, dtype, like.device] = found
        return found
    return fitted_number(op, x, dtype, like)


def fitted_number(op: Op, x: Any, dtype: DType, like: Tensor) -> Tensor:
    """`weak_number` without a look at those that came before."""
    if isinstance(x, np.generic):
        x = x.item()
    if not isinstance(x, (bool, int, float)):
        raise DTypeError(
            f"{op.label}: {describe(x)} next to {describe(like)} is neither a tensor nor a number; "
            f"wrap data in mg.tensor(...)",
            op=op.label,
        )
    try:
        return number(x, promote_number(dtype, x), like.device)
    except DTypeError as error:
        raise DTypeError(f"{op.label}: next to {describe(like)}, {error}", op=op.label) from None


# ---- the road -------------------------------------------------------------------------------------------------------


def apply(op: Op, *operands: Any, out: Tensor | None = None, **params: Any) -> Tensor:
    """Run one op.  Operands are tensors or Python numbers, params the op's static arguments (hashable).

    Raises what the op's rules raise; then nothing has been allocated or changed.
    """
    for x in operands:
        if not isinstance(x, Tensor):
            operands = as_operands(op, operands)
            break
    if len(operands) == 1:
        x = operands[0]
        key: tuple[Any, ...] = (x.layout, x.dtype, x.device, *params.values())
    else:
        key = tuple([part for x in operands for part in (x.layout, x.dtype, x.device)])
        if params:
            key = (*key, *params.values())
    try:
        plan = op.plans.get(key)
    except TypeError:
        raise ArgumentError(f"{op.label}: {unhashable(params)}, and numbers were expected", op=op.label) from None
    if plan is None:
        plan = plan_for(op, operands, params, key)
    if plan.check is not None:
        plan.check(*operands)
    if plan.launch is None:
        storage = operands[0].storage
    elif out is not None:
        return run_into(op, plan, operands, out)
    else:
        storage = plan.make()
        plan.launch(*[x.storage.buffer for x in operands], storage.buffer)
    for x in operands:
        if x.op is not None or x.is_variable:
            return result(storage, plan, record(op, plan, operands, params, storage) if mode.enabled else None)
    return result(storage, plan, None)


def unary(op: Op) -> Callable[..., Tensor]:
    """The public function of an elementwise op over one operand."""
    plans = op.plans

    def call(input: Any, *, out: Tensor | None = None) -> Tensor:
        if not isinstance(input, Tensor) or out is not None:
            return apply(op, input, out=out)
        plan = plans.get((input.layout, input.dtype, input.device))
        if plan is None:
            plan = plan_for(op, (input,), {}, (input.layout, input.dtype, input.device))
        storage = plan.make()
        kernel = plan.kernel
        if kernel is None:
            plan.launch(input.storage.buffer, storage.buffer)  # type: ignore[misc]
        else:
            kernel(input.storage.buffer, storage.buffer, plan.numbers)
        node = None
        if (input.op is not None or input.is_variable) and mode.enabled:
            node = record(op, plan, (input,), NO_PARAMS, storage)
        y: Tensor = _new_tensor(Tensor)
        y.id = next(ids)
        y.storage = storage
        y.layout = plan.layout
        y.dtype = plan.dtype
        y.device = plan.device
        y.op = node
        return y

    return call


def binary(op: Op) -> Callable[..., Tensor]:
    """The public function of an elementwise op over two operands."""
    plans = op.plans

    def call(a: Any, b: Any, *, out: Tensor | None = None) -> Tensor:
        if not isinstance(b, Tensor):
            a, b = (a, weak_number(op, b, a.dtype, a)) if isinstance(a, Tensor) else as_operands(op, (a, b))
        elif not isinstance(a, Tensor):
            a = weak_number(op, a, b.dtype, b)
        key = (a.layout, a.dtype, a.device, b.layout, b.dtype, b.device)
        plan = plans.get(key)
        if plan is None:
            plan = plan_for(op, (a, b), {}, key)
        if out is not None:
            return run_into(op, plan, (a, b), out)
        storage = plan.make()
        kernel = plan.kernel
        if kernel is None:
            plan.launch(a.storage.buffer, b.storage.buffer, storage.buffer)  # type: ignore[misc]
        else:
            kernel(a.storage.buffer, b.storage.buffer, storage.buffer, plan.numbers)
        node = None
        if (a.op is not None or b.op is not None or a.is_variable or b.is_variable) and mode.enabled:
            node = record_binary(op, plan, a, b, storage)
        # Field by field, here and in `unary`: a call of __init__ costs as much as all of them.
        y: Tensor = _new_tensor(Tensor)
        y.id = next(ids)
        y.storage = storage
        y.layout = plan.layout
        y.dtype = plan.dtype
        y.device = plan.device
        y.op = node
        return y

    return call


def run_unary(op: Op, plan: CallPlan, x: Tensor) -> Tensor:
    """A call of one operand whose plan is known."""
    storage = plan.make()
    plan.launch(x.storage.buffer, storage.buffer)  # type: ignore[misc]
    if (x.op is not None or x.is_variable) and mode.enabled:
        return result(storage, plan, record(op, plan, (x,), plan.params, storage))
    return result(storage, plan, None)


def run_view(op: Op, plan: CallPlan, x: Tensor) -> Tensor:
    """A view whose plan is known."""
    if (x.op is not None or x.is_variable) and mode.enabled:
        return result(x.storage, plan, record(op, plan, (x,), plan.params, x.storage))
    return result(x.storage, plan, None)


def result(storage: Storage, plan: CallPlan, node: BackpropOp | None) -> Tensor:
    """The tensor that a call returns."""
    y: Tensor = _new_tensor(Tensor)
    y.id = next(ids)
    y.storage = storage
    y.layout = plan.layout
    y.dtype = plan.dtype
    y.device = plan.device
    y.op = node
    return y


def record(
    op: Op, plan: CallPlan, operands: tuple[Any, ...], params: dict[str, Any], storage: Storage
) -> BackpropOp | None:
    """The BackpropOp of a call; a result that is no float carries no gradient and gets none."""
    if not plan.tracks:
        return None
    mask, bit = 0, 1
    parents: list[Any] = []
    for x in operands:
        parent = x.op
        if parent is None:
            if x.is_variable:
                parent = x
        elif x.storage.version:
            parent = current(x)
        parents.append(parent)
        if parent is not None:
            mask |= bit
        bit <<= 1
    if op.variadic:
        mask = 0
    # The output is kept without its op: a saved output that knew its BackpropOp would be a cycle.
    saved = tuple([operands[k] if k >= 0 else result(storage, plan, None) for k in op.saves[mask]])
    node: BackpropOp = _new_node(BackpropOp)
    node.id = next(ids)
    node.op = op
    node.plan = plan
    node.params = params
    node.parents = tuple(parents)
    node.mask = mask
    node.saved = saved
    node.versions = tuple([x.storage.version for x in saved])
    node.source = user_line() if settings.debug else None
    return node


def record_binary(op: Op, plan: CallPlan, a: Tensor, b: Tensor, storage: Storage) -> BackpropOp | None:
    """`record` for two operands and no parameters, without its loops."""
    if not plan.tracks:
        return None
    left: Any = a.op
    right: Any = b.op
    if left is None:
        if a.is_variable:
            left = a
    elif a.storage.version:
        left = current(a)
    if right is None:
        if b.is_variable:
            right = b
    elif b.storage.version:
        right = current(b)
    mask = 3 if left is not None and right is not None else 1 if left is not None else 2
    which = op.saves[mask]
    node: BackpropOp = _new_node(BackpropOp)
    if not which:
        node.saved = node.versions = ()
    elif which == BOTH:
        node.saved = (a, b)
        node.versions = (a.storage.version, b.storage.version)
    elif len(which) == 1 and which[0] >= 0:
        x = b if which[0] else a
        node.saved = (x,)
        node.versions = (x.storage.version,)
    else:
        return record(op, plan, (a, b), NO_PARAMS, storage)
    node.id = next(ids)
    node.op = op
    node.plan = plan
    node.params = NO_PARAMS
    node.parents = (left, right)
    node.mask = mask
    node.source = user_line() if settings.debug else None
    return node


def unhashable(params: dict[str, Any]) -> str:
    """The parameters that cannot be part of a key, by name: lists, arrays, and tuples that hold them."""
    return ", ".join(f"{k} is {describe(v)}" for k, v in params.items() if not is_hashable(v))


def is_hashable(value: Any) -> bool:
    """Whether `hash` takes it; a tuple of lists has the method, and raises."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def plan_of(op: Op, a: Tensor, b: Tensor) -> CallPlan:
    """The plan of a call with two operands and no parameters."""
    key = (a.layout, a.dtype, a.device, b.layout, b.dtype, b.device)
    return op.plans.get(key) or plan_for(op, (a, b), {}, key)


def plan_for(op: Op, operands: tuple[Any, ...], params: dict[str, Any], key: tuple[Any, ...]) -> CallPlan:
    """A new plan, kept; past the limit the older half goes, so ten thousand shapes do not grow memory."""
    plan = make_plan(op, operands, params)
    if len(op.plans) >= settings.plan_limit:
        for old in list(op.plans)[: settings.plan_limit // 2]:
            op.plans.pop(old, None)
    op.plans[key] = plan
    _planned.add(op)
    return plan


def forget_plans() -> None:
    """Drop every plan: what they were made from has changed."""
    _weak.clear()
    while _planned:
        _planned.pop().plans.clear()


listeners.append(forget_plans)


# ---- writing into what exists ---------------------------------------------------------------------------------------


def run_into(op: Op, plan: CallPlan, operands: tuple[Any, ...], out: Tensor) -> Tensor:
    """Run an elementwise op into `out` (the `out=` and `name_` forms): checks, launch, version."""
    if not isinstance(out, Tensor):
        raise DTypeError(f"{op.label}: out must be a tensor, got {describe(out)}", op=op.label)
    storage, layout = out.storage, out.layout
    same, bit = 0, 1
    if plan.numel >= VECTORS_PAY:
        for x in operands:
            if x.storage is storage and x.layout is layout:
                same |= bit
            bit <<= 1
    launch = plan.into.get((layout, out.dtype, out.device, same))
    if launch is None:
        launch = plan_into(op, plan, out, same)
    check_writable(op.label, out, operands)
    launch(*[x.storage.buffer for x in operands], storage.buffer)
    storage.version += 1
    return out


def plan_into(op: Op, plan: CallPlan, out: Tensor, same: int) -> Launch:
    """A launch of `plan` that writes into what exists; the last few are kept.

    same: a bit mask of the operands that are `out` itself.
    Raises ShapeError, DTypeError or DeviceError if the result does not fit `out`.
    """
    if op.kind != "elementwise":
        raise ArgumentError(f"{op.label}: out= is offered by elementwise ops only", op=op.label)
    result = Spec(plan.layout, plan.dtype)
    if out.layout.shape != plan.layout.shape:
        raise ShapeError(
            f"{op.label}: the result is {result!r}, out is {describe(out)}; shapes must agree", op=op.label
        )
    if out.dtype is not plan.dtype:
        raise DTypeError(
            f"{op.label}: the result is {result!r}, out is {describe(out)}; dtypes must agree", op=op.label
        )
    if out.device is not plan.device:
        raise DeviceError(
            f"{op.label}: the operands are on {plan.device}, out {describe(out)} on {out.device}; devices must agree",
            op=op.label,
        )
    target = Spec(out.layout, out.dtype)
    expanded = [
        target if same >> k & 1 else Spec(s.layout.expand(out.shape), s.dtype) for k, s in enumerate(plan.specs)
    ]
    compute, _ = op.dtype_rule(op, plan.specs)  # type: ignore[misc]
    launch = plan.backend.elementwise(op.scalar, compute, target, expanded)  # type: ignore[arg-type]
    if len(plan.into) >= INTO_LIMIT:
        plan.into.clear()
    plan.into[out.layout, out.dtype, out.device, same] = launch
    return launch
