"""CUDA as a target of kernels: plain functions on pointers and numbers, `math` by libdevice, float16 by the machine.

The text of a kernel imports nothing of CUDA.  The compiler, or the simulator, which needs no compiler, defines the
names `cuda`, `libdevice` and `device`, and those of `native.py`.  So the same text can be compiled, simulated and read.
POINTERS and NUMBERS specify the arguments of a kernel: pointers to elements, then int64 numbers in one tuple.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.core.dtype import DType
from minigrad.kernels import vecmath
from minigrad.kernels.cpu.target import element
from minigrad.kernels.fields import Fields
from minigrad.kernels.objects import digest
from minigrad.kernels.target import Target

# The names in libdevice of the functions of `math`, for float64; the names for float32 end in "f".
LIBDEVICE = {name: name for name in (
    "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "erf erfc lgamma hypot copysign fabs pow fmod nextafter floor ceil trunc rint").split()}  # fmt: skip
LIBDEVICE |= {"gamma": "tgamma", "normal_cdf": "normcdf"}
OWN = ("isnan", "isinf", "isfinite", "logistic", "remainder", "floor_divide")
NAMES = "cuda, libdevice, device; load_1 .. store_16, half_to_float, float_to_half; atomic_add, atomic_max; mma_*, ..."


@cache
def natives() -> str:
    """Return the lines with the names that a kernel receives, and the hash of their source."""
    version = digest((Path(__file__).parent / "native.py").read_text(encoding="utf-8"))[:16]
    return f'\n# given to this module: {NAMES}\nnative_py = "{version}"\n'


def calls(compute: np.dtype[Any]) -> dict[str, str]:
    """Return the replacement of each `math.NAME` in a kernel, for its compute dtype."""
    if compute.kind == "c":
        parts = calls(np.dtype(f"f{compute.itemsize // 2}"))
        return vecmath.calls(compute) | {f"real {name}": at for name, at in parts.items()}
    bits, end = 8 * compute.itemsize, "f" if compute.itemsize == 4 else ""
    return {name: f"libdevice.{at}{end}" for name, at in LIBDEVICE.items()} | {name: f"{name}_{bits}" for name in OWN}


def functions(text: str) -> list[str]:
    """Return the functions that a text calls, each for the bits at the end of its name.

    They are those below, and functions of complex numbers, which call libdevice.
    """
    complexes = [word for word in vecmath.called(text) if word[:-3].removesuffix("_any") in vecmath.COMPLEXES]
    numbers, texts = vecmath.pasted(complexes, apart=vecmath.FUNCTIONS)
    sources = ["\n".join(numbers) + "\n", *[f"@device\n{by_libdevice(each)}" for each in texts]] if texts else []
    for name, bits in dict.fromkeys(re.findall(rf"\b({'|'.join(OWN)})_(32|64)\(", text)):
        source = inspect.getsource(globals()[name]).replace(f"def {name}(", f"def {name}_{bits}(")
        source = source.replace("T(", f"np.float{bits}(")
        sources.append("@device\n" + (re.sub(r"(libdevice\.\w+)\(", r"\1f(", source) if bits == "32" else source))
    return sources


def by_libdevice(text: str) -> str:
    """Return a function of complex numbers that calls libdevice for the functions of parts, such as `sin_any_32`."""
    text = re.sub(r"\bmath\.(\w+)\(", rf"\1_{text[: text.index('(')][-2:]}(", text)
    call = rf"\b({'|'.join(LIBDEVICE)})(?:_any)?_(32|64)\("
    return re.sub(call, lambda at: f"libdevice.{LIBDEVICE[at[1]]}{'f' if at[2] == '32' else ''}(", text)


def walk(
    position: str, sizes: str, length: str, moved: Sequence[tuple[str, str]], named: Callable[[str], str]
) -> list[str]:
    """Return the lines that split a position into indices, from the last dim to the first.

    With `N.magic`, the divisions by the sizes of `N.shape` are multiplications in 32 bits and shifts by `N.shift`.
    Other lists of sizes use divisions in 64 bits.
    """
    quick = sizes == "N.magic"
    shape = "N.shape" if quick else sizes
    whole = "np.uint32" if quick else "np.int64"
    quotient, index = named("quotient"), named("index")
    lines = []
    for d in range(int(length) - 1, 0, -1):
        by = f"divide({position}, N.magic[{d}], N.shift[{d}])" if quick else f"{position} // {shape}[{d}]"
        lines += [
            f"{quotient} = {whole}({by})",
            f"{index} = {whole}({position} - {quotient} * {whole}({shape}[{d}]))",
            *[f"{name} = {whole}({name} + {index} * {whole}({steps}[{d}]))" for name, steps in moved],
            f"{position} = {quotient}",
        ]
    return lines + [
        f"{name} = {whole}({name} + {position} * {whole}({steps}[0]))" for name, steps in moved if int(length)
    ]


def entry(
    text: str, start: int, arrays: Sequence[DType | np.dtype[Any] | str], fields: Fields | None, operands: int
) -> str:
    """Return a kernel over arrays as one over pointers, with its argument types and a comment on its numbers."""
    kinds = ["uint8" if element(dtype) == "bool_" else element(dtype) for dtype in arrays if not isinstance(dtype, str)]
    comment = textwrap.wrap(f"numbers: {fields}", 110, initial_indent="    # ", subsequent_indent="    # ")
    lines = text.split("\n")
    facts = [f"POINTERS = ({''.join(f'np.{kind}, ' for kind in kinds).rstrip()})"]
    facts.append(f"NUMBERS = {fields.count(operands + 1) if fields else 0}")
    return "\n".join([*facts, "", "", *lines[:start], *(comment if fields else []), *lines[start:]])


CUDA = Target(
    header="import numpy as np\n",
    natives=natives,
    kernel="",
    helper=lambda liberties, inlined: "@device\n",
    calls=calls,
    functions=functions,
    guarded=lambda text: text,
    halves=lambda: "",
    # A boolean is one byte in memory; in arithmetic it counts as 0 or 1.
    truths=("bool({})", "np.uint8(bool({}))"),
    walk=walk,
    entry=entry,
)


# ---- functions of `math` that libdevice does not have, or for which it returns other special values ------------------
#
# They are pasted above the loops that call them.  `T` is the float type.  A call of `libdevice` is written as for
# float64; for float32, the name of its float32 form is pasted.


def isnan(x):
    """Return whether x is nan."""
    return x != x


def isinf(x):
    """Return whether x is infinity or minus infinity."""
    return x == T(np.inf) or x == T(-np.inf)


def isfinite(x):
    """Return whether x is neither nan nor an infinity."""
    return x - x == T(0)


def logistic(x):
    """Return 1/(1 + exp(-x)), without overflow and accurate for very negative x."""
    e = libdevice.exp(-abs(x))
    return (e if x < T(0) else T(1)) / (T(1) + e)


def remainder(x, y):
    """Return x - y*floor(x/y), which has the sign of y."""
    r = libdevice.fmod(x, y)
    if r == T(0):
        return libdevice.copysign(r, y)
    return r + y if (r < T(0)) != (y < T(0)) else r


def floor_divide(x, y):
    """Return the largest integer that is not above x/y."""
    quotient = x / y
    if y == T(0):
        return quotient
    r = libdevice.fmod(x, y)
    whole = (x - r) / y
    if r != T(0) and (r < T(0)) != (y < T(0)):
        whole = whole - T(1)
    if whole == T(0):
        return libdevice.copysign(T(0), quotient)
    below = libdevice.floor(whole)
    # The division is rounded, so its result may be slightly below an integer.
    return below + T(1) if whole - below > T(0.5) else below


def bits(value: float, compute: np.dtype[Any]) -> int:
    """Return a number as an integer scalar argument of a kernel; `factor_text` is the inverse in the kernel."""
    if compute.kind != "f":
        return int(value)
    return int(compute.type(value).view(np.int64 if compute.itemsize == 8 else np.uint32))


def factor_text(compute: np.dtype[Any]) -> str:
    """Return the text that converts a number of the kernel to a factor."""
    if compute.kind != "f":
        return "T({})"
    return f"np.{'int64' if compute.itemsize == 8 else 'uint32'}({{}}).view(T)"
