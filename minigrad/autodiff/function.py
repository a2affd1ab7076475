"""Functions with a derivative of their own: `mg.Function`, as `torch.autograd.Function`.

A subclass says what it computes (`forward`) and how gradients pass it (`backward`); `apply` calls it.  Each call
(`calling.py`) is an op of its own, whose rules run the user's code (`user_op.py`), so the engine, hooks, checkpoints
and transforms treat it as any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import Any

from minigrad.autodiff.calling import Call
from minigrad.autodiff.context import Context, tensors_in
from minigrad.errors import GradientError
from minigrad.runtime.dispatch import through
from minigrad.runtime.observers import observed
from minigrad.runtime.recording import mode, no_grad
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer, transform_of


class Function:
    """A function whose derivative is written by hand.  Subclass it and call `apply`; it is never instantiated.

    forward(ctx, *args) computes on tensors and other arguments, unrecorded, and gives a tensor or a tuple of them.  Or
    forward(*args) without ctx, and setup_context(ctx, inputs, output) to say what is kept; only such a Function can be
    transformed by `mg.func`.
    backward(ctx, *gradients) is given one gradient an output and gives one an argument, None for what has none: for an
    argument that tracks that is a zero.  Trailing Nones may be left out.  A gradient may be broadcast against its
    argument, and has its dtype in the end.
    jvp(ctx, *tangents) gives the tangents of the outputs, from one an argument (None for what is no float tensor);
    without it forward mode is derived from backward.
    vmap(info, in_dims, *args) gives (outputs, their batch dims); without it a batch is a loop.

    Gradient: higher orders follow from backward, which is ordinary tensor code, as long as it computes from the inputs
    and outputs that it saved.  Where it gives plain values (`once_differentiable`, NumPy), or computes with what
    forward made in between, the next derivative raises instead of leaving a part out.
    Raises GradientError for a backward that gives something else than one gradient an argument, for tensors that track
    inside of lists, for a forward that gives tensors inside of lists or dicts, and for one that writes into an argument
    which it has not marked.

    Example:
        >>> import minigrad as mg
        >>> class Square(mg.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         (x,) = ctx.saved_tensors
        ...         return g * 2.0 * x
        >>> x = mg.Var(3.0)
        >>> mg.grad(Square.apply(x), x).item()
        6.0
    """

    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any) -> Any:
        """What it computes: forward(ctx, *args), or forward(*args) where there is a setup_context."""
        raise GradientError("Function: a subclass must define forward")

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep in ctx what backward needs of the inputs and the output."""
        raise GradientError("Function: this subclass has no setup_context")

    @staticmethod
    def backward(ctx: Context, *gradients: Any) -> Any:
        """One gradient an argument of forward, from one an output."""
        raise GradientError("Function: a subclass must define backward to be differentiated")

    @staticmethod
    def jvp(ctx: Context, *tangents: Any) -> Any:
        """The tangents of the outputs, from those of the arguments."""
        raise GradientError("Function: this subclass has no jvp")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        """What it gives of each of a batch, and at which dim: (outputs, out_dims)."""
        raise GradientError("Function: this subclass has no vmap")

    @classmethod
    def apply(cls, *inputs: Any) -> Any:
        """Call it.  Raises GradientError for a tensor that tracks inside of a list, tuple or dict: it would get no
        gradient."""
        for x in inputs:
            if not isinstance(x, Tensor):
                check_nothing_tracks(cls.__name__, x)
        call = Call(cls, inputs)
        operands = call.tensors
        transform = transform_of(call, operands)
        if transform is not None:
            call.enter_transform()
            return call.as_returned(through(transform, call, operands, {}, None))
        began = perf_counter() if observed.called else 0.0
        result = call.run(operands)
        if observed.called:
            observed.call(call, operands, result, began)
        return call.as_returned(result)


def check_nothing_tracks(name: str, value: Any) -> None:
    """Raise GradientError for a tensor that tracks and is hidden in a container."""
    for x in tensors_in(value):
        if isinstance(x, Tracer) or (mode.enabled and x.requires_grad):
            raise GradientError(
                f"{name}: {describe(x)} tracks and is inside of a {type(value).__name__}, where no gradient would "
                f"reach it; pass it as an argument of its own, as in apply(*xs)",
                op=name,
            )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward whose own derivative is not right, because it computes with something else than tensors: it runs
    unrecorded, and a second derivative through it raises GradientError."""

    @functools.wraps(backward)
    def once(ctx: Context, *gradients: Any) -> Any:
        with no_grad():
            partials = backward(ctx, *gradients)
        parts = partials if isinstance(partials, (tuple, list)) else (partials,)
        return tuple([x.detach() if isinstance(x, Tensor) else x for x in parts])

    return once
