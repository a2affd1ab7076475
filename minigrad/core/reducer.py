"""Properties of a reduction, and its kept and reduced dims, each merged, in the memory order of the operand.

A plan is a pure function of layouts.  The backend chooses the loop that traverses them and how it is cut into chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, prod

from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn
from minigrad.core.strides import Ints, merge_dims

SHORT = 16  # minimum size of a dim for the innermost loop


@dataclass(frozen=True, slots=True)
class Reducer:
    """Store the functions of a reduction, and the properties on which a loop may rely.

    `declare.partials.declared` makes reducers.
    scalar: the function that returns the accumulators after one more element, from (acc, x); x is one element of each
    operand.
    identities: the initial value of each accumulator, "zero", "one", "lowest" or "highest".
    order: "sum": the elements may come in any order, and floats may be re-associated; "extreme": the largest or the
        smallest element, or nan if there is a nan; "any": the elements may come in any order; "sequential": the
        elements come one after the other, in row-major order.
    combine: the function that joins two partial results, each of which began at the identity; None if there may be only
        one partial result.  With several accumulators, its first arguments are the accumulators of one partial result,
        and its last arguments are the accumulators of the other partial result.
    map: the scalar function that is applied to each element before the values are combined, or None; it is already part
        of `scalar`.
    finish: the scalar function whose result is stored.  Its arguments are the final accumulators, with or without the
        number of elements.  It may have several results.
    linear: whether the reduction is linear in its elements; a linear reduction with the order "sum" is their sum.
    """

    scalar: ScalarFn
    identities: tuple[str, ...]
    order: str
    combine: ScalarFn | None
    map: ScalarFn | None = None
    finish: ScalarFn | None = None
    linear: bool = False

    @property
    def identity(self) -> str:
        """The initial value of the only accumulator."""
        (identity,) = self.identities
        return identity

    @property
    def accumulators(self) -> int:
        """The number of accumulators."""
        return len(self.identities)

    @property
    def results(self) -> int:
        """The number of results per output."""
        return self.accumulators if self.finish is None else self.finish.results

    @property
    def adds(self) -> bool:
        """Return whether the reduction is the plain sum of its elements; a loop may then add parts separately."""
        return self.order == "sum" and self.linear and self.map is None

    def unmapped(self) -> Reducer:
        """Return the reduction of values to which `map` has been applied."""
        return self if self.map is None else replace(self, scalar=self.scalar.helpers["step"], map=None)

    def unfinished(self) -> Reducer:
        """Return the reduction of a part of the elements; its result is the accumulators."""
        return replace(self, finish=None)

    def joining(self) -> Reducer:
        """Return the reduction of partial results."""
        assert self.combine is not None
        return replace(self, scalar=self.combine, map=None)


def neutral(identity: str, dtype: DType) -> int | float:
    """Return the initial value of an accumulator in a dtype."""
    return {"zero": 0, "one": 1, "lowest": dtype.lowest, "highest": dtype.highest}[identity]


@dataclass(slots=True)
class Axes:
    """Merged dims with the strides of each layout, the longest stride of the first layout outermost."""

    dims: Ints
    strides: list[Ints]
    shifts: list[int]

    def pick(self) -> int:
        """Return the dim for the innermost loop.

        It is the dim with the smallest stride among the dims that are long enough and not broadcast, or otherwise the
        longest dim.
        """
        for d in range(len(self.dims) - 1, -1, -1):
            if self.dims[d] >= SHORT and self.strides[0][d]:
                return d
        return max(range(len(self.dims)), key=lambda d: self.dims[d], default=-1)

    def take(self, d: int) -> tuple[int, Ints]:
        """Remove a dim and return its size and its stride in each layout.  Without dims, the size is 1."""
        if not self.dims:
            return 1, (1,) * len(self.strides)
        size, steps = self.dims[d], tuple(s[d] for s in self.strides)
        rest = [k for k in range(len(self.dims)) if k != d % len(self.dims)]
        self.dims = tuple(self.dims[k] for k in rest)
        self.strides = [tuple(s[k] for k in rest) for s in self.strides]
        return size, steps


def axes(layouts: Sequence[Layout], dims: Sequence[int], flip: bool = True, sort: bool = True) -> Axes:
    """Merge some dims of layouts of one shape.

    With `flip`, the first layout is traversed upward; with `sort`, in the order of its memory.
    """
    sizes = [layouts[0].shape[d] for d in dims]
    shifts = [0] * len(layouts)
    strides = [[layout.strides[d] for d in dims] for layout in layouts]
    for d, size in enumerate(sizes):
        if flip and strides[0][d] < 0:
            for k, s in enumerate(strides):
                shifts[k] += s[d] * (size - 1)
                s[d] = -s[d]
    # A dim of stride 0 reads the same element again, so it should be outside the dims that advance.
    order = sorted(range(len(sizes)), key=lambda d: -(abs(strides[0][d]) or inf) if sort else d)
    merged, steps = merge_dims(tuple(sizes[d] for d in order), [tuple(s[d] for d in order) for s in strides])
    return Axes(merged, list(steps), shifts)


def goes_along(kept: Axes, reduced: Axes) -> bool:
    """Return whether the innermost loop runs over a reduced dim, so that outputs are computed one at a time."""
    if not kept.dims or not reduced.dims:
        return not kept.dims
    k, f = kept.pick(), reduced.pick()
    ranks = [(axis.dims[d] < SHORT, abs(axis.strides[0][d]) or inf) for axis, d in ((reduced, f), (kept, k))]
    if ranks[0][0] and ranks[1][0]:
        return reduced.dims[f] >= kept.dims[k]
    return ranks[0] <= ranks[1]


def leading(layouts: Sequence[Layout]) -> list[int]:
    """Return the indices of some operands; the operand with the most memory of its own is first.

    Loops follow the order of this operand, not the order of an operand that is broadcast.
    """
    sizes = [prod(n for n, step in zip(layout.shape, layout.strides) if step) for layout in layouts]
    return sorted(range(len(layouts)), key=lambda k: -sizes[k])


def kept_axes(out: Layout, a: Layout, dims: Sequence[int]) -> Axes:
    """Return the kept dims, with the strides of the operand, of one workspace copy of the output, and of the output."""
    return axes([a, Layout.contiguous(out.shape), out], [d for d in range(a.ndim) if d not in dims])
