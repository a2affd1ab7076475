"""The matrix product on the CPU: the choice of kernels for a product, and their scalar arguments.

The loops are in `kernels/cpu/matmul.py`, the register tile in `kernels/cpu/tile.py`, decisions by shape in
`product.py`.  A product runs in the dtype of the registers and reads operands in place if the tile can.  Other operands
are copied first: float16, bfloat16, bool and other dtypes are cast, and a right operand without dense rows is packed.
A single row or column has a separate kernel, and a batch with one right operand is one tall matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.cpu import product as methods
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.cpu.texts import After, Chain, after_of, bits, elements_of, factor_text, tile_size
from minigrad.backends.cpu.tiles import add_tiled, is_tiled
from minigrad.backends.lowering.functions import TIMES_I
from minigrad.backends.shared import Problem
from minigrad.backends.steps import Ints, Value, through_dense
from minigrad.core import requests
from minigrad.core.dtype import DType, as_dtype, bool_, float32, int32
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels.cpu import matmul
from minigrad.kernels.pasting import Late, Macro

# Multiply-adds on this number of bytes in registers cost as much as one element of an elementwise loop.
WORK = 32
PRODUCT, ADDED, MIXED = 0, 1, 2  # values of the scalar argument `mode` of the kernels
# Minimum number of elements that need no packing in a transposed product for which the function after it is a separate
# launch.
WORTH = 1 << 15
NAME = 64  # maximum number of characters of a function's name in that of a kernel
Values = tuple[Value, Value, Value, Value | None]  # the result and the operands: out, a, b, c


@serves(CpuBackend, requests.Product)
def multiply(steps: CpuSteps, request: requests.Product) -> None:
    (out,), (a, b, *added) = steps.outs, steps.operands
    if not out.layout.is_contiguous:
        return through_dense(steps, request)
    add_product(steps, out, a, b, added[0] if added else None, request.alpha, request.beta)


@serves(CpuBackend, requests.Followed)
def followed(steps: CpuSteps, request: requests.Followed) -> None:
    """Add one loop if the product consists of tiles of the whole inner dim; otherwise lower the request.

    The other operands must have the layout of the result or be the same for each row.
    """
    (out,), operands, product = steps.outs, steps.operands, request.request
    count = len(operands) - len(request.scalar.args) + 1
    after = after_of(request.scalar, request.position, operands[count:], out)
    if isinstance(product, requests.Product) and after is not None and is_one_pass(out, operands[:count]):
        left, right, *added = operands[:count]
        c = added[0] if added else None
        problem = Problem(out.layout, left.layout, right.layout, c.layout if c else None)
        factors = _bits(product.alpha, product.beta, out.dtype)
        _tiled_product(steps, problem, (out, left, right, c), factors, 0, after)
        return
    steps.lower(request)


def is_one_pass(out: Spec, operands: Sequence[Spec]) -> bool:
    """Return whether one task computes each element of a product, from operands that are read without a copy."""
    a, b, *added = [x.layout for x in operands]
    if not (out.layout.is_contiguous and out.layout.numel and a.shape[-1]):
        return False
    problem = Problem(out.layout, a, b, added[0] if added else None)
    plain = all(x.dtype is out.dtype for x in operands) and out.dtype.storage == out.dtype.compute
    if not plain or methods.way_of(problem, out.dtype, len(out.shape)) != "tiles":
        return False
    tile = tile_size(out.dtype, methods.is_far(problem, out.dtype))
    is_whole = methods.blocks_of(problem, *tile)[2] >= problem.k
    return is_whole and not methods.pays_transposed(problem, out.dtype, *tile, WORTH)


def add_product(
    steps: CpuSteps, out: Value, a: Value, b: Value, c: Value | None, alpha: float = 1, beta: float = 1, part: int = 0
) -> None:
    """Add the steps that compute alpha * a @ b + beta * c, for any dtypes.

    part: the part of the inner dim for a tile; 0 for the default.
    """
    if out.layout.numel == 0:
        return
    if a.shape[-1] == 0:
        _without_product(steps, out, c, beta)
        return
    if out.dtype.is_complex:
        _complex_product(steps, (out, a, b, c), alpha, beta)
        return
    dtype = int32 if out.dtype is bool_ else as_dtype(out.dtype.compute)
    if is_tiled(out, a, b, c):
        add_tiled(steps, out, a, b, c, _bits(alpha, beta, dtype))
        return
    if any(x.dtype is not dtype for x in (out, a, b, *((c,) if c else ()))):
        result = out if out.dtype is dtype else steps.work(out.shape, dtype)
        c = c and cast(steps, c, dtype)
        problem = Problem(result.layout, a.layout, b.layout, c.layout if c else None)
        if methods.is_paired(problem, a.dtype, b.dtype):
            factors = _bits(alpha, beta, dtype)
            _tiled_product(steps, problem, (result, a, b, c), factors, 0, paired=True)
        else:
            add_product(steps, result, cast(steps, a, dtype), cast(steps, b, dtype), c, alpha, beta)
        if result is not out:
            steps.copy(out, result)
        return
    problem = Problem(out.layout, a.layout, b.layout, c.layout if c else None)
    factors = _bits(alpha, beta, dtype)
    way = methods.way_of(problem, dtype, len(out.shape))
    if way == "rows":
        problem.part_rows()
    if way in ("rows", "vector"):
        _vector_product(steps, problem, (out, a, b, c), factors)
    elif way == "parts" and not methods.pays_transposed(problem, dtype, *tile_size(dtype)):
        _by_depth(steps, methods.depth_of(problem, dtype), (out, a, b, c), alpha, beta)
    else:
        _tiled_product(steps, problem, (out, a, b, c), factors, part)


def _complex_product(steps: CpuSteps, values: Values, alpha: float, beta: float) -> None:
    """Add the steps of a complex product, as a real product over the pairs in memory: (m, 2k) @ (2k, 2n) = (m, 2n).

    The left operand and the result are read as they are.  Below each row b of the right operand is the row i*b.  A real
    left operand multiplies both parts of b, so the right operand is then read as it is.
    """
    out, a, b, c = values
    whole, real = out.dtype, out.dtype.to_real()
    if a.dtype.is_complex:
        *batch, k, n = b.shape
        *steps_of, _, _ = b.layout.strides
        own = tuple([size if step else 1 for size, step in zip(batch, steps_of)])  # repeated matrices are stored once
        right, left = cast(steps, b, whole), pairs_of(steps, cast(steps, a, whole))
        expanded = steps.work((*own, k, 2, n), whole)
        narrow = right.seen(Layout.make((*own, k, n), right.layout.strides, right.layout.offset))
        steps.copy(expanded.select(len(own) + 1, 0), narrow)
        steps.each(TIMES_I, expanded.select(len(own) + 1, 1), narrow)
        rows = expanded.layout.view((*own, 2 * k, n)).expand((*batch, 2 * k, n))
        right = pairs_of(steps, expanded.seen(rows))
    else:
        left, right = cast(steps, a, real), pairs_of(steps, cast(steps, b, whole))
    added = c and pairs_of(steps, cast(steps, c, whole))
    add_product(steps, pairs_of(steps, out), left, right, added, alpha, beta)


def pairs_of(steps: CpuSteps, x: Value) -> Value:
    """Return complex numbers as real ones, in rows of twice the length; of a copy unless the last dim is dense."""
    if x.layout.strides[-1] != 1:
        x = steps.dense(x)
    strides = (*[2 * step for step in x.layout.strides[:-1]], 1)
    layout = Layout.make((*x.shape[:-1], 2 * x.shape[-1]), strides, 2 * x.layout.offset)
    return Value(x.slot, Spec(layout, x.dtype.to_real()))


def _by_depth(steps: CpuSteps, depth: int, values: Values, alpha: float, beta: float) -> None:
    """Add the product of parts of the inner dim to the result, one after the other; their copies share memory."""
    out, a, b, c = values
    first = len(steps.temporaries)
    for start in range(0, a.shape[1], depth):
        length = min(depth, a.shape[1] - start)
        left, right = a.at(1, start, length), b.at(0, start, length)
        add_product(steps, out, left, right, c, alpha, beta, methods.part_of(a.shape[1]))
        steps.release(first)
        c, beta = out, 1


def _without_product(steps: CpuSteps, out: Value, c: Value | None, beta: float) -> None:
    """Add the steps for an empty inner dim: beta * c, computed by a product with one zero."""
    if c is None:
        steps.fill(out, 0)
        return
    zero, one = steps.constant([0], out.dtype), Layout.contiguous((1,) * len(out.shape))
    column = zero.seen(one.expand((*out.shape[:-1], 1)))
    row = zero.seen(one.expand((*out.shape[:-2], 1, out.shape[-1])))
    add_product(steps, out, column, row, c, 1, beta)


def cast(steps: CpuSteps, x: Value, dtype: DType) -> Value:
    """Return an operand unchanged, or a copy in another dtype.

    Repeated dims stay repeated.
    """
    if x.dtype is dtype:
        return x
    dense = dense_like(x.layout)
    copied = steps.work((dense.span()[1],), dtype).seen(dense)  # repeated elements are stored once
    steps.copy(copied, x)
    return copied


def _vector_product(steps: CpuSteps, p: Problem, values: Values, factors: Ints) -> None:
    out, a, b, c = values
    dtype = out.dtype
    row = p.m == 1 and p.n > 1
    size, along = (p.n, (p.bn, p.bk)) if row else (p.m, (p.am, p.ak))
    start, second, step = (p.b, p.a, p.ak) if row else (p.a, p.b, p.bk)
    matrix, other = (p.steps[1], p.steps[0]) if row else p.steps[:2]
    high, deep = methods.vector_blocks(size, p.k, p.batches, along=along[1] == 1)
    pieces = -(-p.k // deep)
    positioned = pieces == 1 and c is None and factors == _bits(1, 0, dtype)
    sums = out if positioned else steps.work((pieces * p.batches * size,), dtype)
    steps.run(
        matmul.vector, *((b, a) if row else (a, b)), sums, tasks=p.batches * -(-size // high) * pieces,
        numel=2 * methods.work_of(p, dtype) // WORK, rows=size, length=p.k, high=high, deep=deep,
        to=p.out if positioned else 0, matrix=start, sm=along[0], sk=along[1], x=second, step=step, batches=p.batches,
        sizes=p.sizes, steps=matrix, x_steps=other,
    )  # fmt: skip
    if not positioned:
        _add(steps, p, pieces, sums, c, out, factors)


def _add(steps: CpuSteps, p: Problem, pieces: int, sums: Value, c: Value | None, out: Value, factors: Ints) -> None:
    """Add the step that sums the pieces of a product."""
    steps.run(
        matmul.add_pieces, sums, out if c is None else c, out, words={"FACTOR": factor_text(out.dtype)},
        numel=pieces * p.batches * p.m * p.n, pieces=pieces, rows=p.m, cols=p.n, to=p.out, c=p.c, cm=p.cm, cn=p.cn,
        mode=PRODUCT if c is None else MIXED, batches=p.batches, alpha=factors[0], beta=factors[1], sizes=p.sizes,
        c_steps=p.steps[2],
    )  # fmt: skip


def _bits(alpha: float, beta: float, dtype: DType) -> Ints:
    """Return two factors in the encoding of a kernel's scalar arguments."""
    if not dtype.is_float:
        return int(alpha), int(beta)
    return bits(alpha), bits(beta)


def _tiled_product(
    steps: CpuSteps, p: Problem, values: Values, factors: Ints, part: int, after: After | None = None,
    paired: bool = False,
) -> None:  # fmt: skip
    out, a, b, c = values
    dtype = out.dtype
    far = methods.is_far(p, dtype) and not paired
    mr, nr = tile_size(dtype, far)
    adds_to_c = c is not None and c.spec is out.spec and factors[1] == _bits(1, 1, dtype)[1]
    transposed = not (paired or after or adds_to_c or part) and methods.pays_transposed(p, dtype, mr, nr)
    if transposed:
        p, a, b = p.transposed(), b, a
    high, wide, deep = methods.blocks_of(p, mr, nr)
    left = right = None
    panels = 0 if paired else methods.thread_panels(p, dtype, wide, deep)
    if paired or (methods.is_packed(p, dtype) and not panels):
        right = methods.Panels(p, nr, paired=paired)
        b = _packed(steps, right, b, far)
    if paired or methods.is_packed_left(p, dtype):
        left = methods.Panels(p, mr, left=True, paired=paired)
        a = _packed(steps, left, a)
    length, deep = (-(-p.k // 2), -(-deep // 2)) if paired else (p.k, deep)
    pieces = -(-length // deep)
    alpha, beta = factors if pieces == 1 else _bits(1, 0, dtype)
    a_from, lift, am, ak = (0, left.panel, 1, mr) if left else (p.a, mr * p.am, p.am, p.ak)
    b_from, panel, bk = (0, right.panel, nr) if right else (p.b, nr * p.k, nr) if panels else (p.b, nr, p.bk)
    ahead = lift if am == 1 and (far or p.m * p.k * dtype.itemsize > methods.AHEAD) else 0
    options: dict[str, Any] = {"words": {"PAIRED": paired, "FAR": far, "FACTOR": factor_text(dtype)}}
    template: Callable[..., Any] = matmul.multiply
    others: Sequence[Value] = ()
    form = "pairs" if paired else "far" * far
    if after is not None:
        template, others = matmul.multiply_followed, after.operands
        form = f"{after.chain.scalar.name[:NAME]}_{after.steps}{form}"
        options = {"words": Late(following_words, (after.chain, after.steps, dtype, far)), "each": after.groups(p.n)}
    sums = out if pieces == 1 else steps.work((pieces * p.batches * p.m * p.n,), dtype)
    mode = PRODUCT if c is None or pieces > 1 else ADDED if adds_to_c else MIXED
    steps.run(
        template, a, b, out if c is None else c, *others, sums, form=form, **options,
        tasks=p.batches * -(-p.m // high) * -(-p.n // wide) * pieces, numel=methods.work_of(p, dtype) // WORK,
        rows=p.m, cols=p.n, length=length, high=high, wide=wide, deep=deep,
        part=part or methods.part_of(deep, methods.SHALLOW if far else methods.DEPTH), to=p.out if pieces == 1 else 0,
        a=a_from, lift=lift, am=am, ak=ak, ahead=ahead, b=b_from, panel=panel, bk=bk, across=p.bn, inward=p.bk,
        whole=right is not None or panels > 0, thread_panels=panels, transposed=high * wide * transposed,
        rowwise=far and not panels and p.n % wide > 0,
        c=p.c, cm=p.cm, cn=p.cn, mode=mode, batches=p.batches, alpha=alpha, beta=beta, sizes=p.sizes,
        c_steps=p.steps[2],
        a_steps=left.steps if left else p.steps[0], b_steps=right.steps if right else p.steps[1],
    )  # fmt: skip
    if pieces > 1:
        _add(steps, p, pieces, sums, c, out, factors)


def _packed(steps: CpuSteps, panels: methods.Panels, x: Value, far: bool = False) -> Value:
    """Return an operand in panels; far: whether their width is that of the wide tile."""
    pack, dtype = (matmul.pack_pairs, int32) if panels.paired else (matmul.pack, x.dtype)
    side = "MR" if panels.width == tile_size(float32 if panels.paired else dtype)[0] else "NR"
    packed = steps.work((panels.capacity,), dtype)
    steps.run(
        pack, x, packed, words={"PANEL": side, "FAR": far}, form=side.lower() + "far" * far, tasks=panels.tasks,
        numel=panels.capacity, **panels.numbers,
    )  # fmt: skip
    return packed


def following_words(chain: Chain, steps: str, dtype: DType, far: bool) -> dict[str, Any]:
    """Return the words of a product to which a function is applied.

    chain: the function.  steps: the strides of its other operands along a row.  far: whether the tile is the wide one.
    """
    words = {f"STEP_{k}": step for k, step in enumerate(steps)} | elements_of(steps)
    return words | {"F": Macro(chain.macro(dtype.compute)), "FACTOR": factor_text(dtype), "FAR": far}


def dense_like(layout: Layout) -> Layout:
    """Return a dense layout for a copy, in the memory order of the operand; repeated dims stay repeated."""
    order = sorted(range(len(layout.shape)), key=lambda d: -abs(layout.strides[d]))
    sizes = tuple(1 if layout.strides[d] == 0 else layout.shape[d] for d in order)
    dense = Layout.contiguous(sizes)
    strides = [0] * len(order)
    for position, d in enumerate(order):
        strides[d] = 0 if layout.strides[d] == 0 else dense.strides[position]
    return Layout.make(layout.shape, tuple(strides))
