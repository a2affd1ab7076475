"""The path from a call to a kernel: look up the plan, allocate, launch, record.

The first call with operands of a kind (layouts, dtypes, devices) makes a plan: `planning` runs the op's dtype and shape
rules, and the backend prepares a launch.  All checks except that of index values precede the allocation.  Later calls
find the plan (`plans.py`): one look-up, one allocation, one launch, and one record if an operand requires a gradient.
`apply` is the general path for any op.  A public function has the lines of `run_single` for its number of operands
(`steps_of`, `unrolling.py`; declare/bodies.py). docs/decisions/007 lists the cost of each part of a call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from minigrad.config import settings
from minigrad.core.op import Op
from minigrad.core.storage import Storage
from minigrad.kernels.store import running_time
from minigrad.runtime import ahead, journal  # noqa: F401  they attach observers
from minigrad.runtime.graph import BackpropOp, Output, ids
from minigrad.runtime.into import write_result
from minigrad.runtime.noting import noted
from minigrad.runtime.observers import DIRECT, observed
from minigrad.runtime.operands import SCALAR, as_operands, number
from minigrad.runtime.planning import CallPlan
from minigrad.runtime.plans import NO_PARAMS, plan_of
from minigrad.runtime.rebasing import NO_GRAD, current
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import PLAIN, Tensor
from minigrad.runtime.tracers import through, transform_of
from minigrad.runtime.unrolling import inlined, written_later

__all__ = ["SCALAR", "apply", "number", "run_view"]
new_tensor, new_node = Tensor.__new__, BackpropOp.__new__


def apply(op: Op, operands: tuple[Any, ...], params: dict[str, Any] = NO_PARAMS, out: Any = None) -> Any:
    """Run one op on tensors, Python numbers or NumPy arrays.  params: the static arguments of the op.

    Return a tensor, or a named tuple of several.  Errors of dtype and shape rules are raised before memory is allocated
    or changed.  The kernel checks index values (docs/decisions/011).
    """
    watched = False
    for x in operands:
        if x.__class__ not in PLAIN:
            if not DIRECT.issuperset(map(type, operands)):
                operands = as_operands(op, operands)
                if (transform := transform_of(op, operands)) is not None:
                    return through(transform, op, operands, params, out)
            operands = observed.begin(op, operands) if observed.calling else operands
            watched = bool(observed.called)
            break
    if op.kind == "function":
        return op.run(operands)  # type: ignore[attr-defined]
    plan = plan_of(op, operands, params)
    began = running_time() if watched else 0.0
    result = run(op, plan, operands) if out is None and not op.writes else write_result(op, plan, operands, out, run)
    if watched:
        observed.call(op, operands, result, began)
    return result


def run(op: Op, plan: CallPlan, operands: tuple[Tensor, ...]) -> Any:
    """Run a call whose plan exists: allocate, launch, record."""
    if plan.launch is None:
        return run_view(op, plan, operands[0])
    return runner(len(operands), None if op.result is None else len(plan.outs))(op, plan, *operands)


def run_single(op: Op, plan: CallPlan, operands: tuple[Tensor, ...]) -> Tensor:
    """Run a call with one result.  `unrolling.py` makes the end of public functions from these lines."""
    storage = plan.make()
    kernel = plan.kernel
    if kernel is None:
        plan.run(*[x.storage.buffer for x in operands], storage.buffer)
    else:
        kernel(*[x.storage.buffer for x in operands], storage.buffer, plan.numbers)
    node = None
    if any(x.storage.tracked for x in operands) and mode.enabled:
        node = record(op, plan, operands, (storage,))
    y: Tensor = new_tensor(Tensor)  # attributes are set one by one: __init__ costs as much as all assignments
    y.id = next(ids)
    y.storage = storage
    y.layout = plan.layout
    y.dtype = plan.dtype
    y.device = plan.device
    y.op = node
    y.base = None
    return y


def run_view(op: Op, plan: CallPlan, x: Tensor) -> Tensor:
    """Make a view whose plan exists.  An unrecorded view of a tracked tensor is sealed: no gradient reaches it."""
    storage, base = x.storage, x.base
    node, whole = None, x if base is None else base
    if plan.dtype is not x.dtype:
        storage = storage.seen_as(plan.dtype)
    if storage.tracked:
        if mode.enabled:
            node = record_one(op, plan, x, storage)
        elif x.op is not None or x.is_variable or x.requires_grad:
            whole = NO_GRAD
    y: Tensor = new_tensor(Tensor)  # each attribute is set on its own, as in `run_single`
    y.id = next(ids)
    y.storage = storage
    y.layout = plan.layout
    y.dtype = plan.dtype
    y.device = plan.device
    y.op = node
    y.base = whole
    return y


def run_several(op: Op, plan: CallPlan, operands: tuple[Tensor, ...]) -> Any:
    """Run an op with several results.  Results that are not floats carry no gradient."""
    makes = plan.makes
    storages = tuple([make() for make in makes])
    kernel = plan.kernel
    if kernel is None:
        plan.run(*[x.storage.buffer for x in operands], *[s.buffer for s in storages])
    else:
        kernel(*[x.storage.buffer for x in operands], *[s.buffer for s in storages], plan.numbers)
    node = None
    if any(x.storage.tracked for x in operands) and mode.enabled:
        node = record(op, plan, operands, storages)
    outs = plan.outs
    results: list[Tensor] = []
    for k, storage in enumerate(storages):
        out = outs[k]
        y: Tensor = new_tensor(Tensor)  # each attribute is set on its own, as in `run_single`
        y.id = next(ids)
        y.storage = storage
        y.layout = out.layout
        y.dtype = out.dtype
        y.device = plan.device
        y.op = None if node is None or not out.dtype.is_inexact else Output(node, k)  # type: ignore[assignment]
        y.base = None
        results.append(y)
    return op.result(*tuple(results))  # type: ignore[misc]


def record(op: Op, plan: CallPlan, operands: tuple[Tensor, ...], storages: tuple[Storage, ...]) -> BackpropOp | None:
    """Return the BackpropOp of a call, or None if no result is a float, because then no result carries a gradient."""
    if not plan.tracks:
        return None
    mask = 0
    parents = []
    for k, x in enumerate(operands):
        parent: Any = x.op
        if parent is None:
            if x.is_variable:
                parent = x
            elif x.storage.tracked:  # x is a view that was made before a recorded write, or it is detached
                parent = current(x)
        elif x.storage.version:  # the memory was written after x was computed, so x may have another node
            parent = current(x)
        parents.append(parent)
        if parent is not None:
            mask |= 1 << k
    if not mask:
        return None
    if op.variadic:
        mask = 0
    node: BackpropOp = new_node(BackpropOp)
    node.id = next(ids)
    node.ids = None if op.result is None else (node.id, *[next(ids) for _ in storages[1:]])
    node.hooks = None
    node.op = op
    node.plan = plan
    node.params = plan.params
    node.parents = tuple(parents)
    node.mask = mask
    node.read = tuple([x.storage if x.base is None else None for x in operands]) if plan.few else None
    which = op.saves[mask]
    if not which:
        node.saved = node.versions = ()
    elif len(which) == 1 and which[0] >= 0:
        saved = operands[which[0]]
        node.saved, node.versions = (saved,), (saved.storage.version,)
    elif which == tuple(range(len(operands))):
        node.saved, node.versions = operands, tuple([x.storage.version for x in operands])
    else:  # only the storage of a result is saved: a saved output that refers to its BackpropOp would be a cycle
        node.saved = tuple([operands[k] if k >= 0 else Tensor(storages[~k], plan.outs[~k].layout) for k in which])
        node.versions = tuple([each.storage.version for each in node.saved])
    node.source = noted(node, operands) if settings.noting else None
    for storage in storages:
        if not storage.tracked:
            storage.tracked = True
    return node


@cache
def runner(count: int, results: int | None = None) -> Callable[..., Any]:
    """Return the function of an op, a plan and `count` operands that runs a call; results: None for an op with one."""
    steps: Any = run_single if results is None else run_several
    if count > 16:  # the loops then take less time than the other parts
        return lambda op, plan, *operands: steps(op, plan, operands)
    return cast(Callable[..., Any], written_later(steps, count, globals(), results))


record_one = written_later(record, 1, globals())


def steps_of(operands: tuple[str, ...], results: int | None) -> tuple[list[str], dict[str, Any]]:
    """Return the lines that run the plan of a call with operands of these names, and the values that the lines use."""
    return inlined(run_single if results is None else run_several, operands, globals(), results)
