"""Programs that write into what earlier steps have made: results, buffers, views, views of views, parts, by masks.

A write changes what others show, whether they were made before it or are made after it, so every value counts, as it is
at the end.  What a step may do depends on how its operands lie, so each is tried in NumPy first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.programs import in_numpy
from tests.programs.generator import Call, Maker, Program, fits

LEAVES = ((3, 3), (3,), ())
BUFFERS = ((3, 3), (3,), (4,))
INDICES: dict[int, Sequence[Any]] = {
    0: (...,),
    1: (0, -1, slice(1, None), slice(None, 2), slice(None, None, 2)),
    2: (0, slice(1, None), slice(None, 2), (slice(None), 1), (slice(None), slice(1, None)), (1, 1),
        (slice(None, None, 2), slice(None, 2)), ...),
}  # fmt: skip


class WrittenMaker(Maker):
    """Makes one program.  flips: whether it may have `flip`, which is a view here and a copy in PyTorch."""

    def __init__(self, seed: int, length: int, flips: bool) -> None:
        self.flips = flips
        super().__init__(seed, length, KINDS)
        self.program.every = True

    def begin(self) -> None:
        """Leaves that are not near zero, and a copy of each: leaves are not written."""
        self.arrays: list[Any] = []
        for shape in LEAVES:
            self.leaf(self.rng.uniform(0.3, 1.2, shape) * self.rng.choice([-1.0, 1.0], shape))
            self.arrays.append(in_numpy.tensor(self.program.leaves[-1]))
        for k in range(len(LEAVES)):
            self.step("{0} * 1.0", (k,), lambda lib, v: v[0] * 1.0)

    def some(self) -> int:
        """Any value but a leaf."""
        return int(self.rng.integers(len(LEAVES), len(self.arrays)))

    def array(self, k: int) -> Any:
        return self.arrays[k]

    def one_of(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def step(self, words: str, operands: tuple[int, ...], call: Call) -> None:
        """Append a step, whose shape is that of what it gives in NumPy."""
        found = call(in_numpy, [self.arrays[k] for k in operands])
        self.arrays.append(found)
        self.add(words, operands, call, found.shape)


# ---- steps ----------------------------------------------------------------------------------------------------------


def buffer(m: WrittenMaker) -> None:
    shape = m.one_of(BUFFERS)
    m.step(f"zeros({shape})", (), lambda lib, v: lib.zeros(shape))


def scale(m: WrittenMaker) -> None:
    factor = m.one_of((0.5, -1.5, 2.0))
    m.step(f"{{0}} * {factor}", (m.some(),), lambda lib, v: v[0] * factor)


def sine(m: WrittenMaker) -> None:
    m.step("{0}.sin()", (m.some(),), lambda lib, v: v[0].sin())


def pair(m: WrittenMaker) -> tuple[int, int] | None:
    """Two values, of which the second broadcasts to the first."""
    a, b = m.some(), m.some()
    return (a, b) if fits(m.shape(b), m.shape(a)) else None


def product(m: WrittenMaker) -> None:
    if (two := pair(m)) is not None:
        m.step("{0} * {1}", two, lambda lib, v: v[0] * v[1])


def total(m: WrittenMaker) -> None:
    if (two := pair(m)) is not None:
        m.step("{0} + {1}", two, lambda lib, v: v[0] + v[1])


def part(m: WrittenMaker) -> None:
    a = m.some()
    shape = m.shape(a)
    if len(shape) in (1, 2) and m.array(a).size > 1 and 1 not in shape:
        index = m.one_of(INDICES[len(shape)])
        m.step(f"{{0}}[{index}]", (a,), lambda lib, v: v[0][index])


def turned(m: WrittenMaker) -> None:
    a = m.some()
    if m.array(a).ndim == 2:
        m.step("{0}.T", (a,), lambda lib, v: v[0].T)


def flat(m: WrittenMaker) -> None:
    a = m.some()
    if m.array(a).ndim == 2 and m.array(a).flags.c_contiguous:
        m.step("{0}.reshape(-1)", (a,), lambda lib, v: v[0].reshape(-1))


def diagonal(m: WrittenMaker) -> None:
    a = m.some()
    if m.array(a).ndim == 2:
        m.step("{0}.diagonal()", (a,), lambda lib, v: v[0].diagonal())


def flip(m: WrittenMaker) -> None:
    a = m.some()
    if m.flips and m.array(a).ndim:
        m.step("{0}.flip(0)", (a,), lambda lib, v: v[0].flip(0))


def assign(m: WrittenMaker) -> None:
    a, b = m.some(), m.some()
    index = m.one_of(INDICES[len(m.shape(a))])
    if 1 not in m.shape(a) and fits(m.shape(b), m.array(a)[index].shape):

        def call(lib: Any, v: list[Any]) -> Any:
            v[0][index] = v[1]
            return v[0]

        m.step(f"{{0}}[{index}] = {{1}}", (a, b), call)


def mask(m: WrittenMaker) -> None:
    a, b = m.some(), m.some()
    if not m.shape(a):
        return
    one = m.array(b).size == 1

    def call(lib: Any, v: list[Any]) -> Any:
        v[0][v[0] > 0.1] = v[1].reshape(()) if one else 0.5
        return v[0]

    words = f"{{0}}[{{0}} > 0.1] = {'{1}.reshape(())' if one else '0.5'}"
    m.step(words, (a, b) if one else (a,), call)


def with_number(m: WrittenMaker) -> None:
    name, number = m.one_of((("mul_", 0.5), ("mul_", -1.5), ("mul_", 2.0), ("fill_", 0.25), ("fill_", 0.25)))
    m.step(f"{{0}}.{name}({number})", (m.some(),), lambda lib, v: getattr(v[0], name)(number))


def with_other(m: WrittenMaker) -> None:
    name = m.one_of(("mul_", "add_", "copy_"))
    if (two := pair(m)) is not None:
        m.step(f"{{0}}.{name}({{1}})", two, lambda lib, v: getattr(v[0], name)(v[1]))


def with_sine(m: WrittenMaker) -> None:
    if (two := pair(m)) is not None:
        m.step("{0}.copy_({1}.sin())", two, lambda lib, v: v[0].copy_(v[1].sin()))


def by_itself(m: WrittenMaker) -> None:
    name = m.one_of(("sin_", "zero_"))
    m.step(f"{{0}}.{name}()", (m.some(),), lambda lib, v: getattr(v[0], name)())


def twice(m: WrittenMaker) -> None:
    m.step("{0}.sin_().exp_()", (m.some(),), lambda lib, v: v[0].sin_().exp_())


def positive(m: WrittenMaker) -> None:
    m.step("{0}.masked_fill_({0} <= 0.0, 0.1)", (m.some(),), lambda lib, v: v[0].masked_fill_(v[0] <= 0.0, 0.1))


KINDS: list[Callable[[Any], None]] = [
    buffer, scale, sine, product, total, part, part, part, turned, flat, diagonal, flip, assign, assign, assign, mask,
    with_number, with_number, with_other, with_other, with_other, with_sine, by_itself, by_itself, twice, positive,
]  # fmt: skip


def program(seed: int, flips: bool = True) -> Program:
    """The program of a seed that writes into what it made."""
    return WrittenMaker(seed, 7 + seed % 12, flips).program
