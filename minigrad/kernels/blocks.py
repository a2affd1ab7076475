"""Expand the two kinds of blocks in a template: the choice `if 1:` and the loop `for i in each(4):`.

Both are ordinary Python syntax for a reader of the template.  Neither of them remains in a kernel.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

LOOP = re.compile(r"( *)for (\w+) in each\((\w+)\):")


def unrolled(lines: Sequence[str], constants: Mapping[str, str]) -> list[str]:
    """Return the lines with each loop `for i in each(WIDTH):` replaced by copies of its body.

    There is one copy for each i from 0 to WIDTH - 1, or for each i in WIDTH if WIDTH is a tuple.  A copy contains the
    value instead of the index, also as a part of a name: for i = 0, `x_i` becomes `x_0`.
    """
    copies: list[str] = []
    k = 0
    while k < len(lines):
        loop = LOOP.match(lines[k])
        k += 1
        if loop is None:
            copies.append(lines[k - 1])
            continue
        end = k
        while end < len(lines) and depth_of(lines[end]) > len(loop[1]):
            end += 1
        numbers, index = ast.literal_eval(constants[loop[3]]), re.compile(rf"(?<![A-Za-z0-9]){loop[2]}(?![A-Za-z0-9])")
        for number in range(numbers) if isinstance(numbers, int) else numbers:
            copies += unrolled([index.sub(str(number), line[4:]) for line in lines[k:end]], constants)
        k = end
    return copies


def chosen(lines: Sequence[str]) -> list[str]:
    """Return the lines without the block under `if 0:`, and without the `else:` block of `if` with any other number.

    The blocks that remain lose their condition and one level of indentation.
    """
    kept: list[str] = []
    blocks: list[tuple[int, bool]] = []  # the indentation of each enclosing block, and whether the block is kept
    for line in lines:
        depth = depth_of(line)
        left = None
        while blocks and line and depth <= blocks[-1][0]:
            left = blocks.pop()
        number = re.fullmatch(r"if (\d+):", line.strip())
        if left and left[0] == depth and line.strip() == "else:":
            blocks.append((depth, not left[1]))
        elif number:
            blocks.append((depth, number[1] != "0"))
        elif all(stays for _, stays in blocks):
            kept.append(line[4 * len(blocks) :])
    return kept


def depth_of(line: str) -> int:
    """Return the number of spaces at the beginning of a line."""
    return len(line) - len(line.lstrip())
