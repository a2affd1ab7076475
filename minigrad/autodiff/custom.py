"""`mg.custom_vjp`: a function with its own derivative rule, with JAX's interface.

Each call is a call of a `mg.Function`, so the properties of a Function apply here.  If a second derivative is requested
and `fwd` saved intermediate values, `fwd` is run again as a part of the graph: it must be a pure function.  Under
`vmap`, the function and `bwd` run once for all samples, and the backward pass runs `fwd` for the residuals.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minigrad.autodiff.function import Function
from minigrad.errors import ArgumentError, GradientError
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer


class custom_vjp:
    """Define the derivative of a function: decorate the function, and then call its method `defvjp(fwd, bwd)`.

    `fwd(*args)` returns the pair (result, residuals); residuals may be nested tuples, lists and dicts.  `bwd(residuals,
    g)` returns a tuple with one gradient per argument, or None for a zero gradient.

    fun: The function, which runs if no gradient is required; otherwise `fwd` runs.
    nondiff_argnums: Indices of the arguments that are not tensors; a negative index counts from the last argument.
    `bwd` receives these arguments first, and returns no gradient for them.

    Raises GradientError if no rule was defined, if a tensor is among the nondiff_argnums, if a result has tensors in
    lists or dicts, or if `bwd` returns gradients of another count or shape.
    Raises ArgumentError if an index in nondiff_argnums is out of range.

    >>> @mg.custom_vjp
    ... def clipped(x):
    ...     return x * 1.0
    >>> clipped.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g.clamp(-1.0, 1.0),))
    >>> x = mg.Var(2.0)
    >>> mg.grad(clipped(x) * 5.0, x).item()
    1.0
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        if not callable(fun):
            raise ArgumentError(
                f"custom_vjp: fun must be a function, got {describe(fun)}; write @custom_vjp above a def"
            )
        functools.update_wrapper(self, fun)
        argnums = nondiff_argnums if isinstance(nondiff_argnums, (tuple, list)) else (nondiff_argnums,)
        self.fun, self.nondiff = fun, tuple(argnums)
        # True while `fwd` runs in this thread, because `fwd` may call the function itself.
        self.within = threading.local()
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the function that runs if a gradient is required, and its derivative rule."""
        self.fwd, self.bwd = fwd, bwd
        self.rule = rule_of(self)

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        if getattr(self.within, "fwd", False):
            return self.fun(*args)
        if self.fwd is None:
            raise GradientError(
                f"custom_vjp: {self.__name__} has no derivative rule; call {self.__name__}.defvjp(fwd, bwd) first"
            )
        for k in self.positions(len(args)) if self.nondiff else ():
            if isinstance(args[k], Tensor):
                raise GradientError(
                    f"{self.__name__}: argument {k} is in nondiff_argnums={self.nondiff} and must not be a tensor, got "
                    f"{describe(args[k])}; remove {k} from nondiff_argnums, and let bwd return None for this argument"
                )
        return self.rule.apply(*args)

    def run_fwd(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Run fwd; a call of the function inside it is recorded as the function's own ops."""
        assert self.fwd is not None
        self.within.fwd = True
        try:
            return expect_pair(self, self.fwd(*args))
        finally:
            self.within.fwd = False

    def positions(self, count: int) -> list[int]:
        """Return nondiff_argnums counted from the front.

        Raises ArgumentError if an index is out of range for `count` arguments.
        """
        for k in self.nondiff:
            if isinstance(k, bool) or not isinstance(k, int) or not -count <= k < count:
                raise ArgumentError(
                    f"{self.__name__}: nondiff_argnums must be indices of the {count} arguments of this call, got "
                    f"{k!r} in {self.nondiff}; pass smaller indices"
                )
        return [k % count for k in self.nondiff]

    __name__: str


def rule_of(custom: custom_vjp) -> type[Function]:
    """Return the Function that each call of `custom` runs."""
    fwd, bwd = custom.fwd, custom.bwd
    assert fwd is not None and bwd is not None
    left = threading.local()  # stores the values that `forward` passes to `setup_context`, so that `fwd` runs only once

    def forward(*args: Any) -> Any:
        tensors = [x for x in args if isinstance(x, Tensor)]
        # A generated batching rule runs `fwd` again in its backward pass, so it has no use for the residuals.
        if not any(x.requires_grad for x in tensors) or any(isinstance(x, Tracer) for x in tensors):
            return custom.fun(*args)
        output, left.residuals = custom.run_fwd(args)
        return output

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if not any(ctx.needs_input_grad):
            return
        if "residuals" not in vars(left):
            _, left.residuals = custom.run_fwd(inputs)
        tensors: list[Tensor] = []

        def position(x: Tensor) -> Position:
            tensors.append(x)
            return Position(len(tensors) - 1)

        ctx.tree = mapped(vars(left).pop("residuals"), Tensor, position)
        operands = [x for x in inputs if isinstance(x, Tensor)]
        known = [*operands, *(output if isinstance(output, (tuple, list)) else [output])]
        ctx.again = not all(any(x is each for each in known) for x in tensors)
        ctx.where = [isinstance(x, Tensor) for x in inputs]
        ctx.count, ctx.plain = len(tensors), [None if isinstance(x, Tensor) else x for x in inputs]
        ctx.save_for_backward(*tensors, *(operands if ctx.again else ()))

    def backward(ctx: Any, *gradients: Any) -> Any:
        kept, operands = ctx.saved_tensors[: ctx.count], iter(ctx.saved_tensors[ctx.count :])
        residuals = mapped(ctx.tree, Position, lambda position: kept[position.k])
        if ctx.again and mode.enabled:
            inputs = [next(operands) if where else x for where, x in zip(ctx.where, ctx.plain)]
            _, residuals = expect_pair(custom, fwd(*inputs))
        positions = custom.positions(len(ctx.plain))
        plain = [ctx.plain[k] for k in positions]
        returned = bwd(*plain, residuals, gradients[0] if len(gradients) == 1 else gradients)
        parts = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        for k in sorted(positions):
            parts.insert(k, None)
        return tuple(parts)

    backward.__wrapped__ = bwd  # type: ignore[attr-defined]  # messages name the line of the user's rule
    methods = {
        "forward": staticmethod(forward), "setup_context": staticmethod(setup_context), "generate_vmap_rule": True,
        "backward": staticmethod(backward), "__doc__": custom.fun.__doc__ or custom.__name__,
    }  # fmt: skip
    return type(custom.__name__, (Function,), methods)


def expect_pair(custom: custom_vjp, returned: Any) -> tuple[Any, Any]:
    """Return the result of fwd.  Raise GradientError unless it is a pair of result and residuals."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise GradientError(
            f"{custom.__name__}: fwd must return the pair (result, residuals), got {describe(returned)}; return the "
            "saved values as the second element"
        )
    return returned


class Position(NamedTuple):
    """The position of the k-th tensor in a nested structure."""

    k: int


def mapped(tree: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """Return nested tuples, lists and dicts in which `change` is applied to each value of one class, in order."""
    if isinstance(tree, kind):
        return change(tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[mapped(each, kind, change) for each in tree])
    if isinstance(tree, (tuple, list)):
        return type(tree)([mapped(each, kind, change) for each in tree])
    if isinstance(tree, dict):
        return {key: mapped(each, kind, change) for key, each in tree.items()}
    return tree
