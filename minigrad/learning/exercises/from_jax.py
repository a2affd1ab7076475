"""Exercises of appendix A4: habits of JAX, written with minigrad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.func.trees import flatten, unflatten
from minigrad.learning.grading import Exercises, Wrong, expect_close, tried

EXERCISES = Exercises()

# ---- x.at[index].set(value) -----------------------------------------------------------------------------------------


def at_set(x: Any, index: Any, value: Any) -> Any:
    """Return a copy of x in which the elements at the index have the given value."""
    y = x.clone()
    y[index] = value
    return y


@EXERCISES(
    "A4.1", at_set, "A copy may be written to: x stays, and gradients flow to both.",
    "You may write to a tensor that no other code uses. How do you create one like x?",
    "x.clone() is a new tensor with the same values, and gradients flow through it. Writes are recorded.",
    "y = x.clone(); y[index] = value; return y.",
)  # fmt: skip
def grade_at_set(answer: Callable[..., Any]) -> None:
    """Test the result and its gradients, and that x is unchanged, at several indices."""
    for index, shape in ((1, ()), ((0, 2), ()), (slice(0, 2), (2, 3)), (-1, (3,))):
        start = np.arange(9.0).reshape(3, 3) if shape != () or index != 1 else np.arange(3.0)
        x = mg.Var(start, name="x")
        value = mg.Var(np.full(shape, 50.0), name="value")
        where = f"for index {index!r}"
        got = answer(x, index, value)
        if not isinstance(got, mg.Tensor):
            raise Wrong(f"{where}, the function should return a tensor, but returned {type(got).__name__}")
        want = start.copy()
        want[index] = 50.0
        expect_close(got, want, f"the result {where}")
        expect_close(x, start, f"x afterwards, {where},")
        if got.storage is x.storage:
            raise Wrong(f"{where} the result shares its memory with x")
        if not got.requires_grad:
            raise Wrong(f"{where} no gradient flows from the result; compute it with tensors, with recording on")
        weights = np.arange(1.0, 1.0 + start.size).reshape(start.shape)
        slopes = mg.grad((got * mg.tensor(weights)).sum(), [x, value], allow_unused=True)
        left = weights.copy()
        left[index] = 0.0
        for name, found, right in zip(("x", "value"), slopes, (left, weights[index])):
            if found is None:
                raise Wrong(f"{where} no gradient flows to {name}")
            expect_close(found, right, f"the gradient of {name} {where}")


# ---- dropout with a key ---------------------------------------------------------------------------------------------


def dropout(x: Any, keep: float, key: int) -> Any:
    """Return x with dropout, which a generator seeded with the key draws."""
    drawn = mg.rand(*x.shape, generator=mg.Generator(key), dtype=x.dtype)
    return x * (drawn < keep).to(x.dtype) / keep


@EXERCISES(
    "A4.2", dropout, "A key is the seed of a generator that is created again at each call.",
    "mg.rand takes a generator. Where must it be made, so that the same key draws the same numbers?",
    "mg.Generator(key), inside the function. An element is kept where a number from [0, 1) is below keep.",
    "drawn = mg.rand(*x.shape, generator=mg.Generator(key)); return x * (drawn < keep).to(x.dtype) / keep.",
)  # fmt: skip
def grade_dropout(answer: Callable[..., Any]) -> None:
    """Test the kept elements, the key, the global generator, and the gradient."""
    x = mg.Var(np.linspace(1.0, 2.0, 400).reshape(20, 20), name="x")
    for keep in (0.8, 0.5):
        mg.manual_seed(3)
        want = mg.rand(4).tolist()
        mg.manual_seed(3)
        y = answer(x, keep, 7)
        drawn = mg.rand(4).tolist()
        if not isinstance(y, mg.Tensor) or y.shape != x.shape:
            raise Wrong(f"with x of shape {x.shape} it should return a tensor of that shape")
        ratio = y.detach().numpy() / x.detach().numpy()
        kept = ratio != 0
        if not np.allclose(ratio[kept], 1 / keep):
            raise Wrong(
                f"with keep = {keep}, the kept elements should be divided by keep, but were multiplied by "
                f"{ratio.max():.4g}"
            )
        if abs(kept.mean() - keep) > 0.1:
            raise Wrong(
                f"with keep = {keep}, about this share of the elements should be kept, but the share was "
                f"{kept.mean():.2f}"
            )
        if drawn != want:
            raise Wrong("the state of mg.rand's generator was changed; draw from a generator of your own")
        if (answer(x, keep, 7).detach().numpy() != y.detach().numpy()).any():
            raise Wrong("the same key drew other elements the second time")
        if (answer(x, keep, 8).detach().numpy() == y.detach().numpy()).all():
            raise Wrong("keys 7 and 8 drew the same elements")
        if not y.requires_grad:
            raise Wrong("no gradient flows from the result")
        expect_close(mg.grad(y.sum(), x), kept / keep, f"the gradient of the sum with keep = {keep}")


# ---- ravel ----------------------------------------------------------------------------------------------------------


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the leaves as one vector, and the function that restores the tree."""
    leaves, nested = flatten(tree)
    sizes = [x.numel() for x in leaves]

    def unravel(flat: Any) -> Any:
        parts = flat.split(sizes)
        return unflatten(nested, [part.reshape(x.shape) for part, x in zip(parts, leaves)])

    return mg.cat([x.reshape(-1) for x in leaves]), unravel


TREES: tuple[tuple[str, Callable[[], Any]], ...] = (
    ("a dict", lambda: {"w": mg.Var(np.arange(6.0).reshape(2, 3)), "b": mg.Var(np.array([7.0, 8.0]))}),
    ("a list of dicts", lambda: [{"w": mg.Var(np.ones((2, 2)) * 2)}, {"w": mg.Var(np.array(3.0))}]),
    ("a tuple in a dict", lambda: {"a": (mg.Var(np.array([1.0])), mg.Var(np.array([[2.0], [3.0]])))}),
)


@EXERCISES(
    "A4.3", ravel, "A nested structure as one vector: flat leaves side by side, and the sizes to cut it again.",
    "Collect the leaves in a list, in an order that you can find again: mg.func.tree_map visits them in a fixed order.",
    "flat is mg.cat of leaf.reshape(-1). For unravel, use flat.split(sizes), and tree_map over the old tree, with a "
    "function that takes the next part each time.",
    "leaves = []; mg.func.tree_map(leaves.append, tree); unravel(flat): parts = iter(flat.split([x.numel() for x in "
    "leaves])); return mg.func.tree_map(lambda x: next(parts).reshape(x.shape), tree).",
)  # fmt: skip
def grade_ravel(answer: Callable[[Any], Any]) -> None:
    """Test both directions and their gradients."""
    for what, make in TREES:
        tree = make()
        leaves, nested = flatten(tree)
        pair = tried(answer, tree, on=what)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not callable(pair[1]):
            raise Wrong(
                f"for {what}, ravel should return a pair: a tensor, and a function that rebuilds {what} from a tensor"
            )
        flat, unravel = pair
        count = sum(x.numel() for x in leaves)
        if not isinstance(flat, mg.Tensor) or flat.shape != (count,):
            raise Wrong(f"for {what}, the first result should be a tensor of shape ({count},), and is {flat!r}")
        back = tried(unravel, flat, on=f"the vector of {what}")
        parts, found = flatten(back)
        if repr(found) != repr(nested):
            raise Wrong(f"for {what}, unravel returns {found}, but {nested} was expected")
        for x, part in zip(leaves, parts):
            expect_close(part, x, f"a leaf of {what} after ravel and unravel")
        slopes = mg.grad((flat * flat).sum(), leaves, allow_unused=True)
        if any(g is None for g in slopes):
            raise Wrong(f"for {what}, the parts have no gradient with respect to flat; use only ops on tensors")
        for x, g in zip(leaves, slopes):
            expect_close(g, 2.0 * x.detach().numpy(), f"the gradient of flat in a part of {what}")
        moved = mg.Var(np.linspace(0.0, 1.0, count))
        total = sum((part * part).sum() for part in flatten(unravel(moved))[0])
        if not getattr(total, "requires_grad", False):
            raise Wrong(f"for {what}, no gradient flows through unravel")
        expect_close(mg.grad(total, moved), 2.0 * moved.detach().numpy(), f"the gradient through unravel of {what}")
