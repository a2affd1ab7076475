"""The decorator `@loss`, which makes a loss with `reduction` from a scalar function; losses for regression.

The losses of elements are an elementwise op with derived rules.  Their sum and their mean are reductions that run in
one launch.  The gradients of these reductions are the rules of the elements, with the incoming gradient expanded.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Annotated, Any

from minigrad.core.conditions import expect_same, expect_shape
from minigrad.core.op import Op, Rule, Spec
from minigrad.core.roles import Choice, Number, Scalar
from minigrad.core.shape import broadcast_shapes
from minigrad.declare.decorators import composed, elementwise, reduction
from minigrad.declare.record import enter_rules
from minigrad.declare.rules import Pair, accumulate, common, floating
from minigrad.declare.signature import where_of
from minigrad.errors import warn
from minigrad.ops.reduction.sums import mean, restore, sum, wide
from minigrad.ops.shape.views import expand
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe

Ints = tuple[int, ...]
NONE: Mapping[str, Any] = {}
POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def loss(
    *,
    first: tuple[str, ...] = (),
    flags: bool = True,
    weight: str = "",
    limits: Mapping[str, Any] = NONE,
    fits: Callable[..., None] | None = None,
    of_complex: Callable[..., Tensor] | None = None,
) -> Callable[[FunctionType], Any]:
    """Declare an elementwise loss from a scalar function of one element of each tensor.

    The tensors are the parameters of the scalar function without a default, and the numbers are those with a default.
    The public function has the tensors, `size_average`, `reduce`, `reduction` and the numbers as parameters.
    first: the names of the numbers that come directly after the tensors in the signature of the public function.
    flags: whether the public function has the parameters `size_average` and `reduce`.
    weight: "" for a loss without weights.  Otherwise the public function has a parameter `weight` with one weight per
    element, and a mean is divided by the sum of the weights for "share", or by the number of elements for "factor".
    limits: the roles of numbers with limits, by the name of the number.
    fits: a function of the tensors that raises an error for shapes which broadcast, but are probably a mistake.
    of_complex: a function that computes the losses of elements if a tensor is complex.
    """

    def declare(function: FunctionType) -> Any:
        name = function.__name__
        all_of_them = inspect.signature(function).parameters.values()
        tensors = [p.name for p in all_of_them if p.default is p.empty]
        numbers = [p for p in all_of_them if p.default is not p.empty]
        rules = ["derived" if p.name in tensors else None for p in all_of_them]
        each: Any = elementwise(
            dtype=(lambda op, specs: floats(op, specs[:len(tensors)])), vjp=tuple(rules), namespace=(),
            name=f"{name}_each",
            label=name,
        )(function)  # fmt: skip
        reduced = {"sum": reduction_of(each.op, False), "mean": reduction_of(each.op, True)}

        def definition(*values: Any) -> Tensor:
            arguments = dict(zip(names, values, strict=True))
            how = named_reduction(name, arguments["reduction"], arguments.get("size_average"), arguments.get("reduce"))
            if fits is not None:
                fits(*[arguments[x] for x in tensors])
            operands = alike(name, [arguments[x] for x in tensors])
            more = [arguments[p.name] for p in numbers]
            weights = arguments.get("weight")
            kernel = of_complex if of_complex and any(x.dtype.is_complex for x in operands) else each
            if weights is not None:
                return weighted(kernel(*operands, *more), weights, how, weight, name)
            if how == "none" or kernel is of_complex:
                return joined(kernel(*operands, *more), how)
            return reduced[how](*operands, *constants(operands, more))

        parameters = parameters_of(tensors, numbers, limits, first, flags, weight)
        names = [p.name for p in parameters]
        whole = FunctionType(definition.__code__, globals(), name, None, definition.__closure__)
        whole.__doc__, whole.__module__ = function.__doc__, function.__module__
        whole.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": Tensor}
        whole.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        public: Any = composed()(whole)
        public.op.where, public.__wrapped__ = where_of(function), function
        return public

    return declare


def floats(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compute in the promoted dtype, which must be a float, and return it."""
    dtype = floating(op, specs)
    return dtype.compute, dtype


def parameters_of(
    tensors: list[str], numbers: list[inspect.Parameter], limits: Mapping[str, Any], first: tuple[str, ...],
    flags: bool, weight: str,
) -> list[inspect.Parameter]:  # fmt: skip
    """Return the public parameters of a loss, in PyTorch's order."""
    plain = [inspect.Parameter(name, POSITIONAL, annotation=Tensor) for name in tensors]
    scalars = [p.replace(annotation=limits.get(p.name, Scalar)) for p in numbers]
    older = [
        inspect.Parameter(name, POSITIONAL, default=None, annotation=bool | None) for name in ("size_average", "reduce")
    ]
    how = inspect.Parameter("reduction", POSITIONAL, default="mean", annotation=str)
    last = [inspect.Parameter("weight", POSITIONAL, default=None, annotation=Tensor | None)] if weight else []
    return [*plain, *[p for p in scalars if p.name in first], *(older if flags else ()), how,
            *[p for p in scalars if p.name not in first], *last]  # fmt: skip


def total(acc, x):
    """Return the sum or the mean of the losses of elements over `dim`.  Gradient: that of the loss of each element."""
    return acc + x


def reduction_of(each: Op, average: bool) -> Any:
    """Return the sum or the mean of an elementwise op over any dims, as an op that runs in one launch."""
    name = f"{each.label}_{'mean' if average else 'sum'}"
    public: Any = reduction(
        dtype=accumulate, identity="zero", order="sum", map=each.scalar, mean=average, namespace=(),
        name=name, label=each.label,
    )(total)  # fmt: skip
    op = public.op
    op.complete = each.complete
    op.leave(("rules", "saves", "picks"), lambda op: enter_rules(op, tuple([over_all(r, average) for r in each.rules])))
    return public


def over_all(each: Rule | None, average: bool) -> Rule | None:
    """Return the rule of an operand of the sum, or with `average` of the mean, from the rule of the elementwise op."""
    if each is None:
        return None
    fn = each.fn

    def of_sum(g: Tensor, *saved: Tensor, dims: Ints, in_shape: Ints) -> Tensor:
        return fn(restore(g, dims, in_shape), *saved)

    def of_mean(g: Tensor, *saved: Tensor, dims: Ints, in_shape: Ints) -> Tensor:
        return of_sum(wide(g) / float(math.prod(in_shape[d] for d in dims)), *saved, dims=dims, in_shape=in_shape)

    return Rule(of_mean if average else of_sum, each.saves, ("dims", "in_shape"))


def constants(operands: list[Tensor], values: list[Any]) -> list[Tensor]:
    """Return numbers as operands of a reduction, expanded to the shape of the tensors."""
    like = operands[0]
    dtype = common([Spec(x.layout, x.dtype) for x in operands])
    return [expand(number(value, dtype, like.device), shape=like.shape) for value in values]


def alike(name: str, tensors: list[Tensor]) -> list[Tensor]:
    """Return the tensors expanded to the shape to which they broadcast.

    Warns if the shapes differ, because this is usually a mistake.
    """
    if all(x.shape == tensors[0].shape for x in tensors):
        return tensors
    shape = tensors[0].shape
    for x in tensors[1:]:
        shape = broadcast_shapes(name, shape, x.shape)
    warn(
        f"{name}: {' and '.join(map(describe, tensors))} differ in shape and are broadcast to {shape}, which is "
        "probably wrong; give all operands one shape"
    )
    return [expand(x, shape=shape) for x in tensors]


def weighted(loss: Tensor, weight: Tensor, reduction: str, kind: str, name: str) -> Tensor:
    """Return the losses of elements times their weights, after the reduction; kind: see `weight` of `loss`."""
    expect_same("shape", name, "expand the weight", loss=loss, weight=weight)
    return joined(loss * weight, reduction, weight if kind == "share" else None)


def joined(loss: Tensor, reduction: str, share: Tensor | None = None, dims: tuple[int, ...] | None = None) -> Tensor:
    """Return losses unchanged for "none", or their sum or their mean over `dims`, by default over all dims.

    share: for a mean that is not divided by the number of losses, but by the sum of `share`: the weights of the losses,
    or a mask of those that count.  float16 and bfloat16 are then summed in float32, because their sums may overflow.
    """
    if reduction == "none":
        return loss
    if reduction == "sum":
        return sum(loss, dims)
    return mean(loss, dims) if share is None else (sum(wide(loss), dims) / sum(wide(share), dims)).to(loss.dtype)


def named_reduction(name: str, reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """Return the reduction of a loss, from `reduction` or from PyTorch's older flags `size_average` and `reduce`.

    Warns for the older forms.  Raises ArgumentError for another reduction.
    """
    if reduction == "elementwise_mean":
        warn(f"{name}: reduction='elementwise_mean' is a deprecated name; write reduction='mean'")
        reduction = "mean"
    Choice("mean", "sum", "none").expect(name, reduction=reduction)
    if size_average is None and reduce is None:
        return reduction
    mean = size_average is None or size_average
    chosen = "none" if not (reduce is None or reduce) else "mean" if mean else "sum"
    warn(f"{name}: size_average and reduce are deprecated; write reduction={chosen!r}")
    return chosen


# ---- losses for regression, and margin losses of single scores -------------------------------------------------------


@loss(weight="share")
def mse_loss(input, target):
    """Return the squared error (input - target)**2.

    Gradient: 2*g*(input - target) for input, and -2*g*(input - target) for target.
    """
    return (input - target) * (input - target)


@loss(weight="share", of_complex=lambda input, target: (input - target).abs())
def l1_loss(input, target):
    """Return the absolute error |input - target|, which is real also for complex operands.

    Gradient: g*sgn(input - target) for input, and -g*sgn(input - target) for target; 0 where they are equal.
    """
    return abs(input - target)


@loss(flags=False, weight="factor", limits={"delta": Annotated[Any, Number(above=0, example=1.0)]})
def huber_loss(input, target, delta=1.0):
    """Return error**2/2 where |error| <= delta, otherwise delta * (|error| - delta/2), with error = input - target."""
    error = abs(input - target)
    return error * error * 0.5 if error <= delta else (error - delta * 0.5) * delta


@loss(limits={"beta": Annotated[Any, Number(0, example=1.0)]})
def smooth_l1_loss(input, target, beta=1.0):
    """Return error**2 / (2*beta) where |error| < beta, otherwise |error| - beta/2, with error = input - target."""
    error = abs(input - target)
    return error * error * 0.5 / beta if error < beta else error - beta * 0.5


def expect_within(name: str, input: Tensor, target: Tensor) -> None:
    """Raise ShapeError unless the target broadcasts to the shape of the input."""
    shape = broadcast_shapes(name, input.shape, target.shape)
    expect_shape(name, shape, "that to which target broadcasts with", target, "reshape one of them", input=input)


@loss(fits=lambda input, target: expect_within("soft_margin_loss", input, target))
def soft_margin_loss(input, target):
    """Return log(1 + exp(-target*input)) without overflow; the targets are 1 and -1."""
    z = -target * input
    rest = math.log1p(math.exp(-z if z > 0 else z))
    return z + rest if z > 0 else rest


@loss(first=("margin",))
def hinge_embedding_loss(input, target, margin=1.0):
    """Return input where the target is 1, and max(0, margin - input) where the target is -1.

    Gradient: g for target 1; for target -1, -g where input <= margin, and 0 where input > margin.
    """
    return (0 if target == -1 else input) + (0 if target == 1 or input > margin else margin - input)


@loss(first=("margin",), fits=lambda *tensors: expect_same(
    "dims", "margin_ranking_loss", **dict(zip(("input1", "input2", "target"), tensors))
))  # fmt: skip
def margin_ranking_loss(input1, input2, target, margin=0.0):
    """Return max(0, margin - target*(input1 - input2)).

    The loss is 0 if input1 exceeds input2 by the margin for target 1, or is less by the margin for target -1.
    """
    lead = margin - target * (input1 - input2)
    return 0 if lead < 0 else lead
