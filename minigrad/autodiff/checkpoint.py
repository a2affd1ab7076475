"""Checkpoints: what a function saves for its gradient is dropped, and computed again when it is asked for.

While the function runs, each value that an op saves is replaced by an empty holder, counted by the frame of the call.
The first holder that is asked runs the function again; the values that its ops save then, in the same order, fill the
holders, each compared with what stood there by op, shape, dtype and device.  It stops when the last one that is still
wanted is filled.  The graph itself stays what it was, so Vars that the function has caught get their gradients, and
every order of derivative works.  In nested checkpoints the inner one owns what is saved in it, and what it was called
with is a value that the outer one keeps.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from minigrad.autodiff.barriers import alias
from minigrad.autodiff.holding import Holder, hold
from minigrad.core.storage import Storage
from minigrad.errors import GradientError, StorageError
from minigrad.ops.random import Generator, Streams
from minigrad.runtime.casting import among_casts, current
from minigrad.runtime.graph import BackpropOp, ids
from minigrad.runtime.noting import savers, saving
from minigrad.runtime.recording import mode, no_grad, set_grad_enabled
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer, among_transforms, stack


def checkpoint(
    fn: Callable[..., Any], *args: Any, preserve_rng_state: bool = True, use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """`fn(*args, **kwargs)`, which keeps nothing for its gradient but its arguments and is run again for it.

    Costs one more run, and saves the memory of everything in between.  Checkpoints may be nested, and differentiated to
    any order.  In the second run random numbers are those of the first (preserve_rng_state), of every generator.
    use_reentrant is PyTorch's, and makes no difference.
    Raises, when the gradient is computed, GradientError for a function that computes something else the second time,
    and StorageError for arguments, tensors that the function caught, and values that were changed in place since.

    Example:
        >>> import minigrad as mg
        >>> x = mg.Var(0.5)
        >>> y = mg.checkpoint(lambda x: x.sin().exp(), x)
        >>> round(mg.grad(y, x).item(), 4)
        1.4174
    """
    if not mode.enabled or any(isinstance(x, Tracer) for x in (*args, *kwargs.values())):
        return fn(*args, **kwargs)
    frame = Frame(fn, args, kwargs, preserve_rng_state)
    with saving(frame), frame.streams.recorded():
        return fn(*args, **kwargs)


class Filled(BaseException):
    """Ends a second run when the last value that is wanted is there; no user's `except Exception` may take it."""


class Dropped(Holder):
    """A value of a checkpoint: computed again when it is asked for.

    filled: by thread, what a second run found, and its version then.
    """

    __slots__ = ("filled", "frame", "name", "position")

    def __init__(self, x: Tensor, name: str, frame: Frame) -> None:
        super().__init__(x)
        self.frame, self.name, self.position = frame, name, len(frame.holders)
        self.filled: dict[int, tuple[Tensor, int]] = {}
        frame.holders.append(weakref.ref(self))

    @property
    def storage(self) -> Any:  # type: ignore[override]
        """The value's memory while it lives, else itself.  Raises StorageError where an argument of the checkpoint was
        changed: what would be computed again is another value."""
        self.frame.check_unchanged()
        memory = self.memory()
        return self if memory is None else memory

    def keeps(self) -> list[Tensor]:
        """What the checkpoint was called with, but for Vars, which are there anyway."""
        return self.frame.keeps()

    def given(self) -> list[tuple[Tensor, int | None]]:
        return self.frame.given()

    def value(self) -> Tensor:
        """The value, from a second run that begins now if it is not there.  Raises StorageError if that run went on to
        write into it, as the first did where nobody could see it any more."""
        thread = threading.get_ident()
        if thread not in self.filled:
            self.frame.run_again(thread)
        value, version = self.filled.pop(thread)
        if value.storage.version != version:
            raise StorageError(
                f"checkpoint: {self.name} saved {describe(value)} at version {version}, but the function changed it in "
                f"place afterwards, to version {value.storage.version}; clone() it before the change"
            )
        return value


class Frame:
    """One call of `checkpoint`: what is needed to run it again, and the holders of what it has dropped.

    first: an id below those of all tensors that the function makes.  caught: by the memory of a tensor from outside
    that the function used its version, and how messages name it.
    """

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], preserve: bool) -> None:
        self.fn, self.preserve = fn, preserve
        self.holders: list[weakref.ref[Dropped]] = []
        self.first = next(ids)
        self.caught: weakref.WeakKeyDictionary[Storage, tuple[int, str, str]] = weakref.WeakKeyDictionary()
        self.streams = Streams()
        self.transforms = list(stack.transforms)
        self.casts = current()
        outer: Any = savers.stack[-1] if savers.stack else None
        self.args = tuple([kept(x, outer) for x in args])
        self.kwargs = {name: kept(x, outer) for name, x in kwargs.items()}

    def keep(self, node: BackpropOp, operands: Sequence[Tensor]) -> None:
        """Drop what a node has saved."""
        for x in operands:
            if x.id < self.first and x.storage not in self.caught:
                self.caught[x.storage] = x.storage.version, describe(x), node.name
        hold(node, lambda x: self.keep_value(x, node.name))

    def keep_value(self, x: Tensor, name: str) -> Holder:
        """Drop one value."""
        return Dropped(x, name, self)

    def keeps(self) -> list[Tensor]:
        """The tensors that it was called with and holds; of one that an outer saver keeps, what that holds."""
        return [x for x, _ in self.given()]

    def given(self) -> list[tuple[Tensor, int | None]]:
        """Those tensors, each with the id of the edge of the graph that it came by."""
        kept = [x for x in (*self.args, *self.kwargs.values()) if isinstance(x, Kept)]
        pairs = [pair for x in kept for pair in (x.x.given() if isinstance(x.x, Holder) else [(x.x, x.edge)])]
        return [(x, edge) for x, edge in pairs if not x.is_variable]

    def check_unchanged(self) -> None:
        """Raise StorageError if an argument was written since the call."""
        for x in (*self.args, *self.kwargs.values()):
            if isinstance(x, Kept) and x.x.storage.version != x.version:
                raise StorageError(
                    f"checkpoint: its argument {describe(x.x)} was at version {x.version} when it was called, but was "
                    f"changed in place since and is at version {x.x.storage.version}; clone() it before the change"
                )

    def check_caught(self) -> None:
        """Raise StorageError if a tensor that the function used, and was not called with, was written since."""
        for storage, (version, shown, name) in list(self.caught.items()):
            if storage.version != version:
                raise StorageError(
                    f"checkpoint: its function used {shown}, an operand of {name}, at version {version}, but that was "
                    f"changed in place since and is at version {storage.version}; clone() it before the change"
                )

    def run_again(self, thread: int) -> None:
        """Run the function again to fill the holders that are still there."""
        self.check_caught()
        wanted = [ref().position for ref in self.holders if ref() is not None]  # type: ignore[union-attr]
        again = Again(self, thread, max(wanted))
        numbers = self.streams.repeated() if self.preserve else nullcontext()
        with no_grad():
            args = [restored(x) for x in self.args]
            kwargs = {name: restored(x) for name, x in self.kwargs.items()}
        try:
            with (
                saving(None), saving(again), set_grad_enabled(True), numbers, among_transforms(self.transforms),
                among_casts(self.casts),
            ):  # fmt: skip
                self.fn(*args, **kwargs)
        except Filled:
            return
        raise GradientError(
            f"checkpoint: the function saved {len(self.holders)} values when it was called and {again.count} when it "
            f"was run again for its gradient; it must compute the same each time"
        )


class Again:
    """The saver of a second run: it hands each value to the holder that counts as many.

    repeats: what an op writes into its operands, such as running statistics, the first run has written.
    """

    repeats = True

    def __init__(self, frame: Frame, thread: int, last: int) -> None:
        self.frame, self.thread, self.last, self.count = frame, thread, last, 0

    def keep(self, node: BackpropOp, operands: Sequence[Tensor]) -> None:
        """Hand on what a node saved; it is needed nowhere else."""
        for x in node.saved or ():
            self.keep_value(x, node.name)

    def keep_value(self, x: Tensor, name: str) -> Tensor:
        """Hand on one value.  Raises GradientError where another was expected."""
        holder = self.frame.holders[self.count]()
        self.count += 1
        if holder is not None:
            check_same(holder, x, name)
            holder.filled[self.thread] = x.detach(), x.storage.version
        if self.count > self.last:
            raise Filled
        return x


class Kept:
    """A tensor that a checkpoint was called with: by itself, or as a value that an outer saver keeps."""

    __slots__ = ("edge", "tracks", "version", "x")

    def __init__(self, x: Tensor, outer: Any) -> None:
        self.x: Any = (
            x if x.is_variable else x.detach() if outer is None else outer.keep_value(x.detach(), "checkpoint")
        )
        self.version, self.tracks = x.storage.version, x.requires_grad
        self.edge: int | None = None if x.op is None else x.op.id

    def restored(self) -> Tensor:
        """The tensor for a second run, which is recorded where the first was."""
        x: Tensor = self.x.value() if isinstance(self.x, Holder) else self.x
        return alias(x) if self.tracks and not x.is_variable else x


class KeptStream:
    """A generator that a checkpoint was called with: the numbers that it was about to give."""

    __slots__ = ("offset", "seed")

    def __init__(self, generator: Generator) -> None:
        self.seed, self.offset = generator.seed, generator.offset

    def restored(self) -> Generator:
        """A generator that gives them."""
        generator = Generator(self.seed)
        generator.offset = self.offset
        return generator


def kept(x: Any, outer: Any) -> Any:
    """An argument as a frame keeps it."""
    return Kept(x, outer) if isinstance(x, Tensor) else KeptStream(x) if isinstance(x, Generator) else x


def restored(x: Any) -> Any:
    """An argument for a second run."""
    return x.restored() if isinstance(x, (Kept, KeptStream)) else x


def check_same(holder: Dropped, x: Tensor, name: str) -> None:
    """Raise GradientError unless a value of a second run can be the one that was dropped."""
    if name == holder.name and x.shape == holder.shape and x.dtype is holder.dtype and x.device is holder.device:
        return
    raise GradientError(
        f"checkpoint: when the function was called its value {holder.position + 1} was {describe(holder)}, saved by "
        f"{holder.name}, and when it was run again for its gradient {describe(x)}, saved by {name}; it must compute "
        f"the same each time"
    )
