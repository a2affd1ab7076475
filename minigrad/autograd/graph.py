"""`mg.autograd.graph`: the names of `torch.autograd.graph`, to traverse graphs and to store saved values elsewhere."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minigrad.autodiff.checks import GradientEdge, listed_tensors
from minigrad.autodiff.holding import Holder, PackHooks, disable_saved_tensors_hooks, hold, saved_tensors_hooks
from minigrad.autodiff.walking import Node, get_gradient_edge
from minigrad.core.layout import Layout
from minigrad.core.roles import Choice
from minigrad.core.storage import Storage
from minigrad.declare.manual import document_all
from minigrad.declare.names import listed
from minigrad.errors import GradientError
from minigrad.ops.casting import clone
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.hooks import HookHandle, passes
from minigrad.runtime.inference import is_inference
from minigrad.runtime.noting import saving
from minigrad.runtime.observers import Observer, attach, detach
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, expect_tensors

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip
__dir__ = listed(__all__)


class save_on_cpu(saved_tensors_hooks):
    """Store each value that is saved in a block in the memory of the CPU, until the gradient needs it.

    pin_memory: Accepted as in PyTorch; it has no effect.
    device_type: Accepted as in PyTorch; it has no effect: each value returns to the device that it came from.

    >>> x = mg.Var([1.0, 2.0])
    >>> with mg.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> mg.grad(y, x).tolist()
    [2.0, 4.0]
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda x: (x.device, x.cpu()), lambda packed: packed[1].to(packed[0]))


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write into the memory of tensors that was made without minigrad, so that a stale value is detected.

    tensor: Tensors whose memory was written, for example by another library.
    """
    xs = listed_tensors(tensor)
    expect_tensors("increment_version", *xs)
    for x in xs:
        if not is_inference(x):  # such memory has no count of writes
            x.storage.version += 1


# ---- hooks of several tensors ---------------------------------------------------------------------------------------


class MultiHandle(HookHandle):
    """The handle of a hook of several tensors: `remove()` or the end of a `with` block removes the hook."""

    __slots__ = ("_handles",)

    def __init__(self, handles: Sequence[HookHandle]) -> None:
        self._handles = tuple(handles)
        self._number = self._handles[0].id if self._handles else 0

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        for handle in self._handles:
            handle.remove()


class Gathered(threading.local):
    """The gradients of several tensors in the running backward pass of one thread; empty between passes."""

    def __init__(self) -> None:
        self.gradients: dict[int, Tensor] = {}


def register_multi_grad_hook(tensors: Iterable[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> MultiHandle:
    """Call a function once per backward pass with the gradients of several tensors.

    tensors: Tensors that require a gradient.
    fn: For "all": `fn(gradients)` at the end of each pass that computes a gradient of at least one of the tensors, with
    None for each tensor without one.  For "any": `fn(gradient)` as soon as the first of the gradients is complete.
    mode ({"all", "any"}): When the function is called.

    Returns (handle): `handle.remove()` removes the hook.

    Raises ArgumentError if `mode` has another value.
    Raises GradientError if a tensor does not require a gradient.

    >>> a, b = mg.Var(2.0), mg.Var(3.0)
    >>> handle = mg.autograd.graph.register_multi_grad_hook((a, b), lambda gs: print([g.item() for g in gs]))
    >>> y = (a * b).backward()
    [3.0, 2.0]
    """
    Choice("all", "any").expect("register_multi_grad_hook", mode=mode)
    xs = listed_tensors(tensors)
    gathered = Gathered()

    def end(done: bool) -> None:
        gradients, gathered.gradients = gathered.gradients, {}
        if done and mode == "all":
            fn([gradients.get(k) for k in range(len(xs))])

    def hook_of(k: int) -> Callable[[Tensor], None]:
        def hook(g: Tensor) -> None:
            first = not gathered.gradients
            gathered.gradients[k] = g
            if first:
                passes.ends.append(end)
                if mode == "any":
                    fn(g)

        return hook

    return MultiHandle([x.register_hook(hook_of(k)) for k, x in enumerate(xs)])


# ---- writes into saved values ---------------------------------------------------------------------------------------


class SavedState:
    """The memory of saved values in one state: the storage itself, or a copy from before the next write."""

    def __init__(self, storage: Storage) -> None:
        self.memory = storage


class Preserved(Holder):
    """A saved value that a write does not change."""

    __slots__ = ("context", "state")

    def __init__(self, x: Tensor, context: Mutations) -> None:
        super().__init__(x)
        self.context, self.state = context, context.state_of(x.storage)

    @property
    def storage(self) -> Any:  # type: ignore[override]
        return self

    def value(self) -> Tensor:
        """Return the value from before later writes.  Raise GradientError after the end of the block."""
        if not self.context.active:
            raise GradientError(
                "allow_mutation_on_saved_tensors: the gradient must be computed inside the block in which its graph "
                "was recorded; move the call of backward into the block"
            )
        return Tensor(self.state.memory, self.layout)


class Mutations(PackHooks, Observer):
    """The saver and the observer of one `allow_mutation_on_saved_tensors`.

    cloned: the copies that exist at the moment, by the state that they belong to.
    """

    def __init__(self) -> None:
        self.active = True
        self.cloned: weakref.WeakKeyDictionary[SavedState, Storage] = weakref.WeakKeyDictionary()
        self._states: weakref.WeakKeyDictionary[Storage, Any] = weakref.WeakKeyDictionary()

    def keep(self, node: BackpropOp, operands: Sequence[Tensor]) -> None:
        """Replace the saved values of a node by values that writes do not change."""
        hold(node, lambda x: Preserved(x, self))

    def keep_value(self, x: Tensor, name: str) -> Holder:
        """Keep one value that a checkpoint needs."""
        return Preserved(x, self)

    def state_of(self, storage: Storage) -> SavedState:
        """Return the state of the memory at this moment."""
        known = self._states.get(storage)
        state = None if known is None else known()
        if state is None:
            state = SavedState(storage)
            self._states[storage] = weakref.ref(state)
        return state

    def writing(self, name: str, storage: Storage) -> None:
        """Copy memory that a graph still needs before it is written."""
        known = self._states.pop(storage, None)
        state = None if known is None else known()
        if state is not None:
            with no_grad(), saving(None):
                state.memory = clone(Tensor(storage, Layout.contiguous((storage.numel,)))).storage
            self.cloned[state] = state.memory


_open: list[Mutations] = []


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[Mutations]:
    """Open a block in which values that the graph has saved may be written in place.

    A write first copies the memory, if a graph still needs its old values.  The gradient must be computed inside the
    block.

    Returns (context manager): The block.

    Raises GradientError for a block inside another one, and for a backward pass after the end of the block.

    >>> x = mg.Var([1.0, 2.0])
    >>> with mg.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     y = y.sin_()
    ...     print(mg.grad(z, x).tolist())
    [2.0, 4.0]
    """
    if _open:
        raise GradientError("allow_mutation_on_saved_tensors: blocks cannot be nested; remove the inner block")
    context = Mutations()
    _open.append(context)
    attach(context)
    try:
        with saving(context):
            yield context
    finally:
        _open.remove(context)
        detach(context)
        context.active = False


document_all(globals())
