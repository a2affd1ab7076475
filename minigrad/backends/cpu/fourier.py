"""Fourier transforms on the CPU: eight independent transforms in the lanes of vectors, in passes of small radices.

One text serves all forms.  A task loads eight lines of equal length m into blocks, transforms them by passes in
Stockham's order, and stores them.  The eight lines are:

rows     a row of length n = 8*m: line l has the elements l, l + 8, l + 16 ...  The step `across` then multiplies the
         results by factors and transforms across the lines.
columns  eight neighbouring columns, if the transform is along another dim than the last
group    eight rows of any other length, transposed in registers, or a few rows or columns, element by element
chirp    a row whose length has a large prime factor, as a convolution (Bluestein) of two transforms of the form rows
real     a row of 2*h real numbers, as h complex numbers; `combine` then separates even and odd elements
hermitian  the reverse of real

A task never depends on the number of threads, so the results are equal for any number of threads.

Source: Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, sections 1.7, 3.2, 4.2 and 4.3.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import serves
from minigrad.backends.cpu.family import CpuBackend, CpuSteps
from minigrad.backends.lowering.fourier import roots
from minigrad.backends.steps import Value
from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.op import Spec
from minigrad.kernels.cpu.processor import PARTED
from minigrad.kernels.cpu.target import imported
from minigrad.kernels.fields import Fields, loop

ROWS, COLUMNS, GROUP, CHIRP, REAL, HERMITIAN = range(6)
RADICES = (8, 4, 2, 3, 5, 7)
STEPS = (
    "spread", "spread_product", "product", "join", "across", "square", "combine", "gather", "scatter", "first_4",
    "first_5", "first_8", "last_4", "last_8", *[f"pass_{radix}" for radix in RADICES],
)  # fmt: skip
Array = NDArray[Any]


def steps_in_registers(words: Any, dtype: DType, functions: Sequence[Any]) -> str:
    """Return the lines that define the steps of `butterflies.py`."""
    lines = [f'{name} = step_of("{name}", "{dtype}")' for name in STEPS]
    return imported("butterflies", "step_of", *lines, beside=["emitting.py", "processor.py", "vectors.py"])


@loop(
    Fields(
        "kind n m inverse inner lines line result across extra spectrum scale passes rank",
        "radices[passes] sizes[rank] strides[rank]", "start", results=False,
    ),
    imports=steps_in_registers,
)  # fmt: skip
def transform(in_0, factors, out, N):  # type: ignore[no-untyped-def]
    """Transform the lines of each task.

    n, m: the lengths of a line in memory and of the lines in blocks.  inner: the distance of the elements of a line.
    lines: the count of all lines.  line, result: the numbers of reals in the buffer of a line, and in a line of `out`.
    across, extra, spectrum, scale: positions in `factors`.
    """
    m, n, inner = N.m, N.n, N.inner
    is_columns = N.kind == COLUMNS
    is_group = N.kind == GROUP
    is_chirp = N.kind == CHIRP
    is_real = N.kind == REAL
    is_hermitian = N.kind == HERMITIAN
    a = workspace(16 * m, T)
    b = workspace(16 * m, T)
    line = workspace(N.line, T)
    bases = workspace(8, np.int64)
    for u in range(first, last):
        rest = u
        at = N.start[0]
        walk(rest, N.sizes, at=N.strides)
        to = u * N.result
        flag = N.inverse
        if m == 8 and N.kind == ROWS:
            square(in_0, at, 0, out, to, 0, factors, N.across, flag)
            continue
        x = in_0
        if is_columns:
            blocks = (inner + 7) // 8
            to = 2 * (u // blocks * n * inner + min(u % blocks * 8, inner - 8))
            at = N.start[0] + to
        elif is_group:
            for k in range(8):
                i = min(8 * u + k, N.lines - 1)
                bases[k] = 2 * (i // inner * n * inner + i % inner)
        elif is_chirp:
            for j in range(2 * (n - n % 8), 2 * n):
                line[j % 16] = in_0[at + j]
            for j in range(2 * (n % 8), 16):
                line[j] = T(0)
            for j in range(16 * (n // 8 + 1), 16 * m):
                a[j] = T(0)
            for j in range(n // 8):
                spread_product(in_0, at + 16 * j, 0, a, 16 * j, 0, factors, N.extra + 16 * j, 0)
            spread_product(line, 0, 0, a, 16 * (n // 8), 0, factors, N.extra + 16 * (n // 8), 0)
        elif is_hermitian:
            for k in range(0, 8 * m, 8):
                combine(in_0, at + 2 * k, at + 2 * (8 * m - k - 7), line, 2 * k, 0, factors, N.extra + 2 * k, flag)
            line[0] = in_0[at] + in_0[at + 16 * m]  # the imaginary parts of these two terms have no effect
            line[1] = in_0[at] - in_0[at + 16 * m]
            flag = 1
            x = line
            at = 0
        elif is_real:
            flag = 0
        z = line if is_chirp or is_real else out
        goal = 0 if is_chirp or is_real else to
        for turn in range(2 if is_chirp else 1):
            # ---- load
            are_rows = is_group and inner == 1 and m >= 8 and 8 * u + 8 <= N.lines
            if are_rows:
                for j in range(0, m, 8):
                    k = min(j, m - 8)
                    gather(in_0, at + 16 * u * n + 2 * k, 2 * n, a, 16 * k, 0, factors, 0, flag)
            elif is_group:
                for k in range(8):
                    for j in range(m):
                        i = N.start[0] + bases[k] + 2 * j * inner
                        a[16 * j + k] = in_0[i + N.inverse]
                        a[16 * j + 8 + k] = in_0[i + 1 - N.inverse]
            elif turn == 1:
                flag = 1
                for j in range(m):
                    spread_product(line, 16 * j, 0, a, 16 * j, 0, factors, N.spectrum + 16 * j, 1)
            fresh = not (is_group or is_chirp)
            pitch = 2 * inner if is_columns else 16
            # ---- passes
            size = m
            run = 1
            p = 0
            for k in range(N.passes):
                radix = N.radices[k]
                size //= radix
                if fresh and radix == 8:
                    first_8(x, at, size, b, 0, pitch, factors, p, flag)
                elif fresh and radix == 4:
                    first_4(x, at, size, b, 0, pitch, factors, p, flag)
                elif fresh and radix == 5:
                    first_5(x, at, size, b, 0, pitch, factors, p, flag)
                else:
                    if fresh:
                        for j in range(m):
                            spread(x, at + pitch * j, 0, a, 16 * j, 0, factors, 0, flag)
                    if size == 1 and radix == 8:
                        last_8(a, 0, 1, b, 0, run, factors, p, 0)
                    elif size == 1 and radix == 4:
                        last_4(a, 0, 1, b, 0, run, factors, p, 0)
                    elif radix == 8:
                        pass_8(a, 0, size, b, 0, run, factors, p, 0)
                    elif radix == 4:
                        pass_4(a, 0, size, b, 0, run, factors, p, 0)
                    elif radix == 2:
                        pass_2(a, 0, size, b, 0, run, factors, p, 0)
                    elif radix == 3:
                        pass_3(a, 0, size, b, 0, run, factors, p, 0)
                    elif radix == 5:
                        pass_5(a, 0, size, b, 0, run, factors, p, 0)
                    else:
                        pass_7(a, 0, size, b, 0, run, factors, p, 0)
                fresh = False
                p += 2 * (radix - 1) * size
                run *= radix
                a, b = b, a
            # ---- store
            if is_columns:
                for j in range(m):
                    join(a, 16 * j, 0, out, to + 2 * inner * j, 0, factors, N.scale, flag)
            elif are_rows:
                for j in range(0, m, 8):
                    k = min(j, m - 8)
                    scatter(a, 16 * k, 0, out, 16 * u * n + 2 * k, 2 * n, factors, N.scale, flag)
            elif is_group:
                for k in range(min(8, N.lines - 8 * u)):
                    for j in range(m):
                        i = bases[k] + 2 * j * inner
                        out[i + N.inverse] = a[16 * j + k] * factors[N.scale]
                        out[i + 1 - N.inverse] = a[16 * j + 8 + k] * factors[N.scale]
            else:
                for j in range(0, m, 8):
                    k = min(j, m - 8)
                    across(a, 16 * k, 0, z, goal + 2 * k, 2 * m, factors, N.across + 16 * k, flag)
        if is_chirp:
            for j in range(0, n, 8):
                k = min(j, n - 8)
                product(line, 2 * k, 0, out, to + 2 * k, 0, factors, N.extra + 2 * k, 0)
        elif is_real:
            h = 8 * m
            line[2 * h] = line[0]
            line[2 * h + 1] = line[1]
            for j in range(0, h + 1, 8):
                k = min(j, h - 7)
                combine(line, 2 * k, 2 * (h - k - 7), out, to + 2 * k, 0, factors, N.extra + 2 * k, N.inverse)
    leave(a, b, line, bases)


# ---- plans -----------------------------------------------------------------------------------------------------------


def radices_of(n: int) -> tuple[int, ...] | None:
    """Return the radices of the passes for a length, large ones first; None if a prime factor is too large."""
    radices = []
    for radix in (7, 5, 3):
        while n % radix == 0:
            radices.append(radix)
            n //= radix
    twos = n.bit_length() - 1
    if n != 1 << twos:
        return None
    if twos % 3 == 1:
        radices += [2] if twos == 1 else [4, 4]
    elif twos % 3 == 2:
        radices.append(4)
    radices += [8] * ((twos - 2 * (twos % 3 == 2) - 4 * (twos % 3 == 1)) // 3)
    return tuple(radices)


def pass_factors(m: int) -> list[Array]:
    """Return the factors of each pass of a transform of length m."""
    result, size = [], m
    for radix in radices_of(m) or ():
        size //= radix
        result.append(roots(np.outer(np.arange(size), np.arange(1, radix)), size * radix, -1).reshape(-1))
    return result


def as_reals(*parts: Array) -> Array:
    """Return complex numbers as pairs of real numbers."""
    return np.concatenate([np.asarray(part, np.complex128).reshape(-1) for part in parts]).view(np.float64)


def blocks(terms: Array) -> Array:
    """Return rows of eight complex numbers as blocks."""
    return np.stack([terms.real, terms.imag], 1).reshape(-1)


class Plan(NamedTuple):
    """The numbers and the factors of a kind of transform.

    numbers: those of `transform` that depend on the length.  table: its factors.
    """

    numbers: dict[str, Any]
    table: Array


def is_row(n: int) -> bool:
    """Return whether a row of this length is transformed as eight lines."""
    return n % 8 == 0 and n >= 64 and radices_of(n // 8) is not None


@lru_cache(maxsize=8)  # the table of a long row takes several MB, and each launch keeps its own
def plan_of(form: int, n: int, inverse: bool, scale: float, order: Sequence[int]) -> Plan:
    """Return the numbers and factors of `transform` for lines of length n."""
    size = n
    tables: dict[str, Array] = {}
    if form == CHIRP:
        size = max(64, 1 << (2 * n - 2).bit_length())
        chirp = roots(np.arange(n) ** 2, 2 * n, 1 if inverse else -1)
        filtered = np.zeros(size, np.complex128)
        filtered[:n] = chirp.conj()
        filtered[size - n + 1 :] = chirp[:0:-1].conj()
        tables = {"extra": as_reals(chirp, np.zeros(8)), "spectrum": as_reals(np.fft.fft(filtered) * (scale / size))}
    elif form in (REAL, HERMITIAN):
        size, k = n // 2, np.arange(n // 2 + 1)
        turns = roots(k, n, 1 if form == HERMITIAN and inverse else -1) * (1j if form == HERMITIAN and inverse else -1j)
        tables = {"extra": as_reals(turns)}
    m = size if form in (COLUMNS, GROUP) else size // 8
    first = as_reals(*pass_factors(m)) if m > 1 else np.zeros(0)
    # `across` multiplies the results of eight lines by blocks of factors.
    turned = roots(np.outer(np.arange(m), order), 8 * m, -1) * {CHIRP: 1.0, REAL: scale / 2}.get(form, scale)
    tables |= {"across": blocks(turned), "scale": np.full(1, scale)}
    positions = dict.fromkeys(("across", "extra", "spectrum", "scale"), 0)
    for name, table in tables.items():
        positions[name] = len(first)
        first = np.concatenate([first, table])
    line = {CHIRP: 2 * size, REAL: 2 * size + 2, HERMITIAN: 2 * size}.get(form, 0)
    # The tables of a chirp determine its direction; `combine` of terms that are conjugated needs the conjugate table.
    flag = inverse if form != HERMITIAN else not inverse
    flag = flag and form != CHIRP
    numbers = {"kind": form, "n": n, "m": m, "radices": radices_of(m), "line": line, "inverse": flag, **positions}
    return Plan(numbers, first)


# ---- services --------------------------------------------------------------------------------------------------------


def run(steps: CpuSteps, form: int, out: Value, a: Value, n: int, request: requests.Fourier, inner: int = 1) -> None:
    """Add the step that transforms lines of length n; a has dense lines for the forms of rows, and else is dense.

    inner: the distance of the elements of a line.
    """
    real = out.dtype.to_real()
    plan = plan_of(form, n, request.inverse, request.scale, PARTED[real.itemsize])
    factors = steps.constant(plan.table, real)
    width = 2 if a.dtype.is_complex else 1
    whole = () if form in (COLUMNS, GROUP) else a.layout.strides[:-1]
    lines = (out if form == HERMITIAN else a).layout.numel // n
    tasks = {COLUMNS: lines // inner * -(-inner // 8), GROUP: -(-lines // 8)}.get(form, lines)
    source, target = (Value(x.slot, Spec(x.layout, real)) for x in (a, out))
    steps.run(
        transform, source, factors, target, tasks=tasks, dtypes=(real, real, real), compute=real.compute,
        cost=4 * max(1, n.bit_length()), each=[(width * a.layout.offset,)], sizes=a.shape[: len(whole)],
        strides=tuple([width * step for step in whole]), inner=inner, lines=lines,
        result=out.shape[-1] * (2 if out.dtype.is_complex else 1), **plan.numbers,
    )  # fmt: skip


def with_dense_lines(steps: CpuSteps, a: Value) -> Value:
    """Return a value whose last dim is dense: itself, or a copy."""
    return a if a.layout.strides[-1] == 1 or a.shape[-1] == 1 else steps.dense(a)


@serves(CpuBackend, requests.Fourier)
def fourier(steps: CpuSteps, request: requests.Fourier) -> None:
    (out,), (a,), dim = steps.outs, steps.operands, request.dim
    if out.dtype.is_complex and a.dtype.is_complex:
        transform_complex(steps, request, out, a)
        return
    n = max(out.shape[dim], a.shape[dim])
    if n % 2 or not is_row(n // 2):  # a row of n real numbers is transformed as n/2 complex numbers
        return steps.lower(request)
    run(steps, HERMITIAN if a.dtype.is_complex else REAL, out, with_dense_lines(steps, a), n, request)


def transform_complex(steps: CpuSteps, request: requests.Fourier, out: Value, a: Value) -> None:
    """Add the steps of a transform of complex numbers."""
    dim, n = request.dim, a.shape[request.dim]
    inner, smooth = prod(a.shape[dim + 1 :]), radices_of(n) is not None
    if inner == 1:  # a dim that is followed only by dims of size 1 is the last one
        out, a = (x.seen(x.layout.squeeze(range(dim + 1, len(x.shape)))) for x in (out, a))
    if smooth and inner >= 8 and n > 1:  # columns are loaded by a pass, and length 1 has none
        run(steps, COLUMNS, out, steps.dense(a), n, request, inner)
    elif smooth and not (inner == 1 and is_row(n)):
        run(steps, GROUP, out, steps.dense(a), n, request, inner)
    elif inner == 1:
        run(steps, ROWS if smooth else CHIRP, out, with_dense_lines(steps, a), n, request)
    else:
        order = [d for d in range(len(a.shape)) if d != dim] + [dim]
        moved = a.seen(a.layout.permute(order))
        terms = steps.work(moved.shape, a.dtype)
        run(steps, CHIRP, terms, with_dense_lines(steps, moved), n, request)
        steps.copy(out.seen(out.layout.permute(order)), terms)
