"""The one road from a call to a kernel: rules, plan, launch, record.

`apply` looks the call up by its operands' layouts, dtypes and devices.  The first time it runs the op's rules and
asks the backend to prepare a launch; nothing is allocated before every check has held.  After that a call is one
look-up, one allocation, one launch, and one record if an operand tracks.  `ops/declare.py` makes the public
functions that end here.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from minigrad.backends.base import Backend, Launch
from minigrad.backends.registry import backend_of
from minigrad.config import listeners, settings
from minigrad.core.device import Device
from minigrad.core.dtype import DType, cast_array, fit_number, promote, promote_number
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.shape import broadcast_shapes
from minigrad.core.storage import ConstantStorage, Storage
from minigrad.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    MinigradError,
    ShapeError,
)  # fmt: skip
from minigrad.graph import BackpropOp, mode, user_line
from minigrad.tensor import Tensor, describe
from minigrad.writing import check_writable

SCALAR = Layout.contiguous(())
_numbers: dict[Any, Tensor] = {}
_planned: set[Op] = set()
NUMBER_LIMIT = 1024
INTO_LIMIT = 64


class CallPlan:
    """What a repeated call needs: the launch, the result's layout and dtype, the operands' specs.

    launch is None for a view: the result shares the operand's storage.
    check: looks at index values before anything is allocated, or None.
    into: launches that write through other layouts, for out= and the in-place forms.
    """

    __slots__ = ("backend", "check", "device", "dtype", "into", "launch", "layout", "numel", "source", "specs")

    def __init__(self, backend: Backend, device: Device, specs: tuple[Spec, ...], out: Spec, launch: Launch | None):
        self.backend, self.device, self.specs, self.launch = backend, device, specs, launch
        self.source = device
        self.layout, self.dtype, self.numel = out.layout, out.dtype, out.layout.numel
        self.check: Any = None
        self.into: dict[Layout, Launch] = {}

    def fact(self, name: str, op: Op, position: int) -> Any:
        """A static fact that a derivative rule asks for by keyword: in_shape, in_dtype, a_shape, y_shape ..."""
        if name == "position":
            return position
        if name == "in_shapes":
            return tuple(spec.shape for spec in self.specs)
        owner, _, what = name.rpartition("_")
        spec = Spec(self.layout, self.dtype) if owner == "y" else self.specs[0]
        if owner not in ("y", "in"):
            spec = self.specs[op.operands.index(owner)]
        if what == "device":
            return self.device if owner == "y" else self.source
        return {"shape": spec.layout.shape, "dtype": spec.dtype, "layout": spec.layout}[what]


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
    tensors = [x for x in operands if isinstance(x, Tensor)]
    if not tensors:
        shown = ", ".join(describe(x) for x in operands)
        raise DTypeError(
            f"{op.label}: at least one operand must be a tensor, got {shown}; wrap data in mg.tensor(...)", op=op.label
        )
    dtype = tensors[0].dtype
    for x in tensors[1:]:
        dtype = promote(dtype, x.dtype)
    return tuple(x if isinstance(x, Tensor) else weak_number(op, x, dtype, tensors[0]) for x in operands)


def weak_number(op: Op, x: Any, dtype: DType, like: Tensor) -> Tensor:
    """A number next to tensors of `dtype`: it adapts to them, an array does not."""
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
    key: list[Any] = []
    for x in operands:
        key += (x.layout, x.dtype, x.device)
    try:
        plan = op.plans.get(tuple(key) if not params else (*key, *params.values()))
    except TypeError:
        raise ArgumentError(f"{op.label}: {unhashable(params)}, and numbers were expected", op=op.label) from None
    if plan is None:
        plan = make_plan(op, operands, params)
        remember(op, (*key, *params.values()), plan)
    if plan.check is not None:
        plan.check(*operands)
    if plan.launch is None:
        storage = operands[0].storage
    elif out is not None:
        return run_into(op, plan, operands, out)
    else:
        storage = plan.backend.allocate(plan.numel, plan.dtype, plan.device)
        plan.launch(*[x.storage.buffer for x in operands], storage.buffer)
    if mode.enabled:
        for x in operands:
            if x.op is not None or x.is_variable:
                return record(op, plan, operands, params, storage)
    return Tensor(storage, plan.layout)


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


def apply_binary(op: Op, a: Any, b: Any) -> Tensor:
    """`apply` for two operands and no parameters: the commonest call, written out for speed."""
    if not isinstance(b, Tensor):
        a, b = (a, weak_number(op, b, a.dtype, a)) if isinstance(a, Tensor) else as_operands(op, (a, b))
    elif not isinstance(a, Tensor):
        a = weak_number(op, a, b.dtype, b)
    key = (a.layout, a.dtype, a.device, b.layout, b.dtype, b.device)
    plan = op.plans.get(key)
    if plan is None:
        plan = make_plan(op, (a, b), {})
        remember(op, key, plan)
    storage = plan.backend.allocate(plan.numel, plan.dtype, plan.device)
    plan.launch(a.storage.buffer, b.storage.buffer, storage.buffer)  # type: ignore[misc]
    if mode.enabled and (a.op is not None or b.op is not None or a.is_variable or b.is_variable):
        return record(op, plan, (a, b), {}, storage)
    return Tensor(storage, plan.layout)


def record(op: Op, plan: CallPlan, operands: tuple[Any, ...], params: dict[str, Any], storage: Storage) -> Tensor:
    """The result with its BackpropOp; a result that is no float carries no gradient and gets none."""
    if not plan.dtype.is_float:
        return Tensor(storage, plan.layout)
    mask = 0
    parents = []
    for k, x in enumerate(operands):
        parent = x.op if x.op is not None else x if x.is_variable else None
        parents.append(parent)
        if parent is not None:
            mask |= 0 if op.variadic else 1 << k
    # The output is kept without its op: a saved output that knew its BackpropOp would be a cycle.
    saved = tuple([operands[k] if k >= 0 else Tensor(storage, plan.layout) for k in op.saves[mask]])
    node = BackpropOp(op, plan, params, tuple(parents), mask, saved)
    if settings.debug:
        node.source = user_line()
    return Tensor(storage, plan.layout, node)


def remember(op: Op, key: tuple[Any, ...], plan: CallPlan) -> None:
    """Keep a plan; past the limit the older half goes, so ten thousand shapes do not grow memory."""
    if len(op.plans) >= settings.plan_limit:
        for old in list(op.plans)[: settings.plan_limit // 2]:
            op.plans.pop(old, None)
    op.plans[key] = plan
    _planned.add(op)


def forget_plans() -> None:
    """Drop every plan: what they were made from has changed."""
    while _planned:
        _planned.pop().plans.clear()


listeners.append(forget_plans)


# ---- planning: every check, then the backend ------------------------------------------------------------------------


def make_plan(op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> CallPlan:
    """Run the op's rules and prepare its launch.  Order of the checks: device, then dtype, then shape."""
    device = operands[0].device
    for x in operands[1:]:
        if x.device is not device:
            raise DeviceError(
                f"{op.label}: the operands are {' and '.join(f'{describe(t)} on {t.device}' for t in operands)}; "
                f"move one with .to({str(device)!r})",
                op=op.label,
            )
    specs = tuple(Spec(x.layout, x.dtype) for x in operands)
    backend = backend_of(device)
    plan = PLANNERS[op.kind](op, backend, device, specs, params)
    if op.check is not None:
        plan.check = op.check(op, backend, specs, params)
    return plan


def plan_elementwise(op: Op, backend: Backend, device: Device, specs: tuple[Spec, ...], params: Any) -> CallPlan:
    """Shapes broadcast, operands are expanded, the result is fresh and contiguous."""
    compute, dtype = op.dtype_rule(op, specs, **params)  # type: ignore[misc]
    try:
        shape = broadcast_shapes(op.label, *[s.shape for s in specs])
    except MinigradError as error:
        raise with_dtypes(error, specs) from None
    out = Spec(Layout.contiguous(shape), dtype)
    expanded = [Spec(s.layout.expand(shape), s.dtype) for s in specs]
    return CallPlan(backend, device, specs, out, backend.elementwise(op.scalar, compute, out, expanded))  # type: ignore[arg-type]


def plan_view(op: Op, backend: Backend, device: Device, specs: tuple[Spec, ...], params: Any) -> CallPlan:
    """Another layout over the operand's storage; nothing is launched."""
    try:
        layout = op.prepare(specs[0].layout, **params)  # type: ignore[misc]
    except MinigradError as error:
        raise with_dtypes(error, specs) from None
    return CallPlan(backend, device, specs, Spec(layout, specs[0].dtype), None)


def plan_kernel(op: Op, backend: Backend, device: Device, specs: tuple[Spec, ...], params: Any) -> CallPlan:
    """The op's own rules say dtype and shape, its body asks the backend for the launch."""
    dtype = op.dtype_rule(op, specs, **params)  # type: ignore[misc]
    shape = op.shape_rule(op, *specs, **params)  # type: ignore[misc]
    out = Spec(Layout.contiguous(shape), dtype)
    target = params.get("device", device)  # only `transfer` has this parameter: its result lives elsewhere
    backend = backend_of(target)
    plan = CallPlan(backend, target, specs, out, op.prepare(backend, out, *specs, **params))  # type: ignore[misc]
    plan.source = device
    return plan


def with_dtypes(error: MinigradError, specs: tuple[Spec, ...]) -> MinigradError:
    """An error of `core`, which knows shapes only, with the operands named in full: `float32(2, 3)`."""
    text = str(error)
    if len(specs) > 1:
        text = text.replace("shapes " + " and ".join(str(s.shape) for s in specs), " and ".join(map(repr, specs)))
    else:
        shape = re.escape(str(specs[0].shape))
        text, found = re.subn(rf"\bshape {shape}", repr(specs[0]), text)
        text = text if found else re.sub(shape, repr(specs[0]), text, count=1)
    error.args = (text,)
    return error


PLANNERS = {"elementwise": plan_elementwise, "view": plan_view, "kernel": plan_kernel, "reduction": plan_kernel}


# ---- writing into what exists ---------------------------------------------------------------------------------------


def run_into(op: Op, plan: CallPlan, operands: tuple[Any, ...], out: Tensor) -> Tensor:
    """Run an elementwise op into `out` (the `out=` and `name_` forms): checks, launch, version."""
    if op.kind != "elementwise":
        raise ArgumentError(f"{op.label}: out= is offered by elementwise ops only", op=op.label)
    if not isinstance(out, Tensor):
        raise DTypeError(f"{op.label}: out must be a tensor, got {describe(out)}", op=op.label)
    if out.layout.shape != plan.layout.shape:
        raise ShapeError(
            f"{op.label}: the result is {Spec(plan.layout, plan.dtype)!r}, out is {describe(out)}; shapes must agree",
            op=op.label,
        )
    if out.dtype is not plan.dtype:
        raise DTypeError(
            f"{op.label}: the result is {Spec(plan.layout, plan.dtype)!r}, out is {describe(out)}; dtypes must agree",
            op=op.label,
        )
    if out.device is not plan.device:
        raise DeviceError(
            f"{op.label}: the operands are on {plan.device}, out {describe(out)} on {out.device}; devices must agree",
            op=op.label,
        )
    check_writable(op.label, out, operands)
    launch = plan.launch if out.layout is plan.layout else plan.into.get(out.layout)
    if launch is None:
        launch = plan_into(op, plan, out)
    launch(*[x.storage.buffer for x in operands], out.storage.buffer)
    out.storage.bump()
    return out


def plan_into(op: Op, plan: CallPlan, out: Tensor) -> Launch:
    """A launch of `plan` that writes through another layout than a fresh result's; the last few are kept."""
    expanded = [Spec(s.layout.expand(out.shape), s.dtype) for s in plan.specs]
    compute, _ = op.dtype_rule(op, plan.specs)  # type: ignore[misc]
    launch = plan.backend.elementwise(op.scalar, compute, Spec(out.layout, out.dtype), expanded)  # type: ignore[arg-type]
    if len(plan.into) >= INTO_LIMIT:
        plan.into.clear()
    plan.into[out.layout] = launch
    return launch
