"""Unsigned integer keys for the elements of every dtype: the sorts on all processors compare the keys.

The keys of a dtype have the order of its elements; nan has the largest key, and the two zeros have the same key.  If
`MASK` is all ones, the order is reversed, and ties keep their order.  A kernel pastes the function and the constants
that `key_of` returns.  The macro of `keep_macro` stores the elements in addition to their positions, or does nothing.
"""

# ruff: noqa: F821
from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

from minigrad.core.dtype import DType
from minigrad.kernels.pasting import Expand


def key_float(x):  # type: ignore[no-untyped-def]
    """Return the key of a float.

    All bits of a negative number are flipped, and only the sign bit of every other number.  Adding 0.0 changes -0.0 to
    0.0.
    """
    bits = FLOAT(x + FLOAT(0)).view(UINT)
    turned = UINT(~bits) if bits >= SIGN else UINT(bits | SIGN)
    return UINT(TOP ^ MASK) if x != x else UINT(turned ^ MASK)


def key_half(x):  # type: ignore[no-untyped-def]
    """Return the key of a 16-bit float from its bits, as `key_float` does; INFINITY is the bits of infinity."""
    size = UINT(x & UINT(0x7FFF))
    bits = UINT(0) if size == UINT(0) else x
    turned = UINT(~bits) if bits >= SIGN else UINT(bits | SIGN)
    return UINT(TOP ^ MASK) if size > INFINITY else UINT(turned ^ MASK)


def key_signed(x):  # type: ignore[no-untyped-def]
    """Return the key of a signed integer: its sign bit is flipped.

    The lowest integer becomes 0.
    """
    return UINT(UINT(x) ^ SIGN ^ MASK)


def key_unsigned(x):  # type: ignore[no-untyped-def]
    """Return the key of an unsigned integer: the integer itself."""
    return UINT(UINT(x) ^ MASK)


def key_of(dtype: DType, descending: bool) -> tuple[Callable[..., Any], dict[str, str]]:
    """Return the function that computes the keys of a dtype, and its constants."""
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


@cache
def key_words(dtype: DType, descending: bool = False) -> dict[str, Any]:
    """Return the words of the keys of a dtype: `KEY`, which is a function, and the constants that it reads."""
    key, constants = key_of(dtype, descending)
    return {"KEY": key, **constants}


def keep_macro(kept: bool) -> Expand:
    """Return the macro of a line `KEEP(position, x)`: it stores x in `values`, or nothing if not `kept`."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        position, x = map(ast.unparse, args)
        return [f"values[{position}] = {x}"] if kept else [], ast.Constant(0)

    return expand
