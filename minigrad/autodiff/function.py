"""Functions with a custom derivative: `mg.Function`, as `torch.autograd.Function`.

A subclass defines the computation (`forward`) and the derivative rule (`backward`); `apply` calls it.  Each call
(`calling.py`) is a separate op, whose rules run the user's code (`user_op.py`), so the engine, hooks, checkpoints and
transforms treat it like any other op.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from minigrad.autodiff.calling import FunctionCall
from minigrad.autodiff.context import Context, default_arguments, has
from minigrad.errors import GradientError
from minigrad.kernels.store import running_time
from minigrad.runtime.dispatch import through
from minigrad.runtime.iterables import tensors_in
from minigrad.runtime.observers import observed
from minigrad.runtime.recording import mode, no_grad
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer, transform_of


class Function:
    """Define a function with its own derivative: write a subclass and call `apply`; no object of the class is made.

    forward(ctx, *args) computes on tensors and other arguments, without recording, and returns a tensor or a tuple of
    tensors.  Alternatively, write forward(*args) without ctx, and setup_context(ctx, inputs, output) to save values;
    only such a Function can be transformed by `mg.func`.

    backward(ctx, *gradients) receives one gradient per output and returns one gradient per argument, or None.  For an
    argument that requires a gradient, None means zero.  Trailing Nones may be left out.  A gradient may be broadcast
    against its argument, and is converted to its dtype.

    vjp is another name of backward.

    jvp(ctx, *tangents) returns the tangents of the outputs, from one tangent per argument (None for an argument that is
    not a float tensor).  Without a method `jvp`, forward mode is derived from `backward`.

    vmap(info, in_dims, *args) returns (outputs, batch dims of the outputs).  Without a method `vmap`, the samples of a
    batch are computed one after another.  With `generate_vmap_rule = True`, forward and backward run once on the whole
    batch, as under `vmap`, so they must be tensor code.

    Gradient: if `backward` is ordinary tensor code and computes with saved inputs and outputs, it can be differentiated
    again.  If `backward` returns plain values (`once_differentiable`, NumPy), or computes with intermediate values of
    `forward`, the next derivative raises an error, because it would be incomplete.

    Raises GradientError for a backward that does not return one gradient per argument, for tensors in lists that need a
    gradient, for a forward that returns tensors in lists or dicts, and for a forward that writes into an unmarked
    argument.

    Example:
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
        """Compute the result: forward(ctx, *args), or forward(*args) if there is a setup_context."""
        raise GradientError("Function: a subclass must define forward, got none; add @staticmethod def forward(ctx, x)")

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Any) -> None:
        """Save in ctx the values of the inputs and the output that backward needs."""
        raise GradientError(
            "Function: a subclass whose forward does not save values must define setup_context, got none; add "
            "@staticmethod def setup_context(ctx, inputs, output)"
        )

    @staticmethod
    def backward(ctx: Context, *gradients: Any) -> Any:
        """Return one gradient per argument of forward, given one gradient per output."""
        raise GradientError(
            "Function: a subclass must define backward to be differentiated; add @staticmethod def backward(ctx, "
            "grad_output)"
        )

    @staticmethod
    def jvp(ctx: Context, *tangents: Any) -> Any:
        """Return the tangents of the outputs, given the tangents of the arguments."""
        raise GradientError(
            "Function: a subclass must define jvp for forward mode, got none; add @staticmethod def jvp(ctx, *tangents)"
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        """Return the results for a batch, and their batch dims: (outputs, out_dims)."""
        raise GradientError(
            "Function: a subclass must define vmap to run under mg.func.vmap, got none; add @staticmethod def "
            "vmap(info, in_dims, *args)"
        )

    @classmethod
    def apply(cls, *inputs: Any) -> Any:
        """Call the function.

        Raises GradientError for a tensor in a container that requires a gradient: it would not receive one.
        """
        if has(cls, "setup_context"):
            missing = default_arguments(cls.forward)[len(inputs) :]
            inputs += () if Parameter.empty in missing else missing
        for x in inputs:
            if not isinstance(x, Tensor):
                check_nothing_tracks(cls.__name__, x)
        call = FunctionCall(cls, inputs)
        operands = call.tensors
        transform = transform_of(call, operands)
        if transform is not None:
            call.enter_transform(transform)
            return call.as_returned(through(transform, call, operands, {}, None))
        began = running_time() if observed.called else 0.0
        result = call.run(operands)
        if observed.called:
            observed.call(call, operands, result, began)
        return call.as_returned(result)


def check_nothing_tracks(name: str, value: Any) -> None:
    """Raise GradientError for a tensor that requires a gradient and is inside a container."""
    for x in tensors_in(value):
        if isinstance(x, Tracer) or (mode.enabled and x.requires_grad):
            raise GradientError(
                f"{name}: {describe(x)} requires a gradient and is inside a {type(value).__name__}, where it would "
                "receive no gradient; pass each tensor as a separate argument, for example apply(*xs)"
            )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` as not differentiable, because it computes with other values than tensors.

    Parameters
    ----------
    backward : callable
        The `backward` of a `Function`: it receives the context and one gradient per output, and returns one gradient
        per argument.

    Returns
    -------
    callable
        The same function, which runs without recording.  A second derivative through it raises GradientError.
    """

    @functools.wraps(backward)
    def once(ctx: Context, *gradients: Any) -> Any:
        with no_grad():
            partials = backward(ctx, *gradients)
        parts = partials if isinstance(partials, (tuple, list)) else (partials,)
        return tuple([x.detach() if isinstance(x, Tensor) else x for x in parts])

    return once
