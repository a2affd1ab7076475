"""What a random program must fulfil: derivatives to third order, forward and reverse, one at a time and batched.

Order by order a derivative is contracted with a fixed direction to one number again: s0 is the program, s1 = <ds0, u1>,
s2 = <ds1, u2>.  The derivative of each along a direction is held against the central quotient of the same number, and
against what forward mode says.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.errors import GradientError, StorageError
from tests.programs import in_numpy
from tests.programs.generator import Array, Program

STEP = 1e-5  # of a quotient; its error is about STEP**2 times a third derivative
SMALLER = STEP / 30  # for a function with a large third derivative
RTOL = 2e-5  # of a derivative, next to a quotient
Numbers = Callable[..., Any]


class Wrong(AssertionError):
    """A program whose derivatives disagree; the message says how, and prints it."""


class On:
    """minigrad with all of its tensors on one device."""

    def __init__(self, device: str) -> None:
        self.device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(mg, name)

    def leaf(self, x: Array) -> Any:
        return mg.Var(x, dtype="float64", device=self.device)

    def tensor(self, x: Array) -> Any:
        return mg.tensor(x, device=self.device)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return mg.zeros(shape, dtype="float64", device=self.device)


class Torch:
    """PyTorch, likewise."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def leaf(self, x: Array) -> Any:
        return self.torch.tensor(x, dtype=self.torch.float64, requires_grad=True)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return self.torch.zeros(shape, dtype=self.torch.float64)


CPU = On("cpu")


def directions(program: Program, order: int) -> list[list[Array]]:
    """For each order, a direction for each leaf."""
    rng = np.random.default_rng(program.seed + 1)
    return [[rng.standard_normal(x.shape) for x in program.leaves] for _ in range(order)]


def contracted(program: Program, order: int, along: Sequence[Sequence[Array]], library: Any, grad: Any) -> Numbers:
    """s_order as a function of the leaves."""

    def number(*leaves: Any) -> Any:
        s = program.run(library, leaves)
        for level in range(order):
            found = grad(s, leaves)
            parts = [(g * library.tensor(u)).sum() for g, u in zip(found, along[level]) if g is not None]
            if not parts:
                return s * 0.0
            s = sum(parts[1:], parts[0])
        return s

    return number


def reverse(s: Any, leaves: Sequence[Any], recorded: bool = True) -> Sequence[Any]:
    """Gradients, whose graph is recorded or not; None where s does not depend on a leaf."""
    if not s.requires_grad:
        return [None] * len(leaves)
    found: Sequence[Any] = mg.grad(s, list(leaves), create_graph=recorded, allow_unused=True)
    return found


def value(number: Numbers, leaves: Sequence[Array], library: Any = CPU) -> float:
    """The number at a point."""
    return float(number(*map(library.leaf, leaves)).item())


def quotient(number: Numbers, program: Program, us: Sequence[Array], step: float, library: Any) -> float:
    """The difference quotient of a number along a direction."""
    up = value(number, [x + step * u for x, u in zip(program.leaves, us)], library)
    down = value(number, [x - step * u for x, u in zip(program.leaves, us)], library)
    return (up - down) / (2 * step)


def check_value(program: Program, library: Any = CPU) -> None:
    """Raise Wrong unless NumPy gives the value, too."""
    found = float(program.run(library, list(map(library.leaf, program.leaves))).item())
    expect(program, "value", found, float(program.run(in_numpy, list(map(in_numpy.tensor, program.leaves)))), 1e-10)


def check(program: Program, order: int = 3, library: Any = CPU) -> None:
    """Raise Wrong unless the derivatives up to an order are those of quotients; where nothing is compiled for it, of
    the last one without its graph, too."""
    along = directions(program, order)
    for level in range(order):
        number = contracted(program, level, along, library, reverse)
        right = quotient(number, program, along[level], STEP, library)
        for recorded in (True,) if library.device == "cpu" else (True, False):
            leaves = list(map(library.leaf, program.leaves))
            gradients = reverse(number(*leaves), leaves, recorded)
            parts = [(g * library.tensor(u)).sum() for g, u in zip(gradients, along[level]) if g is not None]
            said = sum(float(part.item()) for part in parts)
            what = f"order {level + 1}, reverse{', recorded' * recorded}"
            if abs(said - right) > RTOL * (1.0 + abs(right)):
                right = quotient(number, program, along[level], SMALLER, library)
            expect(program, what, said, right, RTOL)


def check_transforms(program: Program, order: int = 2) -> None:
    """Raise Wrong unless forward mode, every nesting of the two modes and a batch give what reverse mode gives."""
    func, along = mg.func, directions(program, order)
    places = tuple(range(len(program.leaves)))
    leaves = [mg.tensor(x) for x in program.leaves]
    tangents = [[mg.tensor(u) for u in us] for us in along]

    def run(*xs: Any) -> Any:
        return program.run(mg, xs)

    def forward(f: Numbers, us: Sequence[Any]) -> Numbers:
        return lambda *xs: func.jvp(f, xs, tuple(us))[1]

    def backward(f: Numbers, us: Sequence[Any]) -> Numbers:
        def number(*xs: Any) -> Any:
            parts = [(g * u).sum() for g, u in zip(func.grad(f, places)(*xs), us)]
            return sum(parts[1:], parts[0])

        return number

    right = [contracted(program, level, along, CPU, reverse) for level in range(order + 1)]
    for level in range(1, order + 1):
        expected = value(right[level], program.leaves)
        for ways in itertools.product((forward, backward), repeat=level):
            f = run
            for way, us in zip(ways, tangents):
                f = way(f, us)
            words = " over ".join(way.__name__ for way in reversed(ways))
            expect(program, f"order {level}, {words}", float(f(*leaves).item()), expected, 1e-9)
    shifted = [[x + 0.1 * k * u for x, u in zip(program.leaves, along[0])] for k in range(3)]
    batch = [mg.tensor(np.stack(xs)) for xs in zip(*shifted)]
    found = func.vmap(func.grad(run, places))(*batch)
    for k, xs in enumerate(shifted):
        alone = func.grad(run, places)(*[mg.tensor(x) for x in xs])
        for at, (many, one) in enumerate(zip(found, alone)):
            apart = np.abs(many.numpy()[k] - one.numpy()).max(initial=0.0)
            expect(program, f"batched gradient {at} of point {k}", float(apart), 0.0, 1e-9)


def expect(program: Program, what: str, said: float, right: float, rtol: float) -> None:
    """Raise Wrong unless two numbers are close."""
    if not abs(said - right) <= rtol * (1.0 + abs(right)):
        raise Wrong(f"program {program.seed}, {what}: {said:.10g}, but {right:.10g} is right\n{program}")


def against(program: Program, torch: Any, order: int = 3, library: Any = CPU) -> str:
    """What comes of it beside PyTorch: "agree", "both raise", "only PyTorch raises", "only PyTorch has a wrong value".
    Raises Wrong where values or derivatives of some order differ, or only minigrad raises."""
    theirs = Torch(torch)

    def grad(s: Any, leaves: Sequence[Any]) -> Sequence[Any]:
        if not s.requires_grad:
            return [None] * len(leaves)
        found: Sequence[Any] = torch.autograd.grad(s, leaves, create_graph=True, allow_unused=True)
        return found

    along = directions(program, order)
    for level in range(order + 1):
        mine, other = (
            number_or_none(contracted(program, level, along, lib, way), program.leaves, lib)
            for lib, way in ((library, reverse), (theirs, grad))
        )
        if mine is None and other is not None:
            raise Wrong(f"program {program.seed}, order {level}: only minigrad raises\n{program}")
        if mine is None or other is None:
            return "both raise" if mine is None else "only PyTorch raises"
        if program.every and level == 0 and abs(mine - other) > 1e-10 * (1.0 + abs(mine)):
            return "only PyTorch has a wrong value"  # ours is NumPy's, as `check_value` says
        expect(program, f"order {level}, beside PyTorch", mine, other, 1e-9)
    return "agree"


def number_or_none(number: Numbers, leaves: Sequence[Array], library: Any) -> float | None:
    """The number at a point; None where a library refuses to differentiate."""
    try:
        return value(number, leaves, library)
    except (GradientError, StorageError):
        return None
    except RuntimeError:
        if isinstance(library, Torch):
            return None
        raise
