"""Recording: run a function once on tensors that have no values, and return its program and its results.

While the function runs, its arguments and all other tensors that it can reach are on the twin of their device;
afterwards they are restored.  Programs are recorded and run one at a time, so no other program uses these tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import is_
from typing import Any

from minigrad.autodiff.checks import end_of
from minigrad.autodiff.engine import grad, reachable
from minigrad.autodiff.grads import stores
from minigrad.backends.registry import used_devices
from minigrad.core.device import CPU, REFERENCE, default_device, replaced
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.core.storage import Storage
from minigrad.errors import GradientError, RecordingError, StorageError
from minigrad.func.trees import flatten
from minigrad.jitting import moving
from minigrad.jitting.draws import Draws, frozen_numbers
from minigrad.jitting.outside import Outside
from minigrad.jitting.parts import check_parts
from minigrad.jitting.program import NO_ALLOCATOR, HostCall, Program, Slot, real_of, recording, refusal, twin_of
from minigrad.jitting.symbols import Symbol
from minigrad.jitting.turns import turn
from minigrad.ops.generators import drawn_from
from minigrad.runtime.changes import rebind
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.hooks import leaf_hooks
from minigrad.runtime.hosting import host
from minigrad.runtime.observers import Observer, attach, detach
from minigrad.runtime.rebasing import current
from minigrad.runtime.recording import mode, user_line
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Carrier
from minigrad.runtime.var import Var

ATOMIC = 1000.0  # switch interval in seconds: this thread keeps the GIL so long, unless it waits


class Watch(Observer):
    """An observer that raises an error for ops on tensors that were not found.

    Such ops would run only once, while recording.
    passed: whether a backward pass has run.
    """

    passed = views = False

    def pulling(self, node: Any) -> Any:
        self.passed = True
        return node

    def calling(self, op: Op, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        if recording.program is not None:
            for x in operands:
                if x.__class__ is Tensor and x.storage.buffer.__class__ is Slot:  # most operands of a long program
                    continue
                for each in x if isinstance(x, (list, tuple)) else (x,):
                    if isinstance(each, Tensor) and not isinstance(each, Carrier):
                        expect_recorded(op.label, each)
        return operands

    def writing(self, name: str, storage: Storage) -> None:
        if recording.program is not None and storage.buffer.__class__ is not Slot:
            raise unreachable(name, f"a tensor of {storage.dtype} with {storage.numel} elements")


def expect_recorded(label: str, x: Tensor) -> None:
    """Raise RecordingError for a tensor that is not a part of the recording."""
    storage = getattr(x, "storage", None)
    if isinstance(storage, Storage) and storage.buffer.__class__ is not Slot:
        raise unreachable(label, describe(x))


def unreachable(label: str, what: str) -> RecordingError:
    """Return the error for a tensor that the search for outside tensors did not find."""
    return refusal(
        f"{label} uses {what}, which is neither an argument nor found in the variables, attributes and containers "
        f"that the function names; pass it as an argument"
    )


class Recording:
    """Store a recorded program and the data about memory that a call needs.

    arguments: the tensors among the arguments.
    argument_slots: for each of these tensors, its slot, and whether its offset may differ between calls, which requires
    that no other tensor shares the memory.
    own: the storages of arguments that no outside tensor shares.
    outside: the Outside object, which has found the outside tensors.
    moved: the tensors that were moved to the recording device, by id.
    storages: for each real storage, its replacement on the recording device.
    lasting: the slots of gradients that the function has read from a store.
    holders: for each slot of outside memory, a tensor that has the memory, and "grad" if it is the memory of its
    gradient.
    tree, leaves, results: the nesting of the results, their objects, and the tensors that each call creates.
    final: the Vars whose gradient changes, with their new gradients.
    versions: for each slot of existing memory, how often the launches write the memory.
    """

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], symbolic: bool
    ) -> None:
        self.program, self.function = Program(), function
        self.args, self.kwargs, self.symbolic = args, kwargs, symbolic
        self.split: int | None = None  # the number of items before the backward pass from the results, if it exists
        self.targets: list[Tensor] = []
        self.passes: list[moving.Pass] = []
        self.views: dict[int, moving.ViewOf] = {}  # the results that are views of existing tensors with a graph, by id
        self.watch = Watch()
        self.arguments = [x for x in flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        self.outside = Outside(function, tuple(x for x in flatten((args, kwargs))[0] if not isinstance(x, Tensor)))
        tensors = (*self.arguments, *self.outside.tensors.values())
        devices = dict.fromkeys([CPU, REFERENCE, default_device(), *[x.device for x in tensors], *used_devices()])
        self.twins = {device: twin_of(device) for device in devices if real_of(device) is device}
        self.storages: dict[Storage, Storage] = {}
        # Maps the slot of outside memory to a tensor, and to "grad" if the memory is that of the tensor's gradient.
        self.holders: dict[int, tuple[Tensor, str]] = {}
        self.lasting: set[int] = set()
        self.argument_slots: list[tuple[int, bool]] = []
        self.own: set[Storage] = set()
        # Maps the id of a replacement to the tensor that it replaces, and to the leaf of the recording.
        self.originals: dict[int, tuple[Tensor, Var]] = {}
        self.inner: list[tuple[Tensor, Any]] = []  # the tensors of the recording that have a graph outside, with the op
        self.moved: dict[int, moving.Moved] = {}
        self.latest: dict[int, Tensor | None] = {}  # maps the id of a Var to the last gradient that the program sets
        draws = Draws(self.program)
        self.counted: dict[Storage, int] = {}  # the number of writes into a storage that host calls count themselves
        interval = sys.getswitchinterval()
        try:
            turn.recording += 1
            # Prevent thread switches: no other thread can then use the tensors while they are replaced.
            sys.setswitchinterval(ATOMIC)
            self.move()
            with self.recorded(draws):
                called = self.substituted(args, kwargs, symbolic)
                containers = moving.containers_of(called)
                with frozen_numbers():
                    result = function(*called[0], **called[1])
                self.leaves, self.tree = flatten(result)
                if self.program.refused is not None:
                    raise self.program.refused
                self.check_arguments(containers)
                self.check_graphs()
                self.differentiate()
            draws.check()
            self.outside.check()
            self.results = [self.result_of(x) for x in self.leaves]
            self.final = self.gradients()
            check_parts(self.program, self.visible_slots())
            self.check_other_dtypes()
            counts = {twin: twin.version - real.version for real, twin in self.storages.items()}
            self.versions = {
                twin.buffer.number: count - self.counted.get(twin, 0)
                for twin, count in counts.items() if count > self.counted.get(twin, 0)
            }  # fmt: skip
        except BaseException:
            self.outside.restore()
            raise
        finally:
            for each in self.moved.values():
                each.back()
            turn.recording -= 1
            sys.setswitchinterval(interval)

    def visible_slots(self) -> set[int]:
        """Return the slots of results and of gradients, which the caller sees after or during a call."""
        pairs = [*self.final, *[pair for each in self.program.items for pair in getattr(each, "gradients", ())]]
        return {leaf.slot for leaf in (*self.results, *[g for _, g in pairs]) if isinstance(leaf, moving.Made)}

    def check_other_dtypes(self) -> None:
        """Raise RecordingError if complex numbers and an existing view of their parts are used and written."""
        for real, twin in self.storages.items():
            whole = self.storages.get(getattr(real, "whole", real))
            if (
                whole is not twin
                and whole is not None
                and (twin.version, whole.version) != (real.version, real.version)
            ):
                raise RecordingError(
                    "jit: the function writes complex numbers or a view of their parts, and uses both; pass the "
                    "complex tensor, and write x.real or x.imag in the function"
                )

    def substituted(self, args: tuple[Any, ...], kwargs: dict[str, Any], symbolic: bool) -> Any:
        """Return the arguments of the recorded call: a symbol for each float, a leaf for each tensor with a graph."""
        leaves, tree = flatten((args, kwargs))
        count = 0
        for k, x in enumerate(leaves):
            if symbolic and type(x) is float:
                leaves[k] = Symbol(self.program, f"n{count}")
                count += 1
            elif isinstance(x, Tensor) and x.requires_grad and not x.is_variable:
                leaf = Var.of(Tensor(x.storage, x.layout))
                inner = leaves[k] = Tensor(x.storage, x.layout, moving.stand_in(leaf, self.program))
                self.originals[id(inner)] = x, leaf
                self.inner.append((inner, inner.op))
        made = {id(original): leaf for original, leaf in self.originals.values()}
        if not mode.enabled:
            return tree.build(iter(leaves))
        for x in {id(x): x for x in self.outside.tensors.values()}.values():
            if x.op is not None:
                leaf = made[id(x)] if id(x) in made else Var.of(Tensor(x.storage, x.layout))
                x.op = moving.stand_in(leaf, self.program)
                self.originals[id(leaf)] = x, leaf
                self.inner.append((x, x.op))
        return tree.build(iter(leaves))

    def check_arguments(self, containers: list[tuple[Any, Any]]) -> None:
        """Raise RecordingError if the function has changed a container argument."""
        for container, before in containers:
            now = moving.contents_of(container)
            if len(now) != len(before) or not all(map(is_, now, before)):
                raise RecordingError(
                    f"jit: the function changes a {type(container).__name__} among its arguments, but later calls "
                    f"would not repeat this change; return the changed value, or copy the {type(container).__name__} "
                    "in the function"
                )

    def check_graphs(self) -> None:
        """Raise RecordingError if a backward pass in the function would continue outside the recording.

        This would be in the graph of an argument or of an outside tensor.
        """
        plain = [each.x for each in self.moved.values() if each.op is None and not each.x.is_variable]
        if any(x.op is not op for x, op in self.inner) or any(current(x) is not None for x in plain):
            raise RecordingError(
                "jit: the function writes into an argument or an outside tensor that has a graph, or has one after the "
                "write, but a program cannot record the write in this graph; write into a copy (x.clone()), or use "
                "detach()"
            )
        passed = any(leaf._grad is not None for _, leaf in self.originals.values())
        if self.watch.passed and not passed:
            ends = {id(x) for original, _ in self.originals.values() for x in moving.ends_of(original, self.moved)}
            passed = any(key in ends for key in self.moved)
        if passed:
            raise RecordingError(
                "jit: a backward pass in the function reaches the graph of an argument or of an outside tensor, but a "
                "program does not contain this graph; return the loss and compute gradients outside, or use detach()"
            )

    def differentiate(self) -> None:
        """Record backward passes to Vars and arguments: one from each result with a graph, and one from all results.

        The method sets these attributes:
        split: the index of the first item that belongs to a backward pass.
        targets: the tensors whose gradients the backward passes compute.
        seeds: the incoming gradients of the results that have a graph.
        """
        unique = {id(x): x for x in self.leaves if isinstance(x, Tensor)}
        inner = {id(x) for x, _ in self.inner}
        graph = [x for x in unique.values() if x.op is not None and id(x) not in inner and moving.walkable(x)]
        if not graph:
            return
        existing = [x for x in graph if x.__class__ is not Tensor or id(x) in self.moved or self.is_outside(x)]
        self.views = {id(x): self.view_of(x) for x in existing}
        graph = [x for x in graph if id(x) not in self.views]
        if not graph:
            return
        self.split = len(self.program.items)
        self.graph_results = {id(x) for x in graph}
        seeds = []
        for x in graph:
            slot = self.program.new(x.numel(), x.dtype, "argument", real_of(x.device))
            seeds.append(Tensor(Storage(slot, x.dtype, x.device, NO_ALLOCATOR), Layout.contiguous(x.shape)))
        self.seeds = [moving.Made(g.storage.buffer.number, g.layout, g.dtype) for g in seeds]
        # A single pass from all results would begin with zeros at a result that a caller does not use, and 0 * inf is
        # nan.
        everything = tuple(range(len(graph)))
        hooks = dict(leaf_hooks)
        leaf_hooks.clear()  # hooks of leaves run later, in the backward pass that reaches the node of the call
        try:
            for which in [*[(k,) for k in everything if len(graph) > 1], everything]:
                self.passes.append(self.backward_pass(which, graph, seeds, retain=which != everything))
        finally:
            leaf_hooks.update(hooks)
        self.targets = [*{id(x): x for each in self.passes for x in each.targets}.values()]

    def view_of(self, x: Tensor) -> moving.ViewOf:
        """Return how each call makes a result that is a view of an argument or of an outside tensor with a graph."""
        ends = {id(op): self.originals.get(id(inner), (inner,))[0] for inner, op in self.inner}
        steps, node = list[tuple[Op, dict[str, Any]]](), x.op
        while id(node) not in ends and node.__class__ is BackpropOp and node.op.kind == "view":
            steps.append((node.op, node.params))
            (node,) = node.parents
        source = node if isinstance(node, Var) else ends.get(id(node))
        if source is None or not steps:
            raise RecordingError(
                f"jit: a result, {describe(x)}, has a graph and shares memory with an existing tensor, but is not a "
                "view of it; return a copy (x.clone()), or x.detach()"
            )
        return moving.ViewOf(source, steps[::-1])

    def backward_pass(
        self, which: tuple[int, ...], graph: list[Tensor], seeds: list[Tensor], retain: bool
    ) -> moving.Pass:
        """Record one backward pass, from some of the results that have a graph."""
        leaves = {id(leaf): original for original, leaf in self.originals.values()}
        variables = [moved.x for moved in self.moved.values() if moved.x.is_variable and moved.x.requires_grad]
        inputs = [*{id(x): x for x in (*variables, *[leaf for _, leaf in self.originals.values()])}.values()]
        first = len(self.program.items)
        ys = [graph[k] for k in which]
        try:
            pulled = grad(ys, inputs, [seeds[k] for k in which], retain, allow_unused=True)
        except (StorageError, GradientError) as error:  # it is raised by a backward pass, which may never come
            del self.program.items[first:]
            reached = {leaf.id for leaf in reachable(map(end_of, ys))[1]}
            return moving.Pass(which, [], [leaves.get(id(x), x) for x in inputs if x.id in reached], [], error)
        pairs = [(leaves.get(id(x), x), g) for x, g in zip(inputs, pulled) if g is not None]
        made = [moving.Made(self.program.number(g.storage.buffer), g.layout, g.dtype) for _, g in pairs]
        return moving.Pass(which, self.program.items[first:], [x for x, _ in pairs], made)

    def is_outside(self, x: Tensor) -> bool:
        """Return whether a tensor has memory that existed before the recording."""
        return self.program.memory[self.program.number(x.storage.buffer)].kind in ("argument", "outside")

    @contextmanager
    def recorded(self, draws: Draws) -> Iterator[None]:
        """Open the block in which the function runs."""
        token = replaced.set(self.twins)
        watch = self.watch
        attach(watch)
        recording.program, host.defer = self.program, self.defer
        try:
            with drawn_from(draws):
                yield
        finally:
            recording.program = host.defer = None
            detach(watch)
            replaced.reset(token)

    def defer(self, function: Callable[[], Any], written: Iterable[Tensor]) -> None:
        """Add a Python function to the program, which each call runs at this point."""
        for x in written:
            if x.storage.buffer.__class__ is Slot:
                x.storage.version += 1
                self.counted[x.storage] = self.counted.get(x.storage, 0) + 1
        self.program.items.append(HostCall(function, user_line() or "", self.gradients()))

    # ---- before the call

    def move(self) -> None:
        """Move the arguments and the outside tensors to twins."""
        arguments = {id(x) for x in self.arguments}
        outside = {x.storage for x in self.outside.tensors.values()}
        every = [*self.arguments, *self.outside.tensors.values()]
        outside |= {x._grad.storage for x in every if moving.stores_gradient(x) and x._grad is not None}
        others = {id(x): x for x in self.outside.tensors.values() if id(x) not in arguments}
        uses = [x.storage for x in self.arguments]
        for x, real in zip(self.arguments, uses):
            own = uses.count(real) == 1 and real not in outside
            kind = "outside" if real in outside else "argument"
            twin = self.twin_of(real, x, kind)
            self.argument_slots.append((twin.buffer.number, own))
            first = moving.fixed_offset(x.layout, x.dtype, x.device)
            self.replace(x, twin, Layout.make(x.layout.shape, x.layout.strides, first) if own else x.layout)
            if own:
                x.base = None
            if kind == "argument":
                self.own.add(real)
        for x in others.values():
            self.replace(x, self.twin_of(x.storage, x, "outside"), x.layout)

    def twin_of(self, real: Storage, holder: Tensor, kind: str, part: str = "") -> Storage:
        """Return the twin of a real storage, which represents it while recording."""
        twin = self.storages.get(real)
        if twin is None:
            slot = self.program.new(real.numel, real.dtype, kind, real.device)
            allocator = NO_ALLOCATOR if real.allocator is not None else None
            twin = self.storages[real] = Storage(slot, real.dtype, self.twins[real.device], allocator)
            twin.version, twin.tracked = real.version, real.tracked
            if kind == "outside":
                self.holders[slot.number] = holder, part
        return twin

    def replace(self, x: Any, twin: Storage, layout: Layout) -> None:
        """Replace the storage of a tensor by a twin."""
        if id(x) in self.moved:
            return
        moved = self.moved[id(x)] = moving.Moved(x)
        rebind(x, twin, layout)
        g = moved.grad
        if g is not None:
            known = self.moved.get(id(g))  # an argument or outside tensor may itself be the gradient
            real, layout = (g.storage, g.layout) if known is None else (known.storage, known.layout)
            x._grad = moved.now = Tensor(self.twin_of(real, x, "outside", "grad"), layout)

    # ---- after the call

    def gradients(self) -> tuple[tuple[Var, Any], ...]:
        """Return the Vars whose gradient has changed, each with the slot, layout and dtype of the gradient, or None.

        Changes are counted from the start of the call, or from the last host call.
        """
        result = []
        for key, moved in self.moved.items():
            x = moved.x
            if moving.stores_gradient(x) and x._grad is not self.latest.get(key, moved.now):
                self.latest[key] = g = x._grad
                if g is not None:
                    expect_recorded("grad", g)
                    if id(g) in stores.lasting:
                        self.lasting.add(g.storage.buffer.number)
                result.append((x, None if g is None else moving.Made(g.storage.buffer.number, g.layout, g.dtype)))
        return tuple(result)

    def result_of(self, x: Any) -> Any:
        """Return how a call creates a leaf of the result: an object, or the slot, layout and dtype of a tensor."""
        if isinstance(x, Symbol) or not isinstance(x, Tensor):
            return x
        if id(x) in self.views:
            return self.views[id(x)]
        if id(x) in self.moved:
            return self.moved[id(x)].x
        if id(x) in self.originals:
            return self.originals[id(x)][0]
        if x.__class__ is not Tensor or x.storage.buffer.__class__ is not Slot:
            raise unreachable("the result", describe(x))
        return moving.Made(self.program.number(x.storage.buffer), x.layout, x.dtype)
