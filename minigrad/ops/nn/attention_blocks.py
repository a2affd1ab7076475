"""Attention whose memory grows with the length of a sequence, and not with its square.

The scores of a block of queries are computed in temporary memory of the call, converted to weights, and multiplied by
the values.  The scores of half precision are float32; the operands and the weights are, too, unless the backend has
fast products of their dtype.  The backward pass computes the scores again, so it needs only query, key and value.  Both
passes draw the dropout numbers of a block from the same position of the random stream.

Sources of the scheme: Rabe and Staats, arXiv 2112.05682; Dao et al., arXiv 2205.14135.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.steps import Specs, Steps, Value
from minigrad.core.dtype import DType, bool_, int64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import MapRows, Product, Random
from minigrad.core.rows import RowFn, Total
from minigrad.declare.claims import single_rules
from minigrad.declare.decorators import kernel
from minigrad.kernels.scalar import formula
from minigrad.ops.creation import ones
from minigrad.ops.nn.softmax import SOFTMAX, SOFTMAX_BACKWARD, softmax, softmax_gradient
from minigrad.ops.pointwise.compare import where
from minigrad.ops.reduction.sums import amax, wide
from minigrad.ops.shape.diagonals import tril
from minigrad.ops.shape.views import reshape
from minigrad.runtime.operands import are_plain
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor

SCORES = 1 << 18  # largest number of scores of a block, which fit into a second-level cache
CAUSAL = 128  # number of queries of a causal block; the keys after the last query of a block are left out


EXP_BELOW = "0 if input + mask == -math.inf else math.exp(input + mask - peak)"
# The softmax of scores plus a mask.  The result of a row of -inf is 0.  A nan stays nan, although the maximum ignores
# it.
MASKED = RowFn(
    "masked_softmax", ("input", "mask"),
    (
        Total("peak", "max", formula("masked(input, mask)", "input + mask")),
        Total("scale", "sum", formula("exp_below(input, mask, peak)", EXP_BELOW),
              formula("inverse(total)", "1 / total if total > 0 else total")),
    ),
    formula("weight(input, mask, peak, scale)", f"{EXP_BELOW} * scale"),
    formula("weight_again(kept, scale)", "kept * scale"),
)  # fmt: skip
ADDED = formula("_added(a, b)", "a + b")
DROPPED = formula("_dropped(x, number, p)", "x / (1 - p) if number >= p else 0")


class Block(NamedTuple):
    """A block of scores: some heads, some queries of each head, and the keys that these queries can see.

    counter: the counter block of the first random number.
    """

    head: int
    heads: int
    start: int
    length: int
    seen: int
    counter: int

    @property
    def layout(self) -> Layout:
        """Return the layout of the scores of the block."""
        return Layout.contiguous((self.heads, self.length, self.seen))


def blocks(heads: int, n: int, m: int, causal: bool, together: bool) -> Iterator[Block]:
    """Yield the blocks of n queries and m keys; a block is several whole heads, or a part of one head.

    together: whether several heads can be combined.
    """
    rows = min(n, CAUSAL) if causal else n if n * m <= SCORES else max(16, SCORES // m // 16 * 16)
    most = max(1, SCORES // (rows * m)) if together and rows == n else 1
    counter = 0
    for head in range(0, heads, most):
        for start in range(0, n, rows):
            length, count = min(rows, n - start), min(most, heads - head)
            block = Block(head, count, start, length, min(m, start + length) if causal else m, counter)
            yield block
            counter += (block.layout.numel + 1) // 2


class Attending:
    """The steps that the forward and the backward pass share: the weights of each block, before and after dropout."""

    def __init__(
        self, steps: Steps, specs: Specs, mask: Spec | None, drawn: bool, scale: float, causal: bool, dropout: float
    ) -> None:
        values = iter(steps.operands[len(steps.operands) - len(specs) - bool(mask) - 2 * drawn :])
        self.steps, self.scale, self.causal, self.dropout = steps, scale, causal, dropout
        dtype, self.wide = specs[0].dtype, specs[0].dtype.accumulate
        self.dtype = dtype if dtype in steps.backend.fast_products else self.wide
        self.query, self.key, self.value = (self.converted(next(values)) for _ in specs)
        self.mask = next(values) if mask is not None else None
        self.draws = tuple(values)
        heads, n, m = self.query.shape[0], self.query.shape[1], self.key.shape[1]
        self.flat = None if self.mask is None else self.mask.layout.flatten(0, len(self.mask.shape) - 3)
        one = self.mask is not None and self.flat is None
        self.blocks = list(blocks(heads, n, m, causal, not one)) if heads * n * m else []
        self.size = max((block.layout.numel for block in self.blocks), default=0)
        self.corners: dict[tuple[int, ...], Value] = {}

    def memory(self, *dtypes: DType) -> list[Value]:
        """Return pieces of temporary memory, each for the elements of the largest block in one of some dtypes."""
        return [self.steps.work((self.size,), dtype) for dtype in dtypes]

    def converted(self, x: Value) -> Value:
        """Return an operand in the dtype of products."""
        if x.dtype is self.dtype:
            return x
        copied = self.steps.work(x.shape, self.dtype)
        self.steps.copy(copied, x)
        return copied

    def target(self, out: Value, sums: bool) -> Value:
        """Return the memory for the products of a result, which is rounded once. sums: whether blocks are added."""
        dtype = self.wide if sums else self.dtype
        return out if out.dtype is dtype else self.steps.work(out.shape, dtype)

    def queries(self, x: Value, block: Block) -> Value:
        """Return the rows of a tensor (heads, queries, ...) that belong to a block."""
        return x.at(0, block.head, block.heads).at(1, block.start, block.length)

    def keys(self, x: Value, block: Block) -> Value:
        """Return the rows of a tensor (heads, keys, ...) that belong to the keys of a block."""
        return x.at(0, block.head, block.heads).at(1, 0, block.seen)

    def weights(self, block: Block, scores: Value, out: Value) -> Value:
        """Compute the softmax of the scores of a block in `out`, and return it; in place, loops would not vectorise."""
        scores, out = scores.seen(block.layout), out.seen(block.layout)
        key = self.keys(self.key, block).transposed
        self.steps.ask(Product(self.scale, 0), scores, self.queries(self.query, block), key)
        if self.causal and block.seen > block.start:
            corner = scores.at(2, block.start, block.seen - block.start)
            self.steps.each(ADDED, corner, corner, self.corner(corner.shape[1:]))
        if self.mask is None:
            self.steps.ask(MapRows(SOFTMAX, 2), out, scores)
        else:
            mask = self.masked(self.mask, block)
            stretched = mask.seen(mask.layout.expand(out.shape))
            self.steps.ask(MapRows(MASKED, 2), out, scores, stretched)
        return out

    def corner(self, shape: tuple[int, ...]) -> Value:
        """Return a matrix with -inf above the diagonal and 0 elsewhere, the mask of the last keys of a causal block."""
        if shape not in self.corners:
            self.corners[shape] = self.steps.constant(np.triu(np.full(shape, -np.inf), 1), self.wide)
        return self.corners[shape]

    def masked(self, mask: Value, block: Block) -> Value:
        """Return the mask of a block; if one dim cannot describe the layout of all heads, a block has a single head."""
        if self.flat is not None:
            return self.queries(mask.seen(self.flat), block)
        layout, head = mask.layout, block.head
        for n in reversed(mask.shape[:-2]):
            head, k = divmod(head, n)
            layout = layout.select(len(layout.shape) - 3, k)
        return mask.seen(layout.unsqueeze(0)).at(1, block.start, block.length)

    def numbers(self, block: Block, memory: Value) -> Value:
        """Return the uniform random numbers of a block."""
        state, limits = self.draws
        here, numbers = self.steps.work((2,), int64), memory.seen(block.layout)
        self.steps.each(ADDED, here, state, self.steps.constant([0, block.counter], int64))
        self.steps.ask(Random("uniform"), numbers, here, limits)
        return numbers

    def dropped(self, x: Value, numbers: Value, out: Value) -> Value:
        """Compute x/(1 - p) where the random number of an element is at least p, otherwise 0, and return it."""
        out = out.seen(numbers.layout)
        self.steps.each(DROPPED, out, x, numbers, self.steps.constant(self.dropout, x.dtype))
        return out


def _gradients(g, query, key, value, mask, state, limits, *, asked, **params):
    """Return the gradients of all operands: block by block, or in tensor code if they must be differentiable."""
    operands = query, key, value, mask, state, limits
    derived = is_grad_enabled() or not are_plain(g, *operands)
    gradients = (in_tensor_code if derived else attention_backward)(g, *operands, **params)
    return (*[x if wanted else None for x, wanted in zip(gradients, asked)], None, None, None)


@kernel(
    dtype=lambda op, specs, **params: specs[0].dtype,
    shape=lambda op, query, key, value, *others, **params: (*query.shape[:2], value.shape[2]),
    vjp=(*single_rules(_gradients, 6)[:3], None, None, None), joint=_gradients,
    namespace=(), out=False, label="scaled_dot_product_attention",
)  # fmt: skip
def attention(steps, out, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None,
              state: Tensor | None = None, limits: Tensor | None = None, *, scale, causal, dropout):  # fmt: skip
    """Return softmax(query @ key.mT*scale + mask) @ value for operands (heads, length, size), block by block.

    mask: floats (..., queries, keys), whose leading dims are the heads.  state, limits: as for `draw`.
    """
    ways = Attending(steps, (query, key, value), mask, state is not None, scale, causal, dropout)
    if not ways.blocks:
        steps.fill(out, 0)
        return
    target = ways.target(out, False)
    first, second, *third = ways.memory(ways.wide, ways.dtype, *[ways.dtype] * (state is not None))
    for block in ways.blocks:
        weights = ways.weights(block, first, second)
        if state is not None:
            weights = ways.dropped(weights, ways.numbers(block, first), third[0])
        steps.ask(Product(), ways.queries(target, block), weights, ways.keys(ways.value, block))
    if target is not out:
        steps.copy(out, target)


@kernel(
    dtype=lambda op, specs, **params: (specs[0].dtype,) * 3,
    shape=lambda op, g, query, key, value, *others, **params: (query.shape, key.shape, value.shape),
    outputs=("gradient_of_query", "gradient_of_key", "gradient_of_value"),
    namespace=(), out=False, label="the gradient of scaled_dot_product_attention",
)  # fmt: skip
def attention_backward(
    steps, dquery, dkey, dvalue, g: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None,
    state: Tensor | None = None, limits: Tensor | None = None, *, scale, causal, dropout,
):  # fmt: skip
    """Return the gradients of `attention`; the weights are computed again."""
    ways = Attending(steps, (query, key, value), mask, state is not None, scale, causal, dropout)
    whole = all(block.length == query.shape[1] and block.seen == key.shape[1] for block in ways.blocks)
    targets = [ways.target(out, k > 0 and not whole) for k, out in enumerate(steps.outs)]
    to_query, to_key, to_value = targets
    for out in targets if not ways.blocks else () if whole else (to_key, to_value):
        steps.fill(out, 0)
    first, second, third, fourth = ways.memory(ways.wide, ways.dtype, ways.dtype, ways.wide)
    received = ways.converted(steps.operands[0])
    for block in ways.blocks:
        weights = ways.weights(block, first, second)
        numbers = None if state is None else ways.numbers(block, fourth)
        kept = weights if numbers is None else ways.dropped(weights, numbers, third)
        incoming, keys = ways.queries(received, block), ways.keys(ways.key, block)
        add(steps, ways.keys(to_value, block), kept.transposed, incoming, 1.0, not whole)
        inner, outer = first.seen(block.layout), third.seen(block.layout)
        steps.ask(Product(), inner, incoming, ways.keys(ways.value, block).transposed)
        if numbers is not None:
            inner = ways.dropped(inner, numbers, first)
        steps.ask(MapRows(SOFTMAX_BACKWARD, 2), outer, inner, weights)
        steps.ask(Product(scale, 0), ways.queries(to_query, block), outer, keys)
        add(steps, ways.keys(to_key, block), outer.transposed, ways.queries(ways.query, block), scale, not whole)
    for out, target in zip(steps.outs, targets, strict=True):
        if target is not out:
            steps.copy(out, target)


def add(steps: Steps, out: Value, a: Value, b: Value, factor: float, more: bool) -> None:
    """Compute out = factor*a @ b, or with `more` out += factor*a @ b."""
    steps.ask(Product(factor, int(more)), out, a, b, *([out] if more else []))


@kernel(dtype=lambda op, specs, **params: specs[0].dtype, namespace=(), out=False,
        shape=lambda op, query, key, *others, **params: (*query.shape[:2], key.shape[1]))  # fmt: skip
def attention_kept(steps, out, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None,
                   state: Tensor | None = None, limits: Tensor | None = None, *, scale, causal, dropout):  # fmt: skip
    """Return the dropout factors of all weights, 0 or 1/(1 - p), as one tensor, for derivatives of higher order."""
    ways = Attending(steps, (query, key, value), mask, True, scale, causal, dropout)
    steps.fill(out, 0)
    one, (memory,) = steps.constant(1.0, ways.wide), ways.memory(ways.wide)
    for block in ways.blocks:
        numbers = ways.numbers(block, memory)
        every = one.seen(one.layout.expand(numbers.shape))
        steps.copy(ways.queries(out, block).at(2, 0, block.seen), ways.dropped(every, numbers, memory))


def in_tensor_code(
    g: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, state: Tensor | None, limits: Any, *,
    scale: float, causal: bool, dropout: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients in differentiable tensor code, with a matrix of all scores."""
    dtype = query.dtype
    g, query, key, value = (wide(x) for x in (g, query, key, value))
    scores = query @ key.mT * scale
    seen = tril(ones(scores.shape[-2:], dtype=bool_, device=scores.device)) if causal else mask
    weights = softmax(scores, -1) if seen is None else masked_softmax(scores, reshape(seen, (-1, *seen.shape[-2:])))
    kept: Any = 1.0
    if state is not None:
        parts = [x.detach() for x in (query, key, value)]
        kept = attention_kept(*parts, mask, state, limits, scale=scale, causal=causal, dropout=dropout)
    outer = softmax_gradient(g @ value.mT * kept, weights, -1) * scale
    return (outer @ key).to(dtype), (outer.mT @ query).to(dtype), ((weights * kept).mT @ g).to(dtype)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax of rows of scores where a bool mask is True, or with a float mask added.

    The result of a row of -inf is 0.
    """
    scores = where(mask, scores, -math.inf) if mask.dtype is bool_ else scores + mask
    blind = amax(scores.detach(), -1, keepdim=True) == -math.inf
    return where(blind, 0.0, softmax(where(blind, 0.0, scores), -1))
