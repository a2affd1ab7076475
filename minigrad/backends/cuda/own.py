"""Kernels that users write: a plain function, its text given to the compiler or to the simulator as ours are.

The function is one of a module, as the compiler sees it: it knows `np`, `math`, `cuda` and what `native.py` gives.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from minigrad.backends.cuda.runtime import Program, Size
from minigrad.core.dtype import DType
from minigrad.errors import ArgumentError, DTypeError

HEAD = '''"""{name}: written by its user."""

import math

import numpy as np

POINTERS = ({pointers},)
NUMBERS = {numbers}


'''
ENTRY = '''

def kernel({pointers}, numbers):
    """Pointers first, then integers."""
    {name}({pointers}{numbers})
'''


def text_of(function: Callable[..., Any]) -> str:
    """The source of a function without what stands before its `def`."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise ArgumentError(
            f"kernel: the source of {getattr(function, '__name__', function)!r} cannot be read; define it in a file or "
            f"a notebook cell"
        ) from None
    return source[source.index("def ") :]


def own_program(function: Callable[..., Any], dtypes: tuple[DType, ...], numbers: int) -> Program:
    """The module of a kernel: the function, and what calls it with its pointers and integers."""
    for dtype in dtypes:
        if dtype.storage != dtype.numpy:
            raise DTypeError(f"{function.__name__}: kernels of one's own take no {dtype}; use float32", op="kernel")
    name = function.__name__
    kinds = ", ".join(f"np.{'uint8' if dtype.name == 'bool' else dtype.name}" for dtype in dtypes)
    pointers = ", ".join(f"p{k}" for k in range(len(dtypes)))
    told = "".join(f", numbers[{k}]" for k in range(numbers))
    head = HEAD.format(name=name, pointers=kinds, numbers=numbers)
    text = head + "@device\n" + text_of(function) + ENTRY.format(name=name, pointers=pointers, numbers=told)
    return Program("_".join([name, *(dtype.short for dtype in dtypes), str(numbers)]), text)


def size_of(given: int | tuple[int, ...]) -> Size:
    """A grid or a block: a number, or up to three.  Raises ArgumentError for sizes that are none."""
    sizes = (given,) if isinstance(given, int) else tuple(given)
    if not 1 <= len(sizes) <= 3 or any(n < 1 for n in sizes):
        raise ArgumentError(f"kernel: a grid or a block has one to three sizes from 1 on, not {given!r}")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
