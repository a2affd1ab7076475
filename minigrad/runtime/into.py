"""Running an op into existing memory: `out=`, the in-place forms, item assignment.

The plan specifies the result, and the launch is prepared for the layout that is written to.  `writing.py` checks
whether the write is allowed, and `rebasing.py` records it if a tensor is tracked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from minigrad import errors
from minigrad.backends.launch import Launch
from minigrad.backends.registry import backend_of
from minigrad.core.dtype import DType, category, uint8
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.runtime.changes import rebind
from minigrad.runtime.noting import repeating
from minigrad.runtime.observers import observed
from minigrad.runtime.planning import CallPlan
from minigrad.runtime.plans import plan_of
from minigrad.runtime.promises import elementwise_launch, launchable, loop_dtypes
from minigrad.runtime.rebasing import Ops, WriteRecord, current
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer
from minigrad.runtime.writing import check_recordable, check_writable, count_part, overlap, share_elements

INTO_LIMIT = 1024
# PyTorch casts no result of these functions to the dtype of `out`.
EXACT = frozenset(
    "all aminmax any argmax argmin bucketize cummax cummin float_power frexp hash_tensor histc histogram isin "
    "isneginf isposinf kthvalue logcumsumexp max median min mode msort multinomial nanmedian nonzero nonzero_static "
    "searchsorted signbit sort topk".split()
)
WRITES = {"clone": "copy_", "cast": "copy_", "fill": "fill_"}  # the public names of ops that write their operand
# If an operand is also the result, a separate kernel is compiled only from this number of elements on.
VECTORS_PAY = 2048


def write_result(op: Op, plan: CallPlan, operands: tuple[Tensor, ...], out: Any, run: Callable[..., Any]) -> Any:
    """Run an op and store its result in `out`: directly if the kernel can write any layout, otherwise by a copy.

    If the op writes into its operands, these writes are checked before the op runs and counted after it; `out` may then
    be None.
    """
    if op.kind == "elementwise":
        return (
            run_into(op, plan, operands, out) if op.result is None else run_into_several(op, plan, operands, out, run)
        )
    if not op.writes:
        return run_beside(op, plan, operands, out, run)
    begin_writes(op, operands)
    result = run(op, plan, operands) if out is None else run_beside(op, plan, operands, out, run)
    end_writes(op, operands)
    return result


def write(op: Op, operands: tuple[Tensor, ...], params: dict[str, Any], out: Tensor) -> Tensor:
    """Run an op with a kernel into existing memory; the write is recorded if a tensor is tracked, as by `run_into`."""
    return run_into(op, plan_of(op, operands, params, fresh=False), operands, out)


def run_into(op: Op, plan: CallPlan, operands: tuple[Any, ...], out: Tensor) -> Tensor:
    """Run an op into `out` (the `out=` and `name_` forms, and `write`): check, launch, count the write, record.

    An operand that shares memory with `out` in another layout is copied first.  A result of another dtype is cast.
    """
    if not isinstance(out, Tensor):
        expect_result(op.label, plan, out, plan.device)
    storage, layout = out.storage, out.layout
    tracked = storage.tracked
    for x in operands:
        if x.storage is not storage:
            tracked = tracked or x.storage.tracked
        elif x.layout is not layout and overlap(x.layout, layout):
            operands = tuple([Ops.clone.public(x) if x.storage is storage else x for x in operands])  # type: ignore[misc]
            return run_into(op, plan_of(op, operands, plan.params, fresh=plan.make is not None), operands, out)
    same, bit = 0, 1
    if plan.numel >= VECTORS_PAY:
        for x in operands:
            if x.storage is storage and x.layout is layout:
                same |= bit
            bit <<= 1
    run = plan.into.get((layout, out.dtype, out.device, same))
    if run is None:
        if resized(op.label, plan, out, operands):
            return run_into(op, plan, operands, out)
        expect_result(op.label, plan, out, plan.device)
        if out.dtype is not plan.dtype:
            check_writable(op.label, out)
            operands = read_before(operands, (storage,))
            return write_copy(op.public(*operands, **plan.params), out)  # type: ignore[misc]
        run = plan_into(op, plan, out, same)
    check_writable(op.label, out)
    write = None
    if tracked and mode.enabled:
        check_recordable(op.label, out, operands if op.differentiable else ())
        write = WriteRecord(op, plan, operands, out)
    if observed.writing:
        observed.write(WRITES.get(op.name, op.label), storage)
    run(*[x.storage.buffer for x in operands], storage.buffer)
    if tracked and layout.numel < storage.numel:
        count_part(storage, layout)
    else:
        storage.version += 1
    if write is not None and write.tracks:
        write.done()
    return out


def run_into_several(op: Op, plan: CallPlan, operands: tuple[Any, ...], out: Any, run: Callable[..., Any]) -> Any:
    """Run an elementwise op and store its results in a tuple of tensors, with one launch if nothing is recorded.

    Such a launch can overwrite a parameter and its state in one step of an optimizer.  An operand that overlaps a
    result but has another layout is copied first.
    """
    outs = expect_tuple(op.label, plan.outs, out)
    for spec, y in zip(plan.outs, outs):
        resized(op.label, spec, y, operands)
        expect_result(op.label, spec, y, plan.device)
        check_writable(op.label, y)
    expect_separate(op.label, outs)
    casts = any(y.dtype is not spec.dtype for spec, y in zip(plan.outs, outs))
    if casts or mode.enabled and any(x.storage.tracked for x in (*operands, *outs)):
        return run_beside(op, plan, operands, out, run)
    overlapping = [any(overlaps(x, y) for y in outs) for x in operands]
    if True in overlapping:
        operands = tuple([Ops.clone.public(x) if copy else x for x, copy in zip(operands, overlapping)])  # type: ignore[misc]
        plan = plan_of(op, operands, plan.params)
    same = tuple([next((k for k, y in enumerate(outs) if is_same(x, y)), None) for x in operands])
    launch = plan.into.get((*[y.layout for y in outs], same))
    if launch is None:
        launch = plan_into_several(op, plan, outs, same)
    for y in outs:
        if observed.writing:
            observed.write(op.label, y.storage)
    launch(*[x.storage.buffer for x in operands], *[y.storage.buffer for y in outs])
    for y in outs:
        y.storage.version += 1
    return op.result(*outs)  # type: ignore[misc]


def is_same(x: Tensor, out: Tensor) -> bool:
    """Return whether an operand and a result are the same elements of memory."""
    return x.storage is out.storage and x.layout is out.layout


def overlaps(x: Tensor, out: Tensor) -> bool:
    """Return whether a launch that writes a result may change elements of an operand that it reads later."""
    return not is_same(x, out) and share_elements(x, out)


def run_beside(op: Op, plan: CallPlan, operands: tuple[Any, ...], out: Any, run: Any) -> Any:
    """Run an op whose kernel needs result memory separate from its operands, and copy its result into `out`."""
    positions = out if op.result is not None and isinstance(out, (tuple, list)) else (out,)
    if len(positions) == len(plan.outs):
        for spec, position in zip(plan.outs, positions):
            resized(op.label, spec, position, operands)
            expect_result(op.label, spec, position, plan.device)
        operands = read_before(operands, tuple([position.storage for position in positions]))
    return copy_result(op.label, run(op, plan_of(op, operands, plan.params), operands), out)


def read_before(operands: tuple[Any, ...], written: Sequence[Any]) -> tuple[Any, ...]:
    """Return the operands; if the call is recorded, operands whose memory will be written are copied.

    The copies are necessary because a VJP rule may read the old values of any operand, also of an untracked operand.
    """
    tensors = [x for x in operands if isinstance(x, Tensor)]
    if not mode.enabled or not any(x.storage.tracked for x in tensors):
        return operands
    own = [isinstance(x, Tensor) and any(x.storage.memory is each.memory for each in written) for x in operands]
    return tuple([Ops.clone.public(x) if copy else x for x, copy in zip(operands, own)])  # type: ignore[misc]


def copy_result(label: str, result: Any, out: Any, operands: tuple[Any, ...] = ()) -> Any:
    """Write the result of an op into `out`, or several results into a tuple, and record the writes.

    All checks precede the first write.  operands: those of the op, which are not resized.
    """
    if not isinstance(result, tuple):
        expect_position(label, result, out, operands)
        return write_copy(result, out)
    out = expect_tuple(label, result, out)
    for y, position in zip(result, out):
        expect_position(label, y, position, operands)
    expect_separate(label, out)
    for y, position in zip(result, out):
        write_copy(y, position)
    return type(result)._make(out) if hasattr(result, "_make") else tuple(out)


def expect_tuple(label: str, results: Sequence[Any], out: Any) -> tuple[Any, ...]:
    """Return the `out` of several results as a tuple.  Raise ArgumentError unless it has one entry per result."""
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        raise errors.ArgumentError(
            f"{label}: out must be a tuple of {len(results)} tensors, got {describe(out)}; allocate one tensor per "
            "result"
        )
    return tuple(out)


def expect_separate(label: str, out: Sequence[Tensor]) -> None:
    """Raise StorageError if two results would be written to the same memory."""
    for k, position in enumerate(out):
        for other in out[:k]:
            if share_elements(position, other):
                raise errors.StorageError(
                    f"{label}: the tensors in out must not share memory, got {describe(other)} and "
                    f"{describe(position)}, which do; allocate one tensor per result"
                )


def expect_position(label: str, result: Tensor, out: Any, operands: tuple[Any, ...]) -> None:
    """Raise an error unless a result fits `out`, which is resized if it is not an operand, and may be written there."""
    if not isinstance(result, Tensor):
        raise errors.DeclarationError(
            f"{label}: with out, the composed function must return a tensor, got {describe(result)}; omit out"
        )
    resized(label, result, out, operands)
    expect_result(label, result, out, result.device)
    if result is not out:
        check_writable(label, out, (result,))


def write_copy(result: Tensor, out: Tensor) -> Tensor:
    """Write a result into `out`, and cast it."""
    if result is not out:
        if result.dtype is not out.dtype:
            result = Ops.cast.public(result, dtype=out.dtype)  # type: ignore[misc]
        run_into(Ops.clone, plan_of(Ops.clone, (result,), {}, fresh=False), (result,), out)
    return out


def resized(label: str, result: Any, out: Any, operands: tuple[Any, ...]) -> bool:
    """Give `out` new memory with the shape of a result, if its shape differs; return whether it did.

    An operand and a tensor through which gradients flow stay as they are.  Elements that are lost cause a warning.
    """
    shape = result.layout.shape
    if not isinstance(out, Tensor) or isinstance(out, Tracer) or out.layout.shape == shape or out.requires_grad:
        return False
    if any(x is out for x in operands):
        return False
    if out.layout.numel:
        errors.warn(
            f"{label}: out is {describe(out)} and was resized to the shape {shape} of the result, so its elements are "
            f"lost; pass out=mg.empty({shape}, dtype=mg.{out.dtype})"
        )
    layout = Layout.contiguous(shape)
    rebind(out, backend_of(out.device).maker(layout.numel, out.dtype, out.device)(), layout)
    out.base = None
    return True


def expect_result(label: str, result: Any, out: Any, device: Any, position: str = "out") -> None:
    """Raise ShapeError, DTypeError or DeviceError if a result (a tensor, a plan or a Spec) does not fit `out`.

    A result may be cast to a dtype of its own category, or of a higher one, in the order bool, integers, floats; that
    of a label in EXACT is not cast.
    position: the parameter that the user passes it to.
    """
    if not isinstance(out, Tensor):
        raise errors.DTypeError(
            f"{label}: out must be a tensor, got {describe(out)}; pass mg.empty(...) of the shape of the result"
        )
    shown = Spec(result.layout, result.dtype)
    exact = label in EXACT and not (label in ("all", "any") and out.dtype is uint8)  # uint8 is PyTorch's old mask
    for what, wrong, error in (
        ("shapes", out.layout.shape != result.layout.shape, errors.ShapeError),
        (
            "dtypes",
            result.dtype is not out.dtype and (exact or category(result.dtype) > category(out.dtype)),
            errors.DTypeError,
        ),
    ):
        if wrong:
            needed = "shapes must agree" if what == "shapes" else f"no {result.dtype} can be stored there"
            needed = f"{label} does not convert its result" if exact and what == "dtypes" else needed
            raise error(
                f"{label}: the result is {shown!r}, {position} is {describe(out)}; {needed}, so pass "
                f"{position}=mg.empty({shown.shape}, dtype=mg.{shown.dtype})", result=shown, what=what, needed=needed,
            )  # fmt: skip
    if out.device is not device:
        raise errors.DeviceError(
            f"{label}: out must be on the device {device} of the operands, got {describe(out)} on {out.device}; "
            "allocate out on this device"
        )


def plan_into(op: Op, plan: CallPlan, out: Tensor, same: int) -> Callable[..., Any]:
    """Return the function of a launch of `plan` that writes into existing memory; the latest functions are cached.

    same: a bit mask of the operands that are `out` itself.
    """
    target = Spec(out.layout, out.dtype)
    if op.kind == "elementwise":
        expanded = [
            target if same >> k & 1 else Spec(s.layout.expand(out.shape), s.dtype) for k, s in enumerate(plan.specs)
        ]
        compute, _ = op.dtype_rule(op, plan.specs)  # type: ignore[misc]
        launch = elementwise_launch(op, plan.backend.preparer, compute, (target,), expanded)
    else:
        made = op.prepare(plan.backend.preparer, target, *plan.specs, **plan.params)  # type: ignore[misc]
        launch = launchable(op, made, 1 + len(plan.specs))
    return keep_into(plan, (out.layout, out.dtype, out.device, same), launch, out.dtype)


def plan_into_several(
    op: Op, plan: CallPlan, outs: Sequence[Tensor], same: tuple[int | None, ...]
) -> Callable[..., Any]:
    """Return the launch function for several results, which are known to fit.

    same: for each operand, the index of the result that is the same memory, or None.
    """
    targets = tuple([Spec(y.layout, y.dtype) for y in outs])
    expanded = [
        Spec(s.layout.expand(plan.layout.shape), s.dtype) if k is None else targets[k]
        for s, k in zip(plan.specs, same, strict=True)
    ]
    compute, _ = loop_dtypes(op, op.dtype_rule(op, plan.specs))  # type: ignore[misc]
    launch = elementwise_launch(op, plan.backend.preparer, compute, targets, expanded)
    return keep_into(plan, (*[y.layout for y in outs], same), launch, *[y.dtype for y in outs])


def keep_into(plan: CallPlan, key: tuple[Any, ...], launch: Launch, *dtypes: DType) -> Callable[..., Any]:
    """Return the function of a launch that writes into existing memory, and cache it with its plan.

    dtypes: those of the results.
    """
    if len(plan.writes) >= INTO_LIMIT:
        plan.writes.clear()
        plan.into.clear()
    complexes = {dtype.is_complex for dtype in (*dtypes, *[spec.dtype for spec in plan.specs])}
    parts = partial(apart_from_parts, backend=backend_of(plan.device), results=len(dtypes))
    wrap = parts if len(complexes) > 1 else as_it_is
    plan.writes[key] = launch, wrap
    plan.into[key] = run = wrap(observed.runner(plan, launch))
    return run


def as_it_is(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a launch itself."""
    return run


def apart_from_parts(run: Callable[..., Any], backend: Any, results: int) -> Callable[..., Any]:
    """Return a launch that first copies each operand in the memory of a result with another dtype.

    A part of complex numbers is a storage of its own: see `Storage.seen_as`.
    """

    def launch(*buffers: Any) -> Any:
        outs = buffers[len(buffers) - results :]
        reads = buffers[: len(buffers) - results]
        return run(*[backend.apart(x, outs) for x in reads], *outs)

    return launch


# ---- operands that an op writes: `writes=` of its declaration -------------------------------------------------------


def written(op: Op, operands: tuple[Any, ...]) -> list[Tensor]:
    """Return the operands that the kernel of an op writes."""
    return [x for name, x in zip(op.operands, operands) if name in op.writes]


def begin_writes(op: Op, operands: tuple[Any, ...]) -> None:
    """Raise an error unless a kernel may write into its operands.

    No gradient may flow through these operands, and they must not share memory.
    """
    if repeating():
        raise errors.GradientError(
            f"{op.label}: this op writes into {', '.join(op.writes)}, so a checkpoint, which runs the function again, "
            f"would write twice; call {op.label} outside the checkpoint"
        )
    for k, x in enumerate(operands):
        if op.operands[k] not in op.writes:
            continue
        check_writable(op.label, x)
        if mode.enabled and current(x) is not None:
            raise errors.GradientError(
                f"{op.label}: this op cannot write into {describe(x)}, because gradients flow through it; pass "
                "x.detach()"
            )
        expect_apart(op.label, x, [*operands[:k], *operands[k + 1 :]])
    for x in written(op, operands) if observed.writing else ():
        observed.write(op.label, x.storage)


def expect_apart(label: str, x: Tensor, others: Sequence[Tensor]) -> None:
    """Raise StorageError if an operand that is written shares memory with another."""
    for other in others:
        if not isinstance(other, Tracer) and share_elements(other, x):
            raise errors.StorageError(
                f"{label}: an operand that is written must not share memory with another operand, got {describe(x)} "
                f"and {describe(other)}; clone() one of them"
            )


def end_writes(op: Op, operands: tuple[Any, ...]) -> None:
    """Count the writes of a kernel into its operands, so that later reads of saved values detect these writes."""
    for x in written(op, operands):
        x.storage.version += 1


def write_operands(op: Op, operands: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    """Write new values into operands of a composed op, without recording.

    The declaration of the op lists these operands in `writes`.  All operands are checked before the first write.  In
    the second run of a checkpoint, this function does nothing, because the first run has written the values.
    """
    if repeating():
        return
    for name, value in values.items():
        x = operands[name]
        if name not in op.writes:
            raise errors.DeclarationError(
                f"{op.where}: {op.name} writes into its operand {name!r}, which is not in writes={op.writes!r}; add "
                "this operand to writes",
                op=op.name,
            )
        expect_result(op.label, value, x, x.device, name)
        if isinstance(x, Tracer):
            x.transform.begin_write(op.label, x)  # type: ignore[attr-defined]
        elif isinstance(value, Tracer):
            raise errors.GradientError(
                f"{op.label}: {name}, {describe(x)}, must differ for each sample inside a transform, but one tensor "
                f"was passed; pass a batched tensor, or call {op.label} without this operand"
            )
        else:
            check_writable(op.label, x, (value,))
            expect_apart(op.label, x, [other for key, other in operands.items() if key != name])
    for name, value in values.items():
        x = operands[name]
        if isinstance(x, Tracer):
            x.transform.end_write(op.label, x, value)  # type: ignore[attr-defined]
        else:
            run_into(Ops.clone, plan_of(Ops.clone, (value,), {}, fresh=False), (value,), x)
