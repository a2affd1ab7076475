"""Random programs that write: into tensors, through views of views, into buffers, by masks, in any order.

A program is a list of steps over a growing list of tensors; each step is (word, numbers), so that minigrad, PyTorch and
NumPy can run the same one.  `python tests/written_programs.py COUNT [FIRST SEED] [DEVICE]` compares values,
first and second derivatives with PyTorch, and with finite differences where only minigrad gives a gradient.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Step = tuple[str, tuple[Any, ...]]
SHAPES = ((3, 3), (3,), ())
INDICES: dict[int, Sequence[Any]] = {
    0: (...,),
    1: (0, -1, slice(1, None), slice(None, 2), slice(None, None, 2)),
    2: (0, slice(1, None), slice(None, 2), (slice(None), 1), (slice(None), slice(1, None)), (1, 1),
        (slice(None, None, 2), slice(None, 2)), ...),
}  # fmt: skip


def leaf_values(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.uniform(0.3, 1.2, shape) * rng.choice([-1.0, 1.0], shape)) for shape in SHAPES]


class Numpy:
    """The steps in NumPy, whose views write through as well."""

    def zeros(self, shape: Sequence[int]) -> Any:
        return np.zeros(shape)

    def flip(self, x: Any) -> Any:
        return x[::-1]


class Library:
    """The steps in minigrad or PyTorch, whose names are the same."""

    def __init__(self, module: Any, **kind: Any) -> None:
        self.module, self.kind = module, kind

    def zeros(self, shape: Sequence[int]) -> Any:
        return self.module.zeros(tuple(shape), dtype=self.module.float64, **self.kind)

    def flip(self, x: Any) -> Any:
        return x.flip(0)


def fits(value: Any, x: Any) -> bool:
    try:
        return np.broadcast_shapes(value.shape, x.shape) == x.shape
    except ValueError:
        return False


def make(seed: int, steps: int, flips: bool = True) -> list[Step]:
    """A program: each step is tried on NumPy arrays, and only those that make sense are kept."""
    rng = random.Random(seed)
    arrays: list[Any] = [x.copy() for x in leaf_values(seed)]
    program: list[Step] = []
    for k in range(3):  # no writes into leaves
        apply(Numpy(), arrays, ("scale", (k, 1.0)))
        program.append(("scale", (k, 1.0)))
    while len(program) < steps + 3:
        step = draw(rng, arrays, flips)
        if step is not None:
            apply(Numpy(), arrays, step)
            program.append(step)
    return program


def draw(rng: random.Random, arrays: list[Any], flips: bool) -> Step | None:
    """A step, or None for one that does not fit."""
    a, b = rng.randrange(3, len(arrays)), rng.randrange(3, len(arrays))
    x, y = arrays[a], arrays[b]
    word = rng.choice(
        "zeros scale sin product sum view view view transpose flat diagonal flip assign assign assign mask mul_ mul_by "
        "add_by sin_ exp_ copy_ fill_ zero_ where_ out".split()
    )
    if word == "zeros":
        return word, (rng.choice(((3, 3), (3,), (4,))),)
    if word in ("scale", "mul_"):
        return word, (a, rng.choice((0.5, -1.5, 2.0)))
    if word in ("sin", "sin_", "exp_", "zero_", "where_"):
        return word, (a,)
    if word == "fill_":
        return word, (a, 0.25)
    if word in ("product", "sum"):
        return (word, (a, b)) if fits(y, x) else None
    if word == "view":
        return (
            (word, (a, rng.choice(INDICES[x.ndim]))) if x.ndim in (1, 2) and x.size > 1 and 1 not in x.shape else None
        )
    if word == "transpose":
        return (word, (a,)) if x.ndim == 2 else None
    if word == "flat":
        return (word, (a,)) if x.ndim == 2 and x.flags.c_contiguous else None
    if word == "diagonal":
        return (word, (a,)) if x.ndim == 2 else None
    if word == "flip":
        return (word, (a,)) if flips and x.ndim else None
    if word == "mask":
        return (word, (a, b) if y.size == 1 else (a, None)) if x.ndim else None
    if word == "assign":
        index = rng.choice(INDICES[x.ndim])
        return (word, (a, index, b)) if 1 not in x.shape and fits(y, x[index]) else None
    return (word, (a, b)) if fits(y, x) else None


def apply(lib: Any, xs: list[Any], step: Step) -> None:
    """One step: a new tensor at the end of the list, or a write."""
    word, (a, *more) = step
    x = xs[a] if word != "zeros" else None
    plain = isinstance(lib, Numpy)
    y = xs[more[-1]] if word in ("product", "sum", "assign", "mul_by", "add_by", "copy_", "out") else None
    new = None
    if word == "zeros":
        new = lib.zeros(a)
    elif word == "scale":
        new = np.asarray(x * more[0]) if plain else x * more[0]
    elif word == "sin":
        new = np.asarray(np.sin(x)) if plain else x.sin()
    elif word == "product":
        new = np.asarray(x * y)
        new = new if plain else x * y
    elif word == "sum":
        new = np.asarray(x + y) if plain else x + y
    elif word == "view":
        new = x[more[0]] if more[0] is ... or not plain else x[in_full(more[0])]
    elif word == "transpose":
        new = x.T
    elif word == "flat":
        new = x.reshape(-1)
    elif word == "diagonal":
        strided = np.lib.stride_tricks.as_strided
        new = strided(x, (min(x.shape),), (sum(x.strides),)) if plain else x.diagonal()
    elif word == "flip":
        new = lib.flip(x)
    else:
        write(plain, x, y, word, more, xs)
    if new is not None:
        xs.append(new)


def in_full(index: Any) -> Any:
    """An index with which NumPy gives a view of one element, too."""
    return (*index, ...) if isinstance(index, tuple) else (index, ...)


def write(plain: bool, x: Any, y: Any, word: str, more: list[Any], xs: list[Any]) -> None:
    """A step that writes."""
    if word == "assign":
        x[more[0]] = y.copy() if plain else y
    elif word == "mask":
        x[x > 0.1] = 0.5 if more[0] is None else (xs[more[0]].reshape(()).copy() if plain else xs[more[0]].reshape(()))
    elif word == "where_":
        if plain:
            x[...] = np.where(x > 0.0, x, 0.1)
        else:
            x.masked_fill_(x <= 0.0, 0.1)
    elif plain:
        x[...] = {
            "mul_": lambda: x * more[0], "mul_by": lambda: x * y, "add_by": lambda: x + y, "sin_": lambda: np.sin(x),
            "exp_": lambda: np.exp(np.sin(x)), "copy_": lambda: y.copy(), "out": lambda: np.sin(y),
            "fill_": lambda: more[0], "zero_": lambda: 0.0,
        }[word]()  # fmt: skip
    elif word == "out":
        x.copy_(y.sin())
    elif word == "exp_":
        x.sin_().exp_()
    elif word in ("sin_", "zero_"):
        getattr(x, word)()
    else:
        getattr(x, word.replace("by", ""))(more[0] if y is None else y)


def run(lib: Any, program: list[Step], leaves: Sequence[Any]) -> Any:
    """What the program gives: a weighted sum of all its tensors as they are at the end."""
    xs = list(leaves)
    for step in program:
        apply(lib, xs, step)
    total = 0.0
    for k, x in enumerate(xs[3:]):
        total = total + (x * (0.3 + 0.1 * (k % 7))).sum()
    return total


def slopes(function: Callable[[list[np.ndarray]], float], leaves: list[np.ndarray]) -> list[np.ndarray]:
    """Central differences of a function of all leaves."""
    found, step = [], 1e-6
    for k, x in enumerate(leaves):
        g = np.zeros(x.shape)
        for place in np.ndindex(x.shape):
            ends = []
            for sign in (1.0, -1.0):
                moved = [each.copy() for each in leaves]
                moved[k][place] += sign * step
                ends.append(function(moved))
            g[place] = (ends[0] - ends[1]) / (2 * step)
        found.append(g)
    return found


def in_numpy(program: list[Step], leaves: Sequence[np.ndarray]) -> float:
    """What the program gives, by NumPy."""
    return float(run(Numpy(), program, [x.copy() for x in leaves]))


def derivatives(lib: Any, grad: Any, program: list[Step], leaves: list[Any], order: int) -> tuple[Any, list[Any]]:
    """The value, and the gradients in all leaves; for order 2 of a weighted sum of the first ones."""
    y = run(lib, program, leaves)
    value = float(y.detach().item())
    gs = grad(y, leaves, create_graph=order > 1, allow_unused=True)
    if order > 1:
        y = mixed([g if g is not None and g.requires_grad else None for g in gs])
        gs = [None] * len(leaves) if y is None else grad(y, leaves, allow_unused=True)
    return value, [None if g is None else np.asarray(g.tolist()) for g in gs]


def mixed(gs: Sequence[Any]) -> Any:
    """A weighted sum of all gradients; None if there is none."""
    parts = [(g * (0.7 + 0.2 * j)).sum() for j, g in enumerate(gs) if g is not None]
    return sum(parts[1:], parts[0]) if parts else None


def differences(lib: Any, var: Any, grad: Any, program: list[Step], leaves: list[np.ndarray], order: int) -> Any:
    """What `derivatives` should give in minigrad, by finite differences: of the values, or of the first gradients."""
    if order == 1:
        return slopes(lambda moved: in_numpy(program, moved), leaves)

    def first(moved: list[np.ndarray]) -> float:
        total = mixed(derivatives(lib, grad, program, [var(x) for x in moved], 1)[1])
        return 0.0 if total is None else float(total)

    return slopes(first, leaves)


def near(found: Sequence[Any], wanted: Sequence[Any], tolerance: float) -> bool:
    """Whether gradients agree; None is a zero."""
    return all(
        np.allclose(0.0 if a is None else a, 0.0 if b is None else b, rtol=tolerance, atol=tolerance)
        for a, b in zip(found, wanted, strict=True)
    )


def compared(seed: int, order: int, device: str) -> str:
    """What comes of one program in minigrad and in PyTorch; what begins with WRONG is to be looked at."""
    import torch

    import minigrad as mg

    program, values = make(seed, 4 + seed % 12, flips=False), leaf_values(seed)
    try:
        leaves = [torch.tensor(v, requires_grad=True) for v in values]
        theirs: Any = derivatives(Library(torch), torch.autograd.grad, program, leaves, order)
    except RuntimeError:
        theirs = None

    def var(x: Any) -> Any:
        return mg.Var(x, device=device)

    lib = Library(mg, device=device)
    try:
        value, mine = derivatives(lib, mg.grad, program, [var(v) for v in values], order)
    except (mg.GradientError, mg.StorageError):
        return "both raise" if theirs is None else "WRONG: only minigrad raises"
    right = in_numpy(program, values)
    if not np.isclose(value, right, rtol=1e-10):
        return "WRONG value"
    if theirs is not None and np.isclose(theirs[0], right, rtol=1e-10):
        return "agree" if near(mine, theirs[1], 1e-9) else "WRONG gradient"
    word = "only PyTorch raises" if theirs is None else "only PyTorch has a wrong value"
    wanted = differences(lib, var, mg.grad, program, values, order)
    return word if near(mine, wanted, 1e-5) else f"WRONG gradient, and {word}"


def main(count: int, first: int = 0, device: str = "reference") -> None:
    """Compare with PyTorch, and say what differs."""
    tally: dict[str, int] = {}
    for seed in range(first, first + count):
        for order in (1, 2):
            outcome = compared(seed, order, device)
            tally[outcome] = tally.get(outcome, 0) + 1
            if outcome.startswith("WRONG"):
                print(seed, order, outcome, make(seed, 4 + seed % 12, flips=False))
    print(tally)


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(int, sys.argv[2:3]), *sys.argv[3:4])
