"""The preparation of a call, made once: all checks, then the backend's launch.

`make_plan` runs an op's rules for dtype and shape on the operands' specs and requests a launch from the backend.
`dispatch` caches the resulting `CallPlan` and uses it for every later call with the same layouts, dtypes and devices.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.base import Backend, Launch
from minigrad.backends.registry import backend_of
from minigrad.core.device import Device
from minigrad.core.formats import layout_of_result
from minigrad.core.op import Op, Spec
from minigrad.core.shape import broadcast_shapes
from minigrad.errors import DeviceError, MinigradError
from minigrad.runtime.graph import FEW
from minigrad.runtime.observers import Observed
from minigrad.runtime.promises import dtypes_of, elementwise_launch, launchable, loop_dtypes, result_specs, with_dtypes
from minigrad.runtime.tensor import Tensor, describe


class CallPlan:
    """All data that a repeated call needs: the launch, the result's layout and dtype, the operands' specs.

    launch: the prepared launch, with its requests; None for a view, whose result shares the operand's storage.
    outs: layout and dtype of each result; layout, dtype, numel and make are those of the first result.
    run: the launch as a function of the buffers of the operands and results, or None.
    kernel, numbers: the function of the launch's only kernel and its last argument, for the fast path, or None.
    params: the static arguments that the plan was made for.
    facts: the arguments of derivative rules that follow from the plan, by rule and position of the operand, and the
    positions of saved values, by rule and mask; also the collected calls of all rules, by the kind of a backward pass.
    make: allocates the storage of the first result, or None for a view; makes: these functions for all results.
    allocators: the same functions without observers.
    source: the device of the operands; `device` is the device of the results.
    tracks: whether a result is a float, and so can carry a gradient.
    few: whether nodes keep the storages of their operands, because these have few elements.
    writes: launches that write through other layouts, for out= and the in-place forms; into: their functions.
    """

    __slots__ = (
        "allocators", "backend", "device", "dtype", "facts", "few", "into", "kernel", "launch", "layout", "make",
        "makes", "numbers", "numel", "outs", "params", "run", "source", "specs", "tracks", "writes",
    )  # fmt: skip

    def __init__(
        self, backend: Backend, device: Device, specs: tuple[Spec, ...], launch: Launch | None, out: Spec, *more: Spec
    ) -> None:
        self.backend, self.device, self.specs, self.launch = backend, device, specs, launch
        self.source = device
        self.outs = (out, *more)
        self.layout, self.dtype, self.numel = out.layout, out.dtype, out.layout.numel
        self.allocators = tuple(backend.maker(s.layout.numel, s.dtype, device) for s in self.outs) if launch else ()
        self.makes = self.allocators
        self.make: Any = self.makes[0] if self.makes else None
        self.tracks = any(each.dtype.is_inexact for each in self.outs)
        self.few = all(s.layout.numel <= FEW for s in specs)
        self.run: Any = None if launch is None else backend.function(launch)
        fast: tuple[Any, Any] = (None, None) if launch is None else backend.fast(launch)
        self.kernel, self.numbers = fast
        self.params: dict[str, Any] = {}
        self.facts: dict[Any, Any] = {}
        self.into: dict[Any, Any] = {}
        self.writes: dict[Any, tuple[Launch, Any]] = {}

    def instrument(self, observed: Observed) -> None:
        """Let observers see the allocations and launches of the plan, or restore its plain functions without them."""
        observed.follow(self)
        self.facts.clear()  # the collected calls contain functions of plans, which observers may have replaced

    def fact(self, name: str, op: Op, position: int) -> Any:
        """Return a static fact that a derivative rule requires by name, for example in_shape, in_dtype or y_shape."""
        if name == "position":
            return position
        if name == "in_shapes":
            return tuple(spec.shape for spec in self.specs)
        owner, _, what = name.rpartition("_")
        made = owner in op.outputs
        spec = self.outs[op.outputs.index(owner)] if made else self.specs[0]
        if not made and owner != "in":
            spec = self.specs[op.operands.index(owner)]
        if what == "device":
            return self.device if made else self.source
        return {"shape": spec.layout.shape, "dtype": spec.dtype, "layout": spec.layout}[what]


def make_plan(op: Op, operands: tuple[Tensor, ...], params: dict[str, Any], fresh: bool = True) -> CallPlan:
    """Run the op's rules and prepare its launch.  The order of the checks is device, dtype, shape.

    fresh: False leaves the launch out, for a plan that only writes into existing memory.
    """
    device = operands[0].device
    for x in operands[1:]:
        if x.device is not device:
            raise DeviceError(
                f"{op.label}: the operands are {' and '.join(f'{describe(t)} on {t.device}' for t in operands)}; "
                f"move one with .to({str(device)!r})"
            )
    specs = tuple(Spec(x.layout, x.dtype) for x in operands)
    backend = backend_of(device)
    plan = (PLANNERS[op.kind] if fresh else plan_write)(op, backend, device, specs, params)
    plan.params = params
    return plan


def plan_elementwise(op: Op, backend: Backend, device: Device, specs: tuple[Spec, ...], params: Any) -> CallPlan:
    """Plan an elementwise op: shapes broadcast, operands are expanded, and the results are new, without gaps."""
    compute, dtypes = loop_dtypes(op, dtypes_of(op, specs, params))
    try:
        shape = broadcast_shapes(op.label, *[s.shape for s in specs])
    except MinigradError as error:
        raise with_dtypes(error, specs) from None
    outs = tuple([Spec(layout_of_result(shape, specs), dtype) for dtype in dtypes])
    expanded = [Spec(s.layout.expand(shape), s.dtype) for s in specs]
    launch = elementwise_launch(op, backend.preparer, compute, outs, expanded)
    return CallPlan(backend, device, specs, launch, *outs)


def plan_view(op: Op, backend: Backend, device: Device, specs: tuple[Spec, ...], params: Any) -> CallPlan:
    """Plan a view, another layout over the operand's storage; nothing is launched."""
    try:
        layout = op.prepare(specs[0].layout, **params)  # type: ignore[misc]
    except MinigradError as error:
        raise with_dtypes(error, specs) from None
    dtype = specs[0].dtype if op.dtype_rule is None else op.dtype_rule(op, specs)
    return CallPlan(backend, device, specs, None, Spec(layout, dtype))


def plan_kernel(op: Op, backend: Backend, device: Device, specs: tuple[Spec, ...], params: Any) -> CallPlan:
    """Plan an op with a kernel: its rules return a dtype and a shape per result, and its body returns the launch."""
    dtypes = dtypes_of(op, specs, params)
    shapes = op.shape_rule(op, *specs, **params)  # type: ignore[misc]
    outs = result_specs(op, dtypes, shapes)
    target = device if op.target is None else params[op.target]
    if target is device:
        launch = launchable(op, op.prepare(backend.preparer, *outs, *specs, **params), len(outs) + len(specs))  # type: ignore[misc]
    else:
        source, backend = backend, backend_of(target)
        hosted = tuple(map(source.sent, specs))
        made = op.prepare(backend.preparer, *outs, *map(backend.taken, hosted), **params)  # type: ignore[misc]
        launch = launchable(op, made, len(outs) + len(specs))
        launch = source.sending(backend.receiving(launch, hosted), specs)
    plan = CallPlan(backend, target, specs, launch, *outs)
    plan.source = device
    return plan


def plan_write(op: Op, backend: Backend, device: Device, specs: tuple[Spec, ...], params: Any) -> CallPlan:
    """Plan the result of an op with a kernel, without a launch."""
    dtype = dtypes_of(op, specs, params)
    shape = op.shape_rule(op, *specs, **params)  # type: ignore[misc]
    return CallPlan(backend, device, specs, None, *result_specs(op, dtype, shape))


PLANNERS = {"elementwise": plan_elementwise, "view": plan_view, "kernel": plan_kernel, "reduction": plan_kernel}
