"""Pieces of kernel texts that several families paste: neutral elements, functions of their own, lines of headers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.core.dtype import as_dtype
from minigrad.kernels.cpu.target import CPU, version
from minigrad.kernels.pasting import Expand


def neutral_text(identity: str, compute: np.dtype[Any]) -> str:
    """The source text of a neutral element: "zero", "one", "lowest" or "highest" of the compute dtype."""
    dtype = as_dtype(compute)
    if dtype.kind == "bool":
        return "T(True)" if identity in ("one", "highest") else "T(False)"
    if identity in ("zero", "one"):
        return "T(1)" if identity == "one" else "T(0)"
    if dtype.is_float:
        return "T(-np.inf)" if identity == "lowest" else "T(np.inf)"
    return f"T({dtype.lowest if identity == 'lowest' else dtype.highest})"


def keep_macro(kept: bool) -> Expand:
    """The macro KEEP(place, x), which stands alone on a line: x goes into `values`, or nothing is pasted."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        place, x = map(ast.unparse, args)
        return [f"values[{place}] = {x}"] if kept else [], ast.Constant(0)

    return expand


def helper(text: str, template: Callable[..., Any], name: str, liberty: str = "") -> str:
    """A pasted function under another name, for the module of a kernel."""
    head = "\n\n" + CPU.helper((liberty,) if liberty else ())
    return head + text.replace(f"def {template.__name__}(", f"def {name}(", 1)


def moving_header() -> str:
    """The lines that give a kernel `move` and `fetch`, with the hash of what they come from."""
    return (
        f"\nfrom minigrad.kernels.cpu.moving import movers\n\n"
        f"# moving.py {version('moving.py')}\n"
        f"move, fetch = movers()\n"
    )


def stream_header(itemsize: int) -> str:
    """The lines that give a kernel stores past the caches, with the hash of what they come from."""
    return (
        f"\nfrom minigrad.kernels.cpu.stream import streams\n\n"
        f"# stream.py {version('stream.py')}\n"
        f"stream, settle = streams({itemsize})\n"
    )
