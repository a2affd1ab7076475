"""Checkpoints: drop the values that a function saves for its gradient, and compute them again when they are needed.

While the function runs, each value that an op saves is replaced by an empty holder, counted by the frame of the call.
The first holder that is read runs the function again.  The values that its ops save then fill the holders in the same
order.  Each value must match its holder in op, shape, dtype and device.  The run stops when the last holder that is
still needed is filled.  The graph itself does not change, so Vars in the closure of the function get their gradients,
and every order of derivative works.  For nested checkpoints, the inner one owns the values that are saved in it, and
the outer one saves the arguments of the inner one.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from minigrad.autodiff.barriers import alias
from minigrad.autodiff.holding import Holder, Marker, hold
from minigrad.core.roles import Choice
from minigrad.core.storage import Storage
from minigrad.errors import GradientError, StorageError
from minigrad.ops.generators import Generator, Streams
from minigrad.runtime.graph import BackpropOp, ids
from minigrad.runtime.noting import savers, saving
from minigrad.runtime.recording import among_casts, current_casts, mode, no_grad, recording_on
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer, among_transforms, stack


def checkpoint(
    fn: Callable[..., Any], *args: Any, preserve_rng_state: bool = True, use_reentrant: bool | None = None,
    context_fn: Callable[[], Any] | None = None, determinism_check: str = "default", debug: bool = False,
    early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call `fn(*args, **kwargs)`, save only its arguments, and run it again in the backward pass.

    This costs one additional run, and saves the memory of all intermediate values.  Checkpoints may be nested, and
    differentiated to any order.

    fn: Function of the arguments, which must compute the same values in both runs.
    context_fn: Function that returns two context managers: the first is open during the call, the second during the
    second run.
    determinism_check ({"default", "none"}): Whether the values of the second run must have the shapes, dtypes and
    devices of the dropped values.
    debug: Accepted as in PyTorch; it has no effect: the error of a second run that differs names the values in any
    case.
    early_stop: Whether the second run stops as soon as all values are computed.  `set_checkpoint_early_stop` of
    `mg.utils.checkpoint` replaces this argument.

    Raises ArgumentError if `determinism_check` has another value.
    Raises GradientError when the gradient is computed, if the function computes something different in the second run.
    Raises StorageError when the gradient is computed, if an argument, a tensor in the closure of the function, or a
    saved value was changed in place after the call.

    >>> x = mg.Var(0.5)
    >>> y = mg.checkpoint(lambda x: x.sin().exp(), x)
    >>> round(mg.grad(y, x).item(), 4)
    1.4174
    """
    if not mode.enabled or any(isinstance(x, Tracer) for x in (*args, *kwargs.values())):
        return fn(*args, **kwargs)
    Choice("default", "none").expect("checkpoint", determinism_check=determinism_check)
    first, second = (nullcontext(), nullcontext()) if context_fn is None else context_fn()
    frame = Frame(fn, args, kwargs, preserve_rng_state)
    chosen = stops_early.get()
    frame.again, frame.checked = second, determinism_check != "none"
    frame.early = early_stop if chosen is None else chosen
    with saving(frame), frame.streams.recorded(), first:
        return fn(*args, **kwargs)


stops_early: ContextVar[bool | None] = ContextVar("stops_early", default=None)  # replaces `early_stop` unless None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Open a block whose checkpoints stop their second run early, or never do.

    enable: Whether a second run stops as soon as all values are computed.

    Returns (context manager): The block.  The choice belongs to the checkpoints that are called in it, also if the
    gradient is computed later.
    """
    token = stops_early.set(enable)
    try:
        yield
    finally:
        stops_early.reset(token)


class CheckpointError(GradientError):
    """Raised if a function computes other values when a checkpoint runs it again."""


class Filled(BaseException):
    """Ends a second run when the last needed value is computed; no `except Exception` of a user may catch it."""


class Dropped(Holder):
    """A value of a checkpoint that was dropped and is computed again when it is needed.

    filled: for each thread, the value from a second run, and its version at that time.
    """

    __slots__ = ("filled", "frame", "name", "position")

    def __init__(self, x: Tensor, name: str, frame: Frame) -> None:
        super().__init__(x)
        self.frame, self.name, self.position = frame, name, len(frame.holders)
        self.filled: dict[int, tuple[Tensor, int]] = {}
        frame.holders.append(weakref.ref(self))

    @property
    def storage(self) -> Any:  # type: ignore[override]
        """The value's memory while it exists, otherwise the holder itself.

        Raises StorageError if an argument of the checkpoint was changed: a second run would compute another value.
        """
        self.frame.check_unchanged()
        memory = self.memory()
        return self if memory is None else memory

    def keeps(self) -> list[Tensor]:
        """Return the arguments of the checkpoint except Vars, which exist in any case."""
        return self.frame.keeps()

    def given(self) -> list[tuple[Tensor, int | None]]:
        return self.frame.given()

    def value(self) -> Tensor:
        """Return the dropped value; if necessary, a second run of the function computes it now.

        Raises StorageError if the function wrote into the value in place after saving it.
        """
        thread = threading.get_ident()
        if thread not in self.filled:
            self.frame.run_again(thread)
        value, version = self.filled.pop(thread)
        if value.storage.version != version:
            raise StorageError(
                f"checkpoint: {self.name} saved {describe(value)} at version {version}, but the function changed this "
                f"tensor in place afterwards, to version {value.storage.version}; clone() the tensor before the change"
            )
        return value


class Frame:
    """Store one call of `checkpoint`: the arguments of the second run, and the holders of the dropped values.

    first: an id that is smaller than the ids of all tensors that the function makes.
    caught: for the memory of each tensor that the function used and did not make: its version, a description of the
    tensor, and the name of the op that used it.
    again, checked, early: the arguments `context_fn`, `determinism_check` and `early_stop` for the second run.
    """

    again: Any
    checked: bool
    early: bool

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], preserve: bool) -> None:
        self.fn, self.preserve = fn, preserve
        self.holders: list[weakref.ref[Dropped]] = []
        self.first = next(ids)
        self.caught: weakref.WeakKeyDictionary[Storage, tuple[int, str, str]] = weakref.WeakKeyDictionary()
        self.streams = Streams()
        self.transforms = list(stack.transforms)
        self.casts = current_casts()
        outer: Any = savers.stack[-1] if savers.stack else None
        self.args = tuple([kept(x, outer) for x in args])
        self.kwargs = {name: kept(x, outer) for name, x in kwargs.items()}

    def keep(self, node: BackpropOp, operands: Sequence[Tensor]) -> None:
        """Drop the values that a node has saved."""
        for x in operands:
            if x.id < self.first and x.storage not in self.caught:
                self.caught[x.storage] = x.storage.version, describe(x), node.name
        hold(node, lambda x: self.keep_value(x, node.name))

    def keep_value(self, x: Tensor, name: str) -> Holder:
        """Drop one value."""
        return Dropped(x, name, self)

    def keeps(self) -> list[Tensor]:
        """Return the tensors among the arguments that it stores; for a value of an outer saver, the saver's tensors."""
        return [x for x, _ in self.given()]

    def given(self) -> list[tuple[Tensor, int | None]]:
        """Return these tensors, each with the id of the graph edge that it came from."""
        kept = [x for x in (*self.args, *self.kwargs.values()) if isinstance(x, Kept)]
        pairs = [pair for x in kept for pair in (x.x.given() if isinstance(x.x, Holder) else [(x.x, x.edge)])]
        return [(x, edge) for x, edge in pairs if not x.is_variable]

    def check_unchanged(self) -> None:
        """Raise StorageError if an argument was written after the call."""
        for x in (*self.args, *self.kwargs.values()):
            if isinstance(x, Kept) and x.x.storage.version != x.version:
                raise StorageError(
                    f"checkpoint: the argument {describe(x.x)} was at version {x.version} in the call, but this tensor "
                    f"was changed in place afterwards, to version {x.x.storage.version}; clone() the tensor before the "
                    "change"
                )

    def check_caught(self) -> None:
        """Raise StorageError if a tensor that the function used without an argument was written after the call."""
        for storage, (version, shown, name) in list(self.caught.items()):
            if storage.version != version:
                raise StorageError(
                    f"checkpoint: the function used {shown}, an operand of {name}, at version {version}, but this "
                    f"tensor was changed in place afterwards, to version {storage.version}; clone() the tensor before "
                    "the change"
                )

    def run_again(self, thread: int) -> None:
        """Run the function again to fill the holders that still exist."""
        self.check_caught()
        wanted = [ref().position for ref in self.holders if ref() is not None]  # type: ignore[union-attr]
        again = Again(self, thread, max(wanted) if self.early else None)
        numbers = self.streams.repeated() if self.preserve else nullcontext()
        with no_grad():
            args = [restored(x) for x in self.args]
            kwargs = {name: restored(x) for name, x in self.kwargs.items()}
        try:
            with (
                saving(None), saving(again), recording_on(), numbers, among_transforms(self.transforms),
                among_casts(self.casts), self.again,
            ):  # fmt: skip
                self.fn(*args, **kwargs)
        except Filled:
            return
        if not self.early and again.count == len(self.holders):
            return
        raise CheckpointError(
            f"checkpoint: the function saved {len(self.holders)} values in its first run and {again.count} when it was "
            "run again for the gradient; make the function compute the same in each run"
        )


class Again:
    """The saver of a second run: it passes each value to the holder with the same count.

    repeats: an op does not update its operands, such as running statistics, because the first run has done so.
    """

    repeats = True

    def __init__(self, frame: Frame, thread: int, last: int | None) -> None:
        self.frame, self.thread, self.last, self.count = frame, thread, last, 0

    def keep(self, node: BackpropOp, operands: Sequence[Tensor]) -> None:
        """Pass on the values that a node saved.

        The node itself needs no other processing.
        """
        for x in node.saved or ():
            if x.__class__ is not Marker:
                self.keep_value(x, node.name)

    def keep_value(self, x: Tensor, name: str) -> Tensor:
        """Pass on one value.  Raise CheckpointError if it does not match its holder."""
        holder = self.frame.holders[self.count]() if self.count < len(self.frame.holders) else None
        self.count += 1
        if holder is not None:
            if self.frame.checked:
                check_same(holder, x, name)
            holder.filled[self.thread] = x.detach(), x.storage.version
        if self.last is not None and self.count > self.last:
            raise Filled
        return x


class Kept:
    """A tensor argument of a checkpoint: the tensor itself, or a value that an outer saver stores."""

    __slots__ = ("edge", "tracks", "version", "x")

    def __init__(self, x: Tensor, outer: Any) -> None:
        self.x: Any = (
            x if x.is_variable else x.detach() if outer is None else outer.keep_value(x.detach(), "checkpoint")
        )
        self.version, self.tracks = x.storage.version, x.requires_grad
        self.edge: int | None = None if x.op is None else x.op.id

    def restored(self) -> Tensor:
        """Return the tensor for a second run, which records its use if the first run did."""
        x: Tensor = self.x.value() if isinstance(self.x, Holder) else self.x
        return alias(x) if self.tracks and not x.is_variable else x


class KeptStream:
    """The state of a generator that is an argument of a checkpoint; it determines the next random numbers."""

    __slots__ = ("offset", "seed")

    def __init__(self, generator: Generator) -> None:
        self.seed, self.offset = generator.seed, generator.offset

    def restored(self) -> Generator:
        """Return a generator in that state."""
        generator = Generator(self.seed)
        generator.offset = self.offset
        return generator


def kept(x: Any, outer: Any) -> Any:
    """Return an argument in the form that a frame stores."""
    return Kept(x, outer) if isinstance(x, Tensor) else KeptStream(x) if isinstance(x, Generator) else x


def restored(x: Any) -> Any:
    """Return an argument for a second run."""
    return x.restored() if isinstance(x, (Kept, KeptStream)) else x


def check_same(holder: Dropped, x: Tensor, name: str) -> None:
    """Raise CheckpointError unless a value of a second run matches the dropped value."""
    if name == holder.name and x.shape == holder.shape and x.dtype is holder.dtype and x.device is holder.device:
        return
    raise CheckpointError(
        f"checkpoint: value {holder.position + 1} of the function was {describe(holder)}, saved by {holder.name}, in "
        f"its first run, but {describe(x)}, saved by {name}, when it was run again for the gradient; make the function "
        "compute the same in each run"
    )
