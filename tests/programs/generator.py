"""Programs made by chance: expression graphs with views, broadcasting, reductions, products, writes and shared nodes.

A program is a list of steps over values that are known by number; each step is a function of a library (minigrad or
PyTorch, which have the same names for all of it) and earlier values.  All functions are smooth where the values lie, so
that difference quotients of any order exist: what could be large is squashed first, quotients keep away from zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Call = Callable[[Any, list[Any]], Any]
LARGEST = 24  # elements of a value


@dataclass
class Step:
    """One step: `call(library, operands)` gives a value; a write gives the one that it wrote into."""

    words: str
    operands: tuple[int, ...]
    call: Call
    shape: tuple[int, ...]


@dataclass
class Program:
    """The leaves, by value, then steps, and the shapes of all values.  every: whether what a value is at the end counts
    for each of them, since steps write into those of others."""

    seed: int
    leaves: list[Array] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    every: bool = False

    def run(self, library: Any, leaves: Sequence[Any]) -> Any:
        """One number: the sum of a squashed part of every value that nothing else used, or of all."""
        values = list(leaves)
        used: set[int] = set()
        for step in self.steps:
            values.append(step.call(library, [values[k] for k in step.operands]))
            used.update(step.operands)
        if self.every:
            parts = [(x * (0.3 + 0.1 * (k % 7))).sum() for k, x in enumerate(values[len(leaves) :])]
            return sum(parts[1:], parts[0])
        ends = [k for k in range(len(values)) if k not in used or k >= len(values) - 2]
        total = values[ends[0]].tanh().sum()
        for k in ends[1:]:
            total = total + values[k].tanh().sum() * (1.0 + 0.125 * (k % 3))
        return total

    def __str__(self) -> str:
        count = len(self.leaves)
        lines = [f"x{k} = leaf{self.shapes[k]}" for k in range(count)]
        for k, step in enumerate(self.steps, count):
            lines.append(f"x{k} = {step.words.format(*[f'x{j}' for j in step.operands])}  # {step.shape}")
        return "\n".join(lines)


class Maker:
    """Makes one program, of steps of some kinds."""

    def __init__(
        self, seed: int, length: int, kinds: Sequence[Callable[[Any], None]], functions: Sequence[str] = ()
    ) -> None:
        self.functions = functions
        self.rng = np.random.default_rng(seed)
        self.program = Program(seed)
        self.begin()
        first = len(self.program.steps)
        while len(self.program.steps) < first + length:
            self.kind = kinds[int(self.rng.integers(len(kinds)))]
            self.kind(self)

    def begin(self) -> None:
        """Make the leaves."""
        for _ in range(int(self.rng.integers(2, 4))):
            shape = tuple(int(n) for n in self.rng.integers(1, 5, size=self.rng.integers(0, 4)))
            while np.prod(shape) > LARGEST:
                shape = shape[1:]
            self.leaf(self.rng.uniform(-1.0, 1.0, shape))

    # ---- pieces ----

    def leaf(self, values: Any) -> None:
        """Append a leaf."""
        self.program.leaves.append(np.asarray(values))
        self.program.shapes.append(self.program.leaves[-1].shape)

    def pick(self, where: Callable[[int], bool] = lambda k: True) -> int | None:
        """A value by number, the later ones more often; None if none is as asked."""
        known = [k for k in range(len(self.program.shapes)) if where(k)]
        if not known:
            return None
        weights = np.arange(1.0, len(known) + 1.0)
        return int(self.rng.choice(known, p=weights / weights.sum()))

    def shape(self, k: int) -> tuple[int, ...]:
        return self.program.shapes[k]

    def dim(self, k: int) -> int:
        return int(self.rng.integers(len(self.shape(k))))

    def add(self, words: str, operands: tuple[int, ...], call: Call, shape: tuple[int, ...]) -> None:
        """Append a step."""
        self.program.steps.append(Step(words, operands, call, shape))
        self.program.shapes.append(shape)


# ---- steps ----------------------------------------------------------------------------------------------------------

UNARY = ("tanh", "sin", "cos", "sigmoid", "exp", "square", "neg", "atan", "erf", "expm1")
FEW = ("tanh", "sin", "exp", "square", "neg")  # of a program that compiles its kernels: two to seven for each function


def unary(m: Maker) -> None:
    k = m.pick()
    assert k is not None
    name = str(m.rng.choice(m.functions))
    if name in ("exp", "expm1", "square"):
        m.add(f"{{0}}.tanh().{name}()", (k,), lambda lib, v: getattr(v[0].tanh(), name)(), m.shape(k))
    else:
        m.add(f"{{0}}.{name}()", (k,), lambda lib, v: getattr(v[0], name)(), m.shape(k))


def binary(m: Maker) -> None:
    a = m.pick()
    assert a is not None
    b = m.pick(lambda k: broadcasts(m.shape(a), m.shape(k)))
    assert b is not None
    shape = np.broadcast_shapes(m.shape(a), m.shape(b))
    name = str(m.rng.choice(["add", "sub", "mul", "div"]))
    calls: dict[str, tuple[str, Call]] = {
        "add": ("{0} + {1}", lambda lib, v: v[0] + v[1]),
        "sub": ("{0} - 0.5 * {1}", lambda lib, v: v[0] - 0.5 * v[1]),
        "mul": ("{0} * {1}.tanh()", lambda lib, v: v[0] * v[1].tanh()),
        "div": ("{0} / (2.0 + {1} * {1})", lambda lib, v: v[0] / (2.0 + v[1] * v[1])),
    }
    m.add(calls[name][0], (a, b), calls[name][1], shape)


def view(m: Maker) -> None:
    k = m.pick(lambda k: len(m.shape(k)) > 0)
    if k is None:
        return
    shape, d = m.shape(k), m.dim(k)
    kind = int(m.rng.integers(7))
    if kind == 0 and len(shape) > 1:
        e = int(m.rng.integers(len(shape)))
        swapped = list(shape)
        swapped[d], swapped[e] = swapped[e], swapped[d]
        m.add(f"{{0}}.transpose({d}, {e})", (k,), lambda lib, v: v[0].transpose(d, e), tuple(swapped))
    elif kind == 1:
        start = int(m.rng.integers(shape[d]))
        n = int(m.rng.integers(1, shape[d] - start + 1))
        m.add(f"{{0}}.narrow({d}, {start}, {n})", (k,), lambda lib, v: v[0].narrow(d, start, n),
              (*shape[:d], n, *shape[d + 1 :]))  # fmt: skip
    elif kind == 2:
        at = int(m.rng.integers(shape[d]))
        m.add(f"{{0}}.select({d}, {at})", (k,), lambda lib, v: v[0].select(d, at), (*shape[:d], *shape[d + 1 :]))
    elif kind == 3:
        m.add(f"{{0}}.unsqueeze({d})", (k,), lambda lib, v: v[0].unsqueeze(d), (*shape[:d], 1, *shape[d:]))
    elif kind == 4 and np.prod(shape) * 2 <= LARGEST and len(shape) < 4:
        m.add("{0}.expand(2, ...) + 0", (k,), lambda lib, v: v[0].expand(2, *shape) + 0.0, (2, *shape))
    elif kind == 5:
        flat = int(np.prod(shape))
        m.add(f"{{0}}.reshape({flat}) * 1.0", (k,), lambda lib, v: v[0].reshape(flat) * 1.0, (flat,))
    elif kind == 6 and shape[d] > 1:
        here = (slice(None),) * d + (slice(None, None, 2),)
        half = (*shape[:d], -(-shape[d] // 2), *shape[d + 1 :])
        m.add(f"{{0}}[{':, ' * d}::2]", (k,), lambda lib, v: v[0][here], half)


def reducer(m: Maker) -> None:
    k = m.pick(lambda k: len(m.shape(k)) > 0)
    if k is None:
        return
    shape, d, keep = m.shape(k), m.dim(k), bool(m.rng.integers(2))
    name = str(m.rng.choice(["sum", "mean", "logsumexp", "softmax", "cumsum", "log_softmax"]))
    left = (*shape[:d], *((1,) if keep else ()), *shape[d + 1 :])
    if name in ("softmax", "cumsum", "log_softmax"):
        m.add(f"{{0}}.{name}({d})", (k,), lambda lib, v: getattr(v[0], name)(d), shape)
    else:
        m.add(f"{{0}}.{name}({d}, {keep})", (k,), lambda lib, v: getattr(v[0], name)(d, keep), left)


def product(m: Maker) -> None:
    a = m.pick(lambda k: len(m.shape(k)) == 2)
    b = None if a is None else m.pick(lambda k: len(m.shape(k)) == 2 and m.shape(k)[0] == m.shape(a)[1])
    if a is None:
        return
    if b is None and m.shape(a)[0] ** 2 <= LARGEST:
        m.add("{0} @ {0}.transpose(0, 1)", (a,), lambda lib, v: v[0] @ v[0].transpose(0, 1), (m.shape(a)[0],) * 2)
    elif b is not None and m.shape(a)[0] * m.shape(b)[1] <= LARGEST:
        m.add("{0} @ {1}", (a, b), lambda lib, v: v[0] @ v[1], (m.shape(a)[0], m.shape(b)[1]))


def join(m: Maker) -> None:
    a = m.pick(lambda k: len(m.shape(k)) > 0 and 2 * np.prod(m.shape(k)) <= LARGEST)
    if a is None:
        return
    b = m.pick(lambda k: m.shape(k) == m.shape(a))
    assert b is not None
    shape, d = m.shape(a), m.dim(a)
    if m.rng.integers(2) and len(shape) < 4:
        m.add(f"stack([{{0}}, {{1}}], {d})", (a, b), lambda lib, v: lib.stack(v, d), (*shape[:d], 2, *shape[d:]))
    else:
        joined = (*shape[:d], 2 * shape[d], *shape[d + 1 :])
        m.add(f"cat([{{0}}, {{1}}], {d})", (a, b), lambda lib, v: lib.cat(v, d), joined)


def choose(m: Maker) -> None:
    a = m.pick()
    assert a is not None
    b = m.pick(lambda k: m.shape(k) == m.shape(a))
    assert b is not None
    mask = m.rng.integers(2, size=m.shape(a)).astype(bool)
    m.add("where(mask, {0}, {1})", (a, b), lambda lib, v: lib.where(lib.tensor(mask), v[0], v[1]), m.shape(a))


def pick_rows(m: Maker) -> None:
    k = m.pick(lambda k: len(m.shape(k)) > 0)
    if k is None:
        return
    shape, d = m.shape(k), m.dim(k)
    index = m.rng.integers(shape[d], size=3)
    if np.prod(shape) // shape[d] * 3 > LARGEST:
        return
    m.add(f"{{0}}.index_select({d}, {index.tolist()})", (k,),
          lambda lib, v: v[0].index_select(d, lib.tensor(index)), (*shape[:d], 3, *shape[d + 1 :]))  # fmt: skip


# ---- writes: into a copy, or into what an op has just made, or through a view of either; `written.py` has others -----


def write_whole(m: Maker) -> None:
    a = m.pick()
    assert a is not None
    b = m.pick(lambda k: fits(m.shape(k), m.shape(a)))
    assert b is not None
    name = str(m.rng.choice(["add_", "mul_", "sub_"]))

    def call(lib: Any, v: list[Any]) -> Any:
        y = v[0] * 1.0
        getattr(y, name)(v[1].sin())
        return y

    m.add(f"({{0}} * 1.0).{name}({{1}}.sin())", (a, b), call, m.shape(a))


def write_part(m: Maker) -> None:
    a = m.pick(lambda k: len(m.shape(k)) > 0)
    if a is None:
        return
    shape, d = m.shape(a), m.dim(a)
    start = int(m.rng.integers(shape[d]))
    part = (*shape[:d], *shape[d + 1 :])
    b = m.pick(lambda k: fits(m.shape(k), part))
    if b is None:
        return
    here = (slice(None),) * d + (start,)
    kind = int(m.rng.integers(4))

    def call(lib: Any, v: list[Any]) -> Any:
        y = v[0].cos()
        seen = y.select(d, start)
        if kind == 0:
            y[here] = v[1]
        elif kind == 1:
            y.select(d, start).mul_(v[1].tanh())
        elif kind == 2:
            y[here] += v[1]
            y.mul_(y.detach() * 0.0 + 1.5)
        else:
            seen.copy_(v[1] * 0.5)
        return y + seen.sum() * 0.25

    m.add(f"write {kind} of {{1}} into {{0}}.cos()[{':, ' * d}{start}]", (a, b), call, shape)


def write_mask(m: Maker) -> None:
    a = m.pick(lambda k: len(m.shape(k)) > 0)
    if a is None:
        return
    mask = m.rng.integers(2, size=m.shape(a)).astype(bool)

    def call(lib: Any, v: list[Any]) -> Any:
        y = v[0].sin() + v[0]
        y[lib.tensor(mask)] = 0.25
        return y * v[0]

    m.add("y = {0}.sin() + {0}; y[mask] = 0.25; y * {0}", (a,), call, m.shape(a))


def write_in_turn(m: Maker) -> None:
    a = m.pick(lambda k: len(m.shape(k)) > 0)
    if a is None:
        return
    n = m.shape(a)[0]

    def call(lib: Any, v: list[Any]) -> Any:
        y = v[0].sin()
        for k in range(1, n):
            y[k] = y[k - 1] * 0.5 + v[0][k]
        return y

    m.add("y = {0}.sin(); y[k] = y[k - 1] * 0.5 + {0}[k]", (a,), call, m.shape(a))


KINDS: list[Callable[[Maker], None]] = [
    unary, unary, binary, binary, binary, view, view, reducer, reducer, product, join, choose, pick_rows,
]  # fmt: skip
WRITES: list[Callable[[Maker], None]] = [write_whole, write_part, write_part, write_mask, write_in_turn]


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast, to nothing large."""
    try:
        return bool(np.prod(np.broadcast_shapes(a, b)) <= LARGEST)
    except ValueError:
        return False


def fits(small: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another."""
    try:
        return np.broadcast_shapes(small, into) == into
    except ValueError:
        return False


def program(seed: int, writes: bool = True, functions: Sequence[str] = UNARY) -> Program:
    """The program of a seed."""
    rng = np.random.default_rng(seed)
    return Maker(seed, int(rng.integers(5, 13)), [*KINDS, *WRITES] if writes else KINDS, functions).program
