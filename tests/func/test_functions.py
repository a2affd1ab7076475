"""A Function, a custom_vjp and a checkpoint under transforms."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import pytest
from cases import over
from own_functions import function
from points import row

import minigrad as mg
from minigrad.errors import GradientError


class Cube(mg.Function):
    """x ** 3 * k"""

    @staticmethod
    def forward(x: Any, k: float) -> Any:
        return x * x * x * k

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x * x * (3.0 * ctx.k), None


class Pushed(Cube):
    """With a jvp and a vmap of its own."""

    @staticmethod
    def jvp(ctx: Any, dx: Any, _: Any) -> Any:
        (x,) = ctx.saved_tensors
        return dx * x * x * (3.0 * ctx.k)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, k: float) -> Any:
        assert info.batch_size == x.shape[0] and in_dims == (0, None)
        return Pushed.apply(x, k), 0


class Pair(mg.Function):
    """(x y, x + y)"""

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y, x + y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        x, y = ctx.saved_tensors
        return a * y + b, a * x + b


# What they keep is a result: of one, and the second of two.
Exponential = function(
    lambda x: x.exp(), lambda ctx, g: g * ctx.saved_tensors[0], lambda ctx, x, y: ctx.save_for_backward(y)
)
Both = function(
    lambda x: (x.sin(), x.exp()),
    lambda ctx, a, b: a * ctx.saved_tensors[0].cos() + b * ctx.saved_tensors[1],
    lambda ctx, x, y: ctx.save_for_backward(*x, y[1]),
)


def both(x: Any) -> Any:
    a, b = Both.apply(x)
    return (a * b).sum()


def plain(x: Any) -> Any:
    return (x * x * x * 2.0).sin().sum()


def by(kind: Any) -> Any:
    return lambda x: kind.apply(x, 2.0).sin().sum()


def two(x: Any) -> Any:
    a, b = Pair.apply(x, x.sin())
    return (a * b).sum()


def two_plain(x: Any) -> Any:
    return (x * x.sin() * (x + x.sin())).sum()


def custom() -> Any:
    f = mg.custom_vjp(lambda x: x * x * x * 2.0)
    f.defvjp(lambda x: (x * x * x * 2.0, x * x), lambda square, g: (g * square * 6.0,))
    return lambda x: f(x).sin().sum()


CASES = {
    "derived": (by(Cube), plain), "declared": (by(Pushed), plain), "two results": (two, two_plain),
    "a result": (lambda x: Exponential.apply(x).sin().sum(), lambda x: x.exp().sin().sum()),
    "the second result": (both, lambda x: (x.sin() * x.exp()).sum()),
    "custom_vjp": (custom(), plain),
    "checkpoint": (lambda x: mg.checkpoint(lambda x: (x * x * x * 2.0).sin(), x).sum(), plain),
}  # fmt: skip
func = mg.func
TRANSFORMS = {
    "grad": func.grad,
    "grad of grad": lambda f: func.grad(lambda x: func.grad(f)(x).sum()),
    "jvp": lambda f: lambda x: func.jvp(f, (x,), (x.cos(),))[1],
    "jvp of jvp": lambda f: TRANSFORMS["jvp"](TRANSFORMS["jvp"](f)),
    "vmap of jvp": lambda f: lambda x: func.vmap(TRANSFORMS["jvp"](f))(mg.stack([x, x * 2.0])),
    "jvp of grad": lambda f: lambda x: func.jvp(func.grad(f), (x,), (x.cos(),))[1],
    "grad of jvp": lambda f: func.grad(lambda x: func.jvp(f, (x,), (x.cos(),))[1]),
    "hessian": func.hessian,
    "vmap": lambda f: lambda x: func.vmap(f)(mg.stack([x, x * 2.0])),
    "vmap of grad": lambda f: lambda x: func.vmap(func.grad(f))(mg.stack([x, x * 2.0])),
}


@pytest.mark.filterwarnings("ignore:.*vmap has no batching rule")
@over("transform", TRANSFORMS)
@over("name", CASES)
def test_transforms_of_it_are_those_of_what_it_computes(name: str, transform: str) -> None:
    fn, expected = CASES[name]
    x = row(0.5, -0.3, 0.8)
    found, wanted = TRANSFORMS[transform](fn)(x), TRANSFORMS[transform](expected)(x)
    assert found.shape == wanted.shape
    assert found.flatten().tolist() == pytest.approx(wanted.flatten().tolist())


def test_a_forward_that_takes_ctx_is_refused() -> None:
    class Old(mg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    assert func.grad(lambda x: Old.apply(x).sum())(row(1.0)).tolist() == [1.0]  # recorded as anywhere
    with pytest.raises(
        GradientError,
        match=r"Old: a Function whose forward has the parameter ctx cannot be used inside a transform; define",
    ):
        func.jvp(Old.apply, (row(1.0),), (row(1.0),))


def test_what_a_function_has_caught_may_be_held_in_a_checkpoint() -> None:
    w = mg.Var([2.0], dtype="float64", device="reference")
    scale = mg.checkpoint(lambda w: w.exp().sin(), w)
    g = func.grad(lambda x: (x * x * scale).sum())(row(3.0))
    assert g.tolist() == pytest.approx((scale * 6.0).tolist())
    assert mg.grad(g.sum(), w).tolist() == pytest.approx((6.0 * w.exp().cos() * w.exp()).tolist())


def test_a_dict_is_nested_alike_whatever_the_order_of_its_keys() -> None:
    one, two = mg.tensor(1.0), mg.tensor(2.0)
    values, other = {"a": one, "b": one}, {"b": mg.zeros(()), "a": one}
    loss = lambda p: p["a"] * p["a"] * 2.0 + p["b"] * p["b"] * 3.0
    _, pull = mg.func.vjp(lambda x: {"a": x * 2.0, "b": x * 3.0}, two)
    assert pull(other)[0].item() == 2.0
    assert mg.func.jvp(loss, (values,), (other,))[1].item() == 4.0
    assert mg.func.linearize(loss, values)[1](other).item() == 4.0
    product = mg.func.hvp(loss, (values,), (other,))
    assert (product["a"].item(), product["b"].item()) == (4.0, 0.0)


def test_tree_map_goes_through_what_is_nested_and_takes_several() -> None:
    tree = {"w": [mg.tensor(3.0), mg.tensor(4.0)], "rest": (mg.tensor(5.0),)}
    slopes = {"rest": (mg.tensor(0.5),), "w": [mg.tensor(1.0), mg.tensor(2.0)]}
    found = mg.func.tree_map(lambda x, g: x - g, tree, slopes)
    assert [found["w"][0].item(), found["w"][1].item(), found["rest"][0].item()] == [2.0, 2.0, 4.5]
    assert isinstance(found["rest"], tuple) and mg.func.tree_map(float, 3) == 3.0
    for wrong in ({"w": slopes["w"]}, [1.0], {"w": (1.0, 2.0), "rest": (1.0,)}, {"w": [1.0], "rest": (1.0,)}):
        with pytest.raises(mg.ArgumentError, match=r"tree_map: all trees must be nested as"):
            mg.func.tree_map(lambda x, g: x, tree, wrong)


def test_tree_map_makes_dicts_of_other_classes_as_they_are() -> None:
    class Named(dict[str, Any]):
        def __init__(self, name: str) -> None:
            self.name = name

    named, filled = Named("weights"), defaultdict(list, a=1.0)
    named["w"] = 2.0
    for each in (Counter("aab"), OrderedDict(b=1.0, a=2.0), filled, named):
        found = mg.func.tree_map(lambda x: 2 * x, each)
        assert type(found) is type(each) and list(found.items()) == [(k, 2 * v) for k, v in each.items()]
    assert mg.func.tree_map(float, filled)["new"] == [] and mg.func.tree_map(float, named).name == "weights"
    assert "new" not in filled and named == {"w": 2.0}
    slopes = mg.func.grad(lambda p: p["w"] * p["w"])(defaultdict(None, w=mg.tensor(3.0)))
    assert slopes["w"].item() == 6.0
