"""`mg.autograd.functional`: PyTorch's older names for the transforms of `mg.func`.

inputs is a tensor or a tuple of them; results are nested as in PyTorch, outputs first.  Without create_graph they carry
no graph.  strict=True is not offered: an input that the function does not depend on has zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad import func as transforms
from minigrad.declare.names import listed
from minigrad.errors import ArgumentError, GradientError
from minigrad.ops.creation import ones_like
from minigrad.runtime.recording import mode, set_grad_enabled
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
__dir__ = listed(__all__)

Inputs = Tensor | tuple[Tensor, ...]
Fn = Callable[..., Any]


def jacobian(
    func: Fn, inputs: Inputs, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Compute the derivative of each output with respect to each input, of the shape of output and input.

    strategy: "reverse-mode" or "forward-mode".  It is always batched; vectorize has no effect.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ArgumentError(f"jacobian: strategy is 'reverse-mode' or 'forward-mode', got {strategy!r}")
    xs = inputs_of("jacobian", inputs, strict)
    make = transforms.jacfwd if strategy == "forward-mode" else transforms.jacrev
    with set_grad_enabled(create_graph and mode.enabled):
        return make(func, which(inputs))(*xs)


def hessian(
    func: Fn, inputs: Inputs, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Compute the second derivative of a scalar-valued function with respect to each pair of inputs."""
    xs = inputs_of("hessian", inputs, strict)
    with set_grad_enabled(create_graph and mode.enabled):
        return transforms.hessian(scalar("hessian", func), which(inputs))(*xs)


def vjp(func: Fn, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output, and v times the Jacobian; v is ones for a scalar output, and otherwise required."""
    xs = inputs_of("vjp", inputs, strict)
    with set_grad_enabled(create_graph and mode.enabled):
        y, pull = transforms.vjp(func, *xs)
        if v is None:
            if not isinstance(y, Tensor) or y.numel() != 1:
                raise GradientError("vjp: the output is not a scalar, so v is required, of the shape of the output")
            v = ones_like(y)
        product = pull(v)
    return y, product[0] if isinstance(inputs, Tensor) else product


def jvp(func: Fn, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output, and the Jacobian times v; v is one for an input of one element, and otherwise required."""
    xs = inputs_of("jvp", inputs, strict)
    with set_grad_enabled(create_graph and mode.enabled):
        return transforms.jvp(func, xs, tangents("jvp", inputs, xs, v))


def hvp(func: Fn, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the value of a scalar-valued function, and its Hessian times v: forward over reverse mode."""
    xs = inputs_of("hvp", inputs, strict)
    gradient = transforms.grad_and_value(scalar("hvp", func), which(inputs))
    with set_grad_enabled(create_graph and mode.enabled):
        (_, y), (product, _) = transforms.jvp(gradient, xs, tangents("hvp", inputs, xs, v))
    return y, product


def vhp(func: Fn, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the value of a scalar-valued function, and v times its Hessian: reverse over reverse mode."""
    xs = inputs_of("vhp", inputs, strict)
    ts = tangents("vhp", inputs, xs, v)
    with set_grad_enabled(create_graph and mode.enabled):
        y = scalar("vhp", func)(*xs)
        _, pull = transforms.vjp(transforms.grad(scalar("vhp", func), which(inputs)), *xs)
        product = pull(ts[0] if isinstance(inputs, Tensor) else ts)
    return y, product[0] if isinstance(inputs, Tensor) else product


# ---- arguments ------------------------------------------------------------------------------------------------------


def inputs_of(name: str, inputs: Any, strict: bool) -> tuple[Tensor, ...]:
    """Return the inputs in a tuple."""
    if strict:
        raise ArgumentError(f"{name}: strict=True is not offered; an input that nothing depends on has zeros")
    xs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    expect_tensors(name, *xs)
    return xs


def which(inputs: Any) -> Any:
    """Return the arguments to differentiate with respect to: the one, or all."""
    return 0 if isinstance(inputs, Tensor) else tuple(range(len(inputs)))


def tangents(name: str, inputs: Any, xs: tuple[Tensor, ...], v: Any) -> tuple[Tensor, ...]:
    """Return a tangent for each input."""
    if v is None:
        if len(xs) != 1 or xs[0].numel() != 1:
            raise GradientError(
                f"{name}: v is required, of the shape of the inputs, unless there is one of one element"
            )
        return (ones_like(xs[0]),)
    return (v,) if isinstance(v, Tensor) else tuple(v)


def scalar(name: str, func: Fn) -> Fn:
    """Return the function with a check that it returns one number, of shape ()."""

    def one(*xs: Any) -> Tensor:
        y = func(*xs)
        if not isinstance(y, Tensor) or y.numel() != 1:
            raise GradientError(f"{name}: the function returned {describe(y)}; expected a scalar")
        return y if y.ndim == 0 else y.reshape(())

    return one
