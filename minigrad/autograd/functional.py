"""`mg.autograd.functional`: PyTorch's older functions, implemented with the transforms of `mg.func`.

The inputs are a tensor or a tuple of tensors.  Results are nested as in PyTorch, outputs first, and are only recorded
in a graph with `create_graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad import func as transforms
from minigrad.autodiff.checks import listed_tensors, node_of
from minigrad.autodiff.engine import grad, reachable
from minigrad.core.roles import Choice
from minigrad.declare.manual import document_all
from minigrad.declare.names import listed
from minigrad.errors import ArgumentError, GradientError
from minigrad.ops.creation import ones_like
from minigrad.runtime.recording import recording_on, set_grad_enabled
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.runtime.tracers import Tracer
from minigrad.runtime.var import Var

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
__dir__ = listed(__all__)

Inputs = Tensor | tuple[Tensor, ...]
Fn = Callable[..., Any]


def jacobian(
    func: Fn, inputs: Inputs, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Compute the derivative of each output with respect to each input.

    func: Function of tensors, which returns a tensor or a tuple of tensors; it takes one argument per input.
    inputs: Point at which the derivative is computed.
    create_graph: Whether the Jacobian can be differentiated again.
    vectorize: Has no effect: the rows of the Jacobian are always computed in a batch.
    strategy ({"reverse-mode", "forward-mode"}): Mode of differentiation. Forward mode is faster if there are fewer
    inputs than outputs.

    Returns (Tensor or tuple): For one input and one output, a tensor with the dims of the output followed by the dims
    of the input. For several outputs or inputs, a tuple of such tensors; for several outputs and inputs, a tuple with
    one tuple per output.

    Raises ArgumentError if `strategy` has another value.
    Raises GradientError if an output does not depend on an input and `strict` is True.

    >>> mg.autograd.functional.jacobian(lambda x: x * x, mg.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    Choice("reverse-mode", "forward-mode").expect("jacobian", strategy=strategy)
    xs = inputs_of("jacobian", inputs, create_graph)
    check_separate("jacobian", strict, vectorize)
    if strict:
        check_depends("jacobian", func, xs, 1 + create_graph)
    make = transforms.jacfwd if strategy == "forward-mode" else transforms.jacrev
    with set_grad_enabled(create_graph):
        return make(func, which(inputs))(*xs)


def hessian(
    func: Fn, inputs: Inputs, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Compute the second derivative of a scalar-valued function with respect to each pair of inputs.

    func: Function of tensors, which returns a tensor of one element; it takes one argument per input.
    inputs: Point at which the derivative is computed.
    create_graph: Whether the Hessian can be differentiated again.
    vectorize: Has no effect: rows are always computed in a batch.
    outer_jacobian_strategy: Has no effect: the outer derivative always uses forward mode.

    Returns (Tensor or tuple): For one input: a tensor with the dims of the input, twice. For several inputs: a tuple of
    tuples of tensors.

    Raises GradientError if an output does not depend on an input and `strict` is True, or `func` does not return a
    tensor of one element.

    >>> mg.autograd.functional.hessian(lambda x: (x * x * x).sum(), mg.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    xs = inputs_of("hessian", inputs, create_graph)
    check_separate("hessian", strict, vectorize)
    if strict:
        check_depends("hessian", scalar("hessian", func), xs, 2)
    with set_grad_enabled(create_graph):
        return transforms.hessian(scalar("hessian", func), which(inputs))(*xs)


def vjp(func: Fn, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Compute the product of a vector and the Jacobian, in reverse mode.

    Parameters
    ----------
    func : callable
        Function of tensors; it takes one argument per input.
    inputs : Tensor or tuple of Tensor
        Point at which the derivative is computed.
    v : Tensor or tuple of Tensor, optional
        Incoming gradient, nested like the output; by default 1 for an output of one element.

    Returns
    -------
    output : Tensor or tuple of Tensor
        The result of `func`.
    product : Tensor or tuple of Tensor
        One tensor per input, with its shape.

    Raises
    ------
    GradientError
        If an output does not depend on an input and `strict` is True, or `v` is missing and
        the output has more than one element.

    Examples
    --------
    >>> y, product = mg.autograd.functional.vjp(lambda x: x * x, mg.tensor([1.0, 2.0]), mg.tensor([1.0, 10.0]))
    >>> product.tolist()
    [2.0, 40.0]
    """
    xs = inputs_of("vjp", inputs, create_graph)
    if strict:
        check_depends("vjp", func, xs, 1 + create_graph)
    with set_grad_enabled(create_graph):
        y, pull = transforms.vjp(func, *xs)
        if v is None:
            if not isinstance(y, Tensor) or y.numel() != 1:
                raise GradientError(
                    "vjp: v is required for an output that is not a scalar; pass a tensor of the shape of the output"
                )
            v = ones_like(y)
        product = pull(v)
    return y, product[0] if isinstance(inputs, Tensor) else product


def jvp(func: Fn, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Compute the product of the Jacobian and a vector, in forward mode.

    Parameters
    ----------
    func : callable
        Function of tensors; it takes one argument per input.
    inputs : Tensor or tuple of Tensor
        Point at which the derivative is computed.
    v : Tensor or tuple of Tensor, optional
        Tangent, nested like the inputs; by default 1 for an input of one element.

    Returns
    -------
    output : Tensor or tuple of Tensor
        The result of `func`.
    product : Tensor or tuple of Tensor
        One tensor per output, with its shape.

    Raises
    ------
    GradientError
        If an output does not depend on an input and `strict` is True, or `v` is missing and
        the inputs have more than one element.

    Examples
    --------
    >>> y, product = mg.autograd.functional.jvp(lambda x: x * x, mg.tensor([1.0, 2.0]), mg.tensor([1.0, 10.0]))
    >>> product.tolist()
    [2.0, 40.0]
    """
    xs = inputs_of("jvp", inputs, create_graph)
    if strict:
        check_depends("jvp", func, xs, 1 + create_graph)
    with set_grad_enabled(create_graph):
        return transforms.jvp(func, xs, tangents("jvp", inputs, xs, v))


def hvp(func: Fn, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Compute the product of the Hessian of a scalar-valued function and a vector, without computing the Hessian.

    Parameters
    ----------
    func : callable
        Function of tensors, which returns a tensor of one element; it takes one argument per input.
    inputs : Tensor or tuple of Tensor
        Point at which the derivative is computed.
    v : Tensor or tuple of Tensor, optional
        Vector, nested like the inputs; by default 1 for an input of one element.

    Returns
    -------
    output : Tensor
        The value of `func`.
    product : Tensor or tuple of Tensor
        One tensor per input, with its shape.

    Raises
    ------
    GradientError
        If an output does not depend on an input and `strict` is True, or `v` is missing and
        the inputs have more than one element, or `func` does not return one element.

    Notes
    -----
    Forward mode is applied to the gradient; this requires less memory than `vhp`.

    Examples
    --------
    >>> y, product = mg.autograd.functional.hvp(lambda x: (x * x * x).sum(), mg.tensor([1.0, 2.0]), mg.ones(2))
    >>> product.tolist()
    [6.0, 12.0]
    """
    xs = inputs_of("hvp", inputs, create_graph)
    if strict:
        check_depends("hvp", scalar("hvp", func), xs, 2)
    gradient = transforms.grad_and_value(scalar("hvp", func), which(inputs))
    with set_grad_enabled(create_graph):
        (_, y), (product, _) = transforms.jvp(gradient, xs, tangents("hvp", inputs, xs, v))
    return y, product


def vhp(func: Fn, inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Compute the product of a vector and the Hessian of a scalar-valued function, without computing the Hessian.

    Parameters
    ----------
    func : callable
        Function of tensors, which returns a tensor of one element; it takes one argument per input.
    inputs : Tensor or tuple of Tensor
        Point at which the derivative is computed.
    v : Tensor or tuple of Tensor, optional
        Vector, nested like the inputs; by default 1 for an input of one element.

    Returns
    -------
    output : Tensor
        The value of `func`.
    product : Tensor or tuple of Tensor
        One tensor per input, with its shape.

    Raises
    ------
    GradientError
        If an output does not depend on an input and `strict` is True, or `v` is missing and
        the inputs have more than one element, or `func` does not return one element.

    Notes
    -----
    Reverse mode is applied to the gradient. The product equals the product of `hvp`.

    Examples
    --------
    >>> y, product = mg.autograd.functional.vhp(lambda x: (x * x * x).sum(), mg.tensor([1.0, 2.0]), mg.ones(2))
    >>> product.tolist()
    [6.0, 12.0]
    """
    xs = inputs_of("vhp", inputs, create_graph)
    if strict:
        check_depends("vhp", scalar("vhp", func), xs, 2)
    ts = tangents("vhp", inputs, xs, v)
    with set_grad_enabled(create_graph):
        y = scalar("vhp", func)(*xs)
        _, pull = transforms.vjp(transforms.grad(scalar("vhp", func), which(inputs)), *xs)
        product = pull(ts[0] if isinstance(inputs, Tensor) else ts)
    return y, product[0] if isinstance(inputs, Tensor) else product


# ---- arguments ------------------------------------------------------------------------------------------------------


def inputs_of(name: str, inputs: Any, create_graph: bool) -> tuple[Tensor, ...]:
    """Return the inputs as a tuple, after checking them; with create_graph, all of them require a gradient."""
    xs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    expect_tensors(name, *xs)
    if create_graph:
        xs = tuple([x if x.requires_grad or isinstance(x, Tracer) else Var.placeholder(x) for x in xs])
    return xs


def check_separate(name: str, strict: bool, vectorize: bool) -> None:
    """Raise ArgumentError for two options that PyTorch does not combine."""
    if strict and vectorize:
        raise ArgumentError(
            f"{name}: strict=True and vectorize=True cannot be combined, as in PyTorch; omit vectorize, which has no "
            "effect"
        )


def check_depends(name: str, func: Fn, xs: tuple[Tensor, ...], order: int) -> None:
    """Raise GradientError unless each output, or its gradients for order 2, depends on each input."""
    with recording_on():
        leaves = [Var.placeholder(x.detach()) for x in xs]
        ys = listed_tensors(func(*leaves))
        for i, y in enumerate(ys):
            check_reaches(name, [y], leaves, f"output {i}")
        if order == 2:
            check_reaches(name, grad(ys, leaves, create_graph=True), leaves, "the gradient")


def check_reaches(name: str, ys: Sequence[Any], leaves: list[Var], what: str) -> None:
    """Raise GradientError if the graph of tensors does not end at all of the leaves."""
    reached = {leaf.id for leaf in reachable([node_of(y) for y in ys if y.requires_grad])[1]}
    for k, leaf in enumerate(leaves):
        if leaf.id not in reached:
            raise GradientError(
                f"{name}: {what} must depend on input {k}, but it does not; pass strict=False for zeros"
            )


def which(inputs: Any) -> Any:
    """Return argnums for the inputs: 0 for a tensor, and all indices for a tuple."""
    return 0 if isinstance(inputs, Tensor) else tuple(range(len(inputs)))


def tangents(name: str, inputs: Any, xs: tuple[Tensor, ...], v: Any) -> tuple[Tensor, ...]:
    """Return one tangent per input; the default is 1 for a single element."""
    if v is None:
        if len(xs) != 1 or xs[0].numel() != 1:
            raise GradientError(
                f"{name}: v is required if the inputs have more than one element; pass one tensor for each input, of "
                "the same shape"
            )
        return (ones_like(xs[0]),)
    ts = (v,) if isinstance(v, Tensor) else tuple(v)
    expect_tensors(f"{name}: v", *ts)
    if len(ts) != len(xs):
        raise GradientError(f"{name}: v must have one tensor for each of the {len(xs)} inputs, got {len(ts)}")
    return ts


def scalar(name: str, func: Fn) -> Fn:
    """Return `func` with a check of its result, which must have one element."""

    def one(*xs: Any) -> Tensor:
        y = func(*xs)
        if not isinstance(y, Tensor) or y.numel() != 1:
            raise GradientError(
                f"{name}: the function must return a tensor of one element, got {describe(y)}; return y.sum(), for "
                "example"
            )
        return y if y.ndim == 0 else y.reshape(())

    return one


document_all({name: globals()[name] for name in __all__})
