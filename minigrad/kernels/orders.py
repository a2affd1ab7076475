"""Integer keys of every dtype, whose order is the sorted order: the sorts of all processors compare them.

Keys are unsigned, nan above all and the two zeros equal; a `MASK` of ones reverses the order and keeps ties as they
are.  A kernel pastes the function that `key_of` names, with its constants.  `keep_macro` decides whether it keeps the
elements in addition to their positions.
"""

# ruff: noqa: F821
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from minigrad.core.dtype import DType
from minigrad.kernels.pasting import Expand


def key_float(x):  # type: ignore[no-untyped-def]
    """All bits of negative numbers are flipped, and the sign bit of the others; -0.0 + 0.0 is 0.0."""
    bits = FLOAT(x + FLOAT(0)).view(UINT)
    turned = UINT(~bits) if bits >= SIGN else UINT(bits | SIGN)
    return UINT(TOP ^ MASK) if x != x else UINT(turned ^ MASK)


def key_half(x):  # type: ignore[no-untyped-def]
    """The same for a 16-bit float, which is an integer in memory; INFINITY: the bits of inf."""
    size = UINT(x & UINT(0x7FFF))
    bits = UINT(0) if size == UINT(0) else x
    turned = UINT(~bits) if bits >= SIGN else UINT(bits | SIGN)
    return UINT(TOP ^ MASK) if size > INFINITY else UINT(turned ^ MASK)


def key_signed(x):  # type: ignore[no-untyped-def]
    """The sign bit is flipped: the lowest number becomes 0."""
    return UINT(UINT(x) ^ SIGN ^ MASK)


def key_unsigned(x):  # type: ignore[no-untyped-def]
    """The number itself."""
    return UINT(UINT(x) ^ MASK)


def key_of(dtype: DType, descending: bool) -> tuple[Callable[..., Any], dict[str, str]]:
    """The function that makes keys of a dtype, and its constants."""
    size = dtype.itemsize
    kind = f"np.uint{8 * size}"
    constants = {
        "UINT": kind, "SIGN": f"{kind}({1 << 8 * size - 1})", "TOP": f"{kind}({(1 << 8 * size) - 1})",
        "MASK": f"{kind}({(1 << 8 * size) - 1 if descending else 0})", "FLOAT": f"np.{dtype.compute}",
        "INFINITY": f"{kind}({0x7C00 if dtype.name == 'float16' else 0x7F80})",
    }  # fmt: skip
    if dtype.is_float:
        return key_half if size == 2 else key_float, constants
    return key_signed if dtype.is_signed else key_unsigned, constants


def keep_macro(kept: bool) -> Expand:
    """The macro KEEP(place, x), which stands alone on a line: x goes into `values`, or nothing is pasted."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        position, x = map(ast.unparse, args)
        return [f"values[{position}] = {x}"] if kept else [], ast.Constant(0)

    return expand
