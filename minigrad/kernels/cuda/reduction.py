"""Reductions and positions of min/max: a group of threads computes an output and joins its accumulators in a tree.

Free names: `F` is a step of the reduction from (acc, x), or states whether x beats the best element.  `COMBINE` joins
two accumulators.  `LOAD_K` and `STORE` are the conversions.  `IDENTITY` is the first accumulator, and `FINISH` the last
step, from the accumulator and the count.  With positions after their arguments, these store their results, for any
number of accumulators `_S`.

`LANE` of `LANES` is the index of a thread in its group; `GROUP` of `GROUPS` is the index of the group in the block.
Along memory, the lanes of a group are neighbours, and `JOINED` is `by_lanes`.  Across it, the groups are neighbours,
and `JOINED` is `by_rows`, which returns the result to all lanes if `TOLD`.  `WIRE` is the type of exchanged values,
and `RECEIVE` converts it to an accumulator.  A thread adds WIDTH neighbours of one load together (`WIDELY`),
or four elements (`FOURS`).  Each block along y reduces a piece, and a second launch joins the results: the order of
additions depends only on the shape.
"""

# ruff: noqa: F821, F841
import ast
from typing import Any

import numpy as np

from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.pasting import Macro


def group_words(along: bool) -> dict[str, Any]:
    """Return the words of a thread's lane in its group, and of its group in the block. along: lanes are neighbours."""
    lane, group = "xy" if along else "yx"
    return {
        "LANE": f"cuda.threadIdx.{lane}", "LANES": f"cuda.blockDim.{lane}", "GROUP": f"cuda.threadIdx.{group}",
        "GROUPS": f"cuda.blockDim.{group}",
    }  # fmt: skip


def joined_words(along: bool, by_neighbours: Any = None, by_others: Any = None) -> dict[str, Any]:
    """Return the words of groups whose lanes are joined, by functions for both cases; by default of accumulators."""
    join = (by_neighbours or by_lanes) if along else (by_others or by_rows)
    return {**group_words(along), "JOINED": join, "TOLD": False}


def wire(compute: np.dtype[Any]) -> dict[str, Any]:
    """Return the words WIRE and RECEIVE: shuffles move integers and floats of 32 and 64 bits."""
    if compute.kind in "fc":
        return {"WIRE": "T", "RECEIVE": Macro(by_parts) if compute.kind == "c" else "{0}"}
    small = compute.kind == "b" or compute.itemsize < 4 or compute.name == "int32"
    return {"WIRE": "np.int32" if small else "np.int64", "RECEIVE": "T({0})"}


def by_parts(arguments: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
    """Return the shuffle of a complex number as one shuffle of each part; what is read from memory stays as it is."""
    (x,) = arguments
    if not isinstance(x, ast.Call):
        return [], x
    mask, sent, lane = x.args
    parts: list[ast.expr] = [ast.Call(x.func, [mask, ast.Attribute(sent, name), lane], []) for name in ("real", "imag")]
    return [], ast.Call(ast.Name("T"), [ast.Call(ast.Name("complex"), parts, [])], [])


# The reduced_steps of results are 0.
@loop(Fields("outputs count", "sizes[kept] reduced_sizes[reduced]", "offset steps[kept] reduced_steps[reduced]"))
def one_each(in_K, out_R, N):
    """Reduce elements in row-major order; a thread computes one output."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while i < N.outputs:
        position = i
        to_R = N.offset[R]
        at_K = N.offset[K + RESULTS]
        walk(position, N.sizes, to_R=N.steps[R], at_K=N.steps[K + RESULTS])
        acc_S = IDENTITY_S
        j = np.int64(0)
        while j < N.count:
            element = j
            p_K = at_K
            walk(element, N.reduced_sizes, p_K=N.reduced_steps[K + RESULTS])
            F(acc_S, LOAD_K(in_K[p_K]), acc_S)
            j += 1
        FINISH(acc_S, N.count, out_R[to_R])
        i += np.int64(cuda.gridDim.x) * cuda.blockDim.x


def by_lanes(acc_S):
    """Join the accumulators of a group: within a warp by shuffles, between warps through shared memory."""
    lanes = min(cuda.blockDim.x, 32) // 2
    while lanes > 0:
        other_S = RECEIVE(cuda.shfl_xor_sync(0xFFFFFFFF, WIRE(acc_S), lanes))
        COMBINE(acc_S, other_S, acc_S)
        lanes //= 2
    if cuda.blockDim.x > 32:
        parts_S = cuda.shared.array(8, WIRE)
        cuda.syncthreads()
        if cuda.threadIdx.x % 32 == 0:
            parts_S[cuda.threadIdx.x // 32] = WIRE(acc_S)
        cuda.syncthreads()
        acc_S = RECEIVE(parts_S[0])
        k = 1
        while k < cuda.blockDim.x // 32:
            other_S = RECEIVE(parts_S[k])
            COMBINE(acc_S, other_S, acc_S)
            k += 1
    return (acc_S,)


def by_rows(acc_S):
    """Join the accumulators of a group if the lanes of a warp are in different groups.

    The first lane of the group receives the result, or all of its lanes.
    """
    if cuda.blockDim.y > 1:
        parts_S = cuda.shared.array(256, WIRE)
        mine = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        cuda.syncthreads()
        parts_S[mine] = WIRE(acc_S)
        half = cuda.blockDim.y // 2
        while half > 0:
            cuda.syncthreads()
            if cuda.threadIdx.y < half:
                other_S = RECEIVE(parts_S[mine + half * cuda.blockDim.x])
                COMBINE(acc_S, other_S, acc_S)
                parts_S[mine] = WIRE(acc_S)
            half //= 2
        if TOLD:
            cuda.syncthreads()
            acc_S = RECEIVE(parts_S[cuda.threadIdx.x])
    return (acc_S,)


# A unit is a block of the rows of one stretch, a piece is some units.  copy: the distance between the results of two
# pieces.  The row_step and the reduced_steps of results are 0.
SPREAD = Fields(
    "outputs count units piece rows block blocks copy", "sizes[kept] reduced_sizes[reduced]",
    "offset row_step steps[kept] reduced_steps[reduced]",
)  # fmt: skip


@loop(SPREAD)
def spread(in_0, out, N):
    """Reduce elements in any order; a group of threads computes one output."""
    lane = np.int64(LANE)
    p = np.int64(cuda.blockIdx.y)
    first = np.int64(cuda.blockIdx.x) * GROUPS
    while first < N.outputs:
        inside = first + GROUP < N.outputs
        position = first + GROUP if inside else np.int64(0)
        base = N.offset[1]
        to = N.offset[0] + p * N.copy
        walk(position, N.sizes, base=N.steps[1], to=N.steps[0])
        acc = IDENTITY
        u = p * N.piece
        stop = min(N.units, u + N.piece) if inside else u
        while u < stop:
            stretch = u // N.blocks
            start = (u - stretch * N.blocks) * N.block
            length = min(N.block, N.rows - start)
            at = base + start * N.row_step[1]
            walk(stretch, N.reduced_sizes, at=N.reduced_steps[1])
            i = lane
            if WIDE:
                while i < length // WIDTH:
                    x = TAKE(in_0, at + i * WIDTH)
                    acc = T(WIDELY(acc, x))
                    i += LANES
                i = length // WIDTH * WIDTH + lane
            else:
                while i + 3 * LANES < length:
                    q = at + i * N.row_step[1]
                    far = LANES * N.row_step[1]
                    acc = T(FOURS(acc, in_0[q], in_0[q + far], in_0[q + 2 * far], in_0[q + 3 * far]))
                    i += 4 * LANES
            while i < length:
                acc = T(F(acc, LOAD_0(in_0[at + i * N.row_step[1]])))
                i += LANES
            u += 1
        joined = JOINED(acc)
        if lane == 0 and inside:
            out[to] = STORE(FINISH(joined[0], N.count))
        first += np.int64(cuda.gridDim.x) * GROUPS


@loop(SPREAD)
def mapped(in_K, out_R, N):
    """Reduce elements of any number of operands in any order, to any number of results, as `spread` does for one.

    A lane reads one element of each operand at a time.
    """
    lane = np.int64(LANE)
    p = np.int64(cuda.blockIdx.y)
    first = np.int64(cuda.blockIdx.x) * GROUPS
    while first < N.outputs:
        inside = first + GROUP < N.outputs
        position = first + GROUP if inside else np.int64(0)
        base_K = N.offset[K + RESULTS]
        to_R = N.offset[R] + p * N.copy
        walk(position, N.sizes, base_K=N.steps[K + RESULTS], to_R=N.steps[R])
        acc_S = IDENTITY_S
        u = p * N.piece
        stop = min(N.units, u + N.piece) if inside else u
        while u < stop:
            stretch = u // N.blocks
            start = (u - stretch * N.blocks) * N.block
            length = min(N.block, N.rows - start)
            at_K = base_K + start * N.row_step[K + RESULTS]
            walk(stretch, N.reduced_sizes, at_K=N.reduced_steps[K + RESULTS])
            i = lane
            while i < length:
                F(acc_S, LOAD_K(in_K[at_K + i * N.row_step[K + RESULTS]]), acc_S)
                i += LANES
            u += 1
        joined = JOINED(acc_S)
        acc_S = joined[S]
        if lane == 0 and inside:
            FINISH(acc_S, N.count, out_R[to_R])
        first += np.int64(cuda.gridDim.x) * GROUPS


def best_by_lanes(best, winner):
    """Join the best elements of a group and their positions, as `by_lanes` joins accumulators.

    A position of -1 means that there is no element.  If elements are equal, the first one wins.
    """
    lanes = min(cuda.blockDim.x, 32) // 2
    while lanes > 0:
        other = RECEIVE(cuda.shfl_xor_sync(0xFFFFFFFF, WIRE(best), lanes))
        there = cuda.shfl_xor_sync(0xFFFFFFFF, winner, lanes)
        earlier = there < winner and not F(other, best)
        if there >= 0 and (winner < 0 or earlier or F(best, other)):
            best = other
            winner = there
        lanes //= 2
    if cuda.blockDim.x > 32:
        parts = cuda.shared.array(8, WIRE)
        positions = cuda.shared.array(8, np.int64)
        cuda.syncthreads()
        if cuda.threadIdx.x % 32 == 0:
            parts[cuda.threadIdx.x // 32] = WIRE(best)
            positions[cuda.threadIdx.x // 32] = winner
        cuda.syncthreads()
        k = 0
        while k < cuda.blockDim.x // 32:
            other = RECEIVE(parts[k])
            there = positions[k]
            earlier = there < winner and not F(other, best)
            if there >= 0 and (winner < 0 or earlier or F(best, other)):
                best = other
                winner = there
            k += 1
    return winner


def best_by_rows(best, winner):
    """Join the best elements of a group and their positions, as `by_rows` joins accumulators."""
    if cuda.blockDim.y > 1:
        parts = cuda.shared.array(256, WIRE)
        positions = cuda.shared.array(256, np.int64)
        mine = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        cuda.syncthreads()
        parts[mine] = WIRE(best)
        positions[mine] = winner
        half = cuda.blockDim.y // 2
        while half > 0:
            cuda.syncthreads()
            if cuda.threadIdx.y < half:
                other = RECEIVE(parts[mine + half * cuda.blockDim.x])
                there = positions[mine + half * cuda.blockDim.x]
                earlier = there < winner and not F(other, best)
                if there >= 0 and (winner < 0 or earlier or F(best, other)):
                    best = other
                    winner = there
                parts[mine] = WIRE(best)
                positions[mine] = winner
            half //= 2
    return winner


# found: where the positions from an earlier launch begin; the positions of two pieces have a distance of `outputs`.
SEARCH = Fields(
    "outputs rows piece row_step offset found to copy", "sizes[kept] steps[kept] found_steps[kept] to_steps[kept]"
)


@loop(SEARCH)
def search(in_K, values, out, N):
    """Find the position of the best element of each output.

    In the FIRST launch, the candidates are all `rows`; in the second one, the positions that the first one has found.
    """
    lane = np.int64(LANE)
    p = np.int64(cuda.blockIdx.y)
    first = np.int64(cuda.blockIdx.x) * GROUPS
    while first < N.outputs:
        inside = first + GROUP < N.outputs
        position = first + GROUP if inside else np.int64(0)
        base, found = N.offset, N.found
        to = N.to + p * N.copy
        walk(position, N.sizes, base=N.steps, found=N.found_steps, to=N.to_steps)
        best = T(0)
        winner = np.int64(-1)
        i = p * N.piece + lane
        stop = min(N.rows, p * N.piece + N.piece) if inside else np.int64(0)
        while i < stop:
            if FIRST:
                k = i
            else:
                k = np.int64(in_1[found + i * N.copy])
            x = LOAD_0(in_0[base + k * N.row_step])
            if winner < 0 or F(best, x):
                best = x
                winner = k
            i += LANES
        winner = JOINED(best, winner)
        if lane == 0 and inside:
            out[to] = winner
            KEEP(to, in_0[base + winner * N.row_step])
        first += np.int64(cuda.gridDim.x) * GROUPS
