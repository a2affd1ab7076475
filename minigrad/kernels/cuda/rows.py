"""Rows: a few totals of each row, then each element from its row's totals; a group of threads computes a row.

`LANE` of `LANES` is the index of a thread in its group, `GROUP` of `GROUPS` that of the group in the block.  Along
memory, a group is some lanes of a warp, a warp or a whole block.  Across it, the lanes of a warp compute rows that lie
side by side.

`rows` is the kernel.  Its words `TOTALS` and `ELEMENTS` are the loops of `RowFn.passes`.  If a row stays in registers,
r_K, `fetch` comes first; otherwise each loop reads the row again.  A loop is `held` or `read`.  In a loop, the `BODY`
first assigns elements j to j + WIDTH - 1 of operand K to x_K_0 and so on.  Each group sums down the columns of its own
rows, and `store_sums` stores them in a line of `work`; a second launch adds the lines.  `F` is a term or the result.
"""

# ruff: noqa: F821, F841
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.core.dtype import DType
from minigrad.core.rows import Pass, RowFn
from minigrad.kernels.cuda import reduction
from minigrad.kernels.cuda.target import CUDA, factor_text
from minigrad.kernels.fields import Fields, loop
from minigrad.kernels.macros import JOINS, expression_macro, lanes_macro, pass_macros, stored
from minigrad.kernels.pasting import Macro, Part, paste

# value: the bits of a float parameter
ROWS = Fields("rows n value ignore", "shape[rank]", "offset step strides[rank]")


@loop(ROWS)
def rows(in_K, losses, counted, work, out, N):
    """Compute rows of n elements; a group of threads computes one row.

    If it PICKS, compute minus the result at the element of each row with the index in in_1, or 0 if this index is
    `ignore`.  The values are stored in out, or, for a reduction, by row in memory, with 1 if the row is not ignored.
    """
    n = N.n
    value = FACTOR(N.value)
    lane = np.int64(LANE)
    for k in each(HELD):
        r_k = cuda.local.array(LOADS * WIDTH, T)
    if KEEPS:
        kept = cuda.local.array(LOADS * WIDTH, T)
    if TERMS:
        for t in each(TERMS):
            sum_t = cuda.local.array(LOADS * WIDTH, T)
        for k in range(LOADS * WIDTH):
            for t in each(TERMS):
                sum_t[k] = T(0)
    first = np.int64(cuda.blockIdx.x) * GROUPS
    while first < N.rows:
        inside = first + GROUP < N.rows
        row = first + GROUP if inside else np.int64(0)
        m = n if inside else np.int64(0)
        rest = row
        to = N.offset[0]
        at_K = N.offset[K + 1]
        walk(rest, N.shape, to=N.strides[0], at_K=N.strides[K + 1])
        if BACK:
            chosen = np.int64(in_1[at_1])
            counts = chosen != N.ignore and 0 <= chosen and chosen < n
            scale = T(LOAD_2(in_2[at_2]) * in_3[at_3])
        TOTALS()
        if PICKS:
            if lane == 0 and inside:
                chosen = np.int64(in_1[at_1])
                counts = chosen != N.ignore and 0 <= chosen and chosen < n
                loss = T(0)
                if counts:
                    element = LOAD_0(in_0[at_0 + chosen * N.step[1]])
                    loss = T(-F(element))
                if EACH:
                    out[to] = STORE(loss)
                else:
                    losses[row] = loss
                    counted[row] = np.int32(1) if counts else np.int32(0)
        else:
            ELEMENTS()
        first += np.int64(cuda.gridDim.x) * GROUPS
    if TERMS:
        line = (np.int64(cuda.blockIdx.x) * cuda.blockDim.y + cuda.threadIdx.y) * n
        m = n
        OVER()


def held():
    """Loop over a lane's part of a row of m elements that are in registers."""
    for w in range(LOADS):
        j = (w * LANES + lane) * WIDTH
        if j < m:
            BODY()


def read():
    """Loop over a lane's part of a row of m elements that are in memory."""
    j = lane * WIDTH
    while j < m:
        BODY()
        j += np.int64(LANES) * WIDTH


def from_registers():
    """Assign elements of operands whose rows are in registers."""
    for i in each(WIDTH):
        x_K_i = r_K[w * WIDTH + i]


def by_one_load():
    """Assign elements of operands that are loaded together."""
    x_K = TAKE(in_K, at_K + j)
    for i in each(WIDTH):
        x_K_i = LOAD_K(x_K[i])


def one_by_one():
    """Assign elements of operands that are loaded one by one."""
    for i in each(WIDTH):
        x_K_i = LOAD_K(in_K[at_K + (j + i) * N.step[K + 1]])


def fetch():
    """Copy a lane's part of a row into registers."""
    for i in each(WIDTH):
        r_K[w * WIDTH + i] = x_K_i


def total():
    """Compute one total: each lane joins the terms of its elements, and a tree joins the lanes."""
    TOTAL = IDENTITY()
    OVER()
    TOTAL = T(FINISH(JOINED(TOTAL)[0], T(n), value))


def join():
    """Join terms with a total."""
    for i in each(WIDTH):
        term = T(F(x_K_i))
        TOTAL = T(COMBINE(TOTAL, term))
        if KEEPS:
            kept[w * WIDTH + i] = term


def result():
    """Compute elements of the result, or of the gradient if it goes BACK."""
    for i in each(WIDTH):
        y = T(F(x_K_i, kept[w * WIDTH + i]))
        if BACK:
            y = T(T(0) if not counts else (y - T(1) if j + i == chosen else y) * scale)
        z_i = STORE(y)
    if WIDELY:
        PUT(out, to + j, ALL(z_J))
    else:
        for i in each(WIDTH):
            out[to + (j + i) * N.step[0]] = z_i


def add():
    """Add terms to the sums down the columns."""
    for i in each(WIDTH):
        for t in each(TERMS):
            sum_t[w * WIDTH + i] = T(sum_t[w * WIDTH + i] + F_t(x_K_i))


def store_sums():
    """Store the sums of a group in its line."""
    for t in each(TERMS):
        for i in each(WIDTH):
            work[line * TERMS + n * t + j + i] = sum_t[w * WIDTH + i]


WIDEST = 16  # size in bytes of one load


@dataclass(frozen=True)
class Form:
    """Describe the form of a kernel that computes

    along: whether the lanes of a group read neighbours in memory.
    loads: the number of loads per lane if registers store the rows, otherwise 0.
    width: the number of elements of one load.
    wide: for the result and then for each operand, whether `width` elements are loaded or stored at once.
    back: whether the kernel computes the gradient of `Pick`.
    """

    along: bool
    loads: int
    width: int
    wide: tuple[bool, ...]
    back: bool = False

    def label(self, dtypes: Sequence[DType]) -> str:
        """Return the form as a part of a kernel's name. dtypes: of the result and each operand.

        "by": loads are of 128 bits.
        """
        way = f"{'held' if self.loads else 'read'}{self.loads or ''}" if self.along else "across"
        sizes = [dtype.itemsize for dtype, wide in zip(dtypes, self.wide, strict=True) if wide]
        if not sizes:
            return way
        word = "by" if self.width * max(sizes) == WIDEST else "of"
        return f"{way}_{word}{self.width}_{''.join('xw'[wide] for wide in self.wide)}"


BODIES = {"sum": join, "max": join, "result": result, "columns": add}


def row_words(fn: RowFn, form: Form, compute: np.dtype[Any], picks: str) -> dict[str, Any]:
    """Return the words of `rows`. picks: "pick" if it computes one number per row, "pick_reduced" if a sum follows."""
    loops, width = fn.passes(keeps=form.loads > 0), form.width
    asked = {k for loop in loops if loop.totals for k in loop.operands}
    held_in = tuple(sorted(asked)) if form.loads else ()
    fetch_first = [over(form, fetch, held_in, ())] if held_in else []
    totals, elements = ([lowered(fn, x, form, held_in, compute) for x in loops if bool(x.totals) == f] for f in (1, 0))
    last = pass_macros(fn, fn.passes()[-1], compute, CUDA, (0,)) if picks else {}
    return reduction.group_words(form.along) | {
        "TOTALS": fetch_first + totals, "ELEMENTS": elements, "OVER": [over(form, store_sums, (), ())],
        "LOADS": form.loads, "WIDTH": width, "HELD": held_in,
        "TERMS": len(fn.terms), "TAKE": f"load_{width}", "PUT": f"store_{width}", "WIDELY": form.wide[0],
        "BACK": form.back, "ALL": Macro(lanes_macro(width)), "FACTOR": factor_text(compute),
        "KEEPS": any(loop.keeps for loop in loops), "PICKS": bool(picks), "EACH": picks == "pick",
        "imports": joins_text(fn, form.along), **{name: Macro(macro) for name, macro in last.items()},
    }  # fmt: skip


def lowered(fn: RowFn, each: Pass, form: Form, kept: Sequence[int], compute: np.dtype[Any]) -> Part:
    """Return the text part of a pass over a row. kept: the operands in registers."""
    part = over(form, BODIES[each.kind], each.operands, kept)
    macros = pass_macros(fn, each, compute, CUDA)
    if not each.totals:
        return part._replace(macros={**part.macros, **macros})
    words = {"TOTAL": f"total_{each.totals[0]}", "JOINED": f"{each.kind}_of_group", "KEEPS": each.keeps}
    return Part(total, {**macros, "OVER": [part]}, words)


def over(form: Form, body: Callable[..., Any], operands: Sequence[int], kept: Sequence[int]) -> Part:
    """Return a loop over the elements of these operands that a lane has."""
    apart = [k for k in operands if k not in kept]
    sources = {
        from_registers: [k for k in operands if k in kept], by_one_load: [k for k in apart if form.wide[k + 1]],
        one_by_one: [k for k in apart if not form.wide[k + 1]],
    }  # fmt: skip
    elements = [Part(template, operands=each) for template, each in sources.items()]
    return Part(held if form.loads else read, {"BODY": [*elements, Part(body)]}, {}, operands)


def joins_text(fn: RowFn, along: bool) -> str:
    """Return the functions that join the values of the lanes of a group, one for each kind of total."""
    text, template = "", reduction.by_lanes if along else reduction.by_rows
    plain = expression_macro("{}")
    for join in dict.fromkeys(total.join for total in fn.totals):
        macros = {"COMBINE": stored(expression_macro(JOINS[join][0])), "RECEIVE": plain}
        pasted = paste(template, 0, macros, {"WIRE": "T", "TOLD": "1"}, None, CUDA.walk)
        text += "\n\n@device\n" + pasted.replace(f"def {template.__name__}(", f"def {join}_of_group(", 1)
    return text
