"""The steps of Fourier transforms on vectors of eight complex numbers, in registers.

A *block* is a vector of eight real parts, followed by one of the eight imaginary parts, in the order PARTED; *pairs*
are eight complex numbers as they are in memory.  `step_of` makes an intrinsic of one of the functions of STEPS.  They
compute with vectors of LLVM, or of NumPy with NUMBA_DISABLE_JIT=1, by the same text.  LLVM does not vectorise loops
over so many slices: docs/decisions/104 has the measurements.  Only generated modules import this file.  They contain
its hash, so a change of this file changes the text, and thereby the name, of a kernel.

All functions of STEPS have the same arguments: arrays x, y and w, the position `at` in x and `to` in y, the distances
`step` in x and `gap` in y, the position p in the factors w, and `flag`.  Positions count real numbers.

Source: Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, sections 1.7 (Stockham's order), 2.4.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin, sqrt
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from minigrad.kernels.cpu.emitting import I32, I64, element_type
from minigrad.kernels.cpu.processor import PARTED
from minigrad.kernels.cpu.vectors import turned

LANES = 8
Block = tuple[Any, Any]  # a vector of real parts, and one of imaginary parts


def times(z: Block, w: Block) -> Block:
    """Return a product of complex numbers."""
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def sum_of(a: Block, b: Block) -> Block:
    """Return a sum of blocks."""
    return a[0] + b[0], a[1] + b[1]


def difference_of(a: Block, b: Block) -> Block:
    """Return a difference of blocks."""
    return a[0] - b[0], a[1] - b[1]


def four(a: Block, b: Block, c: Block, d: Block) -> list[Block]:
    """Return the transform of four numbers."""
    even, odd, s, t = sum_of(a, c), difference_of(a, c), sum_of(b, d), difference_of(b, d)
    t = t[1], -t[0]  # times -i
    return [sum_of(even, s), sum_of(odd, t), difference_of(even, s), difference_of(odd, t)]


def eight(z: list[Block]) -> list[Block]:
    """Return the transform of eight numbers: two of four, and the eighth roots of unity between them."""
    even, odd, half = four(*z[::2]), four(*z[1::2]), sqrt(0.5)
    (r1, i1), (r2, i2), (r3, i3) = odd[1:]
    odd = [odd[0], ((r1 + i1) * half, (i1 - r1) * half), (i2, -r2), ((i3 - r3) * half, (r3 + i3) * -half)]
    return [sum_of(a, b) for a, b in zip(even, odd)] + [difference_of(a, b) for a, b in zip(even, odd)]


def odd_number(z: list[Block]) -> list[Block]:
    """Return the transform of an odd number of numbers: the terms j and n - j share their products."""
    n, result = len(z), [z[0]] * len(z)
    sums = [sum_of(z[j], z[n - j]) for j in range(1, n // 2 + 1)]
    gaps = [difference_of(z[j], z[n - j]) for j in range(1, n // 2 + 1)]
    for each in sums:
        result[0] = sum_of(result[0], each)
    for k in range(1, n // 2 + 1):
        even, turn = z[0], None
        for j, (s, t) in enumerate(zip(sums, gaps), 1):
            angle = 2 * pi * (j * k % n) / n
            even = even[0] + s[0] * cos(angle), even[1] + s[1] * cos(angle)
            term = t[1] * sin(angle), t[0] * -sin(angle)
            turn = sum_of(turn, term) if turn else term
        result[k], result[n - k] = sum_of(even, turn), difference_of(even, turn)  # type: ignore[arg-type]
    return result


def transform_of(z: list[Block]) -> list[Block]:
    """Return the transform of 2, 4 or 8 numbers or of an odd number of them."""
    if len(z) == 2:
        return [sum_of(*z), difference_of(*z)]
    return eight(z) if len(z) == 8 else four(*z) if len(z) == 4 else odd_number(z)


def conjugated_if(z: Block, flag: Any) -> Block:
    """Return the block, or with the flag its conjugate: so the forward steps compute an inverse transform."""
    return z[0], z[1] * flag.sign


def spread(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
    """Store pairs as a block."""
    y.put_block(to, conjugated_if(x.pairs(at), flag))


def spread_product(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
    """Store the products of pairs and pairs of w as a block."""
    y.put_block(to, conjugated_if(times(x.pairs(at), w.pairs(p)), flag))


def product(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
    """Store the products of pairs and pairs of w as pairs."""
    y.put_pairs(to, times(x.pairs(at), w.pairs(p)))


def join(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
    """Store a block, multiplied by w[p], as pairs."""
    re, im = x.block(at)
    y.put_pairs(to, conjugated_if((re * w.number(p), im * w.number(p)), flag))


def whole_pass(radix: int) -> Callable[..., None]:
    """Return the step that transforms blocks by `radix`, for `step` factors and `gap` blocks that share a factor.

    It multiplies the results of each transform, but the first, by the next numbers of w.
    """

    def passed(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
        size, count = gap * (2 * LANES), 2 * (radix - 1)

        def of_factor(j):  # type: ignore[no-untyped-def]
            factors = [w.number(p + j * count + k) for k in range(count)]

            def of_block(i):  # type: ignore[no-untyped-def]
                start = at + j * size + i * (2 * LANES)
                z = transform_of([x.block(start + size * step * k) for k in range(radix)])
                for k, block in enumerate(z):
                    block = times(block, (factors[2 * k - 2], factors[2 * k - 1])) if k else block
                    y.put_block(to + j * size * radix + size * k + i * (2 * LANES), block)

            x.repeat(gap, of_block)

        x.repeat(step, of_factor)

    return passed


def first_pass(radix: int) -> Callable[..., None]:
    """Return `whole_pass` for the first pass, which reads pairs: the lines of eight elements are `gap` apart."""

    def passed(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
        count = 2 * (radix - 1)

        def of_factor(j):  # type: ignore[no-untyped-def]
            z = transform_of([conjugated_if(x.pairs(at + (j + step * k) * gap), flag) for k in range(radix)])
            for k, block in enumerate(z):
                at_factor = p + j * count + (2 * k - 2)
                block = times(block, (w.number(at_factor), w.number(at_factor + 1))) if k else block
                y.put_block(to + (j * radix + k) * (2 * LANES), block)

        x.repeat(step, of_factor)

    return passed


def last_pass(radix: int) -> Callable[..., None]:
    """Return the step of a pass whose factors are all 1: its transforms have no common factors left."""

    def passed(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
        size = gap * (2 * LANES)

        def of_block(i):  # type: ignore[no-untyped-def]
            z = transform_of([x.block(at + size * k + i * (2 * LANES)) for k in range(radix)])
            for k, block in enumerate(z):
                y.put_block(to + size * k + i * (2 * LANES), block)

        x.repeat(gap, of_block)

    return passed


def across(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
    """Multiply eight blocks by blocks of w, transform the eight numbers of each, and store term k of all as pairs."""
    across_registers([x.block(at + (2 * LANES * k)) for k in range(LANES)], x, y, to, gap, w, p, flag)


def across_registers(z: list[Block], x: Any, y: Any, to: Any, gap: Any, w: Any, p: Any, flag: Any) -> None:
    """Do the same for blocks in registers."""
    z = [times(z[k], w.block(p + (2 * LANES * k))) for k in x.order]
    parts = [x.turned([block[part] for block in z]) for part in (0, 1)]
    lines = [(parts[0][x.order.index(k)], parts[1][x.order.index(k)]) for k in range(LANES)]
    for k, block in enumerate(eight(lines)):
        y.put_pairs(to + gap * k, conjugated_if(block, flag))


def square(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
    """Transform a row of 64 numbers: a pass of radix 8, and `across`."""
    z = eight([conjugated_if(x.pairs(at + (2 * LANES * k)), flag) for k in range(LANES)])
    across_registers(z, x, y, to, 2 * LANES, w, p, flag)


def gather(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
    """Store pairs of eight lines, `step` apart, as eight blocks of one element of each line."""
    rows = [conjugated_if(x.pairs(at + step * k), flag) for k in range(LANES)]
    parts = [x.turned([row[part] for row in rows]) for part in (0, 1)]
    for k, re, im in zip(x.order, *parts):
        y.put_block(to + (2 * LANES * k), (re, im))


def scatter(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
    """Store eight blocks, multiplied by w[p], as pairs of eight lines, `gap` apart."""
    blocks = [x.block(at + (2 * LANES * k)) for k in x.order]
    parts = [x.turned([block[part] * w.number(p) for block in blocks]) for part in (0, 1)]
    for k, block in enumerate(zip(*parts)):
        y.put_pairs(to + gap * k, conjugated_if(block, flag))


def combine(x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
    """Store a + b + w*(a - b) for pairs a and the conjugates b of the pairs at `step` in reversed order.

    flag: whether to store the conjugates.
    """
    re, im = x.pairs(at)
    other, minus_im = (x.reversed(part) for part in x.pairs(step))
    re, im = sum_of((re + other, im - minus_im), times((re - other, im + minus_im), w.pairs(p)))
    y.put_pairs(to, conjugated_if((re, im), flag))


RADICES = (2, 3, 4, 5, 7, 8)
STEPS: dict[str, Callable[..., None]] = {
    "spread": spread, "spread_product": spread_product, "product": product, "join": join, "across": across,
    "square": square, "combine": combine, "gather": gather, "scatter": scatter,
    "last_4": last_pass(4), "last_8": last_pass(8),
    **{f"first_{radix}": first_pass(radix) for radix in (4, 5, 8)},
    **{f"pass_{radix}": whole_pass(radix) for radix in RADICES},
}  # fmt: skip


def step_of(name: str, dtype: str) -> Callable[..., None]:
    """Return the function of STEPS as an intrinsic for arrays of a dtype."""
    step = STEPS[name]
    if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
        return lambda x, at, dx, y, to, gap, w, p, flag: step(
            Plain(x), at, dx, Plain(y), to, gap, Plain(w), p, PlainFlag(flag)
        )

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        data = context.data_model_manager[sig.args[0]].get_field_position("data")
        x, y, w = (Memory(builder, dtype, builder.extract_value(args[k], data)) for k in (0, 3, 6))
        at, dx, to, gap, p = (Offset(builder, args[k]) for k in (1, 2, 4, 5, 7))
        step(x, at, dx, y, to, gap, w, p, Flag(builder, dtype, args[8]))
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def step_in_registers(typingctx, x, at, step, y, to, gap, w, p, flag):  # type: ignore[no-untyped-def]
        n = types.intp
        return types.void(x, n, n, y, n, n, w, n, n), codegen

    made: Callable[..., None] = step_in_registers
    return made


# ---- vectors of LLVM -------------------------------------------------------------------------------------------------


class Offset:
    """An integer of LLVM with sums and products."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: Offset | int) -> Offset:
        value = other.value if isinstance(other, Offset) else I64(other)
        return Offset(self.builder, self.builder.add(self.value, value))

    def __mul__(self, other: Offset | int) -> Offset:
        value = other.value if isinstance(other, Offset) else I64(other)
        return Offset(self.builder, self.builder.mul(self.value, value))


class Flag:
    """An integer of LLVM as a sign: -1 if it is set, otherwise 1."""

    def __init__(self, builder: Any, dtype: str, value: Any) -> None:
        kind = ir.VectorType(element_type(dtype), LANES)
        signs = (ir.Constant(kind, [sign] * LANES) for sign in (-1.0, 1.0))
        condition = builder.icmp_signed("!=", value, I64(0))
        self.sign = Vector(builder, builder.select(condition, *signs))


class Vector:
    """A vector of LLVM with sums and products, which LLVM may contract to multiply-adds."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def of(self, name: str, other: Vector | float) -> Vector:
        value = other.value if isinstance(other, Vector) else ir.Constant(self.value.type, [float(other)] * LANES)
        return Vector(self.builder, getattr(self.builder, name)(self.value, value, flags=("contract",)))

    def __add__(self, other: Vector) -> Vector:
        return self.of("fadd", other)

    def __sub__(self, other: Vector) -> Vector:
        return self.of("fsub", other)

    def __mul__(self, other: Vector | float) -> Vector:
        return self.of("fmul", other)

    def __neg__(self) -> Vector:
        return Vector(self.builder, self.builder.fneg(self.value))


class Memory:
    """Memory in a function of LLVM, with loads and stores of vectors."""

    def __init__(self, builder: Any, dtype: str, data: Any) -> None:
        self.builder, self.data, self.align = builder, data, np.dtype(dtype).itemsize
        self.element, self.order = element_type(dtype), PARTED[self.align]

    def at(self, position: Offset, count: int) -> Any:
        """Return the address of `count` elements."""
        kind = ir.VectorType(self.element, count)
        return self.builder.bitcast(self.builder.gep(self.data, [position.value]), kind.as_pointer())

    def load(self, position: Offset, count: int = LANES) -> Any:
        return self.builder.load(self.at(position, count), align=self.align)

    def shuffled(self, x: Any, y: Any, order: list[int]) -> Any:
        return self.builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, len(order)), order))

    def repeat(self, count: Offset, body: Callable[[Offset], None]) -> None:
        """Emit a loop that calls the body with 0 to count - 1."""
        with cgutils.for_range(self.builder, count.value) as each:
            body(Offset(self.builder, each.index))

    def number(self, position: Offset) -> Vector:
        """Return a vector whose elements are one number."""
        one = self.load(position, 1)
        return Vector(self.builder, self.shuffled(one, one, [0] * LANES))

    def block(self, position: Offset) -> Block:
        """Return a block: its real and imaginary parts."""
        return Vector(self.builder, self.load(position)), Vector(self.builder, self.load(position + LANES))

    def put_block(self, position: Offset, block: Block) -> None:
        for k, part in enumerate(block):
            self.builder.store(part.value, self.at(position + k * LANES, LANES), align=self.align)

    def pairs(self, position: Offset) -> Block:
        """Return pairs as a block."""
        low, high = self.load(position), self.load(position + LANES)
        parts = [self.shuffled(low, high, [2 * each + k for each in self.order]) for k in (0, 1)]
        return Vector(self.builder, parts[0]), Vector(self.builder, parts[1])

    def put_pairs(self, position: Offset, block: Block) -> None:
        for half in (0, LANES // 2):
            order = [self.order.index(half + k // 2) + k % 2 * LANES for k in range(LANES)]
            mixed = self.shuffled(block[0].value, block[1].value, order)
            self.builder.store(mixed, self.at(position + 2 * half, LANES), align=self.align)

    def reversed(self, x: Vector) -> Vector:
        return Vector(self.builder, self.shuffled(x.value, x.value, list(range(LANES))[::-1]))

    def turned(self, lines: list[Vector]) -> list[Vector]:
        """Return a square of vectors transposed."""
        return [Vector(self.builder, line) for line in turned(self.builder, [x.value for x in lines], LANES)]


# ---- vectors of NumPy ------------------------------------------------------------------------------------------------


class PlainFlag:
    """The attribute of `Flag` in NumPy."""

    def __init__(self, value: int) -> None:
        self.sign = -1 if value else 1


class Plain:
    """The methods of `Memory` in NumPy."""

    def __init__(self, data: Any) -> None:
        self.data, self.order = data, PARTED[data.itemsize]

    def repeat(self, count: int, body: Callable[[int], None]) -> None:
        for k in range(count):
            body(k)

    def number(self, position: int) -> Any:
        return self.data[position]

    def block(self, position: int) -> Block:
        return tuple(self.data[position : position + 2 * LANES].reshape(2, LANES).copy())

    def put_block(self, position: int, block: Block) -> None:
        self.data[position : position + 2 * LANES] = np.concatenate(block)

    def pairs(self, position: int) -> Block:
        return tuple(self.data[position : position + 2 * LANES].reshape(LANES, 2)[list(self.order)].T.copy())

    def put_pairs(self, position: int, block: Block) -> None:
        self.data[position : position + 2 * LANES].reshape(LANES, 2)[list(self.order)] = np.stack(block, 1)

    def reversed(self, x: Any) -> Any:
        return x[::-1]

    def turned(self, lines: list[Any]) -> list[Any]:
        return list(np.stack(lines, 1))
